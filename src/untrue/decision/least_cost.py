"""The answer of least expected cost, from probabilities and a penalty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.checks import is_tensor
from untrue.errors import ArgumentError, DataError
from untrue.metrics.inputs import check_prob_rows, precision, prob_blocks, read_scores, row_blocks
from untrue.metrics.layouts import class_rows
from untrue.metrics.priors import Priors, prior_shift
from untrue.metrics.weights import check_penalty
from untrue.penalty import Actions, ExamplePenalty
from untrue.penalty.actions import TableActions
from untrue.penalty.dense import DensePenalty
from untrue.penalty.prob_columns import in_column_order
from untrue.penalty.rules import RulesPenalty

if TYPE_CHECKING:
    import torch

    from untrue.penalty import Penalty

Costs: TypeAlias = "Penalty | ExamplePenalty | Actions"

# An accelerator gets few large blocks: 128 MB of float64 each.
_DEVICE_BLOCK = 2**24


@overload
def decide(
    probs: torch.Tensor,
    penalty: Costs,
    abstain_cost: float | None = None,
    *,
    priors: Priors | None = None,
    data_priors: Priors | None = None,
    dim: int = 1,
    binary: bool = False,
) -> torch.Tensor: ...
@overload
def decide(
    probs: npt.ArrayLike,
    penalty: Costs,
    abstain_cost: float | None = None,
    *,
    priors: Priors | None = None,
    data_priors: Priors | None = None,
    dim: int = 1,
    binary: bool = False,
) -> IntArray: ...
def decide(
    probs: Any,
    penalty: Costs,
    abstain_cost: float | None = None,
    *,
    priors: Priors | None = None,
    data_priors: Priors | None = None,
    dim: int = 1,
    binary: bool = False,
) -> Any:
    """Labels of least expected cost, `argmin_j sum_i probs[n, i] A[i, j]`: (N, k) -> (N,).

    probs                in the order of the penalty's classes; a table with a column for each of
                         them (`tumour`, or `prob_tumour`) is read by these names
    penalty              what a mistake costs; with costs of each example (`penalty.per_example`)
                         row n is decided by those of example n. Or `Actions`, answers that need
                         not be classes: their indices are given
    abstain_cost         the price of not answering: -1 where even the least expected cost is above
    priors, data_priors  shares of the classes where the model is used, and in the data it learned
                         from, (k,) or {class: share}: p_i becomes p_i * priors_i / data_priors_i
    dim                  the dimension of the classes, as in the losses: (N, k, d1, ...) gives
                         (N, d1, ...). -1 for (..., k)
    binary               `probs`, of any shape, are those of the second of two classes. With a
                         penalty of two classes (N,) and (N, 1) mean this by default.

    Among decisions of equal cost (up to rounding) the most probable class wins, then the first: a
    penalty with one cost for all mistakes decides as argmax does. Computed in float64, a block of
    rows at a time. (Bayes decision rule; after training by cross-entropy: Karthik et al., ICLR
    2021.)

    >>> from untrue import Penalty
    >>> p = Penalty.from_rules(["tumour", "benign"], {("tumour", "benign"): 20.0}, default=1.0)
    >>> decide([[0.1, 0.9], [0.01, 0.99]], p)
    array([0, 1])
    >>> decide([[0.1, 0.9], [0.01, 0.99]], p, abstain_cost=0.5)
    array([-1,  1])
    >>> decide([0.9, 0.99], p)  # of benign
    array([0, 1])
    """
    if not isinstance(penalty, ExamplePenalty | Actions):
        check_penalty(penalty)
    limit = math.inf if abstain_cost is None else _read_abstain_cost(abstain_cost)
    shift = prior_shift(priors, data_priors, penalty.classes)
    probs = in_column_order(probs, penalty.classes)
    rows, layout = class_rows(probs, "probs", penalty.n_classes, dim=dim, binary=binary)
    if isinstance(penalty, ExamplePenalty) and len(rows) != len(penalty):
        raise ArgumentError(
            f"`probs` must have a row for each of the {len(penalty):,} examples that `penalty` has "
            f"costs of; got {len(rows):,}."
        )
    choose = _decide_tensor if is_tensor(rows) else _decide_array
    return layout.labels(choose(rows, penalty, limit, shift, precision(probs)))


def _decide_array(
    probs: npt.NDArray[Any],
    penalty: Costs,
    limit: float,
    shift: FloatArray | None,
    eps: float,
) -> IntArray:
    scores = read_scores(probs, "probs", penalty.n_classes)
    labels = np.empty(len(scores), dtype=np.int64)
    cancelled = cancelled_costs(penalty)
    for rows, block in prob_blocks(scores, eps):
        if shift is not None:
            block = block * shift
            total = block.sum(axis=1, keepdims=True)
            _check_left(total[:, 0], rows.start)
            block /= total
        expected, preferred = _expected(penalty, block, rows), _preferred(penalty, block)
        labels[rows] = cheapest(expected, preferred, block, cancelled, limit, eps)
    return labels


def cheapest(
    expected: FloatArray,
    preferred: FloatArray,
    probs: FloatArray,
    cancelled: FloatArray | None,
    limit: float = math.inf,
    eps: float = 2.0**-52,
) -> IntArray:
    """(n,) Of expected costs (n, m) the least, ties to the most preferred; -1 above `limit`."""
    best: IntArray = expected.argmin(axis=1)
    least = expected[np.arange(len(best)), best]
    size = expected.max(axis=1) if cancelled is None else least + probs @ cancelled
    slack = cost_slack(size, probs.shape[1])
    tied = expected <= (least + slack)[:, None]
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    wanted = np.broadcast_to(preferred, expected.shape)[several]
    best[several] = np.where(tied[several], wanted, -1.0).argmax(axis=1)
    best[least > limit * (1 + 4 * eps) + slack] = -1
    return best


def _decide_tensor(
    probs: torch.Tensor,
    penalty: Costs,
    limit: float,
    shift: FloatArray | None,
    eps: float,
) -> torch.Tensor:
    import torch

    if probs.is_complex():
        raise ArgumentError(f"`probs` must hold numbers; got dtype {probs.dtype}.")
    n, k = probs.shape
    on_cpu = probs.device.type == "cpu"
    # Apple's GPUs have no float64.
    inside = torch.float32 if probs.device.type == "mps" else torch.float64
    labels = torch.empty(n, dtype=torch.int64, device=probs.device)
    factors = None if shift is None else torch.from_numpy(shift).to(inside).to(probs.device)
    known = cancelled_costs(penalty)
    cancelled = None if known is None else torch.from_numpy(known).to(inside).to(probs.device)
    with torch.no_grad():
        for rows in row_blocks(n, k, None if on_cpu else _DEVICE_BLOCK):
            block = probs[rows].to(inside)
            check_prob_rows(
                block.amin(1).cpu().numpy(), block.sum(1).cpu().numpy(), rows.start, eps
            )
            if factors is not None:
                block = block * factors
                total = block.sum(1, keepdim=True)
                _check_left(total[:, 0].cpu().numpy(), rows.start)
                block = block / total
            expected = _expected(penalty, block, rows)
            least = expected.amin(1)
            size = expected.amax(1) if cancelled is None else least + block @ cancelled
            slack = cost_slack(size, k, torch.finfo(inside).eps)
            tied = expected <= (least + slack)[:, None]
            wanted = torch.as_tensor(_preferred(penalty, block), device=block.device)
            predicted = torch.where(tied, wanted, -1.0).argmax(1)
            labels[rows] = predicted.masked_fill_(least > limit * (1 + 4 * eps) + slack, -1)
    return labels


def _expected(penalty: Costs, block: Any, rows: slice) -> Any:
    """(n, k) What each answer is expected to cost, for a block of rows."""
    if isinstance(penalty, ExamplePenalty):
        return penalty.take(rows).expected(block)
    return penalty.expected(block)


def _preferred(penalty: Costs, block: Any) -> Any:
    """What decides among answers that cost the same: the greatest wins, then the first."""
    return penalty.preference[None] if isinstance(penalty, Actions) else block


def _check_left(total: FloatArray, first: int) -> None:
    """The classes that `priors` allows have some probability in every row."""
    if not (total > 0).all():
        row = first + int(np.argmin(total > 0))
        raise DataError(
            f"`priors` gives no share to any class that is possible in row {row} of `probs`."
        )


def cancelled_costs(penalty: Costs) -> FloatArray | None:
    """(k,) Of each true class the cost that `expected` adds and takes away again; of trees None.

    What is left is rounded in proportion to it. A product with a matrix only adds, so that costs of
    1 and 2 differ beside one of 1e20. In a tree all costs may be added to each other.
    """
    if isinstance(penalty, DensePenalty | TableActions):
        return np.zeros(penalty.n_classes)
    if isinstance(penalty, RulesPenalty):
        return np.array(penalty.open_default)
    if isinstance(penalty, ExamplePenalty):
        found = cancelled_costs(penalty.base)
        if found is not None:
            np.maximum.at(found, penalty.true, penalty.base_costs)
        return found
    return None


def cost_slack(size: Any, n_classes: int, eps: float = 2.0**-52) -> Any:
    """Costs closer than this are equal except for the rounding of a sum over the classes.

    size: of what was summed up
    """
    return (64 + math.sqrt(n_classes)) * eps * size


def _read_abstain_cost(cost: float) -> float:
    number = isinstance(cost, int | float | np.number) and not isinstance(cost, bool)
    if not number or math.isnan(cost) or cost < 0:
        raise ArgumentError(
            f"`abstain_cost` must be a number of at least 0, or None; got {cost!r}."
        )
    return float(cost)
