"""Numbers as JSON has them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
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


def numbers_text(content: Mapping[str, Any]) -> str:
    """The numbers that a command found, as the text of a JSON file."""
    return f"{json.dumps(plain(dict(content)), indent=1, allow_nan=False)}\n"
