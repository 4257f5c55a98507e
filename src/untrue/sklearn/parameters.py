"""Checks of an estimator's parameters, made at `fit` as scikit-learn wants it."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from untrue.errors import ArgumentError


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"`{name}` must be {' or '.join(map(repr, choices))}; got {value!r}.")


def check_number(name: str, value: Any, low: float, high: float, *, ends: bool = True) -> None:
    """A finite number from `low` to `high`, these included if `ends`."""
    number = float(value) if isinstance(value, Real) else math.nan
    inside = low <= number <= high if ends else low < number < high
    if not (inside and math.isfinite(number)):
        if math.isfinite(high):
            rule = f"lie in [{low:g}, {high:g}]" if ends else f"lie in ({low:g}, {high:g})"
        else:
            rule = f"be at least {low:g}" if ends else f"be above {low:g}"
        raise ArgumentError(f"`{name}` must {rule}; got {value!r}.")


def check_count(name: str, value: Any) -> None:
    """A whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise ArgumentError(f"`{name}` must be a whole number of at least 1; got {value!r}.")
