"""The Keras losses on two backends. A process has one backend, so that each has a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "keras_program.py"


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_losses_training_and_saving_on_a_backend(backend: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "KERAS_BACKEND": backend, "KERAS_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [backend]
