/* Vectors as wide as the instruction set has them: LANES doubles, 2 LANES floats.
 *
 * Arithmetic is the compiler's own on vectors (GNU C); what that does not have, or does badly, stands
 * here once for each instruction set. Whatever compares passes over nan as `a > b ? a : b` does. */
#ifndef UNTRUE_LANES_H
#define UNTRUE_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 8
#include <immintrin.h>
#elif defined(__AVX2__)
#define LANES 4
#include <immintrin.h>
#else
#define LANES 2
#endif
#define WIDE (2 * LANES)

typedef double doubles __attribute__((vector_size(8 * LANES)));
typedef float floats __attribute__((vector_size(8 * LANES)));

static inline doubles load_double(const double *from)
{
    doubles v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store_double(double *to, doubles v)
{
    memcpy(to, &v, sizeof v);
}

static inline floats load_floats(const float *from)
{
    floats v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store_floats(float *to, floats v)
{
    memcpy(to, &v, sizeof v);
}

#if LANES == 8

static inline doubles load_float(const float *from)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(from));
}

static inline void store_float(float *to, doubles v)
{
    _mm256_storeu_ps(to, _mm512_cvtpd_ps(v));
}

static inline __mmask8 first_lanes(int64_t n)
{
    return (__mmask8)((1u << n) - 1u);
}

/* The first `n` < LANES numbers, then `rest`. */
static inline doubles load_some_doubles(const double *from, int64_t n, double rest)
{
    return _mm512_mask_loadu_pd(_mm512_set1_pd(rest), first_lanes(n), from);
}

static inline doubles load_some_floats(const float *from, int64_t n, double rest)
{
    __m256 v = _mm256_mask_loadu_ps(_mm256_set1_ps((float)rest), first_lanes(n), from);
    return _mm512_cvtps_pd(v);
}

static inline void store_some_doubles(double *to, int64_t n, doubles v)
{
    _mm512_mask_storeu_pd(to, first_lanes(n), v);
}

static inline void store_some_floats(float *to, int64_t n, doubles v)
{
    _mm256_mask_storeu_ps(to, first_lanes(n), _mm512_cvtpd_ps(v));
}

static inline doubles greater(doubles a, doubles b)
{
    return _mm512_max_pd(a, b);
}

static inline floats greater_floats(floats a, floats b)
{
    return _mm512_max_ps(a, b);
}

static inline double total(doubles v)
{
    return _mm512_reduce_add_pd(v);
}

static inline double greatest_lane(doubles v)
{
    return _mm512_reduce_max_pd(v);
}

static inline double greatest_float(floats v)
{
    return (double)_mm512_reduce_max_ps(v);
}

static inline int has_equal(doubles v, double x)
{
    return _mm512_cmpeq_pd_mask(v, _mm512_set1_pd(x)) != 0;
}

static inline int has_equal_float(floats v, double x)
{
    return _mm512_cmpeq_ps_mask(v, _mm512_set1_ps((float)x)) != 0;
}

static inline doubles low_half(floats v)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(v));
}

static inline doubles high_half(floats v)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
}

static inline int has_above(floats v, float x)
{
    return _mm512_cmp_ps_mask(v, _mm512_set1_ps(x), _CMP_GT_OQ) != 0;
}

#elif LANES == 4

static inline doubles load_float(const float *from)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(from));
}

static inline void store_float(float *to, doubles v)
{
    _mm_storeu_ps(to, _mm256_cvtpd_ps(v));
}

static inline __m256i first_lanes(int64_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline __m128i first_floats(int64_t n)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32((int)n), _mm_setr_epi32(0, 1, 2, 3));
}

static inline doubles load_some_doubles(const double *from, int64_t n, double rest)
{
    __m256i mask = first_lanes(n);
    return _mm256_blendv_pd(_mm256_set1_pd(rest), _mm256_maskload_pd(from, mask), (__m256d)mask);
}

static inline doubles load_some_floats(const float *from, int64_t n, double rest)
{
    doubles v = _mm256_cvtps_pd(_mm_maskload_ps(from, first_floats(n)));
    return _mm256_blendv_pd(_mm256_set1_pd(rest), v, (__m256d)first_lanes(n));
}

static inline void store_some_doubles(double *to, int64_t n, doubles v)
{
    _mm256_maskstore_pd(to, first_lanes(n), v);
}

static inline void store_some_floats(float *to, int64_t n, doubles v)
{
    _mm_maskstore_ps(to, first_floats(n), _mm256_cvtpd_ps(v));
}

static inline doubles greater(doubles a, doubles b)
{
    return _mm256_max_pd(a, b);
}

static inline floats greater_floats(floats a, floats b)
{
    return _mm256_max_ps(a, b);
}

static inline double total(doubles v)
{
    __m128d pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

static inline double greatest_lane(doubles v)
{
    __m128d pair = _mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_max_sd(pair, _mm_unpackhi_pd(pair, pair)));
}

static inline double greatest_float(floats v)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    return greatest_lane(_mm256_cvtps_pd(four));
}

static inline int has_equal(doubles v, double x)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(v, _mm256_set1_pd(x), _CMP_EQ_OQ)) != 0;
}

static inline int has_equal_float(floats v, double x)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_set1_ps((float)x), _CMP_EQ_OQ)) != 0;
}

static inline doubles low_half(floats v)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(v));
}

static inline doubles high_half(floats v)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
}

static inline int has_above(floats v, float x)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_set1_ps(x), _CMP_GT_OQ)) != 0;
}

#else

typedef int64_t masks __attribute__((vector_size(16)));
typedef int32_t float_masks __attribute__((vector_size(16)));

static inline doubles load_float(const float *from)
{
    return (doubles){from[0], from[1]};
}

static inline void store_float(float *to, doubles v)
{
    to[0] = (float)v[0];
    to[1] = (float)v[1];
}

static inline doubles load_some_doubles(const double *from, int64_t n, double rest)
{
    return (doubles){n > 0 ? from[0] : rest, rest};
}

static inline doubles load_some_floats(const float *from, int64_t n, double rest)
{
    return (doubles){n > 0 ? (double)from[0] : rest, rest};
}

static inline void store_some_doubles(double *to, int64_t n, doubles v)
{
    if (n > 0)
        to[0] = v[0];
}

static inline void store_some_floats(float *to, int64_t n, doubles v)
{
    if (n > 0)
        to[0] = (float)v[0];
}

static inline doubles greater(doubles a, doubles b)
{
    masks where = a > b;
    return (doubles)((where & (masks)a) | (~where & (masks)b));
}

static inline floats greater_floats(floats a, floats b)
{
    float_masks where = a > b;
    return (floats)((where & (float_masks)a) | (~where & (float_masks)b));
}

static inline double total(doubles v)
{
    return v[0] + v[1];
}

static inline double greatest_lane(doubles v)
{
    return v[0] > v[1] ? v[0] : v[1];
}

static inline double greatest_float(floats v)
{
    float low = v[0] > v[1] ? v[0] : v[1], high = v[2] > v[3] ? v[2] : v[3];
    return low > high ? low : high;
}

static inline int has_equal(doubles v, double x)
{
    return v[0] == x || v[1] == x;
}

static inline int has_equal_float(floats v, double x)
{
    return v[0] == x || v[1] == x || v[2] == x || v[3] == x;
}

static inline doubles low_half(floats v)
{
    return (doubles){v[0], v[1]};
}

static inline doubles high_half(floats v)
{
    return (doubles){v[2], v[3]};
}

static inline int has_above(floats v, float x)
{
    return v[0] > x || v[1] > x || v[2] > x || v[3] > x;
}

#endif
#endif
