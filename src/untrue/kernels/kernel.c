/* The kernel for one instruction set: compiled once for each, with its flags and -DISA=its name. */
#include "kernels.h"
#include "curves.h"
#include "newton.h"

/* Below this the others' share is computed by itself. Far above the least normal number, so that
 * what is divided by it stays finite. */
#define LEAST_OTHERS 1e-280

/* What the parts of a row's loss, and of the gradient, are multiplied by. */
struct coefficients {
    double cost, ce, smooth;
    double cost_slope, ce_slope, hit_slope, smooth_slope;
    const double *weight;
    double weight_sum;
    int has_ce;
};

/* For an example of weight `own`. */
static struct coefficients coefficients(const struct batch *batch, double own)
{
    struct coefficients c;
    double rest = 1.0 - batch->alpha;
    c.weight = batch->weight;
    c.weight_sum = batch->weight_sum;
    c.has_ce = rest > 0.0; /* else 0 times an infinite cross-entropy would be nan */
    c.cost = batch->alpha * own;
    c.ce = rest * (1.0 - batch->smoothing) * own;
    c.smooth = rest * batch->smoothing / (double)batch->k;
    c.cost_slope = c.cost * batch->scale;
    c.hit_slope = c.ce * batch->scale;
    c.smooth_slope = c.smooth * batch->scale;
    c.ce_slope = c.hit_slope + c.smooth_slope * c.weight_sum;
    return c;
}

/* From z_* - z_y, log(sum_j exp(z_j - z_*)) and sum_j w_j (z_* - z_j). */
static inline double cross_entropy(const struct coefficients *c, double gap, double log_sum,
                                   double drop)
{
    double loss = c->has_ce ? c->ce * (gap + log_sum) : 0.0;
    return c->smooth > 0.0 ? loss + c->smooth * (c->weight_sum * log_sum + drop) : loss;
}

#define Z_IS_DOUBLE 0
#define R_IS_DOUBLE 0
#include "types.h"
#include "cost_rows.h"
#include "rows.h"

#undef R_IS_DOUBLE
#define R_IS_DOUBLE 1
#include "types.h"
#include "cost_rows.h"
#include "rows.h"

#undef Z_IS_DOUBLE
#define Z_IS_DOUBLE 1
#include "types.h"
#include "rows.h"

#undef R_IS_DOUBLE
#define R_IS_DOUBLE 0
#include "types.h"
#include "rows.h"

static void rows(const struct batch *batch, int64_t begin, int64_t end, double *scratch)
{
    if (batch->is_double && batch->costs_double)
        rows_double_double(batch, begin, end, scratch);
    else if (batch->is_double)
        rows_double_float(batch, begin, end, scratch);
    else if (batch->costs_double)
        rows_float_double(batch, begin, end, scratch);
    else
        rows_float_float(batch, begin, end, scratch);
}

/* The curves by themselves, for those who measure them. */
static void exponential(const double *from, double *to, int64_t n, int precision)
{
    if (precision == IN_FLOATS) {
        for (int64_t j = 0; j < n; j += WIDE) {
            floats x = {0};
            int64_t here = n - j < WIDE ? n - j : WIDE;
            for (int64_t i = 0; i < here; i++)
                x[i] = (float)from[j + i];
            x = exp_floats(x);
            for (int64_t i = 0; i < here; i++)
                to[j + i] = x[i];
        }
        return;
    }
    for (int64_t j = 0; j < n; j += LANES) {
        doubles x = load_z_double_double(from, j, n);
        store_double_double(to, j, n, precision == FOR_DOUBLE ? exp_double(x) : exp_single(x));
    }
}

static void minus_log1m(const double *from, double *to, int64_t n, int precision)
{
    for (int64_t j = 0; j < n; j += LANES) {
        doubles p = load_r_double_double(from, j, n), t = p / (2.0 - p);
        store_double_double(to, j, n, precision == FOR_DOUBLE ? log_double(t) : log_single(t));
    }
}

#define JOINED_(a, b) a##_##b
#define JOINED(a, b) JOINED_(a, b)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
const struct instruction_set JOINED(untrue, ISA) = {TEXT(ISA), rows, newton, exponential,
                                                   minus_log1m};
