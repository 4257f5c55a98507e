"""Values with the interval they lie in: of a mean (Student), paired, and of resampled values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np

from untrue.errors import ArgumentError
from untrue.metrics.inputs import FloatArray
from untrue.optional import need

LEVEL = 0.95
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with an interval of confidence `level`; nan where there is no interval."""

    value: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean_interval(values: Iterable[float], level: float = LEVEL) -> Interval | None:
    """Mean m +- t(n - 1) s / sqrt(n), Student's interval. nan values are left out.

    One value has no interval (nan); none at all is None.

    >>> print(mean_interval([1.0, 2.0, 3.0]))
    2 [-0.4841, 4.484]
    """
    kept = [value for value in values if not math.isnan(value)]
    n = len(kept)
    if n == 0:
        return None
    middle = math.fsum(kept) / n
    if n == 1:
        return Interval(middle, math.nan, math.nan, level)
    spread = math.sqrt(math.fsum((value - middle) ** 2 for value in kept) / (n - 1))
    half = student_quantile(n - 1, level) * spread / math.sqrt(n)
    return Interval(middle, middle - half, middle + half, level)


def paired_interval(
    after: Mapping[K, float], before: Mapping[K, float], level: float = LEVEL
) -> Interval | None:
    """The mean of `after - before` over the keys (seeds, say) that both have."""
    return mean_interval([after[key] - before[key] for key in after if key in before], level)


@cache
def student_quantile(freedom: int, level: float = LEVEL) -> float:
    """The Student-t quantile that leaves `(1 - level) / 2` above it."""
    special = need("scipy.special", "The interval of a mean")
    return float(special.stdtrit(freedom, 0.5 + level / 2))


def percentile_interval(value: float, resampled: FloatArray, level: float) -> Interval:
    """The central `level` of the resampled values, those that are nan left out."""
    known = resampled[~np.isnan(resampled)]
    if not known.size:
        return Interval(value, math.nan, math.nan, level)
    # By order statistics: interpolating between inf and inf, as an adjusted cost may be, is nan.
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2], method="nearest")
    return Interval(value, float(low), float(high), level)


def check_level(level: float) -> None:
    """A level that an interval may have."""
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise ArgumentError(f"`level` must lie strictly between 0 and 1; got {level!r}.")
