"""Packages that only some uses need, imported when they are used."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from untrue.errors import MissingDependencyError

# What a library imports, where it is installed, for interfaces that we do not use. For LightGBM
# that is six times its own time to import, and twice its memory.
UNUSED = {"lightgbm": ("sklearn", "pandas")}
# The smallest extra that brings a package; `lab` brings the others.
EXTRAS = {"pandas": "tables", "pyarrow": "tables", "safetensors": "torch"}
_is_ours = False


def own_process() -> None:
    """Say that this process runs one command of ours and ends: nobody else imports anything."""
    global _is_ours
    _is_ours = True


def import_library(name: str) -> Any:
    """Import a library, in a process of our own without what it has no use for there.

    Elsewhere the caller may have a use for it: of LightGBM imported in this way there is no
    `LGBMClassifier`.
    """
    unused = UNUSED.get(name, ()) if _is_ours and name not in sys.modules else ()
    hidden = [other for other in unused if other not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not installed
    try:
        return importlib.import_module(name)
    finally:
        for other in hidden:
            del sys.modules[other]


def need(module: str, purpose: str, extra: str | None = None) -> Any:
    """Import a module, or raise an error with what it is for and how to install it.

    extra  that brings it, where it is not that of `EXTRAS`
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        brought_by = extra or EXTRAS.get(package, "lab")
        raise missing(purpose, package, brought_by) from error


def missing(purpose: str, package: str, extra: str) -> MissingDependencyError:
    """The error where a package is not installed: what needs it, and the extra that brings it.

    >>> print(missing("untrue.jax", "jax", "frameworks"))
    untrue.jax needs jax, which is missing: pip install "untrue[frameworks]".
    """
    return MissingDependencyError(
        f'{purpose} needs {package}, which is missing: pip install "untrue[{extra}]".'
    )
