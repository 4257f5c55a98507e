"""Whether the evidence in a rule's file bears out what the rule claims.

A checksum finds a file that was changed; this finds one whose numbers contradict each other. All
that counts determine is computed again: limits, rates, bounds, p-values of shares, and which rules
passed. Mean costs rest on more than the file has; of these only the bounds are compared.
"""

from __future__ import annotations

import numpy as np

from untrue.array_types import BoolArray, FloatArray
from untrue.budgets.guarantee import Guarantee, TestedRule
from untrue.budgets.resolved import ResolvedBudget
from untrue.budgets.rule import DecisionRule
from untrue.budgets.sequence import passed_in_order
from untrue.budgets.verdict import Verdict
from untrue.checks import check_confidence
from untrue.errors import DataError
from untrue.metrics.bounds import share_p_value

# More than two versions of SciPy differ by, and less than a person would notice.
CLOSE = 1e-6


def check_evidence(rule: DecisionRule) -> None:
    """Raise `DataError` where numbers of a rule contradict each other."""
    found = rule.guarantee
    check_confidence(found.confidence)
    _check_examples(found, rule.meaning.examples)
    for tested in (*found.tested, found.plain):
        _check_tested(tested, rule.resolved, found.test_examples)
    if rule.multipliers != found.rule.multipliers:
        raise DataError(
            f"`multipliers` are {list(rule.multipliers)}, but those of the chosen rule that was "
            f"tested are {list(found.rule.multipliers)}."
        )
    for b, (budget, verdict) in enumerate(zip(rule.resolved, found.verdicts, strict=True)):
        if (verdict.errors, verdict.of) != (found.rule.errors[b], found.rule.of[b]):
            raise DataError(
                f"`verdicts`: {budget.budget} has {verdict.errors} errors of {verdict.of}, but "
                f"the chosen rule has {found.rule.errors[b]} of {found.rule.of[b]}."
            )
        _check_verdict(budget, verdict, found.confidence)
    _check_passed(rule.resolved, found)


def _check_examples(found: Guarantee, meant: int | None) -> None:
    if not found.path_examples or not found.test_examples:
        raise DataError(
            f"`path_examples` and `test_examples` must be at least 1; got {found.path_examples} "
            f"and {found.test_examples}."
        )
    if found.path_examples + found.test_examples != found.examples:
        raise DataError(
            f"`examples` must be `path_examples` and `test_examples` together, "
            f"{found.path_examples} and {found.test_examples}; got {found.examples}."
        )
    if meant is not None and meant != found.examples:
        raise DataError(
            f"`examples` must be the same in `meaning` and in `guarantee`; got {meant} and "
            f"{found.examples}."
        )


def _check_tested(tested: TestedRule, budgets: tuple[ResolvedBudget, ...], examples: int) -> None:
    for b, (errors, of) in enumerate(zip(tested.errors, tested.of, strict=True)):
        if not errors <= of <= examples:
            raise DataError(
                f"`errors` must be at most `of`, and that at most the {examples} test examples; "
                f"got {errors} of {of}."
            )
        share = errors / max(of, 1)
        if budgets[b].budget.kind != "cost" and not _close(tested.rates[b], share):
            raise DataError(
                f"`rates` of a tested rule must be `errors` / `of`, {share:.6g} for "
                f"{budgets[b].budget}; got {tested.rates[b]:.6g}."
            )
    for name in ("accuracy", "abstained"):
        share = getattr(tested, name)
        if not 0 <= share <= 1:
            raise DataError(f"`{name}` must lie in [0, 1]; got {share:g}.")


def _check_verdict(budget: ResolvedBudget, stated: Verdict, confidence: float) -> None:
    """Every number of a verdict is what its counts, its budget and the confidence make it."""
    limit = budget.limit()
    if stated.confidence != confidence:
        _contradiction(budget, "confidence", stated.confidence, confidence)
    if not _close(stated.limit, limit):
        _contradiction(budget, "limit", stated.limit, limit)
    if stated.kept != (bool(stated.of) and stated.upper <= stated.limit):
        _contradiction(budget, "kept", stated.kept, not stated.kept)
    if budget.budget.kind == "cost":
        if stated.of and not stated.lower <= stated.rate <= stated.upper:
            raise DataError(
                f"`verdicts`: the rate of {budget.budget} must lie between its bounds, "
                f"{stated.lower:g} and {stated.upper:g}; got {stated.rate:g}."
            )
        return
    computed = budget.verdict(stated.errors, stated.of, limit, confidence)
    for name in ("rate", "lower", "upper"):
        if not _close(getattr(stated, name), getattr(computed, name)):
            _contradiction(budget, name, getattr(stated, name), getattr(computed, name))


def _check_passed(budgets: tuple[ResolvedBudget, ...], found: Guarantee) -> None:
    """The p-values are those of the counts, and the rules that passed are those that these let."""
    shares = [b for b, budget in enumerate(budgets) if budget.budget.kind != "cost"]
    p_values = np.array([tested.p_value for tested in found.tested])
    least = np.zeros(len(p_values))
    for b in shares:
        errors = [tested.errors[b] for tested in found.tested]
        of = [tested.of[b] for tested in found.tested]
        least = np.maximum(least, share_p_value(errors, of, budgets[b].limit()))
    # The p-value of a mean cost, which the counts do not determine, can only raise the greatest.
    right = p_values >= least - CLOSE if len(shares) < len(budgets) else _near(p_values, least)
    passed = passed_in_order(
        p_values[:, None],
        np.array([tested.path for tested in found.tested]),
        1.0 - found.confidence,
    )
    for t, tested in enumerate(found.tested):
        if not right[t]:
            raise DataError(
                f"`p_value` of tested rule {t} must be {least[t]:.6g}, by its counts and the "
                f"limits; got {tested.p_value:.6g}."
            )
        if tested.passed != passed[t]:
            raise DataError(
                f"`passed` of tested rule {t} must be {str(bool(passed[t])).lower()}, by the "
                f"p-values and a confidence of {found.confidence:g}."
            )
    if found.holds and not found.rule.passed:
        raise DataError("`holds` is true, but the chosen rule did not pass its test.")


def _contradiction(budget: ResolvedBudget, name: str, stated: object, computed: object) -> None:
    raise DataError(
        f"`verdicts`: `{name}` of {budget.budget} must be {_shown(computed)}; got {_shown(stated)}."
    )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _close(one: float, other: float) -> bool:
    return bool(_near(np.array(one), np.array(other)))


def _near(one: FloatArray, other: FloatArray) -> BoolArray:
    return np.isclose(one, other, rtol=CLOSE, atol=1e-9, equal_nan=True)
