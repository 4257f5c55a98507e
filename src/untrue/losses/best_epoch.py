"""`BestEpoch`: keeps the weights of the best epoch that held every budget of a `BudgetedLoss`."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, Literal

from torch import nn

from untrue.checks import check_choice
from untrue.errors import ArgumentError, BudgetError
from untrue.losses.budgeted import BudgetedLoss, BudgetUpdate
from untrue.metrics import expected_cost, total_error
from untrue.metrics.confusion import ConfusionLike, read_confusion


@dataclasses.dataclass(frozen=True, slots=True)
class KeptEpoch:
    """An epoch whose weights are kept.

    epoch         counted from 1: the calls of `see`
    budgets_kept  whether every budget was kept
    excess        how far the worst budget was beyond its limit, relative to it
    score         what is compared where budgets are kept: the share of errors, or the mean cost
    findings      a sentence for each budget
    """

    epoch: int
    budgets_kept: bool
    excess: float
    score: float
    findings: tuple[str, ...]

    def __str__(self) -> str:
        return f"epoch {self.epoch}: {' '.join(self.findings)}"

    def better_than(self, other: KeptEpoch | None) -> bool:
        """Kept before not kept; then the lower score, or the lower excess."""
        if other is None or self.budgets_kept != other.budgets_kept:
            return other is None or self.budgets_kept
        return self.score < other.score if self.budgets_kept else self.excess < other.excess


class BestEpoch:
    """Updates a `BudgetedLoss` each epoch and keeps the best network that held its budgets.

    by   "errors": fewest wrong answers; "cost": least mean cost by the loss's penalty

    The judgement is that of `loss.update`: by rates, or, if the loss has a `confidence`, by upper
    bounds. Until an epoch holds all budgets, the closest one is kept.

    >>> from untrue import Penalty
    >>> loss = BudgetedLoss(Penalty.from_rules(["a", "b"], {}), ["a->b <= 5%"])
    >>> network, best = nn.Linear(3, 2), BestEpoch(loss)
    >>> for counts in ([[80, 20], [1, 99]], [[97, 3], [9, 91]], [[98, 2], [30, 70]]):
    ...     # train for an epoch here, then count the answers on validation data
    ...     seen = best.see(network, counts)
    >>> best.restore(network).epoch
    2
    """

    def __init__(self, loss: BudgetedLoss, *, by: Literal["errors", "cost"] = "errors") -> None:
        if not isinstance(loss, BudgetedLoss):
            raise ArgumentError(f"`loss` must be a BudgetedLoss; got {type(loss).__name__}.")
        check_choice("by", by, ("errors", "cost"))
        self.loss, self.by = loss, by
        self.epochs = 0
        self.kept: KeptEpoch | None = None
        self._weights: dict[str, Any] = {}

    def see(self, network: nn.Module, confusion_matrix: ConfusionLike) -> BudgetUpdate:
        """Call `loss.update` with the epoch's validation counts; keep the network if it is best."""
        cells = read_confusion(confusion_matrix)
        seen = self.loss.update(cells)
        self.epochs += 1
        score = expected_cost(cells, self.loss.penalty) if self.by == "cost" else total_error(cells)
        excesses = [verdict.excess for verdict in seen.verdicts]
        epoch = KeptEpoch(
            self.epochs,
            seen.all_kept,
            math.inf if any(map(math.isnan, excesses)) else max(excesses),
            float(score),
            tuple(map(str, seen.verdicts)),
        )
        if epoch.better_than(self.kept):
            self.kept, self._weights = epoch, copy.deepcopy(network.state_dict())
        return seen

    def restore(self, network: nn.Module, *, closest: bool = False) -> KeptEpoch:
        """Load the weights of the best epoch that held every budget; returns which it was.

        If none did: `BudgetError`; with `closest` the epoch that was least beyond a limit.
        """
        if self.kept is None:
            raise ArgumentError("No epoch was seen: call `see(network, counts)` after each.")
        if not self.kept.budgets_kept and not closest:
            raise BudgetError(
                f"None of {self.epochs} epochs held every budget. The closest was {self.kept} "
                "`restore(network, closest=True)` loads that one; a higher `alpha`, `step` or "
                "`cap` of the loss, or more epochs, may hold them."
            )
        network.load_state_dict(self._weights)
        return self.kept

    def state_dict(self) -> dict[str, Any]:
        """What is needed to continue after a restart: numbers, texts and weights."""
        kept = None if self.kept is None else dataclasses.asdict(self.kept)
        return {"epochs": self.epochs, "kept": kept, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        kept = state["kept"]
        if kept is not None:
            kept = KeptEpoch(**{**kept, "findings": tuple(kept["findings"])})
        self.epochs, self.kept, self._weights = int(state["epochs"]), kept, state["weights"]
