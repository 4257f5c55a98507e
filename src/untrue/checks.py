"""Checks of arguments, each with a sentence about what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard

from untrue.errors import ArgumentError, nearest

if TYPE_CHECKING:
    import torch

# Far above any use: a typing error is found here, not deep inside a library or with full memory.
MOST = 10**9
MOST_REPETITIONS = 10_000
MOST_RESAMPLES = 10**6
MOST_PROCESSES = 4096
WIDEST = 64.0


def is_tensor(value: Any) -> TypeGuard[torch.Tensor]:
    """Whether `value` is a torch tensor (its type is, without torch being imported here)."""
    return hasattr(value, "detach") and type(value).__module__.partition(".")[0] == "torch"


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        known = " or ".join(filter(None, (", ".join(map(repr, choices[:-1])), repr(choices[-1]))))
        hint = nearest(value, choices) if isinstance(value, str) else ""
        raise ArgumentError(f"`{name}` must be {known}; got {value!r}{hint or '.'}")


def check_known(what: str, name: object, known: Iterable[str]) -> None:
    """One of the names that are known."""
    known = list(known)
    if name not in known:
        hint = nearest(str(name), known) or "."
        raise ArgumentError(f"Unknown {what} {name!r}{hint} Known: {', '.join(known)}.")


def check_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    ends: bool = True,
) -> float:
    """A finite number from `low` to `high`, these included if `ends`, as a float."""
    number = math.nan
    if hasattr(value, "__float__") and not isinstance(value, bool):
        try:
            number = float(value)
        except (OverflowError, TypeError, ValueError):  # a whole number past all floats, an array
            number = math.inf
    inside = low <= number <= high if ends else low < number < high
    if inside and math.isfinite(number):
        return number
    if math.isfinite(high):
        rule = (
            f"lie in [{low:g}, {high:g}]" if ends else f"lie strictly between {low:g} and {high:g}"
        )
    elif not math.isfinite(low):
        rule = "be a finite number"
    else:
        above = "positive" if low == 0 else f"above {low:g}"
        rule = f"be at least {low:g}" if ends else f"be {above}"
        if math.isinf(number):
            rule = f"be a finite number of at least {low:g}" if ends else f"be finite and {above}"
    raise ArgumentError(f"`{name}` must {rule}; got {_shown(value)}.")


def check_count(name: str, value: Any, *, least: int = 1, most: int = MOST) -> int:
    """A whole number from `least` to `most`, as an int."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < least:
        rule = f"at least {least}" if whole else f"a whole number of at least {least}"
        raise ArgumentError(f"`{name}` must be {rule}; got {_shown(value)}.")
    if int(value) > most:
        raise ArgumentError(f"`{name}` must be at most {most:,}; got {_shown(value)}.")
    return int(value)


def check_confidence(value: Any) -> float:
    """The confidence of a bound: below one half the bound would lie under what was seen."""
    if isinstance(value, Real) and 0.5 <= float(value) < 1:
        return float(value)
    raise ArgumentError(f"`confidence` must lie in [0.5, 1), such as 0.95; got {_shown(value)}.")


def check_seed(value: Any) -> int:
    """What every library that draws numbers takes."""
    return check_count("seed", value, least=0, most=2**32 - 1)


def _shown(value: Any) -> str:
    """A value for a message; Python writes out no whole number of thousands of digits."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"one of about {int(value.bit_length() * math.log10(2)):,} digits"
    # NumPy's numbers name their type, which is no part of what was given.
    return repr(value.item() if type(value).__module__ == "numpy" and not value.shape else value)
