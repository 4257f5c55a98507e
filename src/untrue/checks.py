"""Checks of arguments, each with the sentence that says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from untrue.errors import ArgumentError, nearest


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        known = " or ".join(filter(None, (", ".join(map(repr, choices[:-1])), repr(choices[-1]))))
        hint = nearest(value, choices) if isinstance(value, str) else ""
        raise ArgumentError(f"`{name}` must be {known}; got {value!r}{hint or '.'}")


def check_number(
    name: str, value: Any, low: float, high: float = math.inf, *, ends: bool = True
) -> None:
    """A finite number from `low` to `high`, these included if `ends`."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if real else math.nan
    inside = low <= number <= high if ends else low < number < high
    if not (inside and math.isfinite(number)):
        if math.isfinite(high):
            rule = f"lie in [{low:g}, {high:g}]" if ends else f"lie in ({low:g}, {high:g})"
        elif ends:
            rule = f"be at least {low:g}"
        else:
            rule = "be positive" if low == 0 else f"be above {low:g}"
        raise ArgumentError(f"`{name}` must {rule}; got {value!r}.")


def check_count(name: str, value: Any, *, least: int = 1) -> None:
    """A whole number of at least `least`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < least:
        rule = f"at least {least}" if whole else f"a whole number of at least {least}"
        raise ArgumentError(f"`{name}` must be {rule}; got {value!r}.")
