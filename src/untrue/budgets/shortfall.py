"""Why no rule could be shown to keep the budgets, and what it would take: the text of the error."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from untrue.array_types import IntArray
from untrue.budgets.budget import ANY
from untrue.budgets.resolved import ResolvedBudget
from untrue.budgets.verdict import Verdict
from untrue.metrics.bounds import most_errors

# More examples than this are too many to suggest.
MOST = 10**8
# Up to this many times the examples that there are, no number is named.
FEW_MORE = 1.1
NEVER = "no number of examples can show that something never happens; allow a little"


def shortfall(
    budgets: Sequence[ResolvedBudget],
    verdicts: Sequence[Verdict],
    target: IntArray,
    test_part: IntArray,
    *,
    confidence: float,
    silence: float | None = None,
    sought: str = "rule",
    closest: str = "the closest rule",
    part: str = "test part",
) -> str:
    """Sentences: which budgets, why, and the ways out.

    verdicts         of each budget on the rule that is called `closest`
    target           of all examples; `test_part` are the positions of those that tested
    silence          share of the cases on which a rule has to abstain to pass, if that is likely
                     to help
    sought, closest  what the sentences call what could not be found, and what came nearest; part:
                     and the examples that tested
    """
    share = len(test_part) / len(target)
    sure = f"{100 * confidence:g} %"
    failed, reasons, too_few = [], [], False
    for budget, verdict in zip(budgets, verdicts, strict=True):
        reason = _reason(budget, verdict, target, test_part, share, confidence, closest, part)
        if reason:
            needed = budget.examples_needed(verdict.limit, confidence)
            too_few = too_few or needed is None or verdict.of < needed
            failed.append(str(budget))
            reasons.append(reason)
    if len(failed) > 1:
        reasons = [f"{name}: {reason}" for name, reason in zip(failed, reasons, strict=True)]
    if not failed:
        # Each would pass by itself at alpha, but not where several paths share it.
        failed = [str(budget) for budget in budgets]
        reasons = [f"each is kept by {closest}, but only just"]
    listed = " and ".join(failed)
    text = f"No {sought} can be shown to keep {listed} with {sure}: {'; '.join(reasons)}."
    if len(failed) < len(budgets):
        kept = [str(budget) for budget in budgets if str(budget) not in failed]
        text += f" {closest[0].upper()}{closest[1:]} keeps {' and '.join(kept)}."
    if silence and not too_few:
        text += (
            f" Abstaining on about {100 * silence:.2g} % of the cases would keep "
            f"{'them' if len(budgets) > 1 else 'it'} (`abstain`, --abstain)."
        )
    return text


def _reason(
    budget: ResolvedBudget,
    verdict: Verdict,
    target: IntArray,
    test_part: IntArray,
    share: float,
    confidence: float,
    closest: str,
    part: str,
) -> str:
    """Why the rule called `closest` does not show one budget; empty if it does."""
    if verdict.kept:
        return ""
    needed = budget.examples_needed(verdict.limit, confidence)
    if needed is None:
        return NEVER
    if verdict.of < needed:
        every = f"about {about(needed / share)}"
        found = f"{verdict.of:,} {budget.counted} are"
        if not budget.by_prediction:
            total = int(budget.of[target].sum())
            found = f"of {total:,} {budget.counted} {int(budget.of[target[test_part]].sum()):,} are"
            # The split may have put fewer there than its share.
            if needed / share < FEW_MORE * total:
                every = "a few more"
        return (
            f"{found} in the {part}; {needed:,} are needed there, {every} in all, {_none(budget)}"
        )
    if budget.budget.kind == "cost":
        start = (
            f"an answer of {closest} costs {verdict.rate:.3g} on average, and the {part} "
            f"only shows that it is at most {verdict.upper:.3g}"
        )
    else:
        most = int(most_errors(np.array([verdict.of]), verdict.limit, 1 - confidence)[0])
        what = "predictions" if budget.by_prediction else "examples"
        start = (
            f"{closest} has {verdict.errors:,} such errors in {verdict.of:,} {what} of the "
            f"{part} ({100 * verdict.rate:.3g} %), where at most {most:,} would show it"
        )
    if verdict.rate >= verdict.limit:
        return f"{start}; a better model or a higher limit is needed"
    wanted = _enough(verdict, confidence)
    if wanted is None:
        return start
    return f"{start}; at that rate about {about(wanted / share)} {budget.counted} in all would"


def _none(budget: ResolvedBudget) -> str:
    """What none of them may be: "none called benign"."""
    stated = budget.budget
    if stated.kind == "precision":
        names = "another class" if stated.true == (ANY,) else " or ".join(stated.true)
        return f"none of them truly {names}"
    if stated.kind == "confusion":
        names = "anything else" if stated.predicted == (ANY,) else " or ".join(stated.predicted)
        return f"none called {names}"
    return "without such a mistake"


def _enough(verdict: Verdict, confidence: float) -> int | None:
    """How many examples would show the limit at the rate that was seen; None: too many."""
    if verdict.budget.kind == "cost":
        # The bound comes down to the rate with the square root of the number.
        ratio = (verdict.upper - verdict.rate) / (verdict.limit - verdict.rate)
        wanted = verdict.of * ratio**2
        return math.ceil(wanted) if wanted < MOST else None
    n = verdict.of
    while n < MOST:
        if most_errors(np.array([n]), verdict.limit, 1 - confidence)[0] >= verdict.rate * n:
            return n
        n = math.ceil(n * 1.1)
    return None


def about(number: float) -> str:
    """Two digits of a number, with commas.

    >>> about(1196), about(747.5), about(9)
    ('1,200', '750', '9')
    """
    digits = max(len(str(int(number))) - 2, 0)
    return f"{round(number / 10**digits) * 10**digits:,}"
