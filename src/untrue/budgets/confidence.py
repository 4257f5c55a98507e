"""The confidence of a bound, and SciPy, which has the quantiles and is imported on first use."""

from __future__ import annotations

from typing import Any

import numpy as np

from untrue.errors import ArgumentError, MissingDependencyError


def check_confidence(confidence: Any) -> float:
    """A confidence that a bound may have: below one half it would lie under what was seen."""
    number = isinstance(confidence, int | float | np.number) and not isinstance(confidence, bool)
    if number and 0.5 <= confidence < 1.0:
        return float(confidence)
    raise ArgumentError(f"`confidence` must lie in [0.5, 1), 0.95 say; got {confidence!r}.")


def special_functions() -> Any:
    """`scipy.special`."""
    try:
        from scipy import special
    except ImportError:
        raise MissingDependencyError(
            'Confidence bounds need SciPy: pip install "untrue[lab]". '
            "confidence=None judges by the rates alone."
        ) from None
    return special
