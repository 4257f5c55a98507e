"""One-sided confidence bounds and p-values: for shares exact, for mean costs by betting.

A bound of confidence c fails in at most 1 - c of cases, whatever the truth and however few
examples there are. A p-value is that of "the rate is above the limit": the chance of data that
speak as clearly for "within the limit", were it not so.

SciPy has the quantiles; it comes with scikit-learn and is imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError, MissingDependencyError
from untrue.metrics.inputs import FloatArray, IntArray

# A bet that pays for rare costs: below this many standard deviations there is nothing to win.
_LEAST_WORTH = 6.0
# Costs are at most 1 here; a bet beyond this is for costs that hardly vary.
_GREATEST_BET = 64.0


def share_bound(errors: int, of: int, confidence: float) -> float:
    """Upper bound of a share of which `errors` in `of` were seen. (Clopper, Pearson, 1934.)

    The greatest share under which so few errors are not rarer than 1 - confidence: a quantile of
    Beta(errors + 1, of - errors). Exact: never too low, whatever the share and however few there
    are. Nothing seen gives 1.

    >>> round(share_bound(0, 100, 0.95), 4), round(share_bound(5, 100, 0.95), 4)
    (0.0295, 0.1023)
    """
    check_confidence(confidence)
    if errors >= of:
        return 1.0
    return float(_special().betaincinv(errors + 1, of - errors, confidence))


def share_lower_bound(errors: int, of: int, confidence: float) -> float:
    """Lower bound of a share of which `errors` in `of` were seen, exact likewise.

    >>> round(share_lower_bound(5, 100, 0.95), 4), share_lower_bound(0, 100, 0.95)
    (0.0199, 0.0)
    """
    return 1.0 - share_bound(of - errors, of, confidence)


def share_p_value(errors: npt.ArrayLike, of: npt.ArrayLike, limit: float) -> FloatArray:
    """Chance of at most `errors` in `of` if their share were just above `limit`; arrays broadcast.

    The binomial test: `share_bound(errors, of, 1 - p) == limit`. Nothing seen gives 1.

    >>> share_p_value([0, 1], 598, 0.005).round(4)
    array([0.0499, 0.1999])
    """
    counted, total = np.broadcast_arrays(np.asarray(errors), np.asarray(of))
    if limit >= 1.0:
        # A share cannot be above 1, so that an example is enough to show it.
        return np.where(total > 0, 0.0, 1.0)
    return np.where(total > 0, _special().bdtr(counted, np.maximum(total, 1), limit), 1.0)


def cost_bound(
    counts: IntArray, costs: FloatArray, of: int, greatest: float, confidence: float
) -> float:
    """Upper bound of the mean cost of an answer; `counts` errors of `costs` each in `of` answers.

    By betting (Waudby-Smith, Ramdas, JRSS B, 2024): whoever bets that the mean cost is below m
    wins `1 + b (m - x)` on an answer of cost x, which is fair or worse if the mean is m or more,
    so that the capital reaches 1 / (1 - confidence) in at most 1 - confidence of cases. The bound
    is the least m at which it does. The capital is spread over bets b of every useful size, and
    the order of the answers does not matter. Nothing is assumed about the costs but that none is
    above `greatest`; with no mistake at all the bound of 95 % is about 3.7 / `of` of that, where a
    Student or bootstrap bound would claim 0.
    """
    check_confidence(confidence)
    if not of or not greatest:
        return float(greatest)
    found = _least(
        lambda mean: (
            _log_capital_below(counts, costs / greatest, of, mean) >= -math.log1p(-confidence)
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
        """Whether the capital of betting on more than 1 - `mean` stays too small."""
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


def examples_needed(limit: float, confidence: float, greatest: float | None = None) -> int | None:
    """So many examples without an error show a share within `limit`; None: no number does.

    `(1 - limit)^n <= 1 - confidence`. With `greatest`, the greatest cost: a mean cost.

    >>> examples_needed(0.005, 0.95), examples_needed(0.0, 0.95)
    (598, None)
    """
    check_confidence(confidence)
    if limit <= 0:
        return None
    if limit >= (1.0 if greatest is None else greatest):
        return 1
    if greatest is None:
        return math.ceil(math.log1p(-confidence) / math.log1p(-limit))
    none = np.zeros(0)
    low, high = 0, 1
    while cost_p_value(none.astype(np.int64), none, high, greatest, limit) > 1 - confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        shown = cost_p_value(none.astype(np.int64), none, middle, greatest, limit)
        low, high = (low, middle) if shown <= 1 - confidence else (middle, high)
    return high


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
    # 0 answers of a kind that would ruin the bet do not.
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


def check_confidence(confidence: Any) -> float:
    """A confidence that a bound may have: below one half it would lie under what was seen."""
    number = isinstance(confidence, int | float | np.number) and not isinstance(confidence, bool)
    if number and 0.5 <= confidence < 1.0:
        return float(confidence)
    raise ArgumentError(f"`confidence` must lie in [0.5, 1), 0.95 say; got {confidence!r}.")


def _special() -> Any:
    try:
        from scipy import special
    except ImportError:
        raise MissingDependencyError(
            'Confidence bounds need SciPy: pip install "untrue[lab]". '
            "confidence=None judges by the rates alone."
        ) from None
    return special
