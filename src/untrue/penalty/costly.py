"""The costly mistakes, those that cost more than the cheapest one: the zone of a penalty."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError
from untrue.penalty.base import Penalty
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty

# Up to here a k x k matrix is small beside everything else (32 MB).
SMALL = 2000


def cheapest_cost(penalty: Penalty) -> float:
    """The least cost of a mistake; 0 with fewer than two classes.

    >>> cheapest_cost(Penalty.from_rules(["a", "b", "c"], {("a", "b"): 20.0}, default=1.0))
    1.0
    """
    k = penalty.n_classes
    if k < 2:
        return 0.0
    if isinstance(penalty, RulesPenalty) and k > SMALL:
        return float(min(penalty.default.min(), penalty.costs.min(initial=np.inf)))
    if isinstance(penalty, TreePenalty) and k > SMALL:
        return float(penalty.height_costs[1:].min() * penalty.row_scale.min())
    return float(off_diagonal(penalty.matrix()).min())


def off_diagonal(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The entries off the diagonal, row by row, as one flat array."""
    return matrix[~np.eye(len(matrix), dtype=bool)]


def zone_limit(penalty: Penalty, asked: float | None = None) -> float | None:
    """The cost above which a mistake is in the zone: asked for, or that of the cheapest mistake.

    None if no mistake costs more than that.
    """
    if asked is not None and not 0 <= asked < np.inf:
        raise ArgumentError(f"`zone_above` must be a cost of 0 or more; got {asked}.")
    above = cheapest_cost(penalty) if asked is None else asked
    return above if penalty.greatest > above else None
