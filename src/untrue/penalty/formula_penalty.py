"""Costs of each example by columns of data that come later, as a file states them:
`cost = "0.2 * amount + 5"`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untrue.errors import PenaltyError
from untrue.input_files import as_path
from untrue.penalty.base import Penalty
from untrue.penalty.builders import Pair
from untrue.penalty.example_cells import example_cells, per_example
from untrue.penalty.formulas import CostFormula
from untrue.penalty.per_example import ExamplePenalty


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
        example_cells(pairs, self.base.classes)
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
        true, predicted, column = example_cells(list(self.formulas), self.base.classes)
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

        return file_writers.save(self, as_path(path))
