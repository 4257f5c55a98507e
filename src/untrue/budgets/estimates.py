"""What to expect of a rule on the test part, by the path part: its rates, its chance to fail.

These are estimates that choose which rules are tested, and in which order. The guarantee does not
rest on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.budgets.family import Counts, Part
from untrue.budgets.regions import inside
from untrue.metrics.betting import bet_for
from untrue.metrics.bounds import examples_needed, more_errors, most_errors, special_functions

# Counts outweigh the probabilities once there are more errors than this.
TRUST = 10.0
# Chances are kept this far from 0 and 1.
EDGE = 1e-9
_KNOWN: dict[tuple[float, float], dict[int, int]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """For T rules and B budgets, on a future test part.

    rates    (T, B) estimated rates; mean costs for cost budgets
    tested   (T, B) examples, or answers, that the test part will have for it
    margins  (T, B) for cost budgets how many standard deviations above what is needed; else nan
    """

    limits: FloatArray
    by_prediction: tuple[bool, ...]
    rates: FloatArray
    tested: IntArray
    margins: FloatArray

    def fails(self, alpha: float, tilt: FloatArray | None = None) -> FloatArray:
        """(T, B) Chance that the test part does not show a budget at `alpha`.

        tilt  (B,) as if the rates were the estimated ones times this
        """
        found = np.empty(self.rates.shape)
        for b, limit in enumerate(self.limits.tolist()):
            margin = self.margins[:, b]
            if not np.isnan(margin).all():
                found[:, b] = [0.5 * math.erfc(m / math.sqrt(2)) for m in margin.tolist()]
                continue
            rates = self.rates[:, b] * (1.0 if tilt is None else tilt[b])
            found[:, b] = failing(
                rates, self.tested[:, b], limit, alpha, by_prediction=self.by_prediction[b]
            )
        return found

    def passing(self, alpha: float, tilts: FloatArray) -> FloatArray:
        """(S, T) Chance to show every budget in scenarios (S, B) of tilts, roughly.

        Square roots of counts are about normal, with a standard deviation of a half.
        """
        normal = special_functions().ndtr
        chance = np.ones((len(tilts), len(self.rates)))
        for b, limit in enumerate(self.limits.tolist()):
            if not np.isnan(self.margins[:, b]).all():
                chance *= normal(self.margins[:, b])
                continue
            most = critical_errors(self.tested[:, b], limit, alpha)
            errors = tilts[:, b, None] * self.rates[:, b] * self.tested[:, b]
            shown = normal(2 * (np.sqrt(np.maximum(most, 0) + 0.75) - np.sqrt(errors)))
            chance *= np.where(most < 0, 0.0, shown)
        return chance

    def joined(self, other: Forecast) -> Forecast:
        """Of these rules and of more."""
        return replace(
            self,
            rates=np.concatenate([self.rates, other.rates]),
            tested=np.concatenate([self.tested, other.tested]),
            margins=np.concatenate([self.margins, other.margins]),
        )


def forecast(
    part: Part, counts: Counts, limits: FloatArray, alpha: float, test_size: int
) -> Forecast:
    """The forecast for rules that were counted on the path part."""
    rates, margins = np.empty(counts.errors.shape), np.full(counts.errors.shape, np.nan)
    for b, limit in enumerate(limits.tolist()):
        if b in counts.paid:
            rates[:, b], margins[:, b] = _costs(part, counts, b, limit, alpha, test_size)
            continue
        # The probabilities distinguish rules that made no error yet; what was counted corrects
        # them. The half guards against a model that is sure of its errors.
        model, own = counts.expected[:, b], counts.errors[:, b]
        errors = np.maximum(model * (own + TRUST) / (model + TRUST), own / 2)
        rates[:, b] = errors / np.maximum(counts.of[:, b], 1)
    tested = np.round(counts.of * (test_size / max(counts.n, 1))).astype(np.int64)
    by_prediction = tuple(budget.by_prediction for budget in part.family.budgets)
    return Forecast(limits, by_prediction, rates, tested, margins)


def _costs(
    part: Part, counts: Counts, b: int, limit: float, alpha: float, test_size: int
) -> tuple[FloatArray, FloatArray]:
    """Mean costs, and margins by a normal law for the logarithm of what a bet would win."""
    greatest = part.family.penalty.greatest
    rates, margins = np.empty(len(counts.errors)), np.empty(len(counts.errors))
    for t, (costs, times) in enumerate(counts.paid[b]):
        rates[t] = (float(costs @ times) + counts.expected[t, b]) / 2 / max(counts.n, 1)
        _, mean, variance = bet_for(times, costs, counts.n, greatest, limit)
        gained = test_size * mean - math.log(2 / alpha)
        margins[t] = min(max(gained / (math.sqrt(test_size * variance) + 1e-9), -1e3), 1e3)
    return rates, margins


def failing(
    rates: FloatArray, of: IntArray, limit: float, alpha: float, *, by_prediction: bool
) -> FloatArray:
    """Chance that `of` examples with errors at these rates do not show that limit at `alpha`.

    Where they are too few to show anything: as if they were just enough, since the test part may
    have some more by chance. For a precision budget the rule itself makes the answers few:
    that counts as a failure, the more likely the fewer there are.
    """
    least = examples_needed(limit, 1 - alpha)
    if least is None:
        return 1.0 + rates
    enough = np.maximum(of, least)
    most = np.maximum(critical_errors(enough, limit, alpha), 0)
    chance = more_errors(most, enough, np.minimum(rates, 1.0))
    return np.where(of < least, 2.0 - of / least, chance) if by_prediction else chance


def critical_errors(of: IntArray, limit: float, alpha: float) -> IntArray:
    """`most_errors`, remembered: the search asks for the same few numbers again and again."""
    known = _KNOWN.setdefault((limit, alpha), {})
    numbers, place = np.unique(of, return_inverse=True)
    if len(_KNOWN) > 256 or len(known) > 10**5:
        _KNOWN.clear()
    new = np.array([n for n in numbers.tolist() if n not in known], dtype=np.int64)
    if len(new):
        known.update(zip(new.tolist(), most_errors(new, limit, alpha).tolist(), strict=True))
    return np.array([known[n] for n in numbers.tolist()], dtype=np.int64)[place]


def recalibrated(part: Part) -> Part:
    """Chances of each budget's mistakes, corrected by how often they would have happened.

    For each budget a logistic curve over the logit of the chance (Platt, 1999), fitted to what its
    mistakes would have been under the two cheapest answers to each example.
    """
    assert part.chances is not None
    two = np.argpartition(part.base, 1, axis=1)[:, :2]
    rows = np.arange(len(two))[:, None]
    chances = part.chances.copy()
    for b, budget in enumerate(part.family.budgets):
        if budget.budget.kind == "cost":
            continue
        given = part.chances[b][rows, two].ravel()
        happened = inside(budget.region, part.target[:, None], two).ravel()
        possible = given > EDGE
        slope, shift = _platt(_logit(given[possible]), happened[possible])
        some = part.chances[b] > EDGE
        chances[b][some] = 1 / (1 + np.exp(-slope * _logit(part.chances[b][some]) - shift))
    return replace(part, chances=chances)


def _logit(chance: FloatArray) -> FloatArray:
    inner = np.clip(chance, EDGE, 1 - EDGE)
    return np.asarray(np.log(inner) - np.log1p(-inner))


def _platt(scores: FloatArray, happened: FloatArray) -> tuple[float, float]:
    """Slope and shift of a logistic curve, drawn a little towards 1 and 0; Newton's method."""
    design = np.stack([scores, np.ones(len(scores))])
    prior, weight = np.array([1.0, 0.0]), np.diag([4.0, 1.0])
    found = prior.copy()
    for _ in range(30):
        mean = 1 / (1 + np.exp(-np.clip(found @ design, -30, 30)))
        slope = design @ (mean - happened) + weight @ (found - prior)
        curve = (design * (mean * (1 - mean))) @ design.T + weight
        step = np.linalg.solve(curve, slope)
        found = found - step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-6:
            break
    return max(float(found[0]), 0.05), float(found[1])
