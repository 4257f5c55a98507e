"""Costs that differ from example to example: a fraud of 10,000 is not a fraud of 10.

`penalty.per_example({("fraud", "legitimate"): amounts})` is an `ExamplePenalty`: a penalty, some of
whose cells have a cost of their own for each example. It holds N numbers for each different
column of costs, and never N x k x k.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_number, is_tensor
from untrue.errors import PenaltyError, counted
from untrue.penalty.arrays import frozen, number_column
from untrue.penalty.base import Penalty, Which
from untrue.penalty.dense import DensePenalty
from untrue.penalty.prob_columns import real_probs
from untrue.penalty.rules import RulesPenalty


@dataclasses.dataclass(frozen=True, eq=False)
class ExamplePenalty:
    """A penalty with costs of each example; made by `penalty.per_example`.

    base               what a mistake costs in all other cells
    true, predicted    (E,) the cells that have costs of their own
    column             (E,) which column of `values` is theirs
    values             (N, V) the cost for each example
    """

    base: Penalty
    true: IntArray
    predicted: IntArray
    column: IntArray
    values: FloatArray

    def __post_init__(self) -> None:
        for name in ("true", "predicted", "column"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))

    @property
    def classes(self) -> tuple[str, ...]:
        return self.base.classes

    @property
    def n_classes(self) -> int:
        return self.base.n_classes

    @property
    def fingerprint(self) -> str:
        """Equal for equal costs of the same examples, in every process."""
        found = hashlib.sha256(self.base.fingerprint.encode())
        for array in (self.true, self.predicted, self.column, self.values):
            found.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExamplePenalty):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return int(self.fingerprint[:15], 16)

    def __len__(self) -> int:
        """The number of examples."""
        return len(self.values)

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'example')}, {counted(len(self.true), 'cell')}"
        return f"ExamplePenalty({size} of {self.base!r})"

    def take(self, rows: Any) -> ExamplePenalty:
        """Those of some examples: a batch, a fold. Indices (or one), a mask or a slice."""
        chosen = rows if isinstance(rows, slice) else np.atleast_1d(rows)
        if not isinstance(chosen, slice) and not chosen.size:
            chosen = chosen.astype(np.int64)
        try:
            return dataclasses.replace(self, values=self.values[chosen])
        except IndexError as error:
            raise PenaltyError(
                f"`rows` must be positions of the {len(self):,} examples, a mask or a slice of "
                f"them; NumPy says: {error}."
            ) from None

    def penalty(self, example: int) -> Penalty:
        """What mistakes about one example cost."""
        own = self.take([example]).values[0]
        return with_cells(self.base, self.true, self.predicted, own[self.column])

    def mean(self, true: Which | None = None, *, weight: npt.NDArray[Any] | None = None) -> Penalty:
        """Costs by class: the mean over the examples, or over those of the cell's true class.

        A cell whose class has no example among the true classes `true` (N,) has the mean over all.
        weight (N,): what each example counts.
        """
        counts = np.ones(len(self)) if weight is None else number_column(weight, "`weight`")
        if len(counts) != len(self):
            raise PenaltyError(
                f"`weight` must have a number for each of the {len(self):,} examples that the "
                f"costs are of; got {len(counts):,}."
            )
        if not counts.any():
            raise PenaltyError("There is no mean cost: no example counts.")
        means = np.average(self.values, axis=0, weights=counts)[self.column]
        if true is not None:
            labels = self._labels(true, "true")
            for e, (i, column) in enumerate(zip(self.true, self.column, strict=True)):
                own = (labels == i) & (counts > 0)
                if own.any():
                    means[e] = np.average(self.values[own, column], weights=counts[own])
        return with_cells(self.base, self.true, self.predicted, means)

    def normalized(self, how: Literal["max", "none"]) -> ExamplePenalty:
        """The same on another scale: "max" makes the greatest cost of any example 1."""
        if how == "none":
            return self
        if how != "max":
            raise PenaltyError(f"`how` must be 'max' or 'none' for costs by example; got {how!r}.")
        own = self.values[:, np.unique(self.column)]
        scale = max(self._greatest_elsewhere(), float(own.max(initial=0.0))) or 1.0
        base = self.base._divided(np.full(self.n_classes, scale))
        return dataclasses.replace(self, base=base, values=self.values / scale)

    def _greatest_elsewhere(self) -> float:
        """The greatest cost of `base` that can be paid: in a cell without costs by example."""
        base, most = self.base, self.base.greatest
        if isinstance(base, RulesPenalty):
            return with_cells(base, self.true, self.predicted, np.zeros(len(self.true))).greatest
        if self.base_costs.max(initial=0.0) < most:
            return most
        found, every = 0.0, np.arange(self.n_classes)
        for rows in np.array_split(every, max(1, self.n_classes**2 // 2**20)):
            costs = np.array(base.cost(rows[:, None], every), dtype=np.float64)
            here = np.isin(self.true, rows)
            costs[self.true[here] - rows[0], self.predicted[here]] = 0.0
            found = max(found, float(costs.max()))
            if found == most:
                break
        return found

    def softened(self, share: float) -> ExamplePenalty:
        """Costs between equal ones and these, as `Penalty.softened`: `c + share (A - c)`.

        c is the cheapest cost above 0 of `mean()`: that of a single example may be next to nothing.
        """
        check_number("share", share, 0.0, 1.0)
        if share == 1.0:
            return self
        plus = (1.0 - share) * self.mean().cheapest
        values = frozen(plus + share * self.values)
        return dataclasses.replace(self, base=self.base._moved(plus, share), values=values)

    def scaled(self, factor: float) -> ExamplePenalty:
        """All costs times a positive number."""
        check_number("factor", factor, 0.0, math.inf, ends=False)
        base = self.base._divided(np.full(self.n_classes, 1.0 / factor))
        return dataclasses.replace(self, base=base, values=self.values * factor)

    def costs(self, true: Which, predicted: Which) -> FloatArray:
        """(N,) What each example's answer costs: class names or indices (N,)."""
        i, j = self._labels(true, "true"), self._labels(predicted, "predicted")
        found = np.array(self.base.cost(i, j), dtype=np.float64)
        for e, (a, b) in enumerate(zip(self.true, self.predicted, strict=True)):
            inside = (i == a) & (j == b)
            found[inside] = self.values[inside, self.column[e]]
        return found

    def rows(self, true: Which) -> FloatArray:
        """(N, k) What each answer would cost each example, given its true class (N,)."""
        i = self._labels(true, "true")
        found = np.array(self.base.cost(i[:, None], np.arange(self.n_classes)), dtype=np.float64)
        for e, (a, b) in enumerate(zip(self.true, self.predicted, strict=True)):
            inside = i == a
            found[inside, b] = self.values[inside, self.column[e]]
        return found

    def expected(self, probs: Any) -> Any:
        """(N, k) -> (N, k) What each answer is expected to cost each example; arrays or tensors."""
        if not is_tensor(probs):
            probs = real_probs(probs, self.classes).astype(np.float64, copy=False)
        if len(probs) != len(self) or len(probs.shape) != 2:
            raise PenaltyError(
                f"`probs` must have a row for each of the {len(self):,} examples that the costs "
                f"are of; got shape {tuple(probs.shape)}."
            )
        if is_tensor(probs):
            from untrue.penalty.example_rows import ExampleRows
            from untrue.penalty.tensors import widened

            return ExampleRows(self).to(probs.device).mix(widened(probs))
        expected = np.array(self.base.expected(probs), dtype=np.float64)
        for j, cells in self._by_answer:
            extra = self.values[:, self.column[cells]] - self.base_costs[cells]
            expected[:, j] += (probs[:, self.true[cells]] * extra).sum(axis=1)
        return np.maximum(expected, 0.0)

    @cached_property
    def base_costs(self) -> FloatArray:
        """(E,) What the cells cost in `base`."""
        return np.asarray(self.base.cost(self.true, self.predicted), dtype=np.float64)

    @cached_property
    def _by_answer(self) -> list[tuple[int, IntArray]]:
        """Each answer that has costs by example, with its cells."""
        order = np.argsort(self.predicted, kind="stable")
        answers, first = np.unique(self.predicted[order], return_index=True)
        return list(zip(answers.tolist(), np.split(order, first[1:]), strict=True))

    def _labels(self, given: Which, name: str) -> IntArray:
        labels = self.base._indices(given)
        if labels.shape != (len(self),):
            raise PenaltyError(
                f"`{name}` must name a class for each of the {len(self):,} examples that the costs "
                f"are of; got shape {labels.shape}."
            )
        return labels


def with_cells(base: Penalty, true: IntArray, predicted: IntArray, costs: npt.ArrayLike) -> Penalty:
    """The same penalty with other costs in some cells: rules stay rules."""
    values = np.asarray(costs, dtype=np.float64)
    if isinstance(base, RulesPenalty):
        k = base.n_classes
        kept = ~np.isin(base.true * k + base.predicted, true * k + predicted)
        return RulesPenalty(
            base.classes,
            base.default,
            np.concatenate([base.true[kept], true]),
            np.concatenate([base.predicted[kept], predicted]),
            np.concatenate([base.costs[kept], values]),
        )
    matrix = np.array(base.matrix())
    matrix[true, predicted] = values
    return DensePenalty(base.classes, matrix)
