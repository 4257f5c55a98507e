"""Numbers as JSON has them."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """The same with null for what JSON has no number for: nan and infinity.

    >>> plain({"share": float("nan"), "counts": (1, 2)})
    {'share': None, 'counts': [1, 2]}
    """
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
