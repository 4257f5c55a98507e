/* Loss and gradient of one row, included once for each pair of types:
 *
 *   Z  of logits and gradient, R  of costs      float or double
 *
 * With b = 1 - alpha, p = softmax(z), r the cost row, y the target:
 *
 *   bilinear       L = b CE + alpha t,   t = sum_j r_j p_j
 *                  dL/dz_m = p_m (b + alpha (r_m - t)) - b [m = y]
 *
 *   log-bilinear   L = b CE + alpha sum_j r_j (-log(1 - p_j))
 *
 * -log(1 - p_j) is exact as computed from p_j unless j is the likeliest class *, which is set aside.
 * With e_j = exp(z_j - z_*), E the sum of e over the others and S = 1 + E: p_* = 1 / S, no other p_j
 * is above 1/2, -log(1 - p_*) = log(1 + 1 / E), and with u_j = r_j p_j / (1 - p_j) = r_j e_j / (S - e_j)
 * and U the sum of u over the others
 *
 *   dL/dz_m = alpha (u_m - e_m (U + r_* / E) / S) + b (p_m - [m = y])       m not *
 *   dL/dz_* = alpha (r_* - U) / S + b (p_* - [* = y])
 *
 * Where E underflows, q_m = p_m / (1 - p_*) is the softmax of the others by themselves, and
 * dL/dz_m = -alpha r_* q_m, -log(1 - p_*) = z_* - logsumexp(others).
 */

static inline doubles TYPED(load_z)(const Z *z, int64_t j, int64_t k)
{
    return j + LANES <= k ? LOAD_Z(z + j) : LOAD_SOME_Z(z + j, k - j, -INFINITY);
}

static inline doubles TYPED(load_r)(const R *r, int64_t j, int64_t k)
{
    return j + LANES <= k ? LOAD_R(r + j) : LOAD_SOME_R(r + j, k - j, 0.0);
}

static inline void TYPED(store)(Z *to, int64_t j, int64_t k, doubles v)
{
    if (j + LANES <= k)
        STORE_Z(to + j, v);
    else
        STORE_SOME_Z(to + j, k - j, v);
}

/* The greatest logit; nan is passed over, and shows in the exponentials. */
static inline double TYPED(greatest)(const Z *z, int64_t k)
{
    int64_t j = 0;
    double most = -INFINITY;
    if (k >= 2 * FULL_LANES) {
        FULL first = LOAD_FULL(z), second = LOAD_FULL(z + FULL_LANES);
        for (j = 2 * FULL_LANES; j + 2 * FULL_LANES <= k; j += 2 * FULL_LANES) {
            first = GREATER(LOAD_FULL(z + j), first);
            second = GREATER(LOAD_FULL(z + j + FULL_LANES), second);
        }
        most = GREATEST(GREATER(first, second));
    }
    if (j < k) {
        doubles rest = {0};
        rest += most;
        for (; j < k; j += LANES)
            rest = greater(TYPED(load_z)(z, j, k), rest);
        most = greatest_lane(rest);
    }
    return most;
}

/* Where the greatest logit stands first. */
static inline int64_t TYPED(position)(const Z *z, int64_t k, double most)
{
    int64_t j = 0;
    while (j + FULL_LANES <= k && !HAS_EQUAL(LOAD_FULL(z + j), most))
        j += FULL_LANES;
    while (j < k && !((double)z[j] == most))
        j++;
    return j < k ? j : 0;
}

/* Label smoothing: sum_j w_j (z_* - z_j). */
static double TYPED(drop)(const Z *z, int64_t k, double most, const double *weight)
{
    doubles sum = {0};
    for (int64_t j = 0; j + LANES <= k; j += LANES) {
        doubles gap = most - LOAD_Z(z + j);
        sum += weight ? load_double(weight + j) * gap : gap;
    }
    double rest = 0.0;
    for (int64_t j = k / LANES * LANES; j < k; j++)
        rest += (weight ? weight[j] : 1.0) * (most - z[j]);
    return total(sum) + rest;
}

/* Label smoothing: what it takes from the gradient of each class. */
static void TYPED(take)(Z *g, int64_t k, const struct coefficients *c)
{
    for (int64_t j = 0; j < k; j++)
        g[j] = (Z)((double)g[j] - c->smooth_slope * (c->weight ? c->weight[j] : 1.0));
}

static double TYPED(bilinear)(const Z *z, const R *r, Z *g, int64_t k, int64_t y,
                              const struct coefficients *c)
{
    double most = TYPED(greatest)(z, k), own = z[y];
    double drop = c->smooth > 0.0 ? TYPED(drop)(z, k, most, c->weight) : 0.0;
    doubles sum = {0}, cost = {0};
    for (int64_t j = 0; j < k; j += LANES) {
        doubles e = EXP(TYPED(load_z)(z, j, k) - most);
        sum += e;
        cost += e * TYPED(load_r)(r, j, k);
        if (g)
            TYPED(store)(g, j, k, e);
    }
    double s = total(sum), mean = total(cost) / s;
    if (g) {
        double by_cost = c->cost_slope / s, by_ce = c->ce_slope / s;
        double e_own = own == most ? 1.0 : (double)g[y];
        for (int64_t j = 0; j < k; j += LANES) {
            doubles above = TYPED(load_r)(r, j, k) - mean;
            doubles e = j + LANES <= k ? LOAD_Z(g + j) : LOAD_SOME_Z(g + j, k - j, 0.0);
            TYPED(store)(g, j, k, e * (by_ce + by_cost * above));
        }
        g[y] = (Z)(e_own * (by_ce + by_cost * ((double)r[y] - mean)) - c->hit_slope);
    }
    return cross_entropy(c, most - own, log(s), drop) + c->cost * mean;
}

/* A log-bilinear row whose likeliest class leaves the others nothing in double precision. */
static double TYPED(certain)(const Z *z, Z *g, int64_t k, int64_t y, const struct coefficients *c,
                             double most, int64_t best, double r_best, double drop, double *exps)
{
    double second = -INFINITY, sum = 0.0, own = most - z[y];
    for (int64_t j = 0; j < k; j++)
        if (j != best && z[j] > second)
            second = z[j];
    if (second > -INFINITY)
        for (int64_t j = 0; j < k; j++)
            sum += exps[j] = j == best ? 0.0 : exp(z[j] - second);
    if (g) {
        double back = sum > 0.0 ? c->cost_slope * r_best / sum : 0.0;
        for (int64_t j = 0; j < k; j++)
            g[j] = (Z)(sum > 0.0 ? -back * exps[j] : 0.0);
        g[best] = (Z)(c->cost_slope * r_best + c->ce_slope);
        g[y] = (Z)((double)g[y] - c->hit_slope);
    }
    double term = r_best != 0.0 ? r_best * (most - second - log(sum)) : 0.0;
    return cross_entropy(c, own, 0.0, drop) + c->cost * term;
}

static double TYPED(log_bilinear)(const Z *z, const R *r, Z *g, int64_t k, int64_t y,
                                  const struct coefficients *c, double *scratch)
{
    double most = TYPED(greatest)(z, k), own = most - z[y];
    double drop = c->smooth > 0.0 ? TYPED(drop)(z, k, most, c->weight) : 0.0;
    int64_t best = TYPED(position)(z, k, most), block = best / LANES * LANES;
    double r_best = r[best], *exps = scratch, *us = scratch + (k + 15) / 8 * 8;
    doubles sum = {0}, logs = {0}, pull = {0};
    for (int64_t j = 0; j < k; j += LANES) {
        doubles e = EXP(TYPED(load_z)(z, j, k) - most);
        if (j == block)
            e[best - block] = z[best] - most == 0.0 ? 0.0 : NAN;
        sum += e;
        store_double(exps + j, e);
    }
    double others = total(sum), s = 1.0 + others;
    if (others < LEAST_OTHERS)
        return TYPED(certain)(z, g, k, y, c, most, best, r_best, drop, exps);
    for (int64_t j = 0; j < k; j += LANES) {
        doubles e = load_double(exps + j), cost = TYPED(load_r)(r, j, k);
        doubles rest = s - e, twice = rest + s;
        doubles part = e * INVERSE(rest * twice); /* one division for both quotients */
        doubles u = cost * (part * twice);
        logs += cost * LOG(part * rest);
        pull += u;
        if (g)
            store_double(us + j, u);
    }
    double u_sum = total(pull);
    if (g) {
        double back = (c->cost_slope * (u_sum + r_best / others) - c->ce_slope) / s;
        for (int64_t j = 0; j < k; j += LANES)
            TYPED(store)(g, j, k,
                         load_double(us + j) * c->cost_slope - load_double(exps + j) * back);
        double slope = c->cost_slope * (r_best - u_sum) / s;
        if (best == y) {
            g[best] = (Z)(slope + (c->ce_slope - c->hit_slope) / s - c->hit_slope * (others / s));
        } else {
            g[best] = (Z)(slope + c->ce_slope / s);
            g[y] = (Z)(us[y] * c->cost_slope - exps[y] * back - c->hit_slope);
        }
    }
    /* log1p is exact for small sums, and slow. */
    double log_sum = others < 0.5 ? log1p(others) : log(s), term = total(logs);
    if (best != y)
        term += r_best * log(s / others);
    return cross_entropy(c, own, log_sum, drop) + c->cost * term;
}

#if !Z_IS_DOUBLE && !R_IS_DOUBLE
#include "single.h"
#endif

/* The loss of one row, and its gradient. */
static inline double TYPED(row)(const Z *z, const R *r, Z *g, int64_t k, int64_t y, int is_log,
                                const struct coefficients *c, double *scratch)
{
#if !Z_IS_DOUBLE && !R_IS_DOUBLE
    if (!is_log)
        return bilinear_single(z, r, g, k, y, c);
    if (k >= MANY_CLASSES)
        return log_bilinear_single(z, r, g, k, y, c, scratch,
                                   (float *)(scratch + 3 * ((k + 15) / 8 * 8)));
#endif
    return is_log ? TYPED(log_bilinear)(z, r, g, k, y, c, scratch)
                  : TYPED(bilinear)(z, r, g, k, y, c);
}

/* The rows from `begin` to `end` - 1. */
static void TYPED(rows)(const struct batch *batch, int64_t begin, int64_t end, double *scratch)
{
    int64_t k = batch->k, row = (k + 15) / 8 * 8;
    R *costs = (R *)(scratch + 2 * row);
    double *nodes = scratch + 4 * row;
    struct coefficients c = coefficients(batch, 1.0);
    for (int64_t n = begin; n < end; n++) {
        int64_t y = batch->target[n];
        const Z *z = (const Z *)batch->logits + n * k;
        Z *g = batch->gradient ? (Z *)batch->gradient + n * k : NULL;
        if (y == batch->ignored) {
            batch->losses[n] = 0.0;
            if (g)
                memset(g, 0, (size_t)k * sizeof *g);
            continue;
        }
        if (batch->weight)
            c = coefficients(batch, batch->weight[y]);
        const R *r = FOR_R(cost_row)(batch, n, y, costs, nodes);
        batch->losses[n] = TYPED(row)(z, r, g, k, y, batch->is_log, &c, scratch);
        if (g && c.smooth > 0.0)
            TYPED(take)(g, k, &c);
    }
}
