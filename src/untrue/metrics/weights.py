"""The ratios behind the measures: for each cell what it adds to numerator and denominator.

A measure is `(counts @ top) / (counts @ bottom)`. Since only `counts` changes between resamples
of the same data, a thousand resamples cost one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.errors import ArgumentError
from untrue.metrics.confusion import Cells
from untrue.metrics.inputs import Groups, check_hierarchy, check_n_classes, read_groups, read_subset
from untrue.metrics.priors import Priors, read_priors
from untrue.metrics.zones import Zone, in_zone, is_penalty
from untrue.penalty.per_example import ExamplePenalty

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy
    from untrue.penalty import Penalty

Weights: TypeAlias = tuple[FloatArray, FloatArray]


def ratio(top: npt.ArrayLike, bottom: npt.ArrayLike) -> FloatArray:
    """`top / bottom`, nan where `bottom` is 0."""
    above, below = np.broadcast_arrays(_floats(top), _floats(bottom))
    out: FloatArray = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below != 0)
    return out


def error_rate(cells: Cells) -> Weights:
    return _floats(cells.wrong), np.ones(cells.count.size)


def zone_share(cells: Cells, zone: Zone, classes: Sequence[str] | None = None) -> Weights:
    return _floats(in_zone(cells, zone, classes)), _floats(cells.wrong)


def coarse_error(cells: Cells, groups: Groups, classes: Sequence[str] | None = None) -> Weights:
    group = read_groups(groups, cells.n_classes, classes)
    return _floats(group[cells.true] != group[cells.predicted]), np.ones(cells.count.size)


def in_group_share(cells: Cells, groups: Groups, classes: Sequence[str] | None = None) -> Weights:
    group = read_groups(groups, cells.n_classes, classes)
    stays = cells.wrong & (group[cells.true] == group[cells.predicted])
    return _floats(stays), _floats(cells.wrong)


def check_penalty(penalty: Any) -> None:
    """Check that it is a `Penalty`, not a plain matrix."""
    if not is_penalty(penalty):
        raise ArgumentError(
            f"`penalty` must be an untrue.Penalty; got {type(penalty).__name__}. "
            "A matrix becomes one by Penalty.from_matrix(matrix)."
        )


def costs(cells: Cells, penalty: Penalty | ExamplePenalty) -> FloatArray:
    """What one example of each cell costs."""
    if isinstance(penalty, ExamplePenalty):
        check_n_classes(penalty.n_classes, cells.n_classes, "penalty")
        if cells.count.size != len(penalty) or (cells.count != 1).any():
            raise ArgumentError(
                "Under costs of each example a confusion matrix does not show what was paid: give "
                "`metrics.example_cells(true, predicted, n_classes)`, a cell for each of the "
                f"{len(penalty):,} examples."
            )
        return penalty.costs(cells.true, cells.predicted)
    check_penalty(penalty)
    check_n_classes(penalty.n_classes, cells.n_classes, "penalty")
    return np.asarray(penalty.cost(cells.true, cells.predicted), dtype=np.float64)


def expected_cost(
    cells: Cells, penalty: Penalty | ExamplePenalty, priors: Priors | None = None
) -> Weights:
    each = costs(cells, penalty)
    return by_priors(each, cells.true, cells.count, priors, penalty.classes)


def by_priors(
    each: FloatArray,
    true: IntArray,
    count: IntArray,
    priors: Priors | None,
    classes: Sequence[str],
) -> Weights:
    """A mean over the examples, or one in which each class counts by its prior.

    each: what one example of a cell adds. true, count: of the cells
    """
    if priors is None:
        return each, np.ones(each.size)
    share = read_priors(priors, "priors", classes)
    examples = np.bincount(true, count, len(classes))
    if ((share > 0) & (examples == 0)).any():  # nothing is known about what they cost
        return each, np.zeros(each.size)
    weight = np.divide(share, examples, out=np.zeros_like(share), where=examples > 0)[true]
    return each * weight, weight


def mistake_severity(cells: Cells, hierarchy: Hierarchy) -> Weights:
    check_hierarchy(hierarchy, cells.n_classes)
    return _floats(hierarchy.height(cells.true, cells.predicted)), _floats(cells.wrong)


def hierarchical(
    true: IntArray, answers: IntArray, hierarchy: Hierarchy, *, precision: float, recall: float
) -> Weights:
    """Nodes that truth and answer share, over a mixture of those of the answer and of the truth.

    `true`, `answers` are nodes. (1, 0) is precision, (0, 1) recall, (1, b^2) / (1 + b^2) their F.
    """
    shared = hierarchy.depths[hierarchy.common_ancestors(true, answers)]
    below = precision * hierarchy.depths[answers] + recall * hierarchy.depths[true]
    return _floats(shared), _floats(below)


def small_class_accuracy(
    cells: Cells, subset: Iterable[Any], classes: Sequence[str] | None = None
) -> Weights:
    chosen = read_subset(subset, cells.n_classes, classes)[cells.true]
    return _floats(chosen & ~cells.wrong), _floats(chosen)


def super_class_accuracy(
    cells: Cells,
    groups: Groups,
    subset: Iterable[Any] | None = None,
    classes: Sequence[str] | None = None,
) -> Weights:
    group = read_groups(groups, cells.n_classes, classes)
    right = group[cells.true] == group[cells.predicted]
    if subset is None:
        return _floats(right), np.ones(cells.count.size)
    chosen = read_subset(subset, cells.n_classes, classes)[cells.true]
    return _floats(chosen & right), _floats(chosen)


def _floats(values: npt.ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
