"""`BudgetedLoss`: the cost of a kind of mistake rises until it is as rare as required."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from untrue import functional
from untrue.budgets import Budget, ResolvedBudget, Verdict, resolve_all, scaled_penalty
from untrue.budgets.regions import GroupsLike
from untrue.checks import check_choice, check_confidence, check_number
from untrue.functional.contract import as_penalty
from untrue.losses.bilinear import MixedLoss
from untrue.losses.registry import MIXED, MixedName
from untrue.losses.scaled_costs import ScaledCosts
from untrue.metrics.confusion import ConfusionLike
from untrue.metrics.zones import Zone
from untrue.penalty import Penalty
from untrue.penalty.arrays import MOST_COST
from untrue.penalty.tensors import Costs

TERMS = {"bilinear": functional.bilinear_loss, "log-bilinear": functional.log_bilinear_loss}
# One matrix moves a multiplier up by no more than this many steps: rates of a first epoch vary.
MOST_EXCESS = 5.0
# No single cost beyond this, so that sums of costs stay finite in single precision.
MOST_SCALED = MOST_COST / 100


@dataclasses.dataclass(frozen=True, slots=True)
class BudgetUpdate:
    """What `loss.update` saw and did; everything in the order of the budgets.

    step         how many updates there have been, this one included
    verdicts     each budget's rate, bound, limit, and whether it is kept
    multipliers  after the update
    """

    step: int
    verdicts: tuple[Verdict, ...]
    multipliers: tuple[float, ...]

    @property
    def rates(self) -> tuple[float, ...]:
        return tuple(verdict.rate for verdict in self.verdicts)

    @property
    def limits(self) -> tuple[float, ...]:
        return tuple(verdict.limit for verdict in self.verdicts)

    @property
    def kept(self) -> tuple[bool, ...]:
        return tuple(verdict.kept for verdict in self.verdicts)

    @property
    def all_kept(self) -> bool:
        return all(self.kept)


def budgeted_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    budgets: Iterable[Budget | str] | Budget | str = (),
    *,
    multipliers: npt.ArrayLike | None = None,
    loss: MixedName = "bilinear",
    groups: GroupsLike | None = None,
    zone: Zone | None = None,
    zone_above: float | None = None,
    examples: int | None = None,
    **options: Any,
) -> Tensor:
    """The bilinear or log-bilinear loss by costs that the budgets' multipliers scale.

    multipliers: one per budget; without them all are 1, and the budgets change nothing. budgets,
    groups, zone, zone_above, examples: as in `BudgetedLoss`; without budgets it is the plain loss.
    The other options: as in `functional.bilinear_loss`. Budgets are read in each call;
    `BudgetedLoss` reads them once.
    """
    check_choice("loss", loss, MIXED)
    stated = (budgets,) if isinstance(budgets, Budget | str) else tuple(budgets)
    if isinstance(penalty, Costs) or not stated:
        return TERMS[loss](logits, target, penalty, **options)
    penalty = as_penalty(penalty)
    resolved = resolve_all(
        stated, penalty, groups=groups, zone=zone, zone_above=zone_above, examples=examples
    )
    factors = [1.0] * len(resolved) if multipliers is None else multipliers
    return TERMS[loss](logits, target, scaled_penalty(penalty, resolved, factors), **options)


class BudgetedLoss(MixedLoss):
    """`(1 - alpha) CE + alpha y'(A + sum_b (m_b - 1) u_b M_b)p`, or log-bilinear.

    paper       dual ascent on a Lagrangian, as in Eban et al., AISTATS 2017, and Cotter et al.,
                JMLR 2019, over the bilinear losses
    penalty     a `Penalty`, or a (C, C) matrix of costs, true class first
    budgets     texts like "tumour->benign <= 0.5%", or `untrue.Budget`s; names as the penalty's
    alpha       share of the cost term; may be set later. At 0 no multiplier has an effect
    loss        "bilinear" or "log-bilinear": which of the two terms
    step        how far a multiplier moves for a budget that is at twice its limit
    cap         no multiplier goes beyond it
    confidence  judge by an upper confidence bound (0.95); None: by the rates themselves
    groups, zone, zone_above, examples      as in `Budget.resolve`
    the rest    as in `nn.CrossEntropyLoss`
    when        it is known how often a mistake may happen, not what it costs

    `M_b` is 1 on the budget's cells, `u_b` their mean cost, so that the multiplier m_b multiplies
    the cost of cells that cost the same. All start at 1, where the loss is the plain one; each
    `update(confusion_matrix)` of validation data moves them by

        m_b <- clip(m_b + step * (rate_b - limit_b) / limit_b, 1, cap)

    >>> penalty = Penalty.from_rules(["tumour", "benign"], {}, default=1.0)
    >>> loss = BudgetedLoss(penalty, ["tumour->benign <= 1%"])
    >>> loss.update([[97, 3], [10, 90]]).kept
    (False,)
    >>> loss.multipliers
    {'tumour->benign <= 1%': 1.6}
    >>> loss.scaled_penalty().matrix()
    array([[0. , 1.6],
           [1. , 0. ]])
    """

    costs: ScaledCosts

    def __init__(
        self,
        penalty: Penalty | Any,
        budgets: Iterable[Budget | str] | Budget | str,
        *,
        alpha: float = 0.5,
        loss: MixedName = "bilinear",
        step: float = 0.3,
        cap: float = 1000.0,
        confidence: float | None = None,
        groups: GroupsLike | None = None,
        zone: Zone | None = None,
        zone_above: float | None = None,
        examples: int | None = None,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        binary: bool = False,
    ) -> None:
        check_choice("loss", loss, MIXED)
        penalty = as_penalty(penalty)
        resolved = resolve_all(
            budgets, penalty, groups=groups, zone=zone, zone_above=zone_above, examples=examples
        )
        super().__init__(
            penalty,
            alpha,
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
            label_smoothing=label_smoothing,
            binary=binary,
        )
        self.loss = loss
        self.budgets = resolved
        self.step = check_number("step", step, 0.0)
        self.cap = check_number("cap", cap, 1.0)
        self.confidence = None if confidence is None else check_confidence(confidence)
        self.costs = ScaledCosts(self.costs, resolved)

    @property
    def multipliers(self) -> dict[str, float]:
        """The present multiplier of each budget."""
        values = self.costs.multipliers.tolist()
        return {str(budget): value for budget, value in zip(self.budgets, values, strict=True)}

    def update(self, confusion_matrix: ConfusionLike) -> BudgetUpdate:
        """Move the multipliers by the validation data: counts (k, k), true class first.

        Raised for a budget over its limit, in proportion to the relative excess; lowered, not below
        1, for one that is kept. A budget about which the matrix holds no example stays as it is.
        """
        verdicts = tuple(budget.judge(confusion_matrix, self.confidence) for budget in self.budgets)
        before = self.costs.multipliers.tolist()
        after = [
            self._moved(multiplier, verdict.excess, budget)
            for multiplier, verdict, budget in zip(before, verdicts, self.budgets, strict=True)
        ]
        with torch.no_grad():
            self.costs.multipliers.copy_(torch.tensor(after, dtype=torch.float64))
            self.costs.updates.add_(1)
        return BudgetUpdate(int(self.costs.updates), verdicts, tuple(after))

    def _moved(self, multiplier: float, excess: float, budget: ResolvedBudget) -> float:
        if math.isnan(excess):
            return multiplier
        unit = self.penalty.greatest if budget.budget.kind == "cost" else budget.unit
        cap = max(1.0, min(self.cap, MOST_SCALED / unit)) if unit else self.cap
        moved = multiplier + self.step * min(excess, MOST_EXCESS)
        return min(max(moved, 1.0), cap)

    def scaled_penalty(self) -> Penalty:
        """The present scaled costs as a penalty: for `untrue.decide`, for a file, for a report."""
        return scaled_penalty(self.penalty, self.budgets, self.costs.multipliers.tolist())

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        return budgeted_loss(logits, target, self.costs, loss=self.loss, **self._options())

    def extra_repr(self) -> str:
        budgets = ", ".join(repr(str(budget)) for budget in self.budgets)
        return f"{super().extra_repr()}, loss={self.loss!r}, budgets=[{budgets}]"
