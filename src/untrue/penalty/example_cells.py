"""Costs of each example, as they are stated: by cells, each with values, a number or a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.errors import PenaltyError, counted
from untrue.penalty.arrays import TOO_GREAT, allowed, frozen, number_column
from untrue.penalty.base import Penalty
from untrue.penalty.builders import Pair, cells_of, number
from untrue.penalty.formulas import CostFormula
from untrue.penalty.per_example import ExamplePenalty

ANY = "*"


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
    true, predicted, column = example_cells(pairs, base.classes)
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


def example_cells(
    pairs: Sequence[Pair], classes: tuple[str, ...]
) -> tuple[IntArray, IntArray, IntArray]:
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
    if not isinstance(given, list | tuple) and np.ndim(given) == 0:
        return np.asarray(number(given, repr(pair)))
    return number_column(given, f"The costs of {pair!r}")


def _check(table: FloatArray, pairs: Sequence[Pair], source: str | None) -> None:
    """Check all costs; the error names the row of the first bad one."""
    bad = ~allowed(table)
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
