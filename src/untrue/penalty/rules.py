"""A penalty of a default and its exceptions: memory O(k + exceptions)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.errors import PenaltyError
from untrue.penalty.arrays import (
    MOST_COST,
    allowed,
    broken_rule,
    frozen,
    in_blocks,
    least_paid,
    names_bytes,
)
from untrue.penalty.base import Penalty, check_classes


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RulesPenalty(Penalty):
    """Row i costs `default[i]` off the diagonal, except for the exceptions.

    default (k,): cost of every mistake about a true class that no rule names
    true, predicted, costs (E,): the rules, sorted by (true, predicted)
    """

    form: ClassVar[str] = "rules"
    default: FloatArray
    true: IntArray
    predicted: IntArray
    costs: FloatArray

    def __post_init__(self) -> None:
        names = check_classes(self.classes)
        default = frozen(np.broadcast_to(np.asarray(self.default, np.float64), (len(names),)))
        true, predicted = np.asarray(self.true, np.int64), np.asarray(self.predicted, np.int64)
        costs = np.asarray(self.costs, np.float64)
        order = np.lexsort((predicted, true))
        true, predicted, costs = true[order], predicted[order], costs[order]
        for i in np.flatnonzero(~allowed(default))[:1]:
            raise PenaltyError(
                f"Default cost for {names[i]!r} is {default[i]}: {broken_rule(default[i])}."
            )
        for e in np.flatnonzero(~allowed(costs))[:1]:
            raise PenaltyError(
                f"Cost of predicting {names[predicted[e]]!r} for {names[true[e]]!r} is {costs[e]}: "
                f"{broken_rule(costs[e])}."
            )
        for e in np.flatnonzero(true == predicted)[:1]:
            raise PenaltyError(
                f"A rule leads from {names[true[e]]!r} to itself: a right answer is free."
            )
        for e in np.flatnonzero((np.diff(true) == 0) & (np.diff(predicted) == 0))[:1]:
            raise PenaltyError(
                f"Two rules for predicting {names[predicted[e]]!r} for {names[true[e]]!r}."
            )
        for field, value in (
            ("classes", names),
            ("default", default),
            ("true", frozen(true, np.int64)),
            ("predicted", frozen(predicted, np.int64)),
            ("costs", frozen(costs)),
        ):
            object.__setattr__(self, field, value)

    def matrix(self) -> FloatArray:
        matrix = np.repeat(self.default[:, None], self.n_classes, axis=1)
        matrix[self.true, self.predicted] = self.costs
        np.fill_diagonal(matrix, 0.0)
        return matrix

    @cached_property
    def starts(self) -> IntArray:
        """(k + 1,) The rules of true class i are those from starts[i] to starts[i + 1] - 1."""
        return frozen(np.searchsorted(self.true, np.arange(self.n_classes + 1)), np.int64)

    @cached_property
    def open_default(self) -> FloatArray:
        """(k,) The default of each row; 0 where it does not count, since every cell has a rule.

        Added and taken away again, one that does not count would round small costs away.
        """
        some = np.diff(self.starts) < self.n_classes - 1
        return frozen(np.where(some, self.default, 0.0))

    @cached_property
    def excess(self) -> FloatArray:
        """(E,) What each rule costs beyond its row's default, where that counts."""
        return frozen(self.costs - self.open_default[self.true])

    @property
    def greatest(self) -> float:
        return float(max(self.open_default.max(), self.costs.max(initial=0.0)))

    @property
    def cheapest(self) -> float:
        return least_paid(np.concatenate([self.open_default, self.costs]))

    def _select(self, names: tuple[str, ...], places: IntArray) -> Self:
        place = np.full(self.n_classes, -1)
        place[places] = np.arange(len(places))
        true, predicted = place[self.true], place[self.predicted]
        kept = (true >= 0) & (predicted >= 0)
        return type(self)(
            names, self.default[places], true[kept], predicted[kept], self.costs[kept]
        )

    def _lookup(self, i: IntArray, j: IntArray) -> FloatArray:
        if not len(self.costs):
            return np.asarray(self.default[i])
        keys, wanted = self.true * self.n_classes + self.predicted, i * self.n_classes + j
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, self.costs[at], self.default[i])

    @cached_property
    def _by_column(self) -> tuple[IntArray, IntArray, IntArray]:
        """The rules in order of the predicted class, the columns they touch, where each starts."""
        order = np.argsort(self.predicted, kind="stable")
        return order, *np.unique(self.predicted[order], return_index=True)

    def _mix(self, probs: FloatArray) -> FloatArray:
        order, columns, first = self._by_column
        true, excess = self.true[order], self.excess[order]

        def mix(some: FloatArray) -> FloatArray:
            weighted = some * self.open_default
            mixed = weighted.sum(axis=1, keepdims=True) - weighted
            if len(order):
                extra = np.take(some, true, axis=1) * excess
                mixed[:, columns] += np.add.reduceat(extra, first, axis=1)
            return np.asarray(np.maximum(mixed, 0.0))

        return in_blocks(mix, probs)

    def row_sums(self) -> FloatArray:
        by_rule = np.bincount(self.true, weights=self.costs, minlength=self.n_classes)
        open_cells = self.n_classes - 1 - np.diff(self.starts)
        return np.asarray(by_rule + self.default * open_cells)

    def _divided(self, rows: FloatArray) -> Self:
        with np.errstate(over="ignore"):
            # One that does not count must not become too great for a cost.
            default = np.minimum(self.default / rows, MOST_COST)
        return type(self)(
            self.classes,
            default,
            self.true,
            self.predicted,
            self.costs / rows[self.true],
        )

    def _moved(self, plus: float, times: float) -> Self:
        default, costs = (plus + times * each for each in (self.default, self.costs))
        return type(self)(self.classes, default, self.true, self.predicted, costs)

    def _free_columns(self) -> BoolArray:
        k = self.n_classes
        free_row = self.default == 0
        zeros = free_row.sum() - free_row.astype(np.int64)
        paid = (self.costs > 0) & free_row[self.true]
        spared = (self.costs == 0) & ~free_row[self.true]
        zeros -= np.bincount(self.predicted[paid], minlength=k)
        zeros += np.bincount(self.predicted[spared], minlength=k)
        return np.asarray(zeros == k - 1)

    def _content(self) -> Iterable[bytes]:
        yield names_bytes(self.classes)
        for array in (self.default + 0.0, self.true, self.predicted, self.costs + 0.0):
            yield array.tobytes()

    def _about(self) -> str:
        low, high = self.default.min(), self.default.max()
        default = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        return f"default {default}, {len(self.costs)} rule{'s' * (len(self.costs) != 1)}"
