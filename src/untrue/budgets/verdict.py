"""How counts compare with a budget: a frozen record that prints as a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from untrue.budgets.budget import Budget
from untrue.errors import counted


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a confusion matrix on a budget; printed, a sentence.

    errors      mistakes of this kind (for an expected cost: all that cost anything)
    of          examples they are a share of
    rate        errors / of, or the mean cost; nan where `of` is 0
    lower       its lower confidence bound; the rate itself with confidence None
    upper       its upper confidence bound
    limit       in the units of the rate
    kept        whether `upper` is within the limit; without an example nothing is
    confidence  of each bound by itself
    """

    budget: Budget
    errors: int
    of: int
    rate: float
    lower: float
    upper: float
    limit: float
    kept: bool
    confidence: float | None

    @property
    def broken(self) -> bool:
        """Whether even `lower` is above the limit; without an example nothing is."""
        return bool(self.of) and self.lower > self.limit

    @property
    def excess(self) -> float:
        """How far `upper` is beyond the limit, relative to it: 0 at the limit, 1 at twice that.

        A limit of 0 counts as one error. -1 at the least; nan without examples.
        """
        if not self.of or math.isnan(self.upper):
            return math.nan
        scale = self.limit or 1 / self.of
        return self.upper / scale - self.limit / scale

    @property
    def ruling(self) -> str:
        """One of "kept", "broken", "over, perhaps by chance", "within, not shown", "no example"."""
        if not self.of:
            return "no example"
        if self.kept or self.broken:
            return "kept" if self.kept else "broken"
        return "over, perhaps by chance" if self.rate > self.limit else "within, not shown"

    def __str__(self) -> str:
        if not self.of:
            return f"{self.budget}: there is no example to judge it by."
        if self.budget.kind == "cost":
            found = f"an answer costs {self.rate:.3g} on average, in {counted(self.of, 'example')}"
        else:
            what = "prediction" if self.budget.kind == "precision" else "example"
            found = f"{self.errors:,} of {counted(self.of, what)} ({self.shown(self.rate)})"
        if self.confidence is None:
            return f"{self.budget}: {'kept' if self.kept else 'over'}; {found}."
        bounds = {
            "kept": f"at most {self.shown(self.upper)}",
            "broken": f"at least {self.shown(self.lower)}",
        }
        sure = f"{100 * self.confidence:g} % confidence"
        both = f"lower bound {self.shown(self.lower)} and upper bound {self.shown(self.upper)}"
        bound = bounds.get(self.ruling)
        known = f"with {sure} {bound}" if bound else f"{both}, each with {sure}"
        return f"{self.budget}: {self.ruling}; {found}; {known}."

    def as_dict(self) -> dict[str, float]:
        """What was counted, and its bounds, for JSON."""
        names = ("errors", "of", "rate", "lower", "upper", "limit")
        return {name: getattr(self, name) for name in names}

    def shown(self, rate: float) -> str:
        """A rate in the budget's unit: a share in %, a cost as it is."""
        return f"{rate:.3g}" if self.budget.kind == "cost" else f"{100 * rate:.3g} %"
