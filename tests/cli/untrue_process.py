"""The command as a person starts it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

UNTRUE = [sys.executable, "-m", "untrue"]


def environment(**more: str) -> dict[str, str]:
    """This process's, with one thread: the tests share their machine."""
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


def run_untrue(
    *words: object, cwd: Path | None = None, timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    """`untrue WORDS` to its end, with what it printed."""
    return subprocess.run(
        [*UNTRUE, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=timeout,
        env=environment(),
    )
