"""Learn, then test, for rules of any kind: the split, the p-values, and which rules pass in order.

Shared by `control` and `tune`, whose rules differ in multipliers, and `untrue.exits`, whose rules
differ in a threshold. One part of the examples chooses rules and their order; the other tests
them, each by exact p-values, until one does not pass. docs/guarantees.md has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets.family import Counts
from untrue.budgets.resolved import ResolvedBudget
from untrue.budgets.verdict import Verdict
from untrue.errors import ArgumentError
from untrue.metrics.betting import bet_for, cost_p_value
from untrue.metrics.bounds import share_p_value

# More examples than this do not find a better path.
MOST_FOR_PATH = 20_000


def usual_path_share(n_budgets: int) -> float:
    """Of the examples, those that choose the rules: several budgets are harder to foresee."""
    return 0.1 if n_budgets == 1 else 0.2


def split(
    n: int, path_share: float, seed: int, *, most: int = MOST_FOR_PATH
) -> tuple[IntArray, IntArray]:
    """Positions of the path part, at most this many, and of the test part: purely random, not by
    class.

    Numbers of a class that were fixed in advance would not be those of independent draws.
    """
    if n < 2:
        raise ArgumentError(f"`target` must hold at least 2 examples, one for each part; got {n}.")
    order = np.random.default_rng(seed).permutation(n)
    size = min(max(round(path_share * n), 1), most, n - 1)
    return np.sort(order[:size]), np.sort(order[size:])


def bets(counts: Counts, limits: FloatArray, greatest: float) -> FloatArray:
    """(T, B) For cost budgets the bet that won most on the path part; nan for others."""
    found = np.full((len(counts.errors), len(limits)), np.nan)
    for b, paid in counts.paid.items():
        found[:, b] = [
            bet_for(times, costs, counts.n, greatest, float(limits[b]))[0] for costs, times in paid
        ]
    return found


def p_values(
    counts: Counts, limits: FloatArray, greatest: float, path_bets: FloatArray
) -> FloatArray:
    """(T, B) Of "the rate is above its limit": binomial for shares, by betting for mean costs.

    greatest   cost of a mistake
    path_bets  of `bets`, settled on other examples than those counted
    """
    found = np.ones((len(counts.errors), len(limits)))
    for b, limit in enumerate(limits.tolist()):
        if b in counts.paid:
            found[:, b] = [
                cost_p_value(times, costs, counts.n, greatest, limit, bet)
                for (costs, times), bet in zip(
                    counts.paid[b], path_bets[:, b].tolist(), strict=True
                )
            ]
        else:
            found[:, b] = share_p_value(counts.errors[:, b], counts.of[:, b], limit)
    return found


def passed_in_order(found: FloatArray, path: IntArray, alpha: float) -> BoolArray:
    """(T,) Whether a rule and all before it on its path have p-values (T, B) at most alpha.

    path  (T,) which path a rule is on; they share `alpha`

    Valid since a rule that breaks a budget passes with a chance of at most alpha, whatever the
    budget, and since on each path the first such rule ends it (fixed-sequence testing).
    """
    numbers = np.unique(path)
    within = found.max(axis=1) <= alpha / len(numbers)
    passed = np.zeros(len(within), dtype=bool)
    for each in numbers:
        own = path == each
        passed[own] = np.logical_and.accumulate(within[own])
    return passed


def closest(counts: Counts, limits: FloatArray, other: FloatArray | None = None) -> int:
    """The rule whose worst budget exceeds its limit least, relative to it.

    other  (T,) something else than budgets, relative to its own limit
    """
    rates = (counts.errors + 1.0) / (counts.of + 1.0)
    for b in counts.paid:
        rates[:, b] = counts.cost / counts.n
    worst = (rates / np.maximum(limits, 1e-12)).max(axis=1)
    return int((worst if other is None else np.maximum(worst, other)).argmin())


def verdicts(
    budgets: Sequence[ResolvedBudget],
    limits: FloatArray,
    counts: Counts,
    path_bets: FloatArray | None,
    rule: int,
    confidence: float,
) -> tuple[Verdict, ...]:
    """Of each budget on a rule, with bounds of each by itself: those of the p-values.

    path_bets: settled on the path part for mean costs; None: none was
    """
    return tuple(
        budget.verdict(
            int(counts.errors[rule, b]),
            int(counts.of[rule, b]),
            float(limits[b]),
            confidence,
            paid=counts.paid[b][rule] if b in counts.paid else None,
            bet=float(path_bets[rule, b]) if path_bets is not None and b in counts.paid else None,
        )
        for b, budget in enumerate(budgets)
    )
