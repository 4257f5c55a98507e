"""Losses as modules with the contract of `nn.CrossEntropyLoss`: ours, and their rivals.

`registry` lists them; names are looked up when first used, so that reading the list needs no torch.
docs/losses.md has a card for each: paper, formula, parameters, cost, and when it wins.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from untrue.losses import registry

if TYPE_CHECKING:
    from untrue.losses.registry import *  # noqa: F403

_HOMES = registry.CLASSES | registry.BESIDE

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'untrue.losses' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
