"""From scores to class probabilities and an answer, as nodes of an ONNX graph, in float64.

The same steps as `untrue.tools.fitting.link.class_probs` and `untrue.decide`. The posterior behind
a loss with costs takes a system of k equations for each example (`untrue.decision.posteriors`); the
graph solves it by elimination with pivots, one step a round of a loop.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from untrue.array_types import FloatArray
from untrue.decision.calibration import LEAST_PROB
from untrue.decision.least_cost import cost_slack
from untrue.decision.posteriors import SLACK
from untrue.tools.exporting.graph import INSIDE, Graph, onnx
from untrue.tools.fitting.link import Link

EPSILON = 2.0**-52


def add_probs(graph: Graph, scores: str, link: Link | None, temperature: float) -> str:
    """Calibrated class probabilities (N, k)."""
    if link is not None and link.moves:
        found = _posterior(graph, _softmax(graph, scores, 1.0), link)
        scores = graph.add("Log", graph.add("Max", found, graph.put(np.float64(LEAST_PROB))))
    return _softmax(graph, scores, temperature)


def add_argmax(graph: Graph, scores: str, out: str) -> str:
    """(N,) The class of the greatest score."""
    return graph.add("ArgMax", scores, axis=1, keepdims=0, out=out)


def add_least_cost(
    graph: Graph, probs: str, costs: FloatArray, abstain_cost: float | None, out: str
) -> str:
    """(N,) The class of least expected cost, -1 where that is above `abstain_cost`.

    Among equal costs (up to rounding) the most probable class.
    """
    expected = graph.add("MatMul", probs, graph.put(costs, np.float64))
    axis = graph.put([1], np.int64)
    least = graph.add("ReduceMin", expected, axis, keepdims=1)
    share = graph.put(np.float64(cost_slack(1.0, len(costs))))
    slack = graph.add("Mul", least, share)
    tied = graph.add("LessOrEqual", expected, graph.add("Add", least, slack))
    wanted = graph.add("Where", tied, probs, graph.put(np.float64(-1.0)))
    if abstain_cost is None or math.isinf(abstain_cost):
        return add_argmax(graph, wanted, out)
    predicted = graph.add("ArgMax", wanted, axis=1, keepdims=1)
    limit = graph.add("Add", slack, graph.put(np.float64(abstain_cost * (1 + 4 * EPSILON))))
    above = graph.add("Greater", least, limit)
    kept = graph.add("Where", above, graph.put(np.int64(-1)), predicted)
    return graph.add("Squeeze", kept, axis, out=out)


def _softmax(graph: Graph, scores: str, temperature: float) -> str:
    """The greatest goes first: a division that overflows then ends in exp(-inf) = 0."""
    axis = graph.put([1], np.int64)
    greatest = graph.add("ReduceMax", scores, axis, keepdims=1)
    cold = graph.add("Sub", scores, greatest)
    if temperature != 1.0:
        cold = graph.add("Div", cold, graph.put(np.float64(temperature)))
    powers = graph.add("Exp", cold)
    return graph.add("Div", powers, graph.add("ReduceSum", powers, axis, keepdims=1))


def _posterior(graph: Graph, p: str, link: Link) -> str:
    """(N, k) The class probabilities behind p; p itself where there are none."""
    costs, k = link.penalty.matrix(), link.penalty.n_classes
    odds = link.alpha / (1.0 - link.alpha)
    moved = _moved_log(graph, p, costs) if link.loss == "log-bilinear" else _moved(graph, p, costs)
    # (N, j, m) to (N, m, j): column j is the system applied to the j-th unit vector.
    turned = graph.add("Transpose", moved, perm=[0, 2, 1])
    scaled = graph.add("Mul", turned, graph.put(np.float64(odds)))
    system = graph.add("Sub", graph.put(np.eye(k)[None]), scaled)
    solved = _solved(graph, system, p, k)
    axis = graph.put([1], np.int64)
    zero = graph.put(np.float64(0.0))
    clipped = graph.add("Max", solved, zero)
    behind = graph.add("Div", clipped, graph.add("ReduceSum", clipped, axis, keepdims=1))
    below = graph.add("ReduceSum", graph.add("Min", solved, zero), axis, keepdims=1)
    # x - x is 0 for finite x alone, and a comparison with what is not a number is false.
    odd = graph.add("ReduceSum", graph.add("Sub", solved, solved), axis, keepdims=1)
    limit = graph.put(np.float64(-SLACK))
    inside = graph.add("GreaterOrEqual", graph.add("Add", below, odd), limit)
    return graph.add("Where", inside, behind, p)


def _rows(graph: Graph, value: str) -> str:
    """(N, k) to (N, 1, k)."""
    return graph.add("Unsqueeze", value, graph.put([1], np.int64))


def _columns(graph: Graph, value: str) -> str:
    """(N, k) to (N, k, 1)."""
    return graph.add("Unsqueeze", value, graph.put([2], np.int64))


def _moved(graph: Graph, p: str, costs: FloatArray) -> str:
    """(N, j, m) p_m (A[j, m] - sum_i p_i A[j, i])."""
    mean = _columns(graph, graph.add("MatMul", p, graph.put(costs.T)))
    return graph.add("Mul", _rows(graph, p), graph.add("Sub", graph.put(costs[None]), mean))


def _moved_log(graph: Graph, p: str, costs: FloatArray) -> str:
    """(N, j, m) p_m (A[j, m] - sum_{i != m} t_i) - share_m A[j, best] p_best, as in `_System`."""
    axis, k = graph.put([1], np.int64), len(costs)
    best = graph.add("ArgMax", p, axis=1, keepdims=1)
    at_best = graph.add("Equal", best, graph.put(np.arange(k, dtype=np.int64)[None]))
    zero = graph.put(np.float64(0.0))
    others = graph.add("Where", at_best, zero, p)
    rest = graph.add("ReduceSum", others, axis, keepdims=1)
    tiny = graph.put(np.float64(np.finfo(np.float64).tiny))
    share = graph.add("Div", others, graph.add("Max", rest, tiny))
    factor = graph.add("Div", others, graph.add("Sub", graph.put(np.float64(1.0)), others))
    total = _columns(graph, graph.add("MatMul", factor, graph.put(costs.T)))
    own = graph.add("Mul", _rows(graph, factor), graph.put(costs[None]))
    inner = graph.add("Add", graph.add("Sub", graph.put(costs[None]), total), own)
    first = graph.add("Mul", _rows(graph, p), inner)
    chosen = graph.add("Where", at_best, p, zero)
    at_best_costs = _columns(graph, graph.add("MatMul", chosen, graph.put(costs.T)))
    return graph.add("Sub", first, graph.add("Mul", _rows(graph, share), at_best_costs))


def _solved(graph: Graph, system: str, right: str, k: int) -> str:
    """(N, k) Solutions of systems (N, k, k), by Gauss and Jordan with the greatest pivots.

    Rows are not exchanged: a row that has been a pivot is marked, and in the end the matrix is a
    permutation, which puts the solution in order.
    """
    whole = graph.add("Concat", system, _columns(graph, right), axis=2)
    start = graph.add("Mul", right, graph.put(np.float64(0.0)))
    helper, kinds = onnx("helper"), onnx().TensorProto
    body = Graph(f"{INSIDE}loop/")  # its names must differ from those around it
    step, going, rows, used = (body.name() for _ in range(4))
    column = body.add("Gather", rows, step, axis=2)
    free = body.add("Sub", body.put(np.float64(1.0)), used)
    size = body.add("Sub", body.add("Mul", body.add("Abs", column), free), used)
    chosen = body.add("ArgMax", size, axis=1, keepdims=1)
    here = body.add("Equal", chosen, body.put(np.arange(k, dtype=np.int64)[None]))
    mark = body.cast(here, np.float64)
    pivot_row = body.add("MatMul", _rows(body, mark), rows)
    pivot = body.add("Gather", pivot_row, step, axis=2)
    normed = body.add("Div", pivot_row, _columns(body, pivot))
    swept = body.add("Sub", rows, body.add("Mul", _columns(body, column), normed))
    after = body.add("Where", _columns(body, here), normed, swept)
    marked = body.add("Add", used, mark)
    on = body.add("Identity", going)

    def typed(name: str, kind: int, shape: list[Any]) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    wide = ["N", k, k + 1]
    loop = helper.make_graph(
        body.nodes,
        "eliminate",
        [
            typed(step, kinds.INT64, []),
            typed(going, kinds.BOOL, []),
            typed(rows, kinds.DOUBLE, wide),
            typed(used, kinds.DOUBLE, ["N", k]),
        ],
        [
            typed(on, kinds.BOOL, []),
            typed(after, kinds.DOUBLE, wide),
            typed(marked, kinds.DOUBLE, ["N", k]),
        ],
        body.numbers,
    )
    done, last = graph.name(), graph.name()
    count, always = graph.put(np.int64(k)), graph.put(np.bool_(True))
    node = helper.make_node("Loop", [count, always, whole, start], [done, last], body=loop)
    graph.nodes.append(node)
    ends = [graph.put([each], np.int64) for each in (0, k, k + 1, 2)]
    order = graph.add("Slice", done, ends[0], ends[1], ends[3])
    values = graph.add("Slice", done, ends[1], ends[2], ends[3])
    turned = graph.add("Transpose", order, perm=[0, 2, 1])
    return graph.add("Squeeze", graph.add("MatMul", turned, values), ends[3])
