"""From tested paths to one rule and its guarantee: the last step of `control` and of `tune`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets.family import Counts, Family
from untrue.budgets.frontier import Path
from untrue.budgets.guarantee import Guarantee, TestedRule
from untrue.budgets.resolved import ResolvedBudget
from untrue.budgets.sequence import closest, p_values, passed_in_order, verdicts
from untrue.budgets.testing import Probs, Tested, count_rules, gains

# Standard errors by which another rule must be better than the weakest that passed.
SURELY = 2.0


@dataclass(frozen=True, slots=True)
class Floor:
    """Right answers in the test part: those of another model, and how many of them may be lost."""

    right: int
    lost: float

    def kept(self, right: IntArray) -> BoolArray:
        return np.asarray(right >= self.right - self.lost - 1e-9)

    def excess(self, right: IntArray, n: int) -> FloatArray:
        """What is lost, relative to what may be; nothing at all may be: to a thousandth of n."""
        return np.asarray((self.right - right) / max(self.lost, 1e-3 * n))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The rule that is taken, among all that were tested.

    chosen  its position among the rules of all paths
    holds   it passed; else it is only the closest
    shown   some rule passed; where none of those that did is within the floor, `holds` is False
    """

    budgets: tuple[ResolvedBudget, ...]
    limits: FloatArray
    confidence: float
    tested: Tested
    chosen: int
    holds: bool

    @property
    def shown(self) -> bool:
        return bool(self.tested.passed.any())

    @property
    def multipliers(self) -> tuple[float, ...]:
        return tuple(self.tested.multipliers[self.chosen].tolist())

    def guarantee(self, *, path_examples: int, seed: int) -> Guarantee:
        """The record of it; how many examples chose the paths, and the seed of the split."""
        counts = self.tested.counts
        return Guarantee(
            holds=self.holds,
            confidence=self.confidence,
            verdicts=verdicts(
                self.budgets,
                self.limits,
                counts,
                self.tested.bets,
                self.chosen,
                self.confidence,
            ),
            examples=path_examples + counts.n,
            path_examples=path_examples,
            test_examples=counts.n,
            seed=seed,
            tested=_records(self.tested),
            chosen=self.chosen,
            plain=_record(self.tested.plain, 0, -1, np.ones(len(self.limits)), 1.0, False),
        )


def walk_paths(
    family: Family,
    paths: Sequence[Path],
    probs: Probs,
    target: IntArray,
    test_part: IntArray,
    *,
    temperature: float | None,
    limits: FloatArray,
    confidence: float,
    floor: Floor | None = None,
) -> Outcome:
    """Test the paths on the test part, and take one of the rules that pass; else the closest.

    Paths must have been found without the test part. Each is tested at its share of alpha, in order
    until a rule does not pass. `floor`: rules below it are not taken. Since *all* rules that pass
    keep the budgets together, any of them may be taken, by whatever it is chosen.
    """
    multipliers = np.concatenate([path.multipliers for path in paths])
    bets = np.concatenate([path.bets for path in paths])
    number = np.repeat(np.arange(len(paths)), [len(path.failing) for path in paths])
    counts, plain = count_rules(family, multipliers, probs, target, temperature, test_part)
    found = p_values(counts, limits, family.penalty.greatest, bets)
    passed = passed_in_order(found, number, 1.0 - confidence)
    tested = Tested(multipliers, bets, counts, plain, number, found, passed)
    able = passed
    if floor is not None:
        able = able & floor.kept(counts.right)
    holds = bool(able.any())
    if holds:
        chosen = _best(paths, tested, able, family, probs, target, temperature)
    else:
        lost = None if floor is None else floor.excess(counts.right, counts.n)
        chosen = closest(counts, limits, lost)
    return Outcome(family.budgets, limits, confidence, tested, chosen, holds)


def _best(
    paths: Sequence[Path],
    tested: Tested,
    able: BoolArray,
    family: Family,
    probs: Probs,
    target: IntArray,
    temperature: float | None,
) -> int:
    """The weakest of the rules that may be taken; another if its answers were clearly better.

    Better on all examples, by more than two standard errors of the difference.
    """
    passed = np.flatnonzero(able)
    scores = np.concatenate([path.counts.score for path in paths]) + tested.counts.score
    last = [passed[tested.path[passed] == path][-1] for path in np.unique(tested.path[passed])]
    weakest = int(max(last, key=lambda t: float(scores[t])))
    best = int(passed[scores[passed].argmax()])
    if scores[best] <= scores[weakest]:
        return weakest
    one, other = tested.multipliers[[best, weakest]]
    gain = gains(family, one, other, probs, target, temperature)
    return best if gain.sum() > SURELY * np.sqrt((gain**2).sum()) else weakest


def _records(tested: Tested) -> tuple[TestedRule, ...]:
    greatest = tested.p_values.max(axis=1)
    return tuple(
        _record(
            tested.counts,
            t,
            int(tested.path[t]),
            tested.multipliers[t],
            float(greatest[t]),
            bool(tested.passed[t]),
        )
        for t in range(len(greatest))
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
