"""Measures of a confusion matrix.

Notation: `n[i, j]` examples of class i were called j, `N` is their sum, `E` the sum over i != j
(the errors). All but one of the measures are ratios of two weighted sums of `n`; the weights of
a cell are what the functions of `untrue.metrics.weights` return, and `summary` uses the same.

"The paper" is Resheff, Mandelbaum and Weinshall, "Every Untrue Label is Untrue in its Own Way:
Controlling Error Type with the Log Bilinear Loss".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from untrue.array_types import ArrayOrTensor, FloatArray
from untrue.checks import check_count, check_number
from untrue.errors import ArgumentError, DataError, UntrueError
from untrue.metrics import weights
from untrue.metrics.answers import (
    AnswerCells,
    AnswersLike,
    answer_cells,
    answer_costs,
    read_answers,
)
from untrue.metrics.confusion import (
    Cells,
    ConfusionLike,
    confusion_cells,
    merged,
    read_confusion,
)
from untrue.metrics.inputs import (
    Groups,
    check_n_classes,
    check_same_length,
    from_booleans,
    read_labels,
    to_numpy,
)
from untrue.metrics.priors import Priors, read_priors
from untrue.metrics.weights import check_penalty
from untrue.metrics.zones import Zone, in_zone
from untrue.penalty import Actions, ExamplePenalty

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy
    from untrue.penalty import Penalty


@dataclass(frozen=True, slots=True)
class Confusion:
    """One kind of error: `count` times `true` was called `predicted`, at a cost of `cost` in all.

    Unpacks as a row: `for true, predicted, count, cost in costliest_confusions(cm, penalty)`.
    """

    true: str
    predicted: str
    count: int
    cost: float

    def __iter__(self) -> Iterator[Any]:
        return iter((self.true, self.predicted, self.count, self.cost))


def total_error(cm: ConfusionLike) -> float:
    """Share of the examples that are wrong, `E / N`.

    >>> total_error([[8, 2], [0, 10]])
    0.1
    """
    cells = read_confusion(cm)
    return _value(cells, weights.error_rate(cells))


def zone_errors(cm: ConfusionLike, zone: Zone, *, classes: Sequence[str] | None = None) -> int:
    """Number of errors inside the zone: sum of `n[i, j]` over its cells. (The paper.)

    `zone` is a `Penalty`, a boolean mask of shape (k, k), or (true, predicted) pairs by index, or
    by name with `classes` naming all classes in order. The zone of a penalty is what costs more
    than its cheapest mistake that costs anything; if all of those cost the same, all of them.

    >>> zone_errors([[8, 2], [1, 9]], [(1, 0)])
    1
    >>> zone_errors([[8, 2], [1, 9]], [("sick", "healthy")], classes=["healthy", "sick"])
    1
    """
    cells = read_confusion(cm)
    return int(cells.count[in_zone(cells, zone, classes)].sum())


def zone_share(cm: ConfusionLike, zone: Zone, *, classes: Sequence[str] | None = None) -> float:
    """Share of the errors that lie in the zone; nan when there are no errors. (The paper.)"""
    cells = read_confusion(cm)
    return _value(cells, weights.zone_share(cells, zone, classes))


def coarse_error(
    cm: ConfusionLike, groups: Groups, *, classes: Sequence[str] | None = None
) -> float:
    """Share of the examples put into the wrong super-class. (The paper.)

    `sum of n[i, j] over group(i) != group(j), divided by N`. `groups` is the group of each class,
    shape (k,), as `hierarchy.coarsen(level)` gives, or a dict from group to its classes.

    >>> coarse_error([[7, 2, 1], [0, 10, 0], [0, 0, 10]], [0, 0, 1])
    0.03333333333333333
    """
    cells = read_confusion(cm)
    return _value(cells, weights.coarse_error(cells, groups, classes))


def in_group_share(
    cm: ConfusionLike, groups: Groups, *, classes: Sequence[str] | None = None
) -> float:
    """Share of the errors that stay in the right super-class; nan without errors. (The paper.)"""
    cells = read_confusion(cm)
    return _value(cells, weights.in_group_share(cells, groups, classes))


def expected_cost(
    cm: ConfusionLike | AnswersLike | tuple[ArrayOrTensor, ArrayOrTensor],
    penalty: Penalty | ExamplePenalty | Actions,
    *,
    priors: Priors | None = None,
) -> float:
    """Mean cost of an answer, `sum of n[i, j] A[i, j] / N`. (Elkan, IJCAI 2001.)

    Where answers are actions, `cm` is a table of classes by actions (`answer_table`), and `penalty`
    the `Actions`. A tuple of two, `(true, answers)` of shape (N,), is counted here. Where costs
    differ by example (`penalty.per_example`) it must be that: counts do not show what was paid.

    `priors` are the shares of the classes where the model is used, (k,) or {class: share}, if they
    are others than in these data: `sum over i of priors_i sum over j of n[i, j] A[i, j] / n_i`. nan
    if a class that is expected has no examples here.

    >>> from untrue import Penalty
    >>> costs = Penalty.from_rules(["healthy", "sick"], {("sick", "healthy"): 5.0})
    >>> expected_cost([[8, 2], [1, 9]], costs)
    0.35
    >>> round(expected_cost([[8, 2], [1, 9]], costs, priors={"healthy": 0.9, "sick": 0.1}), 9)
    0.23
    """
    if isinstance(penalty, ExamplePenalty):
        if not isinstance(cm, tuple) or len(cm) != 2 or priors is not None:
            raise ArgumentError(
                "Under costs of each example `expected_cost` takes (true, predicted), the classes "
                "of each example, and no `priors`."
            )
        paid = example_costs(*cm, penalty)
        return float(paid.mean()) if paid.size else float("nan")
    confusion: Any = cm
    if _is_pair(confusion):
        confusion = _counted(*confusion, penalty)
    if isinstance(penalty, Actions):
        answers = read_answers(confusion, penalty)
        top, bottom = weights.by_priors(
            answer_costs(answers, penalty), answers.true, answers.count, priors, penalty.classes
        )
        return float(weights.ratio(answers.count @ top, answers.count @ bottom))
    cells = read_confusion(confusion)
    return _value(cells, weights.expected_cost(cells, penalty, priors))


def _is_pair(given: Any) -> TypeGuard[tuple[ArrayOrTensor, ArrayOrTensor]]:
    """Whether it is `(true, answers)`: a tuple of two, each (N,). Tables are lists or arrays."""
    pair = isinstance(given, tuple) and len(given) == 2
    return pair and all(to_numpy(each, "cm").ndim == 1 for each in given)


def _counted(
    true: ArrayOrTensor, answers: ArrayOrTensor, penalty: Penalty | Actions
) -> Cells | AnswerCells:
    if not isinstance(penalty, Actions):
        check_penalty(penalty)
    try:
        if isinstance(penalty, Actions):
            return answer_cells(true, answers, penalty)
        true, answers = (from_booleans(each, penalty.classes) for each in (true, answers))
        return confusion_cells(true, answers, penalty.n_classes)
    except UntrueError as error:
        raise type(error)(
            f"{error} A tuple of two is (true, answers); give a table of counts as an array."
        ) from None


def example_costs(
    true: ArrayOrTensor,
    predicted: ArrayOrTensor,
    penalty: Penalty | ExamplePenalty,
    *,
    abstain_cost: float | None = None,
) -> FloatArray:
    """(N,) What each answer costs; an abstention (-1) costs `abstain_cost`, which must be given.

    >>> from untrue import Penalty
    >>> costs = Penalty.from_rules(["fraud", "fine"], {})
    >>> each = costs.per_example({("fraud", "fine"): [10.0, 9000.0, 50.0]})
    >>> example_costs([0, 0, 1], [1, 1, 0], each).tolist()
    [10.0, 9000.0, 1.0]
    """
    if not isinstance(penalty, ExamplePenalty):
        check_penalty(penalty)
    k, names = penalty.n_classes, penalty.classes
    labels = read_labels(from_booleans(true, names), "true", k)
    answers = read_labels(from_booleans(predicted, names), "predicted", k, least=-1)
    check_same_length(true=labels, predicted=answers)
    silent = answers < 0
    price = 0.0 if abstain_cost is None else check_number("abstain_cost", abstain_cost, 0.0)
    if silent.any() and abstain_cost is None:
        raise DataError(
            f"`predicted` abstains (-1) at position {int(np.argmax(silent))} and "
            f"{int(silent.sum())} times in all; set what that costs with `abstain_cost`."
        )
    given = np.where(silent, labels, answers)
    if isinstance(penalty, ExamplePenalty):
        paid = penalty.costs(labels, given)
    else:
        paid = np.asarray(penalty.cost(labels, given), dtype=np.float64)
    return np.where(silent, price, paid)


def adjusted_expected_cost(
    cm: ConfusionLike, penalty: Penalty, *, priors: Priors | None = None
) -> float:
    """Expected cost, divided by that of the best constant answer; below 1 is useful.

    `expected cost / min_j sum_i (n_i / N) A[i, j]`, where `n_i` counts the examples of class i.
    (Normalised expected cost: Ferrer, "Analysis and Comparison of Classification Metrics", 2022.)
    Where some constant answer is free, nothing can be better than it: inf, or nan if the expected
    cost is 0 as well. `priors` as in `expected_cost`; they take the place of `n_i / N`.
    """
    cells = read_confusion(cm)
    shares = cells.per_class()
    if priors is not None:
        check_penalty(penalty)
        shares = read_priors(priors, "priors", penalty.classes)
    constant = best_constant_cost(shares[None], penalty)
    return float(adjusted(expected_cost(cells, penalty, priors=priors), constant)[0])


def adjusted(expected: npt.ArrayLike, constant: FloatArray) -> FloatArray:
    """Expected costs divided by those of the best constant answer, which may be 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(expected, constant))


def best_constant_cost(class_counts: FloatArray, penalty: Penalty) -> FloatArray:
    """Expected cost of the best constant answer for each row of class counts (R, k): shape (R,)."""
    check_n_classes(penalty.n_classes, class_counts.shape[1], "penalty")
    total = class_counts.sum(axis=1, keepdims=True)
    frequencies = class_counts / np.where(total > 0, total, 1.0)
    best = np.asarray(penalty.expected(frequencies)).argmin(axis=1)
    least = np.full(len(best), np.nan)
    # From the costs themselves: expected ones may be differences of large sums, in which a free
    # answer is not exactly 0.
    for answer in np.unique(best).tolist():
        own = (best == answer) & (total[:, 0] > 0)
        least[own] = frequencies[own] @ penalty.cost(np.arange(penalty.n_classes), answer)
    return least


def mistake_severity(cm: ConfusionLike, hierarchy: Hierarchy) -> float:
    """Mean height of the lowest common ancestor over the errors; nan when there are none.

    `sum of n[i, j] h(i, j) over i != j, divided by E`. (Bertinetto et al., CVPR 2020.) More errors
    among near classes lower it: never report it without the total error.
    """
    cells = read_confusion(cm)
    return _value(cells, weights.mistake_severity(cells, hierarchy))


def class_accuracy(cm: ConfusionLike) -> FloatArray:
    """Accuracy (recall) of each class, `n[i, i] / n_i`, shape (k,); nan without examples.

    >>> class_accuracy([[8, 2], [0, 0]]).tolist()
    [0.8, nan]
    """
    cells = read_confusion(cm)
    return weights.ratio(cells.per_class(~cells.wrong), cells.per_class())


def small_class_accuracy(
    cm: ConfusionLike, subset: Iterable[Any], *, classes: Sequence[str] | None = None
) -> float:
    """Accuracy on the examples of some classes, `sum n[i, i] / sum n_i` over i in `subset`.

    The paper's "small sample accuracy"; its mean over classes is the same number where the classes
    have equally many test examples.
    """
    cells = read_confusion(cm)
    return _value(cells, weights.small_class_accuracy(cells, subset, classes))


def super_class_accuracy(
    cm: ConfusionLike,
    groups: Groups,
    *,
    subset: Iterable[Any] | None = None,
    classes: Sequence[str] | None = None,
) -> float:
    """Share of the examples (of the classes in `subset`) put into the right super-class.

    `sum of n[i, j] over i in subset and group(i) = group(j), divided by the sum of n_i over
    subset`. (The paper's "small sample super-class accuracy".) Without `subset` it is
    `1 - coarse_error`.
    """
    cells = read_confusion(cm)
    return _value(cells, weights.super_class_accuracy(cells, groups, subset, classes))


def typicality(
    cm: ConfusionLike, groups: Groups, *, classes: Sequence[str] | None = None
) -> FloatArray:
    """Super-class typicality of each class, shape (k,); nan without errors. (The paper.)

    Of the errors on class i, the share that goes to another class of its super-class.

    >>> typicality([[7, 2, 1], [0, 10, 0], [0, 0, 10]], [0, 0, 1]).tolist()
    [0.6666666666666666, nan, nan]
    """
    cells = read_confusion(cm)
    top, bottom = weights.in_group_share(cells, groups, classes)
    return weights.ratio(cells.per_class(top), cells.per_class(bottom))


def costliest_confusions(cm: ConfusionLike, penalty: Penalty, n: int = 10) -> tuple[Confusion, ...]:
    """The `n` kinds of error that cost most together, `n[i, j] A[i, j]`, costliest first.

    Rows of (true, predicted, count, cost) with the names of the penalty. What costs nothing is
    left out; equal costs are ordered by count, then by class.
    """
    cells = read_confusion(cm)
    return costliest_cells(*merged(cells, weights.costs(cells, penalty)), penalty.classes, n)


def costliest_cells(
    cells: Cells, each: FloatArray, names: Sequence[str], n: int
) -> tuple[Confusion, ...]:
    """`costliest_confusions`, given what one example of each cell costs."""
    wanted = check_count("n", n, least=0)
    cost = cells.count * each
    # Only what reaches the n-th greatest cost is sorted; there may be millions of cells.
    least = np.partition(cost, -wanted)[-wanted] if 0 < wanted < cost.size else 0.0
    reaching = np.flatnonzero((cost > 0) & (cost >= least))
    # Cells are in class order and lexsort is stable, so that class order breaks ties.
    order = np.lexsort((-cells.count[reaching], -cost[reaching]))[:wanted]
    return tuple(
        Confusion(
            names[cells.true[cell]],
            names[cells.predicted[cell]],
            int(cells.count[cell]),
            float(cost[cell]),
        )
        for cell in reaching[order].tolist()
    )


def _value(cells: Cells, pair: weights.Weights) -> float:
    top, bottom = pair
    return float(weights.ratio(cells.count @ top, cells.count @ bottom))
