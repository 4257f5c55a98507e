"""Costs that differ from example to example: a fraud of 10,000 is not a fraud of 10.

`penalty.per_example({("fraud", "legitimate"): amounts})` is an `ExamplePenalty`: a penalty, some of
whose cells have a cost of their own for each example. It holds N numbers for each different
column of costs, and never N x k x k. A `FormulaPenalty` states it by columns of data that come
later, as a file does: `cost = "0.2 * amount + 5"`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_number, is_tensor
from untrue.errors import PenaltyError, counted
from untrue.input_files import as_path
from untrue.penalty.arrays import MOST_COST, TOO_GREAT, frozen, number_column
from untrue.penalty.base import Penalty, Which
from untrue.penalty.builders import Pair, cells_of, number
from untrue.penalty.dense import DensePenalty
from untrue.penalty.formulas import CostFormula
from untrue.penalty.prob_columns import real_probs
from untrue.penalty.rules import RulesPenalty

ANY = "*"


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
        return with_cells(self.base, self.true, self.predicted, self.values[example][self.column])

    def mean(self, true: Which | None = None, *, weight: npt.NDArray[Any] | None = None) -> Penalty:
        """Costs by class: the mean over the examples, or over those of the cell's true class.

        A cell whose class has no example among the true classes `true` (N,) has the mean over all.
        weight (N,): what each example counts.
        """
        counts = np.ones(len(self)) if weight is None else np.asarray(weight, dtype=np.float64)
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
        return [
            (j, np.flatnonzero(self.predicted == j)) for j in np.unique(self.predicted).tolist()
        ]

    def _labels(self, given: Which, name: str) -> IntArray:
        labels = self.base._indices(given)
        if labels.shape != (len(self),):
            raise PenaltyError(
                f"`{name}` must name a class for each of the {len(self):,} examples that the costs "
                f"are of; got shape {labels.shape}."
            )
        return labels


@dataclasses.dataclass(frozen=True)
class FormulaPenalty:
    """A penalty with costs by formulas of the data's columns; `per_example(table)` resolves it.

    >>> costs = FormulaPenalty(
    ...     Penalty.from_rules(["fraud", "legitimate"], {}),
    ...     {("fraud", "legitimate"): "0.2 * amount + 5"},
    ... )
    >>> costs.columns
    ('amount',)
    >>> costs.per_example({"amount": [10.0, 100.0]}).penalty(1).cost("fraud", "legitimate")
    25.0
    """

    base: Penalty
    formulas: Mapping[Pair, str]

    def __post_init__(self) -> None:
        pairs = list(self.formulas)
        object.__setattr__(self, "formulas", dict(self.formulas))
        _cells(pairs, self.base.classes)
        for pair, text in self.formulas.items():
            if not CostFormula.parse(text).columns:
                raise PenaltyError(
                    f"The cost of {pair!r}, {text!r}, names no column. Write a number without "
                    "quotes."
                )

    @property
    def classes(self) -> tuple[str, ...]:
        return self.base.classes

    @property
    def n_classes(self) -> int:
        return self.base.n_classes

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the costs need, in order of appearance."""
        parsed = [CostFormula.parse(text) for text in self.formulas.values()]
        return tuple(dict.fromkeys(name for formula in parsed for name in formula.columns))

    def cells(self) -> list[tuple[tuple[int, int], str]]:
        """Each cell, (true, predicted) by position, with its formula; "*" is written out."""
        texts = list(self.formulas.values())
        true, predicted, column = _cells(list(self.formulas), self.base.classes)
        found = zip(true.tolist(), predicted.tolist(), column.tolist(), strict=True)
        return [((i, j), texts[c]) for i, j, c in found]

    def per_example(self, columns: Any, *, source: str | None = None) -> ExamplePenalty:
        """The costs of each row of `columns`: a dict of arrays, or a table.

        source: a file the columns are from; errors then name it, and its rows from 1
        """
        return per_example(self.base, self.formulas, columns, source=source)

    @staticmethod
    def load(path: str | Path) -> FormulaPenalty:
        """Read .toml or .json; a file without formulas is a `Penalty`, and is refused here."""
        from untrue.penalty import files

        found = files.load_any(as_path(path))
        if isinstance(found, Penalty):
            raise PenaltyError(f"{path}: has no formulas. Penalty.load(path) reads it.")
        return found

    def save(self, path: str | Path) -> Path:
        """Write .toml or .json."""
        from untrue.penalty import file_writers

        return file_writers.save(self, Path(path))


def per_example(
    base: Penalty,
    cells: Mapping[Pair, Any],
    columns: Any | None = None,
    *,
    source: str | None = None,
) -> ExamplePenalty:
    """`Penalty.per_example`: values (N,), numbers, or formulas of `columns`, for some cells."""
    if not isinstance(cells, Mapping) or not cells:
        raise PenaltyError(
            "`cells` must be a mapping {(true, predicted): costs of each example}; got "
            f"{cells if isinstance(cells, Mapping) else type(cells).__name__}."
        )
    pairs = list(cells)
    true, predicted, column = _cells(pairs, base.classes)
    found = [_values(cells[pair], pair, columns) for pair in pairs]
    lengths = {len(values): pair for values, pair in zip(found, pairs, strict=True) if values.ndim}
    if not lengths:
        raise PenaltyError(
            "At least one cell must have a cost for each example; got single numbers only. "
            "Penalty.from_rules is for these."
        )
    if len(lengths) > 1:
        (n, first), (m, second) = list(lengths.items())[:2]
        raise PenaltyError(
            f"All cells must have equally many costs; {first!r} has {n:,}, {second!r} {m:,}."
        )
    (n,) = lengths
    table = np.stack([np.broadcast_to(values, (n,)) for values in found], axis=1)
    _check(table, pairs, source)
    return ExamplePenalty(base, true, predicted, column, frozen(table))


def _cells(pairs: Sequence[Pair], classes: tuple[str, ...]) -> tuple[IntArray, IntArray, IntArray]:
    """True and predicted classes of all cells, and the pair each comes from; "*" is any answer."""
    true: list[int] = []
    predicted: list[int] = []
    column: list[int] = []
    seen: dict[tuple[int, int], Pair] = {}
    for c, pair in enumerate(pairs):
        whole = isinstance(pair, tuple) and len(pair) == 2 and pair[1] == ANY and ANY not in classes
        if whole:
            i = cells_of([(pair[0], _another(pair[0], classes))], classes)[0, 0]
            own = [(int(i), j) for j in range(len(classes)) if j != i]
        else:
            own = [tuple(cells_of([pair], classes)[0].tolist())]
        for cell in own:
            if cell in seen:
                raise PenaltyError(f"Two costs for one mistake: {seen[cell]!r} and {pair!r}.")
            seen[cell] = pair
            true.append(cell[0])
            predicted.append(cell[1])
            column.append(c)
    return np.array(true), np.array(predicted), np.array(column)


def _another(name: Any, classes: tuple[str, ...]) -> int:
    """The position of some class that is not `name`."""
    if len(classes) < 2:
        raise PenaltyError("A penalty of one class has no mistakes.")
    return 1 if name in (classes[0], 0) else 0


def _values(given: Any, pair: Pair, columns: Any | None) -> FloatArray:
    if isinstance(given, str):
        if columns is None:
            raise PenaltyError(
                f"The cost of {pair!r} is a formula, {given!r}: give `columns`, the data it is of."
            )
        return CostFormula.parse(given).values(columns)
    if np.ndim(given) == 0:
        return np.asarray(number(given, repr(pair)))
    return number_column(given, f"The costs of {pair!r}")


def _check(table: FloatArray, pairs: Sequence[Pair], source: str | None) -> None:
    """Check all costs; the error names the row of the first bad one."""
    bad = ~((table >= 0) & (table <= MOST_COST))
    if not bad.any():
        return
    row, c = map(int, np.argwhere(bad)[0])
    value = table[row, c]
    if np.isnan(value):
        rule = "it is missing"
    elif value < 0:
        rule = "costs must not be negative"
    else:
        rule = TOO_GREAT if np.isfinite(value) else "costs must be finite"
    more = int(bad.any(axis=1).sum()) - 1
    others = f" ({counted(more, 'more row')} like it)" if more else ""
    place = f"row {row}" if source is None else f"data row {row + 1} of {source}"
    raise PenaltyError(f"Cost of {pairs[c]!r} in {place} is {value:g}: {rule}{others}.")


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
