"""Bounds and p-values of a mean cost, by betting: proven for any costs up to the greatest.

A bet that the mean cost is below m multiplies the stake by `1 + b (m - x)` on an answer of cost
x. If the mean is m or more, no such bet gains on average, so that the capital grows to 1 / a
in at most a of cases (Ville's inequality; Waudby-Smith, Ramdas, JRSS B, 2024). The capital is
spread over bets b of many sizes, all made before the answers are seen; their order does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_confidence

# A bet that pays for rare costs: below this many standard deviations there is nothing to win.
_LEAST_WORTH = 6.0
# Costs are at most 1 here; a bet beyond this is for costs that hardly vary.
_GREATEST_BET = 64.0


def cost_bound(
    counts: IntArray,
    costs: FloatArray,
    of: int,
    greatest: float,
    confidence: float,
    bet: float | None = None,
) -> float:
    """Upper bound of the mean cost of an answer; `counts` errors of `costs` each in `of` answers.

    The least m at which betting on less reaches a capital of 1 / (1 - confidence). Nothing is
    assumed about the costs but that none is above `greatest`; with no mistake at all the bound of
    95 % is about 3.5 / `of` of that, where a Student or bootstrap bound would claim 0. With a bet,
    as in `cost_p_value`, it is within a limit just where that p-value is within 1 - confidence.
    """
    check_confidence(confidence)
    if not of or not greatest:
        return float(greatest)
    found = _least(
        lambda mean: (
            _log_capital_below(counts, costs / greatest, of, mean, bet) >= -math.log1p(-confidence)
        )
    )
    return found * greatest


def cost_lower_bound(
    counts: IntArray, costs: FloatArray, of: int, greatest: float, confidence: float
) -> float:
    """Lower bound of the mean cost of an answer, by betting that it is above m."""
    check_confidence(confidence)
    if not of or not greatest or not counts.any():
        return 0.0
    shares = costs / greatest

    def reached(mean: float) -> bool:
        """Whether the capital of betting on more than 1 - `mean` is large enough."""
        won = _log_capital_above(counts, shares, of, 1.0 - mean)
        return won >= -math.log1p(-confidence)

    return (1.0 - _least(reached)) * greatest


def cost_p_value(
    counts: IntArray,
    costs: FloatArray,
    of: int,
    greatest: float,
    limit: float,
    bet: float | None = None,
) -> float:
    """p-value of "the mean cost is above `limit`": 1 / the capital of betting against it.

    bet  share of the greatest possible bet, in [0, 1], settled before these data were looked at;
         half of the capital goes there, the rest is spread over all sizes
    """
    if not of:
        return 1.0
    if limit >= greatest:
        return 0.0
    won = _log_capital_below(counts, costs / greatest, of, limit / greatest, bet)
    return math.exp(-max(won, 0.0))


def bet_for(
    counts: IntArray, costs: FloatArray, of: int, greatest: float, limit: float
) -> tuple[float, float, float]:
    """The bet that would have won most on such answers: its size, and what it won per answer.

    (size, mean and variance of the logarithm of the gain), as if half an answer of the greatest
    cost had been seen as well. The size is for `cost_p_value` on other answers.
    """
    mean = limit / greatest if greatest else 1.0
    if mean >= 1.0 or not of:
        return 1.0, math.inf, 0.0
    sizes = 0.5 ** np.arange(0, 8, 0.25)
    shares = np.concatenate([[0.0], costs / greatest, [1.0]])
    weights = np.concatenate([[of - counts.sum()], counts, [0.5]]) / (of + 0.5)
    with np.errstate(divide="ignore"):
        gains = np.log(np.maximum(1 + sizes[:, None] * (mean - shares) / (1 - mean), 1e-300))
    growth = gains @ weights
    best = int(growth.argmax())
    variance = float((gains[best] - growth[best]) ** 2 @ weights)
    return float(sizes[best]), float(growth[best]), variance


def _log_capital_below(
    counts: IntArray, shares: FloatArray, of: int, mean: float, bet: float | None = None
) -> float:
    """Log of the capital after betting on a mean below `mean`; shares of the greatest cost."""
    if mean >= 1.0:
        return math.inf
    steps = np.arange(1 + max(0, math.ceil(math.log2(of / _LEAST_WORTH))))
    # Most on the greatest bet, which wins where mistakes are rare. The weights sum to less than 1
    # and do not depend on the number of bets, so that more examples never prove less.
    sizes, weights = 0.5 ** (steps / 2), 1 / ((steps + 1.0) * (steps + 2.0))
    if bet is not None:
        sizes = np.append(sizes, bet)
        weights = np.append(weights / 2, 0.5)
    return _log_mixture(counts, shares, of, mean, sizes / (1 - mean), -1.0, weights)


def _log_capital_above(counts: IntArray, shares: FloatArray, of: int, mean: float) -> float:
    """Log of the capital after betting on a mean above `mean`."""
    if mean <= 0.0:
        return math.inf
    least = math.sqrt(_LEAST_WORTH / max(of, _LEAST_WORTH))
    sizes = 2.0 ** np.arange(math.floor(math.log2(least)), 1 + math.log2(_GREATEST_BET))
    weights = np.full(len(sizes), 1 / len(sizes))
    return _log_mixture(counts, shares, of, mean, np.minimum(sizes, 1 / mean), 1.0, weights)


def _log_mixture(
    counts: IntArray,
    shares: FloatArray,
    of: int,
    mean: float,
    bets: FloatArray,
    sign: float,
    weights: FloatArray,
) -> float:
    """log of `sum_b w_b prod_n (1 + sign b (x_n - mean))`, answers without cost included."""
    free = of - int(counts.sum())
    with np.errstate(divide="ignore"):
        each = np.log(np.maximum(1 + sign * bets[:, None] * (shares - mean), 0.0))
        none = np.log(np.maximum(1 - sign * bets * mean, 0.0))
    # A kind of answer that would ruin the bet changes nothing if there are none of it.
    won = np.where(counts > 0, each, 0.0) @ counts + (none * free if free else 0.0)
    top = float(won.max())
    return top if math.isinf(top) else top + math.log(float(weights @ np.exp(won - top)))


def _least(reached: Callable[[float], bool]) -> float:
    """The least number in [0, 1] from which on `reached` is true, to 10 digits."""
    low, high = 0.0, 1.0
    while high - low > 1e-10 * high and high > 1e-300:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
