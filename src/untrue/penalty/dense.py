"""A penalty held as a matrix: for few classes, or for costs without a pattern."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import ClassVar, Self

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.errors import PenaltyError
from untrue.penalty.arrays import (
    MOST_COST,
    TOO_GREAT,
    frozen,
    least_paid,
    names_bytes,
    real_numbers,
)
from untrue.penalty.base import Penalty, check_classes


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DensePenalty(Penalty):
    """`costs[true, predicted]`, a read-only (k, k) float64 array."""

    form: ClassVar[str] = "dense"
    costs: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", check_classes(self.classes))
        costs, k = frozen(real_numbers(self.costs, "A penalty matrix")), self.n_classes
        if costs.shape != (k, k):
            raise PenaltyError(f"The matrix has shape {costs.shape}, but {k} classes are named.")
        self._complain(costs, ~np.isfinite(costs), "costs must be finite")
        self._complain(costs, costs < 0, "costs must not be negative")
        self._complain(costs, costs > MOST_COST, TOO_GREAT)
        self._complain(
            costs,
            np.eye(k, dtype=bool) & (costs != 0),
            "the diagonal must be zero, a right answer is free. Gains or profits become costs by "
            "Penalty.from_utilities(gains)",
        )
        object.__setattr__(self, "costs", costs)

    def _complain(self, costs: FloatArray, bad: BoolArray, rule: str) -> None:
        if bad.any():
            i, j = map(int, np.argwhere(bad)[0])
            raise PenaltyError(
                f"Cost of predicting {self.classes[j]!r} for {self.classes[i]!r} "
                f"(row {i}, column {j}) is {costs[i, j]}: {rule}."
            )

    def matrix(self) -> FloatArray:
        return self.costs

    @property
    def greatest(self) -> float:
        return float(self.costs.max())

    @property
    def cheapest(self) -> float:
        return least_paid(self.costs)

    def _select(self, names: tuple[str, ...], places: IntArray) -> Self:
        return type(self)(names, self.costs[np.ix_(places, places)])

    def _lookup(self, i: IntArray, j: IntArray) -> FloatArray:
        return np.asarray(self.costs[i, j])

    def _mix(self, probs: FloatArray) -> FloatArray:
        return probs @ self.costs

    def row_sums(self) -> FloatArray:
        return np.asarray(self.costs.sum(axis=1))

    def _divided(self, rows: FloatArray) -> Self:
        return type(self)(self.classes, self.costs / rows[:, None])

    def _moved(self, plus: float, times: float) -> Self:
        costs = plus + times * self.costs
        np.fill_diagonal(costs, 0.0)
        return type(self)(self.classes, costs)

    def _free_columns(self) -> BoolArray:
        return np.asarray(~self.costs.any(axis=0))

    def _content(self) -> Iterable[bytes]:
        yield names_bytes(self.classes)
        # Zero is added so that -0.0 and 0.0, which are equal, hash alike.
        yield (self.costs + 0.0).tobytes()

    def _about(self) -> str:
        off = off_diagonal(self.costs)
        return f"dense, costs {off.min():g} to {off.max():g}" if off.size else "dense"


def off_diagonal(matrix: FloatArray) -> FloatArray:
    """The entries off the diagonal, row by row, as one flat array."""
    return matrix[~np.eye(len(matrix), dtype=bool)]
