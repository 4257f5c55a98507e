"""A budget over the classes of a penalty: its rate, an upper bound of it, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets import regions
from untrue.budgets.budget import ANY, Budget
from untrue.budgets.regions import Block, GroupsLike, Region
from untrue.budgets.verdict import Verdict
from untrue.checks import check_count
from untrue.errors import ArgumentError
from untrue.metrics.betting import cost_bound, cost_lower_bound
from untrue.metrics.bounds import examples_needed, share_bound, share_lower_bound
from untrue.metrics.confusion import Cells, ConfusionLike, read_confusion
from untrue.metrics.inputs import check_n_classes
from untrue.metrics.weights import check_penalty
from untrue.metrics.zones import Zone
from untrue.penalty import Penalty


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedBudget:
    """A `Budget` over the classes of a penalty; made by `budget.resolve(penalty)`.

    region    the cells it is about; for an expected cost the penalty itself
    of        (k,) the classes whose examples it is a share of: true ones; for a precision budget
              (predicted<-true) predicted ones
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

    @property
    def by_prediction(self) -> bool:
        """Whether it is a share of those predicted to be of a class, not of those who are."""
        return self.budget.kind == "precision"

    def mask(self) -> BoolArray:
        """(k, k) The cells, true class first; for an expected cost those that cost anything."""
        every = np.arange(len(self.classes))
        return np.asarray(regions.inside(self.region, every[:, None], every) > 0)

    def rate(self, confusion: ConfusionLike) -> float:
        """Share of the examples, or mean cost; nan if no example counts."""
        return self.judge(confusion, None).rate

    def limit(self, confusion: ConfusionLike | None = None) -> float:
        """The limit in the units of the rate; a count without `examples` needs the matrix."""
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
        return self._limit_in(self._cells(confusion).total)

    def _limit_in(self, total: int) -> float:
        """The limit in this many examples."""
        if self.budget.unit != "errors" or self.examples is not None:
            return self.limit()
        return self.budget.amount / total if total else math.nan

    def upper(self, confusion: ConfusionLike, confidence: float = 0.95) -> float:
        """Upper confidence bound of the rate: Clopper-Pearson, or by betting for costs."""
        return self.judge(confusion, confidence).upper

    def kept(self, confusion: ConfusionLike, confidence: float | None = 0.95) -> bool:
        """Whether the upper bound (with confidence None, the rate) is within the limit."""
        return self.judge(confusion, confidence).kept

    def judge(
        self,
        confusion: ConfusionLike,
        confidence: float | None = 0.95,
        *,
        abstained: npt.ArrayLike | None = None,
    ) -> Verdict:
        """All of it in one record.

        abstained  (k,) how many examples of each true class got no answer. They are no errors and
                   cost nothing, and count among the examples; those of a precision budget are the
                   answers given.
        """
        cells = self._cells(confusion)
        silent = self._silent(abstained)
        weights = regions.inside(self.region, cells.true, cells.predicted)
        bad = weights > 0
        errors = int(cells.count[bad].sum())
        of = int(cells.count[self.of[cells.predicted if self.by_prediction else cells.true]].sum())
        of += 0 if self.by_prediction else int(silent[self.of].sum())
        limit = self._limit_in(cells.total + int(silent.sum()))
        paid = (weights[bad], cells.count[bad]) if self.budget.kind == "cost" else None
        return self.verdict(errors, of, limit, confidence, paid=paid)

    def verdict(
        self,
        errors: int,
        of: int,
        limit: float,
        confidence: float | None,
        *,
        paid: tuple[FloatArray, IntArray] | None = None,
        bet: float | None = None,
    ) -> Verdict:
        """The same from counts. For a cost budget: `paid`, costs and how often each was paid, and
        the `bet` of `cost_bound`."""
        if paid is not None:
            assert isinstance(self.region, Penalty)
            rate = float(paid[0] @ paid[1]) / of if of else math.nan
            lower = upper = rate
            if confidence is not None:
                seen = (paid[1], paid[0], of, self.region.greatest, confidence)
                lower, upper = cost_lower_bound(*seen), cost_bound(*seen, bet)
        else:
            rate = lower = upper = errors / of if of else math.nan
            if confidence is not None:
                lower = share_lower_bound(errors, of, confidence)
                upper = share_bound(errors, of, confidence)
        # Without examples the bound may be within a limit of 100 %; still nothing was shown.
        kept = bool(of) and upper <= limit
        return Verdict(self.budget, errors, of, rate, lower, upper, limit, kept, confidence)

    def examples_needed(self, limit: float, confidence: float = 0.95) -> int | None:
        """How many of the examples it is a share of, without an error, show it; None: never."""
        region = self.region if self.budget.kind == "cost" else None
        return examples_needed(
            limit, confidence, region.greatest if isinstance(region, Penalty) else None
        )

    @property
    def counted(self) -> str:
        """The examples it is a share of, in words: "examples of 'tumour'"."""
        if bool(self.of.all()):
            return "answers" if self.by_prediction else "examples"
        names = [name for name, counts in zip(self.classes, self.of, strict=True) if counts]
        shown = ", ".join(f"{name!r}" for name in names[:3])
        which = "predictions" if self.by_prediction else "examples"
        return f"{which} of {shown}{' and others' if len(names) > 3 else ''}"

    def _silent(self, abstained: npt.ArrayLike | None) -> IntArray:
        k = len(self.classes)
        if abstained is None:
            return np.zeros(k, dtype=np.int64)
        counts = np.asarray(abstained)
        if counts.shape != (k,) or counts.dtype.kind not in "iu" or (counts < 0).any():
            raise ArgumentError(
                f"`abstained` must hold a count for each of {k} true classes; got {abstained!r}."
            )
        return counts.astype(np.int64)

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
    if budget.kind in ("confusion", "precision"):
        sides = []
        for side in (budget.true, budget.predicted):
            chosen = np.zeros(penalty.n_classes, dtype=bool)
            for name in side:
                chosen |= True if name == ANY else regions.members(name, penalty, groups, shown)
            sides.append(chosen)
        region = Block(*sides)
        if not regions.rows_of(region).any():
            raise ArgumentError(f"{shown}: that is no mistake: both sides are the same class.")
        if budget.kind == "precision":
            of = sides[1]
        elif budget.unit == "%":
            # A count is of all examples, so that it can be carried to data of another size.
            of = regions.rows_of(region)
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
    count = None if examples is None else check_count("examples", examples)
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
        raise ArgumentError('`budgets` is empty; give at least one, such as "zone <= 1%".')
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
