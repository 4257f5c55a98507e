"""Costs by columns of a person's table, `cost = "0.2 * amount + 5"`: read, and kept with them.

A column that costs are made of is a feature like any other. `--ignore` takes it out of what is
learned from, and leaves it in the costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.budgets import Budget
from untrue.errors import ArgumentError, listed, nearest
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty, TreePenalty
from untrue.penalty.arrays import number_column, table_columns
from untrue.tools.reading.sources import Source


@dataclass(frozen=True, slots=True, eq=False)
class RowCosts:
    """Costs by formulas, the columns (N,) they are of, and what each row costs by them."""

    stated: FormulaPenalty
    columns: Mapping[str, FloatArray]
    examples: ExamplePenalty

    def of(self, stated: FormulaPenalty) -> ExamplePenalty:
        """What each row costs by other formulas of the same columns."""
        return self.examples if stated is self.stated else stated.per_example(self.columns)

    def take(self, rows: IntArray) -> RowCosts:
        """Those of some rows."""
        some = {name: values[rows] for name, values in self.columns.items()}
        return RowCosts(self.stated, some, self.examples.take(rows))


def source_costs(
    source: Source, stated: Penalty | FormulaPenalty, given: Any = None
) -> RowCosts | None:
    """The costs of each example of a source, where they are by columns: its own, or `given`.

    A missing, negative or infinite one is named by its row.
    """
    if not isinstance(stated, FormulaPenalty):
        if given is not None:
            raise ArgumentError("`cost_columns` belong to costs by columns: a FormulaPenalty.")
        return None
    if isinstance(stated.base, TreePenalty):
        raise ArgumentError(
            "Costs by columns cannot be combined with costs by a hierarchy; state them as rules."
        )
    if given is None:
        columns = source.columns(stated.columns)
    else:
        columns = given_columns(stated.columns, given, len(source))
    return RowCosts(stated, columns, stated.per_example(columns, source=str(source.path)))


def given_columns(names: Sequence[str], given: Any, n: int) -> dict[str, FloatArray]:
    """`cost_columns` as a caller has them: a table, or a mapping of arrays (n,)."""
    labels = table_columns(given)
    known = [str(name) for name in (given if labels is None else labels)]
    columns: dict[str, FloatArray] = {}
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; it has {listed(known)}."
            raise ArgumentError(
                f"The costs need the column {name!r}, which `cost_columns` lacks{hint}"
            )
        columns[name] = number_column(given[name], f"Column {name!r} of `cost_columns`")
        if len(columns[name]) != n:
            raise ArgumentError(
                f"Column {name!r} of `cost_columns` has {len(columns[name]):,} values for {n:,} "
                "examples."
            )
    return columns


def training_scale(penalty: Penalty, labels: IntArray) -> float:
    """The factor that makes the mean mistake cost 1, over the true classes `labels`.

    Costs by columns are in the units of the columns, amounts of money say. Alpha, the share of the
    cost term, means something only where they are of about the size of the cross-entropy.
    """
    shares = np.bincount(labels, minlength=penalty.n_classes) / max(len(labels), 1)
    mean = float(np.asarray(penalty.expected(shares[None])).sum()) / max(penalty.n_classes - 1, 1)
    return 1.0 / mean if mean > 0 else 1.0


def check_by_class(budgets: Iterable[Budget], costs: object | None) -> None:
    """No budget is about a mean cost where costs are of each example: its bound is by class."""
    for budget in budgets:
        if costs is not None and budget.kind == "cost":
            raise ArgumentError(
                f"Budget {str(budget)!r} bounds a mean cost, which takes costs by class; these are "
                "of each row. Bound how often a mistake happens instead."
            )


def formulas_in_words(stated: FormulaPenalty) -> str:
    """ "'fraud' -> 'legitimate' costs 0.2 * amount + 5", for notes and pages."""
    return "; ".join(
        f"{pair[0]!r} -> {pair[1]!r} costs {text}" for pair, text in stated.formulas.items()
    )
