"""One-sided confidence bounds and p-values of shares, exact; for mean costs see `betting`.

A bound of confidence c fails in at most 1 - c of cases, whatever the truth and however few
examples there are. A p-value is that of "the rate is above the limit": the chance of data that
look at least as much like "within the limit" although the rate is above it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_confidence
from untrue.metrics.betting import cost_p_value
from untrue.optional import need


def special_functions() -> Any:
    """SciPy has the quantiles; it is imported on first use."""
    return need("scipy.special", "A confidence bound (not used with confidence=None)")


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
    return float(special_functions().betaincinv(errors + 1, of - errors, confidence))


def share_lower_bound(errors: int, of: int, confidence: float) -> float:
    """Lower bound of a share of which `errors` in `of` were seen, exact too.

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
    return np.where(total > 0, special_functions().bdtr(counted, np.maximum(total, 1), limit), 1.0)


def examples_needed(limit: float, confidence: float, greatest: float | None = None) -> int | None:
    """How many examples without an error show a share within `limit`; None: no number does.

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


def most_errors(of: IntArray, limit: float, alpha: float) -> IntArray:
    """The most errors in `of` examples that show a share within `limit`; -1: not even 0 do."""
    if limit >= 1.0:
        return np.where(of > 0, of, -1)
    special, total = special_functions(), np.maximum(of, 1)
    # Where the limit is 0, or next to it, there is no inverse: nan.
    near = np.nan_to_num(np.floor(special.bdtrik(alpha, total, limit))).astype(np.int64)
    near = np.clip(near, 0, total)
    # The inverse is a real number, found by iteration: the whole number may be one off.
    for _ in range(2):
        near = np.where(share_p_value(near, total, limit) > alpha, near - 1, near)
        near = np.maximum(near, -1)
    up = np.minimum(near + 1, total)
    near = np.where(share_p_value(up, total, limit) <= alpha, up, near)
    return np.where(of > 0, near, -1)


def more_errors(most: IntArray, of: IntArray, rates: FloatArray) -> FloatArray:
    """Chance of more than `most` errors in `of` examples; these may be more than 2^31."""
    beta = special_functions().betainc(most + 1.0, of - most, rates)
    return np.where(most < of, beta, 0.0)


def rate_with_chance(most: int, of: int, chance: float) -> float:
    """The error rate under which more than `most` errors in `of` examples have this chance."""
    return 1.0 if most >= of else float(special_functions().betaincinv(most + 1, of - most, chance))
