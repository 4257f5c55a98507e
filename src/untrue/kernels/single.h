/* Rows of float32 logits and float32 costs: in single precision where that loses nothing.
 *
 * Included by rows.h for these types alone. Bilinear: exponentials are taken in single precision,
 * sums in double. Log-bilinear with many classes: exponentials and their sum S are taken in double,
 * and so is every class that has more than SMALL of the probability. For the others, with w_j =
 * e_j / (S - e_j) in single precision,
 *
 *   u_j = r_j w_j,   -log(1 - p_j) = w_j - w_j^2 / 2 + w_j^3 / 3 - ...
 *
 * and their share of U, which all classes feel, is (sum_j r_j e_j + sum_j e_j u_j) / S: the first sum
 * in double, and the second at most SMALL of it, so that no rounding of w_j adds up. */

#define SMALL (1.0 / 64.0)
#define MOST_LARGE 80 /* blocks; fewer than 1 / SMALL classes can be large */
#define LEAST_SINGLE 1e-25
#define MANY_CLASSES 400 /* fewer: hardly a block has none that is large */

static double bilinear_single(const float *z, const float *r, float *g, int64_t k, int64_t y,
                              const struct coefficients *c)
{
    double most = TYPED(greatest)(z, k), own = z[y];
    double drop = c->smooth > 0.0 ? TYPED(drop)(z, k, most, c->weight) : 0.0;
    doubles sum = {0}, cost = {0}, high_sum = {0}, high_cost = {0};
    float top = (float)most;
    int64_t j = 0;
    for (; j + WIDE <= k; j += WIDE) {
        floats e = exp_floats(load_floats(z + j) - top);
        doubles low = low_half(e), high = high_half(e);
        sum += low;
        high_sum += high;
        cost += low * load_float(r + j);
        high_cost += high * load_float(r + j + LANES);
        if (g)
            store_floats(g + j, e);
    }
    for (; j < k; j += LANES) {
        doubles e = EXP(TYPED(load_z)(z, j, k) - most);
        sum += e;
        cost += e * TYPED(load_r)(r, j, k);
        if (g)
            TYPED(store)(g, j, k, e);
    }
    double s = total(sum + high_sum), mean = total(cost + high_cost) / s;
    if (g) {
        double by_cost = c->cost_slope / s, by_ce = c->ce_slope / s;
        double e_own = own == most ? 1.0 : (double)g[y];
        /* Nothing is left to cancel with the mean in two parts. */
        float high = (float)mean, low = (float)(mean - high);
        float single_ce = (float)by_ce, single_cost = (float)by_cost;
        for (j = 0; j + WIDE <= k; j += WIDE) {
            floats above = (load_floats(r + j) - high) - low;
            store_floats(g + j, load_floats(g + j) * (single_ce + single_cost * above));
        }
        for (; j < k; j += LANES) {
            doubles above = TYPED(load_r)(r, j, k) - mean;
            doubles e = j + LANES <= k ? LOAD_Z(g + j) : LOAD_SOME_Z(g + j, k - j, 0.0);
            TYPED(store)(g, j, k, e * (by_ce + by_cost * above));
        }
        g[y] = (float)(e_own * (by_ce + by_cost * ((double)r[y] - mean)) - c->hit_slope);
    }
    return cross_entropy(c, most - own, log(s), drop) + c->cost * mean;
}

/* What the parts of a log-bilinear row add up to. */
struct log_sums {
    doubles logs, pull;                 /* r (-log(1 - p)) and u of what is computed in double */
    doubles costs, seconds, small_logs; /* r e, e u and r (-log(1 - p)) of the rest */
};

/* LANES classes in double; `exps` and `us` get theirs. */
static inline void large_block(const float *z, const float *r, int64_t j, int64_t k, double most,
                               int64_t best, double s, double *exps, double *us,
                               struct log_sums *sums)
{
    doubles e = EXP(TYPED(load_z)(z, j, k) - most), cost = TYPED(load_r)(r, j, k);
    if (best >= j && best < j + LANES)
        e[best - j] = 0.0;
    doubles rest = s - e, twice = rest + s, part = e * INVERSE(rest * twice);
    doubles u = cost * (part * twice);
    sums->logs += cost * LOG(part * rest);
    sums->pull += u;
    sums->costs -= e * cost;
    store_double(exps + j, e);
    store_double(us + j, u);
}

/* As TYPED(log_bilinear); `singles` (k + WIDE,) is for the exponentials. */
static double log_bilinear_single(const float *z, const float *r, float *g, int64_t k, int64_t y,
                                  const struct coefficients *c, double *scratch, float *singles)
{
    double most = TYPED(greatest)(z, k), own = most - z[y];
    int64_t best = TYPED(position)(z, k, most), block = best / LANES * LANES, j;
    double r_best = r[best], *exps = scratch, *us = scratch + (k + 15) / 8 * 8;
    doubles sum = {0}, costs = {0};
    for (j = 0; j < k; j += LANES) {
        doubles e = EXP(TYPED(load_z)(z, j, k) - most);
        if (j == block)
            e[best - block] = z[best] - most == 0.0 ? 0.0 : NAN;
        sum += e;
        costs += e * TYPED(load_r)(r, j, k);
        store_float(singles + j, e);
    }
    double others = total(sum), s = 1.0 + others;
    if (others < LEAST_SINGLE) /* single precision would lose what is left */
        return TYPED(log_bilinear)(z, r, g, k, y, c, scratch);
    double drop = c->smooth > 0.0 ? TYPED(drop)(z, k, most, c->weight) : 0.0;

    struct log_sums sums = {.costs = costs};
    int64_t large[MOST_LARGE], n_large = 0, whole = k / WIDE * WIDE;
    float limit = (float)(s * SMALL), single_s = (float)s;
    for (j = 0; j < whole;) {
        floats seconds = {0}, logs = {0};
        int64_t end = j + 8 * WIDE < whole ? j + 8 * WIDE : whole;
        for (; j < end; j += WIDE) {
            floats e = load_floats(singles + j), cost = load_floats(r + j);
            if (has_above(e, limit) && n_large < MOST_LARGE) {
                large[n_large++] = j;
                large_block(z, r, j, k, most, best, s, exps, us, &sums);
                large_block(z, r, j + LANES, k, most, best, s, exps, us, &sums);
                continue;
            }
            floats w = e * inverse_floats(single_s - e), u = cost * w;
            seconds += e * u;
            logs += u * (1.0f + w * (-0.5f + w * (1.0f / 3.0f - w * 0.25f)));
            if (g)
                store_floats(g + j, u);
        }
        sums.seconds += low_half(seconds) + high_half(seconds);
        sums.small_logs += low_half(logs) + high_half(logs);
    }
    for (; j < k; j += LANES)
        large_block(z, r, j, k, most, best, s, exps, us, &sums);
    double u_sum = total(sums.pull) + (total(sums.costs) + total(sums.seconds)) / s;
    if (g) {
        double back = (c->cost_slope * (u_sum + r_best / others) - c->ce_slope) / s;
        float single_back = (float)back, slope = (float)c->cost_slope;
        for (j = 0; j < whole; j += WIDE)
            store_floats(g + j,
                         load_floats(g + j) * slope - load_floats(singles + j) * single_back);
        for (int64_t i = 0; i < 2 * n_large; i++) {
            j = large[i / 2] + (i % 2) * LANES;
            store_float(g + j, load_double(us + j) * c->cost_slope - load_double(exps + j) * back);
        }
        for (j = whole; j < k; j += LANES)
            TYPED(store)(g, j, k,
                         load_double(us + j) * c->cost_slope - load_double(exps + j) * back);
        double top = c->cost_slope * (r_best - u_sum) / s;
        if (best == y) {
            g[best] = (float)(top + (c->ce_slope - c->hit_slope) / s - c->hit_slope * (others / s));
        } else {
            g[best] = (float)(top + c->ce_slope / s);
            g[y] = (float)((double)g[y] - c->hit_slope);
        }
    }
    double log_sum = others < 0.5 ? log1p(others) : log(s);
    double term = total(sums.logs) + total(sums.small_logs);
    if (best != y)
        term += r_best * log(s / others);
    return cross_entropy(c, own, log_sum, drop) + c->cost * term;
}
