"""What a tuning is about: the data and their parts, what mistakes cost, and the budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from untrue.array_types import IntArray
from untrue.budgets import Budget, ResolvedBudget, resolve_all
from untrue.hierarchy import Hierarchy
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.tools.fitting.link import Link
from untrue.tools.fitting.setup import training_costs
from untrue.tools.reading.row_costs import RowCosts, check_by_class, source_costs
from untrue.tools.reading.sources import Source
from untrue.tools.tuning.parts import Parts, part
from untrue.tools.tuning.setting import times
from untrue.tools.tuning.trainer import Recipe


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Checked and read.

    labels    (N,) positions of the classes
    stated    what mistakes cost, as it was stated
    rows      what each example costs, where costs are by columns
    by_class  costs by class; where they are by columns, their means over the examples tuned on
    scale     what costs by columns are multiplied by in training
    """

    source: Source
    labels: IntArray
    parts: Parts
    stated: Penalty | FormulaPenalty
    rows: RowCosts | None
    by_class: Penalty
    scale: float
    budgets: tuple[ResolvedBudget, ...]

    def training_costs(self, multipliers: tuple[float, ...]) -> Penalty | ExamplePenalty:
        """Costs to train with, the budgets' mistakes costlier by the multipliers: of all examples
        where they are by columns, scaled."""
        costs = times(self.stated, self.budgets, multipliers)
        if isinstance(costs, FormulaPenalty):
            assert self.rows is not None
            return self.rows.of(costs).scaled(self.scale)
        return costs

    def link(self, recipe: Recipe) -> Link:
        """What training by a recipe moved, for a model that is kept."""
        costs = times(self.stated, self.budgets, recipe.multipliers)
        if not isinstance(costs, FormulaPenalty):
            return Link(recipe.loss, recipe.alpha, costs)
        formulas = None if costs is self.stated else costs
        return Link(recipe.loss, recipe.alpha, self.by_class, self.scale, formulas)


def read_problem(
    source: Source,
    labels: IntArray,
    stated: Penalty | FormulaPenalty,
    budgets: Iterable[Budget | str] | Budget | str,
    *,
    cost_columns: Any,
    groups: Hierarchy | Mapping[str, Sequence[str | int]] | None,
    zone_above: float | None,
    repetitions: int,
    test_share: float,
    validation_share: float,
    seed: int,
) -> Problem:
    """Part the examples, and find what the costs and the budgets mean for them; see `tune`."""
    rows = source_costs(source, stated, cost_columns)
    parts = part(
        labels,
        repetitions=repetitions,
        test_share=test_share,
        watch_share=validation_share,
        given=source.test,
        seed=seed,
    )
    by_class, _, scale = training_costs(stated, rows, labels, parts.development)
    resolved = resolve_all(
        budgets, by_class, groups=groups, zone_above=zone_above, examples=len(parts.held_out)
    )
    check_by_class([each.budget for each in resolved], rows)
    return Problem(source, labels, parts, stated, rows, by_class, scale, resolved)
