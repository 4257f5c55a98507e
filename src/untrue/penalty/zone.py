"""The zone of a penalty: the mistakes to avoid first of all. The one definition that all use.

A mistake is in the zone if it costs more than the cheapest mistake that costs anything. If all
of these cost the same, all of them are in the zone.
"""

from __future__ import annotations

import numpy as np

from untrue.array_types import BoolArray
from untrue.errors import ArgumentError
from untrue.penalty.base import Penalty, Which
from untrue.penalty.dense import DensePenalty
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty


def zone_threshold(penalty: Penalty, above: float | None = None) -> float:
    """The cost above which a mistake is in the zone; `above`, if given, replaces it.

    >>> zone_threshold(Penalty.from_rules(["a", "b", "c"], {("a", "b"): 20.0}, default=1.0))
    1.0
    >>> zone_threshold(Penalty.from_rules(["a", "b", "c"], {}, default=1.0))
    0.0
    """
    if above is not None:
        if not 0 <= above < np.inf:
            raise ArgumentError(f"`zone_above` must be a cost of 0 or more; got {above}.")
        return float(above)
    cheapest = penalty.cheapest
    return cheapest if penalty.greatest > cheapest else 0.0


def in_zone(
    penalty: Penalty, true: Which, predicted: Which, above: float | None = None
) -> BoolArray:
    """Whether taking `true` for `predicted` is in the zone: names or indices, broadcast."""
    return np.asarray(penalty.cost(true, predicted) > zone_threshold(penalty, above))


def zone_penalty(penalty: Penalty, above: float | None = None) -> Penalty:
    """1 for each mistake in the zone and 0 elsewhere, in the penalty's form.

    A tree penalty whose rows are scaled has no zone by height: it gives a matrix.
    """
    threshold = zone_threshold(penalty, above)
    if isinstance(penalty, RulesPenalty):
        return RulesPenalty(
            penalty.classes,
            (penalty.default > threshold).astype(np.float64),
            penalty.true,
            penalty.predicted,
            (penalty.costs > threshold).astype(np.float64),
        )
    if isinstance(penalty, TreePenalty) and (penalty.row_scale == penalty.row_scale[0]).all():
        costly = penalty.height_costs * penalty.row_scale[0] > threshold
        return TreePenalty(penalty.hierarchy, costly.astype(np.float64))
    return DensePenalty(penalty.classes, (penalty.matrix() > threshold).astype(np.float64))
