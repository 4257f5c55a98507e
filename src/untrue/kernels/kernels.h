/* What the files of the kernel share: a batch as pointers and sizes, and the instruction sets. */
#ifndef UNTRUE_KERNELS_H
#define UNTRUE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* How the cost row of an example is found; its cost at the target is 0 in every form. */
enum form {
    DENSE, /* row `target` of a (k, k) matrix */
    EACH,  /* row n of an (N, k) matrix: the costs of example n */
    RULES, /* a default and exceptions */
    TREE   /* constant on each interval of a depth-first order */
};

struct batch {
    /* Logits (n, k) in rows without gaps, and the class of each example. */
    int64_t n, k;
    const void *logits;
    const int64_t *target;
    int is_double; /* logits and gradient are float64, else float32 */
    /* Written: one loss an example; the gradient (n, k) unless NULL, which may be the logits. */
    double *losses;
    void *gradient;
    /* Of boosted trees alone: logits and gradient are (k, n), the bound of the second derivatives
     * too, which is at least `least`; the weights (n,) are the examples' or NULL. */
    float *bound;
    double least;
    const double *example_weight;

    int is_log; /* log-bilinear, else bilinear */
    double alpha, smoothing, scale; /* the gradient is that of `scale` times the losses' sum */
    int64_t ignored;
    const double *weight; /* (k,) or NULL */
    double weight_sum;

    enum form form;
    int costs_double; /* cost rows are float64, else float32 */
    const void *matrix;
    /* Rules: those of class i are starts[i] to starts[i + 1] - 1. */
    const double *fallback, *rule_costs;
    const int64_t *starts, *predicted;
    /* Tree: `path` and `starts` give the nodes above a class, lowest first. A node spans `first`
     * to `last` - 1: of the classes if these are in depth-first order, else of the nodes, and
     * `parents` (k,) has the lowest node above each class. */
    const int64_t *path, *first, *last;
    const int32_t *parents; /* NULL if classes are in depth-first order */
    const double *steps, *row_scale;
    int64_t n_nodes;
};

/* The rows from `begin` to `end` - 1; `scratch` has scratch_size() bytes. */
typedef void rows_function(const struct batch *, int64_t begin, int64_t end, double *scratch);
/* In doubles for float32 logits, in doubles for float64 logits, in floats. */
enum precision { FOR_SINGLE, FOR_DOUBLE, IN_FLOATS };
typedef void values_function(const double *, double *, int64_t n, int precision);

struct instruction_set {
    const char *name;
    rows_function *rows, *newton;
    values_function *exponential;  /* e^x, x <= 0 */
    values_function *minus_log1m;  /* -log(1 - p), 0 <= p <= 1/2 */
};

/* Doubles that one thread needs: rows of exponentials, of what they are made into, of costs and of
 * exponentials in single precision, and the costs at nodes. For boosted trees two vectors of floats
 * a class, of at most 16. */
static inline int64_t scratch_size(const struct batch *batch)
{
    if (batch->bound)
        return 16 * batch->k;
    int64_t row = (batch->k + 15) / 8 * 8;
    return 4 * row + (batch->n_nodes + 15) / 8 * 8;
}

/* dispatch.c: what this machine can run, best first, ended by NULL. */
const struct instruction_set *const *untrue_instruction_sets(void);

/* threads.c: all rows, shared among up to `threads` threads; 0, or -1 if memory ran out. */
int untrue_run(rows_function *, const struct batch *, int64_t threads);
/* threads.c: run by this `GOMP_parallel` from now on; by plain threads if NULL. */
void untrue_join_team(void *parallel);

#endif
