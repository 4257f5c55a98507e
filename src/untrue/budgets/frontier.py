"""The paths of rules to test: from a safe rule to ever weaker ones, none worse than one before it.

Everything here looks at the path part alone. Of each rule it estimates the chance that the test
part will fail to show its budgets, and how good its answers are; a path is the Pareto frontier of
the two (Laufer-Goldenberg et al., ICLR 2023), ordered by that chance. Where several budgets
conflict, so that the path part cannot show which compromise will pass, a few paths from
different starts share the alpha at which they are tested. A poor estimate makes paths that cost
more than they must, never ones that break the guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets.estimates import critical_errors, forecast, recalibrated
from untrue.budgets.family import Counts, Part
from untrue.budgets.sequence import bets
from untrue.metrics.bounds import examples_needed, rate_with_chance

# Multipliers exceed 1 by powers of two in this range.
LEAST, MOST = -8.0, 24.0
# The search for several budgets aims at these chances to fail, in small steps of the multipliers.
CHANCES = tuple((1 / (1 + np.exp(np.arange(-7.0, 28.0, 1.0)))).tolist())
ROUNDS, STEP = 3, 1.0
# The most rules on a path, and the most of those that can hardly fail.
LONGEST, SURE_STEPS, SURE, LOST, MOST_BETWEEN = 80, 12, 1e-5, 0.9999, 4
# With one budget: the powers looked at first, how far the path part may be wrong about where the
# test part decides, and how many rules there are there.
GRAIN, MARGIN, LONGEST_LINE = 0.5, 1.5, 120
# The rule without multipliers is the first that is looked at.
PLAIN = 0
# With fewer examples than this, probabilities predict the answers better than what was seen.
FEW = 500
# Several paths only if the safest rule may fail by more than this; numbers of paths to choose from.
DOUBT, STARTS, SCENARIOS = 0.02, (1, 2, 3, 5), 64


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Rules in the order in which they are tested.

    multipliers  (T, B)
    counts       what they do to the path part
    failing      (T,) estimated chance that the test part does not show their budgets
    bets         (T, B) for cost budgets, settled here; nan for others
    """

    multipliers: FloatArray
    counts: Counts
    failing: FloatArray
    bets: FloatArray


def find_paths(part: Part, limits: FloatArray, alpha: float, test_size: int) -> tuple[Path, ...]:
    """Paths for budgets of these limits (B,), tested at `alpha` in all on `test_size` examples.

    limits  rates, or mean costs
    """
    seen = _Seen(recalibrated(part), limits, alpha, test_size)
    if len(limits) == 1:
        seen.add(1 + 2 ** np.arange(LEAST, MOST, GRAIN)[:, None])
        if seen.failing.min() > DOUBT and part.family.budgets[0].by_prediction:
            return tuple(_several(seen))
        # Of the safest rules the strongest: the path part may be wrong about the others.
        safest = np.flatnonzero(seen.failing <= seen.failing.min() * 1.001)
        return (seen.path(_line(seen, int(safest[seen.multipliers[safest, 0].argmax()]))),)
    _follow(seen)
    for spread in (2.0, 1.0, 0.5):
        seen.add(_around(seen, spread, 60))
    for _ in range(2):
        seen.add(_between(seen))
    if seen.failing.min() > DOUBT:
        return tuple(_several(seen))
    chosen = seen.frontier(seen.failing)
    return (seen.path(_filled(seen, chosen[_thinned(seen.failing[chosen])])),)


class _Seen:
    """Rules looked at so far, the plain one first, and what is to be expected of them."""

    def __init__(self, part: Part, limits: FloatArray, alpha: float, test_size: int) -> None:
        self.part, self.limits, self.alpha, self.test_size = part, limits, alpha, test_size
        self.multipliers = np.ones((1, len(limits)))
        self.counts = part.counts(self.multipliers)
        self.forecast = forecast(part, self.counts, limits, alpha, test_size)
        self.failing = self.forecast.fails(alpha).sum(axis=1)

    def add(self, multipliers: FloatArray) -> slice:
        """Look at more rules; returns their positions."""
        start = len(self.multipliers)
        if len(multipliers):
            counts = self.part.counts(multipliers)
            more = forecast(self.part, counts, self.limits, self.alpha, self.test_size)
            self.multipliers = np.concatenate([self.multipliers, multipliers])
            self.failing = np.concatenate([self.failing, more.fails(self.alpha).sum(axis=1)])
            self.counts = self.counts.joined(counts)
            self.forecast = self.forecast.joined(more)
        return slice(start, len(self.multipliers))

    @property
    def scores(self) -> FloatArray:
        """(T,) How good the answers are: by the probabilities, and, the more examples there are,
        by what was seen."""
        seen, likely = self.counts.score, self.counts.likely
        return np.asarray(likely + (seen - likely) * self.counts.n / (self.counts.n + FEW))

    def frontier(self, failing: FloatArray) -> IntArray:
        """Positions of the rules that no safer rule matches, the safest first."""
        order = np.lexsort((self.multipliers.sum(axis=1), -self.scores, failing))
        scores = self.scores[order]
        before = np.concatenate([[-np.inf], np.maximum.accumulate(scores)[:-1]])
        return np.asarray(order[scores > before])

    def path(self, chosen: IntArray) -> Path:
        """These rules, and the plain one last: where that passes, nothing needs to change."""
        chosen = np.append(chosen[chosen != PLAIN], PLAIN)
        counts = self.counts.chosen(chosen)
        settled = bets(counts, self.limits, self.part.family.penalty.greatest)
        return Path(self.multipliers[chosen], counts, self.failing[chosen], settled)


def _line(seen: _Seen, start: int) -> IntArray:
    """For one budget: its multiplier from a start on downwards, in the finest steps where the test
    part will decide."""
    order = seen.multipliers[:, 0].argsort()
    powers = np.log2(np.maximum(seen.multipliers[order, 0] - 1.0, 2**LEAST))
    failing = seen.failing[order]
    top = float(np.log2(max(seen.multipliers[start, 0] - 1.0, 2**LEAST)))
    open_ = np.flatnonzero((powers <= top) & (failing >= SURE) & (failing < LOST))
    low, high = (powers[open_[0]], powers[open_[-1]]) if len(open_) else (top, top)
    low, high = max(low - MARGIN, LEAST), min(high + MARGIN, top)
    own = np.concatenate(
        [
            np.linspace(top, high, SURE_STEPS, endpoint=False),
            np.linspace(high, low, LONGEST_LINE, endpoint=False),
            np.linspace(low, LEAST, SURE_STEPS),
        ]
    )
    at = seen.add(1 + 2 ** np.unique(own)[::-1, None])
    return np.arange(at.start, at.stop)


def _follow(seen: _Seen) -> None:
    """From the weakest rule to ever safer ones, every budget with the same chance to fail.

    Dual ascent that follows a moving aim: a multiplier rises with the ratio of its budget's rate to
    the rate at which the test part would fail with the chance aimed at, a little at a time.
    """
    power = np.full(len(seen.limits), LEAST)
    for chance in CHANCES:
        for _ in range(ROUNDS):
            at = seen.add(1 + np.where(power > LEAST, 2**power, 0.0)[None]).start
            moves = np.clip(_moves(seen, at, chance), -STEP, STEP)
            # The first step is large: below some power nothing changes.
            power = np.where((power <= LEAST) & (moves > 0), -3.0, power + moves)
            power = np.clip(power, LEAST, MOST)


def _moves(seen: _Seen, t: int, chance: float) -> FloatArray:
    """(B,) By how many powers of two each multiplier of rule `t` should rise."""
    moves = np.empty(len(seen.limits))
    for b, limit in enumerate(seen.limits.tolist()):
        rate = max(float(seen.forecast.rates[t, b]), 1e-12)
        if b in seen.counts.paid:
            aim = limit * (1 - 0.5 * (1 - chance))
        else:
            tested = int(seen.forecast.tested[t, b])
            most = int(critical_errors(np.array([tested]), limit, seen.alpha)[0])
            if most < 0 and seen.forecast.by_prediction[b]:
                moves[b] = -1.0  # too few answers to show anything
                continue
            if most < 0:
                most, tested = 0, examples_needed(limit, 1 - seen.alpha) or 10**9
            aim = rate_with_chance(most, tested, chance)
        moves[b] = math.log2(rate / max(aim, 1e-12))
    return moves


def _between(seen: _Seen) -> FloatArray:
    """Rules half way between neighbours on the frontier where passing is uncertain."""
    chosen = seen.frontier(seen.failing)
    failing, above = seen.failing[chosen], seen.multipliers[chosen] - 1.0
    open_ = (failing[1:] > SURE) & (failing[:-1] < 0.999)
    low, high = above[:-1][open_], above[1:][open_]
    middle = np.where((low > 0) & (high > 0), np.sqrt(low * high), (low + high) / 2)
    return np.asarray(1 + np.unique(middle, axis=0))


def _around(seen: _Seen, spread: float, number: int) -> FloatArray:
    """Rules near the frontier, their multipliers moved by about `spread` powers of two."""
    chosen = seen.frontier(seen.failing)
    open_ = seen.failing[chosen] < 0.999
    chosen = chosen[open_] if open_.any() else chosen
    rng = np.random.default_rng(len(seen.multipliers))
    # More where passing is not sure.
    weight = np.where(seen.failing[chosen] > SURE, 3.0, 1.0)
    start = seen.multipliers[rng.choice(chosen, number, p=weight / weight.sum())] - 1.0
    power = np.log2(np.maximum(start, 2**LEAST))
    power = np.clip(power + rng.normal(0, spread, power.shape), LEAST, MOST)
    return np.asarray(1 + np.where(power > LEAST, 2**power, 0.0))


def _several(seen: _Seen) -> list[Path]:
    """As many starts as make it likeliest that one passes, each with a path of its own.

    The rates may be more or less than estimated, by as much as so few errors leave open. In each
    scenario other rules are safe; starts are chosen one by one, for the scenarios in which those
    before them fail.
    """
    safest = int(seen.failing.argmin())
    spread = 1 / np.sqrt(seen.counts.errors[safest] + 1.0)
    rng = np.random.default_rng(0)
    tilts = np.exp(rng.normal(size=(SCENARIOS, len(seen.limits))) * spread)
    tilts[0] = 1.0
    best: tuple[float, list[int], FloatArray] = (-1.0, [], np.zeros(0))
    for number in STARTS:
        passing = seen.forecast.passing(seen.alpha / number, tilts)
        starts: list[int] = []
        reached = np.zeros(SCENARIOS)
        for _ in range(number):
            gain = np.maximum(passing, reached[:, None]).mean(axis=0)
            starts.append(int(gain.argmax()))
            reached = np.maximum(reached, passing[:, starts[-1]])
        if reached.mean() > best[0] + 0.01:
            best = (float(reached.mean()), starts, passing[:, starts])
    return [
        _path_from(seen, start, _mean_tilt(tilts, best[2], i)) for i, start in enumerate(best[1])
    ]


def _mean_tilt(tilts: FloatArray, passing: FloatArray, i: int) -> FloatArray:
    """The mean of the scenarios in which start `i` is the likeliest to pass."""
    own = passing.argmax(axis=1) == i
    if len(passing[0]) == 1 or not own.any():
        return np.ones(tilts.shape[1])
    return np.asarray(np.exp(np.log(tilts[own]).mean(axis=0)))


def _path_from(seen: _Seen, start: int, tilt: FloatArray) -> Path:
    """A start, and the frontier from there, as a scenario has it; for one budget all below it."""
    if len(seen.limits) == 1:
        return seen.path(_line(seen, start))
    failing = seen.forecast.fails(seen.alpha, tilt).sum(axis=1)
    chosen = seen.frontier(failing)
    chosen = chosen[seen.scores[chosen] > seen.scores[start]]
    chosen = np.concatenate([[start], chosen])
    return seen.path(_filled(seen, chosen[_thinned(seen.failing[chosen])]))


def _filled(seen: _Seen, chosen: IntArray) -> IntArray:
    """Steps between the rules of a path: the path part is too small to see them."""
    power = np.log2(np.maximum(seen.multipliers[chosen] - 1.0, 2**LEAST))
    gaps = np.flatnonzero(seen.failing[chosen][1:] > SURE)
    extra = min((LONGEST - len(chosen)) // max(len(gaps), 1), MOST_BETWEEN)
    if extra <= 0:
        return chosen
    shares = np.arange(1, extra + 1)[None, :, None] / (extra + 1)
    low, high = power[gaps][:, None], power[gaps + 1][:, None]
    steps = (low + shares * (high - low)).reshape(-1, power.shape[1])
    at = seen.add(1 + np.where(steps > LEAST, 2**steps, 0.0))
    new = np.arange(at.start, at.stop).reshape(len(gaps), extra)
    return np.insert(chosen, np.repeat(gaps + 1, extra), new.ravel())


def _thinned(failing: FloatArray) -> BoolArray:
    """Which rules of a frontier to test: few of those that cannot fail, most where it matters."""
    kept = np.zeros(len(failing), dtype=bool)
    sure = int((failing < SURE).sum())
    for start, stop, most in ((0, sure, SURE_STEPS), (sure, len(failing), LONGEST - SURE_STEPS)):
        if stop > start:
            places = np.linspace(start, stop - 1, min(most, stop - start)).round().astype(int)
            kept[places] = True
    return kept
