/* The cost row of an example, included once for each type R of costs. */

static void FOR_R(fill)(R *row, int64_t begin, int64_t end, R cost)
{
    for (int64_t j = begin; j < end; j++)
        row[j] = cost;
}

/* Row (k,) of costs: where it lies, or written to `row`. */
static const R *FOR_R(cost_row)(const struct batch *b, int64_t n, int64_t y, R *row, double *nodes)
{
    int64_t k = b->k;
    if (b->form == DENSE)
        return (const R *)b->matrix + y * k;
    if (b->form == EACH)
        return (const R *)b->matrix + n * k;
    int64_t begin = b->starts[y], end = b->starts[y + 1];
    if (b->form == RULES) {
        FOR_R(fill)(row, 0, k, (R)b->fallback[y]);
        for (int64_t i = begin; i < end; i++)
            row[b->predicted[i]] = (R)b->rule_costs[i];
        row[y] = 0;
        return row;
    }
    /* From the topmost node down, each inside the one before. */
    double cost = 0.0, scale = b->row_scale[y];
    for (int64_t i = end - 1; i >= begin; i--) {
        int64_t node = b->path[i];
        cost -= b->steps[node];
        if (b->parents)
            for (int64_t v = node; v < b->last[node]; v++)
                nodes[v] = cost * scale;
        else
            FOR_R(fill)(row, b->first[node], b->last[node], (R)(cost * scale));
    }
    if (b->parents)
        for (int64_t j = 0; j < k; j++)
            row[j] = (R)nodes[b->parents[j]];
    row[y] = 0;
    return row;
}
