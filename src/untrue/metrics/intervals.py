"""Values with the interval they lie in: of a mean (Student), paired, and of resampled values."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np

from untrue.array_types import FloatArray
from untrue.optional import need

CONFIDENCE = 0.95
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its interval; the ends are nan where there is none."""

    value: float
    low: float
    high: float
    confidence: float

    def as_dict(self) -> dict[str, float]:
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean_interval(
    values: Iterable[float], confidence: float = CONFIDENCE, *, overlap: float = 0.0
) -> Interval | None:
    """Mean m +- t(n - 1) s sqrt(1 / n + overlap), Student's interval. nan values are left out.

    overlap: 0 for independent values. Where each comes from a random split of the same examples
    they are not: then test over training examples (Nadeau and Bengio, "Inference for the
    Generalization Error", 2003). One value has no interval (nan); none at all is None.

    >>> print(mean_interval([1.0, 2.0, 3.0]))
    2 [-0.4841, 4.484]
    """
    kept = [value for value in values if not math.isnan(value)]
    n = len(kept)
    if n == 0:
        return None
    middle = math.fsum(kept) / n
    if n == 1:
        return Interval(middle, math.nan, math.nan, confidence)
    spread = math.sqrt(math.fsum((value - middle) ** 2 for value in kept) / (n - 1))
    half = student_quantile(n - 1, confidence) * spread * math.sqrt(1 / n + overlap)
    return Interval(middle, middle - half, middle + half, confidence)


def paired_interval(
    after: Mapping[K, float],
    before: Mapping[K, float],
    confidence: float = CONFIDENCE,
    *,
    overlap: float = 0.0,
) -> Interval | None:
    """The mean of `after - before` over the keys (seeds, say) that both have."""
    changes = [after[key] - before[key] for key in after if key in before]
    return mean_interval(changes, confidence, overlap=overlap)


@cache
def student_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The Student-t quantile that leaves `(1 - confidence) / 2` above it."""
    special = need("scipy.special", "The interval of a mean")
    return float(special.stdtrit(freedom, 0.5 + confidence / 2))


def percentile_interval(value: float, resampled: FloatArray, confidence: float) -> Interval:
    """The central share `confidence` of the resampled values; nan are left out."""
    known = resampled[~np.isnan(resampled)]
    if not known.size:
        return Interval(value, math.nan, math.nan, confidence)
    # By order statistics: interpolating between inf and inf, as an adjusted cost may be, is nan.
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2], method="nearest")
    return Interval(value, float(low), float(high), confidence)
