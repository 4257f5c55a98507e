/* First and bounded second derivatives for boosted trees: as many examples at a time as a vector
 * holds floats, because their libraries keep scores, and want derivatives, class by class.
 *
 * The formulas, and their names, are those of untrue/newton.py. */
#ifndef UNTRUE_NEWTON_H
#define UNTRUE_NEWTON_H

#include "curves.h"

#define TINY 1e-30f

typedef int32_t flags __attribute__((vector_size(8 * LANES)));

/* `a` where a flag is set, else `b`. */
static inline floats where(flags set, floats a, floats b)
{
    return (floats)((set & (flags)a) | (~set & (flags)b));
}

static inline floats same(float x)
{
    return x - (floats){0};
}

static inline floats magnitude(floats v)
{
    return (floats)((flags)v & 0x7fffffff);
}

/* The first `n` of WIDE doubles, then zeros. */
static inline void load_scores(const double *from, int64_t n, doubles *low, doubles *high)
{
    double some[WIDE] = {0};
    if (n < WIDE)
        from = memcpy(some, from, (size_t)n * sizeof *some);
    *low = load_double(from);
    *high = load_double(from + LANES);
}

static inline floats joined(doubles low, doubles high)
{
    float both[WIDE];
    store_float(both, low);
    store_float(both + LANES, high);
    return load_floats(both);
}

static inline void store_derivatives(float *to, int64_t n, floats v)
{
    memcpy(to, &v, (size_t)n * sizeof *to);
}

/* What class j costs each of the examples. */
static inline floats cost_lanes(const struct batch *batch, int64_t first, int64_t n, int64_t j)
{
    float found[WIDE] = {0};
    if (batch->form == EACH) {
        const double *each = batch->matrix;
        for (int64_t i = 0; i < n; i++)
            found[i] = (float)each[(first + i) * batch->k + j];
    } else {
        const float *of_class = (const float *)batch->matrix + j * batch->k;
        for (int64_t i = 0; i < n; i++)
            found[i] = of_class[batch->target[first + i]];
    }
    return load_floats(found);
}

/* Examples `first` to `first` + n - 1, n <= WIDE. `q` and `costs` have room for k vectors. */
static void newton_lanes(const struct batch *batch, int64_t first, int64_t n, float *q,
                         float *costs)
{
    const double *scores = (const double *)batch->logits + first;
    int64_t k = batch->k, stride = batch->n;
    float plain = (float)(1.0 - batch->alpha), alpha = (float)batch->alpha;
    floats weight = same(1.0f);
    flags own = {0};
    for (int64_t i = 0; i < n; i++) {
        own[i] = (int32_t)batch->target[first + i];
        if (batch->example_weight)
            weight[i] = (float)batch->example_weight[first + i];
    }

    doubles low_most, high_most, low, high;
    load_scores(scores, n, &low_most, &high_most);
    for (int64_t j = 1; j < k; j++) {
        load_scores(scores + j * stride, n, &low, &high);
        low_most = greater(low, low_most);
        high_most = greater(high, high_most);
    }
    flags best = {0}, found = {0};
    floats second = same(-1e30f);
    for (int64_t j = 0; j < k; j++) {
        load_scores(scores + j * stride, n, &low, &high);
        floats z = joined(low - low_most, high - high_most);
        flags here = (z == 0.0f) & ~found;
        found |= here;
        best = (here & (int32_t)j) | (~here & best);
        second = greater_floats(where(here, second, z), second);
        store_floats(q + j * WIDE, z);
    }
    floats rest = {0};
    for (int64_t j = 0; j < k; j++) {
        floats e = exp_floats(load_floats(q + j * WIDE) - second);
        e = where(best == (int32_t)j, same(0.0f), e);
        rest += e;
        store_floats(q + j * WIDE, e);
    }
    rest = greater_floats(same(TINY), rest); /* in this order nan stays */
    floats others = exp_floats(second) * rest, share = 1.0f / (1.0f + others);
    floats complement_of_best = others * share, to_share = 1.0f / rest;

    /* The mean cost, or the sum of the odds, and the pull of the likeliest class. */
    floats sum = {0}, pull = {0};
    for (int64_t j = 0; j < k; j++) {
        flags is_best = best == (int32_t)j;
        floats r = cost_lanes(batch, first, n, j);
        floats p = load_floats(q + j * WIDE) * to_share;
        store_floats(q + j * WIDE, p);
        store_floats(costs + j * WIDE, r);
        p *= complement_of_best;
        if (!batch->is_log) {
            sum += r * where(is_best, share, p);
        } else {
            pull = where(is_best, r * share, pull);
            sum += where(is_best, same(0.0f), r * p / greater_floats(1.0f - p, same(TINY)));
        }
    }
    for (int64_t j = 0; j < k; j++) {
        flags is_best = best == (int32_t)j, is_own = own == (int32_t)j;
        floats r = load_floats(costs + j * WIDE), others_share = load_floats(q + j * WIDE);
        floats p = where(is_best, share, others_share * complement_of_best);
        floats complement = where(is_best, complement_of_best, 1.0f - p);
        floats variance = p * complement, g, h;
        if (!batch->is_log) {
            g = (r - sum) * p;
            h = magnitude(g);
        } else {
            floats odds = r * p / greater_floats(complement, same(TINY));
            odds = where(is_best, same(0.0f), odds);
            floats pulled = others_share * pull;
            g = odds - p * sum - pulled + where(is_best, pull, same(0.0f));
            h = r * variance + pulled + p * greater_floats(sum - odds, same(0.0f));
        }
        g = alpha * g + where(is_own, -plain * complement, plain * p);
        h = (alpha * h + plain * variance) * (float)batch->scale * weight;
        h = greater_floats(same((float)batch->least), h);
        int64_t at = j * stride + first;
        store_derivatives((float *)batch->gradient + at, n, g * weight);
        store_derivatives(batch->bound + at, n, h);
    }
}

static void newton(const struct batch *batch, int64_t begin, int64_t end, double *scratch)
{
    float *q = (float *)scratch, *costs = q + batch->k * WIDE;
    for (int64_t i = begin; i < end; i += WIDE)
        newton_lanes(batch, i, end - i < WIDE ? end - i : WIDE, q, costs);
}

#endif
