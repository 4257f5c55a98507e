"""What a decision rule guarantees, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass

from untrue.budgets.verdict import Verdict


@dataclass(frozen=True, slots=True)
class TestedRule:
    """A rule on the test part; budgets in their order.

    path         the number of its path, from 0
    multipliers  how many times as costly each budget's mistakes are
    errors       mistakes of each budget
    of           examples or answers they are a share of
    rates        errors / of, or the mean cost
    p_value      the greatest of the budgets': the chance of data that good, were one over its limit
    passed       the p-values of it and of all before it on its path are at most alpha
    accuracy     right answers, of all examples
    cost         what an answer costs on average
    abstained    share of the examples without an answer
    """

    __test__ = False  # pytest: not a test

    path: int
    multipliers: tuple[float, ...]
    errors: tuple[int, ...]
    of: tuple[int, ...]
    rates: tuple[float, ...]
    p_value: float
    passed: bool
    accuracy: float
    cost: float
    abstained: float


@dataclass(frozen=True, slots=True)
class Guarantee:
    """With probability `confidence` over the draw of the examples, every budget is truly kept.

    holds       False only for the rule that a `BudgetError` calls closest: it promises nothing
    confidence  for all budgets together
    verdicts    of each budget on the test part, with bounds of each by itself
    examples    all that were given; path_examples chose the rules to test, test_examples tested
    seed        of the random split
    tested      every rule that was tested, path by path; `chosen` is a position in it
    plain       the most probable class on the test part, for comparison
    """

    holds: bool
    confidence: float
    verdicts: tuple[Verdict, ...]
    examples: int
    path_examples: int
    test_examples: int
    seed: int
    tested: tuple[TestedRule, ...]
    chosen: int
    plain: TestedRule

    @property
    def rule(self) -> TestedRule:
        """The chosen rule on the test part."""
        return self.tested[self.chosen]

    @property
    def budgets(self) -> tuple[str, ...]:
        return tuple(str(verdict.budget) for verdict in self.verdicts)

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:g} %"
        listed = " and ".join(self.budgets)
        seen = "; ".join(map(_seen, self.verdicts))
        if self.holds:
            start = (
                f"With {sure} confidence {listed} {'all ' if len(self.verdicts) > 2 else ''}"
                f"{'hold' if len(self.verdicts) > 1 else 'holds'} for examples like these."
            )
        else:
            start = f"Nothing is guaranteed: this rule was not shown to keep {listed} with {sure}."
        return (
            f"{start} Tested on {self.test_examples:,} of {self.examples:,} examples: {seen}. "
            f"{self.price}"
        )

    @property
    def price(self) -> str:
        """What it costs to keep the budgets, in a sentence."""
        rule, plain = self.rule, self.plain
        change = 100 * (rule.accuracy - plain.accuracy)
        text = (
            f"Right answers: {100 * rule.accuracy:.1f} %, {change + 0.0:+.1f} points against the "
            "most probable class"
        )
        silent = f"; no answer in {100 * rule.abstained:.1f} %" if rule.abstained else ""
        return f"{text}{silent}."


def _seen(verdict: Verdict) -> str:
    if verdict.budget.kind == "cost":
        return f"{verdict.budget}: {verdict.rate:.3g} on average"
    rate = f" ({100 * verdict.rate:.3g} %)" if verdict.of else ""
    return f"{verdict.budget}: {verdict.errors:,} of {verdict.of:,}{rate}"
