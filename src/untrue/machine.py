"""What this machine has: cores, threads to use, versions of packages. No torch, no NumPy."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
from contextlib import suppress

# What decides the numbers of a run.
NUMERICAL = ("untrue", "torch", "numpy", "lightgbm", "xgboost")
# The same package under another name: without what GPUs need.
OTHER_NAMES = {"xgboost": "xgboost-cpu"}


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    """As many as the libraries of boosted trees take: OMP_NUM_THREADS, else the cores.

    OpenMP allows one number for each level of nesting, `4,2`; the first is the outermost.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(asked) if asked.isdecimal() and int(asked) else cores()


@functools.cache
def versions(packages: tuple[str, ...] = NUMERICAL) -> tuple[tuple[str, str], ...]:
    """(package, version) of Python and of those packages that are installed."""
    found = [("python", platform.python_version())]
    for package in packages:
        for name in (package, OTHER_NAMES.get(package, package)):
            with suppress(importlib.metadata.PackageNotFoundError):
                found.append((package, importlib.metadata.version(name)))
                break
    return tuple(found)
