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

from untrue.array_types import IntArray
from untrue.budgets import regions
from untrue.budgets.budget import Budget
from untrue.budgets.calibration_set import CalibrationSet, calibrated, read_calibration_set
from untrue.budgets.family import Family, Part
from untrue.budgets.frontier import Path, find_paths
from untrue.budgets.outcome import walk_paths
from untrue.budgets.regions import GroupsLike
from untrue.budgets.rule import DecisionRule, Meaning
from untrue.budgets.sequence import split, usual_path_share
from untrue.budgets.shortfall import NEVER, shortfall
from untrue.checks import check_confidence, check_number, check_seed
from untrue.decision import calibrate
from untrue.errors import ArgumentError, BudgetError
from untrue.metrics.zones import Zone


def control(
    probs: Any,
    target: Any,
    budgets: Iterable[Budget | str] | Budget | str,
    penalty: Any = None,
    confidence: float = 0.95,
    abstain: bool | float = False,
    *,
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
                most right answers, and no budget may be about costs
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
    would take, and has the closest rule; none for a limit of 0, which nothing can show.

    >>> rng = np.random.default_rng(0)
    >>> target = rng.integers(0, 2, 2000)
    >>> probs = 1 / (1 + np.exp(-3 * (target - 0.5) - rng.normal(0, 1.2, 2000)))
    >>> rule = control(probs, target, budgets=["1->0 <= 5%"], classes=["0", "1"])
    >>> bool(((rule(probs) == 0) & (target == 1)).sum() < 0.05 * (target == 1).sum())
    True
    """
    return find_rule(
        read_calibration_set(probs, target, penalty, classes),
        budgets,
        by_cost=penalty is not None,
        confidence=confidence,
        abstain=abstain,
        groups=groups,
        zone=zone,
        zone_above=zone_above,
        path_share=path_share,
        seed=seed,
    )


def find_rule(
    data: CalibrationSet,
    budgets: Iterable[Budget | str] | Budget | str,
    *,
    by_cost: bool,
    confidence: float,
    abstain: bool | float,
    groups: GroupsLike | None,
    zone: Zone | None = None,
    zone_above: float | None,
    path_share: float | None = None,
    seed: int,
) -> DecisionRule:
    """`control` on examples that were read and checked; by_cost: the least cost is wanted."""
    confidence = check_confidence(confidence)
    if path_share is not None:
        check_number("path_share", path_share, 0.0, 1.0, ends=False)
    if zone_above is not None:
        zone_above = check_number("zone_above", zone_above, 0.0)
    seed = check_seed(seed)
    abstain_cost = _abstain_cost(abstain, data)
    if abstain_cost is not None and data.answers == "numbers" and "-1" in data.penalty.classes:
        raise ArgumentError(
            "With `abstain` -1 stands for no answer, and here it is a class, too: give `target` by "
            "names."
        )
    if zone is not None:
        zone = regions.stated_zone(zone, data.penalty, "`zone`")
    meaning = Meaning(groups, zone, zone_above, len(data.target))
    resolved = meaning.resolve(budgets, data.penalty)
    of_cost = [str(found.budget) for found in resolved if found.budget.kind == "cost"]
    if of_cost and not by_cost:
        raise ArgumentError(
            f"Budget {of_cost[0]!r} is about what mistakes cost: give a `penalty` (--penalty FILE; "
            "make one with `untrue penalty new`)."
        )
    limits = np.array([budget.limit() for budget in resolved])
    if not limits.all():
        never = [str(budget) for budget, limit in zip(resolved, limits, strict=True) if not limit]
        raise BudgetError(f"No rule can be shown to keep {' and '.join(never)}: {NEVER}.")
    family = Family(data.penalty, resolved, abstain_cost, by_cost=by_cost)
    share = usual_path_share(len(resolved)) if path_share is None else path_share
    path_part, test_part = split(len(data.target), share, seed)
    alpha = 1.0 - confidence
    temperature, ready = _ready(family, data, path_part)
    paths = find_paths(ready, limits, alpha, len(test_part))
    outcome = walk_paths(
        family,
        paths,
        data.probs,
        data.target,
        test_part,
        temperature=temperature,
        limits=limits,
        confidence=confidence,
    )
    rule = DecisionRule(
        penalty=data.penalty,
        budgets=tuple(budget.budget for budget in resolved),
        meaning=meaning,
        multipliers=outcome.multipliers,
        temperature=temperature,
        abstain_cost=family.abstain_cost,
        answers=data.answers,
        guarantee=outcome.guarantee(path_examples=len(path_part), seed=seed),
    )
    if not outcome.holds:
        hint = None
        if family.abstain_cost is None:
            silent = replace(family, abstain_cost=_abstain_cost(True, data))
            _, able = _ready(silent, data, path_part)
            hint = _silence_needed(find_paths(able, limits, alpha, len(test_part)))
        reason = shortfall(
            resolved,
            rule.guarantee.verdicts,
            data.target,
            test_part,
            confidence=confidence,
            silence=hint,
        )
        raise BudgetError(reason, rule)
    return rule


def _ready(family: Family, data: CalibrationSet, part: IntArray) -> tuple[float, Part]:
    """The temperature, and the path part made ready by it."""
    probs, target = data.probs[part], data.target[part]
    temperature = calibrate(np.log(calibrated(probs, 1.0)), target).temperature
    return temperature, family.on(calibrated(probs, temperature), target, estimate=True)


def _silence_needed(paths: Sequence[Path]) -> float | None:
    """The share of cases on which a rule may have to abstain to pass; by the path part."""
    likely = [
        (int(path.counts.abstained[t]), path.counts.n)
        for path in paths
        for t in np.flatnonzero(path.failing < 0.5)[-1:].tolist()
    ]
    return min((abstained / max(n, 1) for abstained, n in likely), default=None)


def _abstain_cost(abstain: bool | float, data: CalibrationSet) -> float | None:
    """The price of no answer. True: that of the costliest mistake; only budgets then cause one."""
    if isinstance(abstain, bool | np.bool_):
        return (data.penalty.greatest or 1.0) if abstain else None
    if isinstance(abstain, str) or abstain is None:
        raise ArgumentError(f"`abstain` must be True, False or a cost; got {abstain!r}.")
    return check_number("abstain", abstain, 0.0)
