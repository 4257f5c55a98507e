"""`control`: the decision rule that keeps error budgets, with a guarantee, for any model.

Learn, then test (Angelopoulos et al., 2021). A random part of the examples chooses rules and the
order to test them in, from a safe one to ever weaker ones; the others test them in that order, by
exact p-values, until one does not pass. All that passed keep every budget with the confidence asked
for, whatever the model, the data and the choice. docs/guarantees.md has the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from untrue.budgets import regions
from untrue.budgets.budget import Budget
from untrue.budgets.calibration_set import CalibrationSet, calibrated, read_calibration_set
from untrue.budgets.family import Counts, Family, Part
from untrue.budgets.frontier import Path, find_paths
from untrue.budgets.guarantee import Guarantee, TestedRule
from untrue.budgets.regions import GroupsLike
from untrue.budgets.resolved import ResolvedBudget, resolve_all
from untrue.budgets.rule import DecisionRule, Meaning
from untrue.budgets.shortfall import shortfall
from untrue.budgets.testing import Tested, gains, tested_paths
from untrue.budgets.verdict import Verdict
from untrue.checks import check_confidence, check_count, check_number
from untrue.decision import calibrate
from untrue.errors import ArgumentError, BudgetError
from untrue.metrics.inputs import FloatArray, IntArray
from untrue.metrics.zones import Zone

# More examples than this do not find a better path.
MOST_FOR_PATH = 20_000
# Standard errors by which another rule must be better than the weakest that passed.
SURELY = 2.0


def control(
    probs: Any,
    target: Any,
    *,
    budgets: Iterable[Budget | str] | Budget | str,
    penalty: Any = None,
    confidence: float = 0.95,
    abstain: bool | float = False,
    classes: Sequence[str] | None = None,
    groups: GroupsLike | None = None,
    zone: Zone | None = None,
    zone_above: float | None = None,
    path_share: float | None = None,
    seed: int = 0,
) -> DecisionRule:
    """The decision rule that keeps the budgets, at the least price, with a guarantee.

    probs       (N, k) a model's probabilities for examples it has not learned from; (N,) of the
                second of two classes; or a table with a column for each class
    target      (N,) their classes: positions in the order of the columns, or names
    budgets     texts such as "tumour->benign <= 0.5%", or `Budget`s; a number of errors is one in
                as many examples as these
    penalty     what mistakes cost: the rule with the least cost is wanted. Without it the one with
                most right answers
    confidence  with which all budgets hold together
    abstain     True: it may give no answer, where the budgets leave none; a number: the price of no
                answer, in the units of the penalty
    classes     names of the columns; else a table's own, the penalty's, or those in `target`,
                sorted
    groups, zone, zone_above    what names in budgets mean, as in `Budget.resolve`
    path_share  of the examples, those that choose which rules are tested; else a tenth for one
                budget, a fifth for several
    seed        of the random split into these and the test part

    Raises `BudgetError` where no rule can be shown to keep the budgets: it says why and what it
    would take, and has the closest rule.

    >>> rng = np.random.default_rng(0)
    >>> target = rng.integers(0, 2, 2000)
    >>> probs = 1 / (1 + np.exp(-3 * (target - 0.5) - rng.normal(0, 1.2, 2000)))
    >>> rule = control(probs, target, budgets=["1->0 <= 5%"], classes=["0", "1"])
    >>> bool(((rule(probs) == 0) & (target == 1)).sum() < 0.05 * (target == 1).sum())
    True
    """
    check_confidence(confidence)
    if path_share is not None:
        check_number("path_share", path_share, 0.0, 1.0, ends=False)
    check_count("seed", seed, least=0)
    data = read_calibration_set(probs, target, penalty, classes)
    meaning = Meaning(groups, _zone(zone, data), zone_above, len(data.target))
    resolved = resolve_all(
        budgets,
        data.penalty,
        groups=groups,
        zone=meaning.zone,
        zone_above=zone_above,
        examples=len(data.target),
    )
    family = Family(
        data.penalty, resolved, _abstain_cost(abstain, data), by_cost=penalty is not None
    )
    share = (0.1 if len(resolved) == 1 else 0.2) if path_share is None else path_share
    path_part, test_part = split(len(data.target), share, seed)
    limits = np.array([budget.limit() for budget in resolved])
    alpha = 1.0 - confidence
    temperature, ready = _ready(family, data, path_part)
    paths = find_paths(ready, limits, alpha, len(test_part))
    tested = tested_paths(
        family,
        paths,
        data.probs,
        data.target,
        test_part,
        temperature=temperature,
        limits=limits,
        alpha=alpha,
    )
    chosen = _best(paths, tested, family, data, temperature)
    holds = chosen is not None
    if chosen is None:
        chosen = _closest(tested, limits)
    multipliers = np.concatenate([path.multipliers for path in paths])[chosen]
    rule = DecisionRule(
        penalty=data.penalty,
        budgets=tuple(budget.budget for budget in resolved),
        meaning=meaning,
        multipliers=tuple(multipliers.tolist()),
        temperature=temperature,
        abstain_cost=family.abstain_cost,
        answers=data.answers,
        guarantee=Guarantee(
            holds=holds,
            confidence=confidence,
            verdicts=_verdicts(resolved, limits, tested, chosen, confidence),
            examples=len(data.target),
            path_examples=len(path_part),
            test_examples=len(test_part),
            seed=seed,
            tested=_records(paths, tested),
            chosen=chosen,
            plain=_record(tested.plain, 0, -1, np.ones(len(limits)), 1.0, False),
        ),
    )
    if not holds:
        hint = None
        if family.abstain_cost is None:
            silent = replace(family, abstain_cost=_abstain_cost(True, data))
            _, able = _ready(silent, data, path_part)
            hint = _silence_needed(find_paths(able, limits, alpha, len(test_part)))
        raise BudgetError(shortfall(rule, data.target, test_part, hint), rule)
    return rule


def split(n: int, path_share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Positions of the path part and of the test part: purely random, not by class.

    Numbers of a class that were fixed in advance would not be those of independent draws.
    """
    if n < 2:
        raise ArgumentError(f"`target` must hold at least 2 examples, one for each part; got {n}.")
    order = np.random.default_rng(seed).permutation(n)
    size = min(max(round(path_share * n), 1), MOST_FOR_PATH, n - 1)
    return np.sort(order[:size]), np.sort(order[size:])


def _ready(family: Family, data: CalibrationSet, part: IntArray) -> tuple[float, Part]:
    """The temperature, and the path part made ready by it."""
    probs, target = data.probs[part], data.target[part]
    temperature = calibrate(np.log(calibrated(probs, 1.0)), target).temperature
    return temperature, family.on(calibrated(probs, temperature), target, estimate=True)


def _best(
    paths: Sequence[Path], tested: Tested, family: Family, data: CalibrationSet, temperature: float
) -> int | None:
    """Of the rules that passed, the weakest; another if it gave clearly better answers.

    Better on all examples, by more than two standard errors of the difference. All that passed keep
    the budgets together, so that any of them may be taken, by whatever it is chosen.
    """
    passed = np.flatnonzero(tested.passed)
    if not len(passed):
        return None
    scores = np.concatenate([path.counts.score for path in paths]) + tested.counts.score
    last = [passed[tested.path[passed] == path][-1] for path in np.unique(tested.path[passed])]
    weakest = int(max(last, key=lambda t: float(scores[t])))
    best = int(passed[scores[passed].argmax()])
    if scores[best] <= scores[weakest]:
        return weakest
    multipliers = np.concatenate([path.multipliers for path in paths])
    gain = gains(
        family, multipliers[best], multipliers[weakest], data.probs, data.target, temperature
    )
    return best if gain.sum() > SURELY * np.sqrt((gain**2).sum()) else weakest


def _closest(tested: Tested, limits: FloatArray) -> int:
    """The rule whose worst budget exceeds its limit least, relative to it."""
    counts = tested.counts
    rates = (counts.errors + 1.0) / (counts.of + 1.0)
    for b in counts.paid:
        rates[:, b] = counts.cost / counts.n
    return int((rates / np.maximum(limits, 1e-12)).max(axis=1).argmin())


def _silence_needed(paths: Sequence[Path]) -> float | None:
    """The share of cases on which a rule may have to abstain to pass; by the path part."""
    likely = [
        (int(path.counts.abstained[t]), path.counts.n)
        for path in paths
        for t in np.flatnonzero(path.failing < 0.5)[-1:].tolist()
    ]
    return min((abstained / max(n, 1) for abstained, n in likely), default=None)


def _zone(zone: Zone | None, data: CalibrationSet) -> Any:
    return None if zone is None else regions.stated_zone(zone, data.penalty, "`zone`")


def _abstain_cost(abstain: bool | float, data: CalibrationSet) -> float | None:
    """The price of no answer. True: that of the costliest mistake, so that budgets cause it."""
    if isinstance(abstain, bool | np.bool_):
        return (data.penalty.greatest or 1.0) if abstain else None
    return check_number("abstain", abstain, 0.0)


def _verdicts(
    budgets: Sequence[ResolvedBudget],
    limits: FloatArray,
    tested: Tested,
    t: int,
    confidence: float,
) -> tuple[Verdict, ...]:
    counts = tested.counts
    return tuple(
        budget.verdict(
            int(counts.errors[t, b]),
            int(counts.of[t, b]),
            float(limits[b]),
            confidence,
            paid=counts.paid[b][t] if b in counts.paid else None,
        )
        for b, budget in enumerate(budgets)
    )


def _records(paths: Sequence[Path], tested: Tested) -> tuple[TestedRule, ...]:
    multipliers = np.concatenate([path.multipliers for path in paths])
    p_values = tested.p_values.max(axis=1)
    return tuple(
        _record(
            tested.counts,
            t,
            int(tested.path[t]),
            multipliers[t],
            float(p_values[t]),
            bool(tested.passed[t]),
        )
        for t in range(len(multipliers))
    )


def _record(
    counts: Counts, t: int, path: int, multipliers: FloatArray, p_value: float, passed: bool
) -> TestedRule:
    rates = [
        counts.cost[t] / counts.n if b in counts.paid else errors / max(of, 1)
        for b, (errors, of) in enumerate(
            zip(counts.errors[t].tolist(), counts.of[t].tolist(), strict=True)
        )
    ]
    return TestedRule(
        path=path,
        multipliers=tuple(multipliers.tolist()),
        errors=tuple(counts.errors[t].tolist()),
        of=tuple(counts.of[t].tolist()),
        rates=tuple(float(rate) for rate in rates),
        p_value=p_value,
        passed=passed,
        accuracy=float(counts.right[t] / counts.n),
        cost=float(counts.cost[t] / counts.n),
        abstained=float(counts.abstained[t] / counts.n),
    )
