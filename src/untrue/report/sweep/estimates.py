"""Means over repetitions with 95 % Student-t intervals, and differences paired by repetition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

from untrue.metrics import Interval
from untrue.optional import need

LEVEL = 0.95


def mean(values: Sequence[float]) -> Interval | None:
    """Mean m +- t(n - 1) s / sqrt(n). One value has no interval (nan); none at all is None.

    nan values (a share of no errors) are left out.
    """
    kept = [value for value in values if not math.isnan(value)]
    n = len(kept)
    if n == 0:
        return None
    middle = math.fsum(kept) / n
    if n == 1:
        return Interval(middle, math.nan, math.nan, LEVEL)
    spread = math.sqrt(math.fsum((value - middle) ** 2 for value in kept) / (n - 1))
    half = quantile(n - 1) * spread / math.sqrt(n)
    return Interval(middle, middle - half, middle + half, LEVEL)


def difference(after: Mapping[int, float], before: Mapping[int, float]) -> Interval | None:
    """Mean of `after - before` over the repetitions that both have, by seed."""
    return mean([after[seed] - before[seed] for seed in after if seed in before])


def numbers(value: Interval) -> dict[str, float | None]:
    """For JSON, which knows no nan."""
    parts = {"mean": value.value, "low": value.low, "high": value.high}
    return {name: part if math.isfinite(part) else None for name, part in parts.items()}


@cache
def quantile(freedom: int) -> float:
    """The Student-t quantile that leaves 2.5 % above it."""
    return float(need("scipy.special", "The interval of a mean").stdtrit(freedom, 0.5 + LEVEL / 2))
