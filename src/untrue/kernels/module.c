/* The Python side: numbers that are addresses, checked indices, no tensors.
 *
 * Every index is checked before a row is computed, those of the targets and those of the penalty:
 * whatever is in the arrays, nothing outside of them is read or written. Sizes and types are the
 * caller's to check. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

static const struct instruction_set *chosen;

static int refuse(const char *what)
{
    PyErr_Format(PyExc_IndexError, "The penalty's tensors do not fit together: %s.", what);
    return -1;
}

static int is_within(const int64_t *values, int64_t n, int64_t low, int64_t high)
{
    int bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad |= (values[i] < low) | (values[i] > high);
    return !bad;
}

static int has_starts(const int64_t *starts, int64_t k, int64_t end)
{
    int bad = starts[0] < 0 || starts[k] > end;
    for (int64_t i = 0; i < k; i++)
        bad |= starts[i] > starts[i + 1];
    return !bad;
}

static int read_rules(struct batch *b, PyObject *costs)
{
    unsigned long long fallback, starts, predicted, rule_costs;
    long long n_rules;
    if (!PyArg_ParseTuple(costs, "KKKKL", &fallback, &starts, &predicted, &rule_costs, &n_rules))
        return -1;
    b->fallback = (const double *)(uintptr_t)fallback;
    b->starts = (const int64_t *)(uintptr_t)starts;
    b->predicted = (const int64_t *)(uintptr_t)predicted;
    b->rule_costs = (const double *)(uintptr_t)rule_costs;
    if (!has_starts(b->starts, b->k, n_rules))
        return refuse("`starts` of the rules");
    return is_within(b->predicted, n_rules, 0, b->k - 1) ? 0 : refuse("`predicted` of the rules");
}

static int read_tree(struct batch *b, PyObject *costs)
{
    unsigned long long slots, first, last, ends, steps, parents, path, starts, row_scale;
    long long n_nodes, n_path;
    if (!PyArg_ParseTuple(costs, "KKKKKKKKKLL", &slots, &first, &last, &ends, &steps, &parents,
                          &path, &starts, &row_scale, &n_nodes, &n_path))
        return -1;
    b->n_nodes = n_nodes;
    b->path = (const int64_t *)(uintptr_t)path;
    b->starts = (const int64_t *)(uintptr_t)starts;
    b->steps = (const double *)(uintptr_t)steps;
    b->row_scale = (const double *)(uintptr_t)row_scale;
    if (!has_starts(b->starts, b->k, n_path))
        return refuse("`starts` of the tree");
    if (!is_within(b->path, n_path, 0, n_nodes - 1))
        return refuse("`path` of the tree");
    const int64_t *order = (const int64_t *)(uintptr_t)slots;
    int64_t j = 0;
    while (j < b->k && order[j] == j)
        j++;
    if (j == b->k) { /* classes stand in depth-first order: a node spans some of them */
        b->first = (const int64_t *)(uintptr_t)first;
        b->last = (const int64_t *)(uintptr_t)last;
        int fits = is_within(b->first, n_nodes, 0, b->k) && is_within(b->last, n_nodes, 0, b->k);
        return fits ? 0 : refuse("`first` and `last` of the tree");
    }
    b->last = (const int64_t *)(uintptr_t)ends;
    b->parents = (const int32_t *)(uintptr_t)parents;
    int bad = 0;
    for (j = 0; j < b->k; j++)
        bad |= (b->parents[j] < 0) | (b->parents[j] >= n_nodes);
    if (bad)
        return refuse("`parents` of the tree");
    return is_within(b->last, n_nodes, 0, n_nodes) ? 0 : refuse("`ends` of the tree");
}

static int read_costs(struct batch *b, int form, PyObject *costs)
{
    unsigned long long matrix;
    switch (b->form = (enum form)form) {
    case DENSE:
    case EACH:
        if (!PyArg_ParseTuple(costs, "K", &matrix))
            return -1;
        b->matrix = (const void *)(uintptr_t)matrix;
        return 0;
    case RULES:
        return read_rules(b, costs);
    case TREE:
        return read_tree(b, costs);
    }
    PyErr_SetString(PyExc_ValueError, "no such form of a penalty");
    return -1;
}

/* Sum of the examples' weights; refuses targets that are no classes. */
static int weigh(const int64_t *target, int64_t n, int64_t k, int64_t ignored,
                 const double *weight, double *sum)
{
    double found = 0.0;
    for (int64_t i = 0; i < n; i++) {
        int64_t y = target[i];
        if (y == ignored)
            continue;
        if (y < 0 || y >= k) {
            PyErr_Format(PyExc_IndexError, "Target %lld is out of bounds.", (long long)y);
            return -1;
        }
        found += weight ? weight[y] : 1.0;
    }
    *sum = found;
    return 0;
}

static void reduce(const struct batch *b, double factor, int is_each, void *value)
{
    double sum = 0.0;
    for (int64_t i = 0; i < b->n; i++) {
        if (!is_each)
            sum += b->losses[i];
        else if (b->is_double)
            ((double *)value)[i] = b->losses[i];
        else
            ((float *)value)[i] = (float)b->losses[i];
    }
    if (is_each)
        return;
    if (b->is_double)
        *(double *)value = sum * factor;
    else
        *(float *)value = (float)(sum * factor);
}

static PyObject *loss(PyObject *self, PyObject *args)
{
    (void)self;
    struct batch b = {0};
    unsigned long long logits, target, gradient, weight, value;
    long long n, k, ignored, threads;
    int form, reduction; /* 'n'one, 'm'ean or 's'um */
    PyObject *costs;
    if (!PyArg_ParseTuple(args, "KKKKKLLLLpppdddCiO:loss", &logits, &target, &gradient, &weight,
                          &value, &n, &k, &ignored, &threads, &b.is_double, &b.costs_double,
                          &b.is_log, &b.alpha, &b.smoothing, &b.scale, &reduction,
                          &form, &costs))
        return NULL;
    b.n = n;
    b.k = k;
    b.ignored = ignored;
    b.logits = (const void *)(uintptr_t)logits;
    b.target = (const int64_t *)(uintptr_t)target;
    b.gradient = (void *)(uintptr_t)gradient;
    b.weight = (const double *)(uintptr_t)weight;
    double sum;
    if (weigh(b.target, n, k, ignored, b.weight, &sum) || read_costs(&b, form, costs))
        return NULL;
    if (reduction == 'm')
        b.scale /= sum; /* nan or infinite if nothing counts, and so is the mean */
    b.weight_sum = (double)k;
    if (b.weight) {
        b.weight_sum = 0.0;
        for (int64_t j = 0; j < k; j++)
            b.weight_sum += b.weight[j];
    }
    b.losses = malloc((size_t)(n > 0 ? n : 1) * sizeof *b.losses);
    int failed = !b.losses;
    Py_BEGIN_ALLOW_THREADS
    failed = failed || untrue_run(chosen->rows, &b, threads);
    if (!failed)
        reduce(&b, b.scale, reduction == 'n', (void *)(uintptr_t)value);
    Py_END_ALLOW_THREADS
    free(b.losses);
    return failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
}

static PyObject *newton(PyObject *self, PyObject *args)
{
    (void)self;
    struct batch b = {0};
    unsigned long long scores, target, costs, weight, gradient, bound;
    long long n, k, threads;
    int by_example;
    if (!PyArg_ParseTuple(args, "KKKKKKLLLppddd:newton", &scores, &target, &costs, &weight,
                          &gradient, &bound, &n, &k, &threads, &by_example, &b.is_log, &b.alpha,
                          &b.scale, &b.least))
        return NULL;
    b.n = n;
    b.k = k;
    b.logits = (const void *)(uintptr_t)scores;
    b.target = (const int64_t *)(uintptr_t)target;
    b.form = by_example ? EACH : DENSE;
    b.matrix = (const void *)(uintptr_t)costs;
    b.example_weight = (const double *)(uintptr_t)weight;
    b.gradient = (void *)(uintptr_t)gradient;
    b.bound = (float *)(uintptr_t)bound;
    if (!is_within(b.target, n, 0, k - 1)) {
        PyErr_SetString(PyExc_IndexError, "A target is out of bounds.");
        return NULL;
    }
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = untrue_run(chosen->newton, &b, threads);
    Py_END_ALLOW_THREADS
    return failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
}

static PyObject *total_weight(PyObject *self, PyObject *args)
{
    (void)self;
    unsigned long long target, weight;
    long long n, k, ignored;
    double sum;
    if (!PyArg_ParseTuple(args, "KLLLK:total_weight", &target, &n, &k, &ignored, &weight))
        return NULL;
    if (weigh((const int64_t *)(uintptr_t)target, n, k, ignored,
              (const double *)(uintptr_t)weight, &sum))
        return NULL;
    return PyFloat_FromDouble(sum);
}

static PyObject *number(PyObject *self, PyObject *args)
{
    (void)self;
    unsigned long long at;
    int is_double;
    if (!PyArg_ParseTuple(args, "Kp:number", &at, &is_double))
        return NULL;
    const void *from = (const void *)(uintptr_t)at;
    return PyFloat_FromDouble(is_double ? *(const double *)from : *(const float *)from);
}

static PyObject *values(PyObject *args, int is_log)
{
    unsigned long long from, to;
    long long n;
    int precision;
    if (!PyArg_ParseTuple(args, "KKLi", &from, &to, &n, &precision))
        return NULL;
    values_function *function = is_log ? chosen->minus_log1m : chosen->exponential;
    function((const double *)(uintptr_t)from, (double *)(uintptr_t)to, n, precision);
    return Py_NewRef(Py_None);
}

static PyObject *exponential(PyObject *self, PyObject *args)
{
    (void)self;
    return values(args, 0);
}

static PyObject *minus_log1m(PyObject *self, PyObject *args)
{
    (void)self;
    return values(args, 1);
}

static PyObject *instruction_sets(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    PyObject *names = PyList_New(0);
    const struct instruction_set *const *sets = untrue_instruction_sets();
    for (int i = 0; names && sets[i]; i++) {
        PyObject *name = PyUnicode_FromString(sets[i]->name);
        if (!name || PyList_Append(names, name))
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *use(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    if (!PyArg_ParseTuple(args, "s:use", &name))
        return NULL;
    const struct instruction_set *const *sets = untrue_instruction_sets();
    for (int i = 0; sets[i]; i++)
        if (!strcmp(sets[i]->name, name)) {
            chosen = sets[i];
            return Py_NewRef(Py_None);
        }
    PyErr_Format(PyExc_ValueError, "This machine has no kernel for %s.", name);
    return NULL;
}

static PyObject *join_team(PyObject *self, PyObject *args)
{
    (void)self;
    unsigned long long parallel;
    if (!PyArg_ParseTuple(args, "K:join_team", &parallel))
        return NULL;
    untrue_join_team((void *)(uintptr_t)parallel);
    return Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"loss", loss, METH_VARARGS, "Losses of a batch, and their gradient."},
    {"newton", newton, METH_VARARGS, "First and bounded second derivatives, class by class."},
    {"total_weight", total_weight, METH_VARARGS, "Sum of the examples' weights."},
    {"number", number, METH_VARARGS, "The number at an address."},
    {"exponential", exponential, METH_VARARGS, "e^x, x <= 0, as the kernel computes it."},
    {"minus_log1m", minus_log1m, METH_VARARGS, "-log(1 - p), p <= 1/2, as the kernel does."},
    {"instruction_sets", instruction_sets, METH_NOARGS, "Those of this machine, best first."},
    {"use", use, METH_VARARGS, "Choose an instruction set."},
    {"join_team", join_team, METH_VARARGS, "Run by the GOMP_parallel at an address, or by none."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_kernels", "The losses in C: addresses in, numbers out.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernels(void)
{
    chosen = untrue_instruction_sets()[0];
    return PyModule_Create(&module);
}
