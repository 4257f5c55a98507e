"""Five seconds of the fuzzer in every run of the suite; `make fuzz` goes on for longer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_five_seconds_of_fuzzing_find_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--seconds", "5", "--seed", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["cases"] > 0
