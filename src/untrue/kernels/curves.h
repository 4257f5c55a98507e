/* The exponential and the logarithm on vectors of doubles, by polynomials of least relative error.
 *
 * The longer ones are for float64 logits. The shorter ones serve float32: to 2e-9 of the value
 * (exponential) and 4e-9 (logarithm), far below what float32 can hold. */
#ifndef UNTRUE_CURVES_H
#define UNTRUE_CURVES_H

#include "lanes.h"

#define ROUNDING 0x1.8p52 /* added and taken away again, it rounds to a whole number */
#define LOG2_E 0x1.71547652b82fep+0
#define LN2 0x1.62e42fefa39efp-1
#define LN2_HIGH 0x1.62e42fefa3800p-1 /* times a small whole number it is exact */
#define LN2_LOW 0x1.ef35793c76730p-45

#if LANES == 8

/* As low as makes no difference, so that -infinity is a number; nan stays. */
static inline doubles lifted(doubles x)
{
    return _mm512_max_pd(_mm512_set1_pd(-800.0), x);
}

/* 1 / x, from 14 bits to 42. */
static inline doubles inverse_single(doubles x)
{
    doubles rough = _mm512_rcp14_pd(x), left = 1.0 - x * rough;
    return rough + rough * (left + left * left);
}

/* 1 / x to all but the last bit or two. */
static inline floats inverse_floats(floats x)
{
    floats rough = _mm512_rcp14_ps(x);
    return rough + rough * (1.0f - x * rough);
}

static inline floats lifted_floats(floats x)
{
    return _mm512_max_ps(_mm512_set1_ps(-200.0f), x);
}

static inline floats scaled_floats(floats p, floats n, floats shifted, floats x)
{
    (void)shifted, (void)x;
    return _mm512_scalef_ps(p, n);
}

/* p 2^n: 0 where that is too small for a double. */
static inline doubles scaled(doubles p, doubles n, doubles shifted, doubles x)
{
    (void)shifted, (void)x;
    return _mm512_scalef_pd(p, n);
}

#else

typedef uint64_t words __attribute__((vector_size(8 * LANES)));
typedef uint32_t half_words __attribute__((vector_size(8 * LANES)));

static inline doubles lifted(doubles x)
{
    return x;
}

static inline doubles inverse_single(doubles x)
{
    return 1.0 / x;
}

static inline floats inverse_floats(floats x)
{
    return 1.0f / x;
}

static inline floats lifted_floats(floats x)
{
    return x;
}

static inline floats scaled_floats(floats p, floats n, floats shifted, floats x)
{
    (void)n;
    floats power = (floats)(((half_words)shifted + 127) << 23);
    return (floats)((half_words)(p * power) & ~(half_words)(x < -87.0f));
}

/* p 2^n, with n in the low bits of `shifted`; 0 where e^x is no normal number, and nan stays. */
static inline doubles scaled(doubles p, doubles n, doubles shifted, doubles x)
{
    (void)n;
    doubles power = (doubles)(((words)shifted + 1023) << 52);
    return (doubles)((words)(p * power) & ~(words)(x < -708.0));
}

#endif

static inline doubles inverse_double(doubles x)
{
    return 1.0 / x;
}

/* e^x for x <= 0. */
static inline doubles exp_single(doubles x)
{
    x = lifted(x);
    doubles shifted = x * LOG2_E + ROUNDING, n = shifted - ROUNDING;
    doubles r = x - n * LN2;
    doubles p = 0x1.6ae71f5c6e774p-10 * r + 0x1.126792dbf7f80p-7;
    p = p * r + 0x1.5558228b69c23p-5;
    p = p * r + 0x1.5554194180519p-3;
    p = p * r + 0x1.fffffc1c855e4p-2;
    p = p * r + 0x1.0000008a3a487p+0;
    p = p * r + 1.0;
    return scaled(p, n, shifted, x);
}

/* The same on floats, to 1e-7 of the value: little more than what rounding alone takes. */
static inline floats exp_floats(floats x)
{
    x = lifted_floats(x);
    floats shifted = x * (float)LOG2_E + 0x1.8p23f, n = shifted - 0x1.8p23f;
    floats r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f; /* n ln 2, its first part exact */
    floats p = 0x1.6ae71fp-10f * r + 0x1.126793p-7f;
    p = p * r + 0x1.555823p-5f;
    p = p * r + 0x1.555419p-3f;
    p = p * r + 0x1.fffffcp-2f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return scaled_floats(p, n, shifted, x);
}

static inline doubles exp_double(doubles x)
{
    x = lifted(x);
    doubles shifted = x * LOG2_E + ROUNDING, n = shifted - ROUNDING;
    doubles r = (x - n * LN2_HIGH) - n * LN2_LOW;
    doubles p = 0x1.ad661bba42f09p-26 * r + 0x1.28b31c3ffe609p-22;
    p = p * r + 0x1.71df45343d1cap-19;
    p = p * r + 0x1.a01992c5c0808p-16;
    p = p * r + 0x1.a01a011044a25p-13;
    p = p * r + 0x1.6c16c187853c5p-10;
    p = p * r + 0x1.1111111130e33p-7;
    p = p * r + 0x1.555555554f35cp-5;
    p = p * r + 0x1.55555555554a2p-3;
    p = p * r + 0x1.0000000000010p-1;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return scaled(p, n, shifted, x);
}

/* -log(1 - p) = 2 atanh(t) with t = p / (2 - p), which is in [0, 1/3] for p <= 1/2: all digits
 * where p vanishes, and nothing but a polynomial. */
static inline doubles log_single(doubles t)
{
    doubles q = t * t;
    doubles p = 0x1.208da634624f4p-2 * q + 0x1.1e50af7a5c7a4p-2;
    p = p * q + 0x1.99daec0d33943p-2;
    p = p * q + 0x1.5554df2d29e70p-1;
    p = p * q + 0x1.0000001104f0bp+1;
    return p * t;
}

static inline doubles log_double(doubles t)
{
    doubles q = t * t;
    doubles p = 0x1.5d6950c711fc6p-3 * q + 0x1.549681fff0452p-4;
    p = p * q + 0x1.f01f6cfb7f774p-4;
    p = p * q + 0x1.1062c302adbdfp-3;
    p = p * q + 0x1.3b1e4a0a779aap-3;
    p = p * q + 0x1.745cadfbf82b0p-3;
    p = p * q + 0x1.c71c7450da346p-3;
    p = p * q + 0x1.2492492003a43p-2;
    p = p * q + 0x1.99999999a1fa9p-2;
    p = p * q + 0x1.5555555555525p-1;
    p = p * q + 2.0;
    return p * t;
}

#endif
