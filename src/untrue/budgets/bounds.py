"""Upper confidence bounds, one-sided: the truth lies above them in at most 1 - confidence of cases.

SciPy has the quantiles; it comes with scikit-learn and is imported on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from untrue.errors import ArgumentError, MissingDependencyError
from untrue.metrics.inputs import FloatArray, IntArray


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


def cost_bound(
    counts: IntArray, costs: FloatArray, of: int, greatest: float, confidence: float
) -> float:
    """Upper bound of the mean cost of an answer; `counts` errors of `costs` each in `of` answers.

    The gamma bound for a weighted sum of rare counts (Fay, Feuer, Statistics in Medicine, 1997):
    with y = sum of count * cost / N, v = sum of count * cost^2 / N^2 and w = greatest / N, the
    quantile of the gamma distribution of mean y + w and variance v + w^2. As if one more mistake
    of the greatest cost had been seen; with equal costs it is the exact bound of a Poisson count,
    and with no mistake at all about 3 * greatest / N, where a Student or bootstrap bound would
    claim 0. Never above `greatest`.
    """
    check_confidence(confidence)
    if not of or not greatest:
        return float(greatest)
    # In units of one mistake of the greatest cost: nothing overflows.
    share = costs / greatest
    mean = float(counts @ share) + 1.0
    variance = float(counts @ share**2) + 1.0
    quantile = float(_special().gammaincinv(mean**2 / variance, confidence)) * variance / mean
    return float(min(quantile / of, 1.0) * greatest)


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
