"""What this machine has: cores, threads to use, versions of packages. No torch, no NumPy."""

from __future__ import annotations

import os


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
