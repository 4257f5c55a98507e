"""A budget over the classes of a penalty: its rate, an upper bound of it, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from untrue.budgets import regions
from untrue.budgets.bounds import cost_bound, share_bound
from untrue.budgets.budget import ANY, Budget
from untrue.budgets.regions import Block, GroupsLike, Region
from untrue.errors import ArgumentError
from untrue.metrics.confusion import Cells, ConfusionLike, read_confusion
from untrue.metrics.inputs import BoolArray, check_n_classes, read_count
from untrue.metrics.weights import check_penalty
from untrue.metrics.zones import Zone
from untrue.penalty import Penalty

__all__ = ["GroupsLike", "ResolvedBudget", "Verdict", "resolve", "resolve_all"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a confusion matrix says about a budget.

    errors      mistakes of this kind (for an expected cost: all that cost anything)
    of          examples they are a share of
    rate        errors / of, or the mean cost; nan where `of` is 0
    upper       its upper confidence bound; the rate itself with confidence None
    limit       in the units of the rate
    kept        whether `upper` is within the limit; without an example nothing is
    confidence  of `upper`
    """

    budget: Budget
    errors: int
    of: int
    rate: float
    upper: float
    limit: float
    kept: bool
    confidence: float | None

    @property
    def excess(self) -> float:
        """How far `upper` is beyond the limit, relative to it: 0 at the limit, 1 at twice that.

        A limit of nothing is taken for one error. -1 at the least; nan without examples.
        """
        if not self.of or math.isnan(self.upper):
            return math.nan
        scale = self.limit or 1 / self.of
        return self.upper / scale - self.limit / scale


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedBudget:
    """A `Budget` that knows its classes; made by `budget.resolve(penalty)`.

    region    the cells it is about; for an expected cost the penalty itself
    of        (k,) the true classes whose examples it is a share of
    examples  the number of examples that a count of errors is about; None: those judged
    unit      mean cost that the penalty charges on these cells, or on any mistake if they are free

    >>> p = Penalty.from_rules(["tumour", "benign"], {("tumour", "benign"): 20.0})
    >>> budget = Budget.parse("tumour->benign <= 5%").resolve(p)
    >>> cm = [[97, 3], [10, 90]]
    >>> budget.rate(cm), round(budget.upper(cm), 3), budget.kept(cm), budget.kept(cm, None)
    (0.03, 0.076, False, True)
    """

    budget: Budget
    classes: tuple[str, ...]
    region: Region
    of: BoolArray
    examples: int | None
    unit: float

    def __str__(self) -> str:
        return str(self.budget)

    def mask(self) -> BoolArray:
        """(k, k) The cells, true class first; for an expected cost those that cost anything."""
        every = np.arange(len(self.classes))
        return np.asarray(regions.inside(self.region, every[:, None], every) > 0)

    def rate(self, confusion: ConfusionLike) -> float:
        """Share of the examples, or mean cost; nan if no example counts."""
        return self.judge(confusion, None).rate

    def limit(self, confusion: ConfusionLike | None = None) -> float:
        """The limit in the units of the rate; a count without `examples` asks the matrix."""
        budget = self.budget
        if budget.unit == "%":
            # In decimals: 7 of 1000 must be found within 0.7%, which 0.7 / 100 is just below.
            return float(Decimal(repr(budget.amount)) / 100)
        if budget.unit == "cost":
            return budget.amount
        if self.examples is not None:
            return budget.amount / self.examples
        if confusion is None:
            raise ArgumentError(
                f"Budget {str(budget)!r} counts errors: give the confusion matrix that is judged, "
                "or resolve it with `examples`, the number of examples the count is about."
            )
        total = self._cells(confusion).total
        return budget.amount / total if total else math.nan

    def upper(self, confusion: ConfusionLike, confidence: float = 0.95) -> float:
        """Upper confidence bound of the rate: Clopper-Pearson, or the gamma bound for costs."""
        return self.judge(confusion, confidence).upper

    def kept(self, confusion: ConfusionLike, confidence: float | None = 0.95) -> bool:
        """Whether the upper bound (with confidence None, the rate) is within the limit."""
        return self.judge(confusion, confidence).kept

    def judge(self, confusion: ConfusionLike, confidence: float | None = 0.95) -> Verdict:
        """All of it in one record."""
        cells = self._cells(confusion)
        weights = regions.inside(self.region, cells.true, cells.predicted)
        counted, bad = self.of[cells.true], weights > 0
        of, errors = int(cells.count[counted].sum()), int(cells.count[bad].sum())
        if self.budget.kind == "cost":
            assert isinstance(self.region, Penalty)
            rate = float(cells.count @ weights) / of if of else math.nan
            upper = rate
            if confidence is not None:
                upper = cost_bound(
                    cells.count[bad], weights[bad], of, self.region.greatest, confidence
                )
        else:
            rate = upper = errors / of if of else math.nan
            if confidence is not None:
                upper = share_bound(errors, of, confidence)
        limit = self.limit(cells)
        # The bound of nothing may be within a limit of 100 %; still nothing was seen to be kept.
        kept = bool(of) and upper <= limit
        return Verdict(self.budget, errors, of, rate, upper, limit, kept, confidence)

    def _cells(self, confusion: ConfusionLike) -> Cells:
        cells = read_confusion(confusion)
        check_n_classes(len(self.classes), cells.n_classes, "budget")
        return cells


def resolve(
    budget: Budget,
    penalty: Penalty,
    *,
    groups: GroupsLike | None = None,
    zone: Zone | None = None,
    zone_above: float | None = None,
    examples: int | None = None,
) -> ResolvedBudget:
    """See `Budget.resolve`."""
    check_penalty(penalty)
    if zone is not None and zone_above is not None:
        raise ArgumentError("Give `zone` or `zone_above`, not both.")
    shown = f"Budget {str(budget)!r}"
    of = np.ones(penalty.n_classes, dtype=bool)
    region: Region
    if budget.kind == "confusion":
        sides = []
        for side in (budget.true, budget.predicted):
            chosen = np.zeros(penalty.n_classes, dtype=bool)
            for name in side:
                chosen |= True if name == ANY else regions.members(name, penalty, groups, shown)
            sides.append(chosen)
        region = Block(*sides)
        if not regions.rows_of(region).any():
            raise ArgumentError(f"{shown}: that is no mistake: both sides are the same class.")
        # A count is of all examples, so that it can be carried to data of another size.
        of = of if budget.unit == "errors" else regions.rows_of(region)
    elif budget.kind == "zone":
        region = (
            regions.own_zone(penalty, zone_above, shown)
            if zone is None
            else regions.stated_zone(zone, penalty, shown)
        )
    elif budget.kind == "across":
        region = regions.across(penalty, groups, shown)
    else:
        region = penalty
    count = None if examples is None else read_count(examples, "examples")
    return ResolvedBudget(budget, penalty.classes, region, of, count, _unit(penalty, region))


def resolve_all(
    budgets: Iterable[Budget | str] | Budget | str,
    penalty: Penalty,
    *,
    groups: GroupsLike | None = None,
    zone: Zone | None = None,
    zone_above: float | None = None,
    examples: int | None = None,
) -> tuple[ResolvedBudget, ...]:
    """Budgets, or texts of budgets, over a penalty: at least one, none twice."""
    stated = [budgets] if isinstance(budgets, Budget | str) else list(budgets)
    if not stated:
        raise ArgumentError('`budgets` is empty; give at least one, "zone <= 1%" say.')
    parsed = [Budget.of(budget) for budget in stated]
    for number, budget in enumerate(parsed):
        if budget in parsed[:number]:
            raise ArgumentError(f"Budget {str(budget)!r} is given twice.")
    return tuple(
        resolve(budget, penalty, groups=groups, zone=zone, zone_above=zone_above, examples=examples)
        for budget in parsed
    )


def _unit(penalty: Penalty, region: Region) -> float:
    if region is penalty:
        return 1.0
    k = penalty.n_classes
    return (
        regions.mean_cost(penalty, region) or float(penalty.row_sums().sum()) / (k * (k - 1)) or 1.0
    )
