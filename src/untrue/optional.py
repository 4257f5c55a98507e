"""Packages that only some uses need, imported when they are used."""

from __future__ import annotations

import importlib
from typing import Any

from untrue.errors import MissingDependencyError


def need(module: str, purpose: str, extra: str = "lab") -> Any:
    """Import a module, or raise an error with what it is for and how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependencyError(
            f'{purpose} needs {package}, which is missing: pip install "untrue[{extra}]".'
        ) from error
