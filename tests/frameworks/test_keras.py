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


def test_a_backend_that_is_missing_is_named_with_the_way_out(tmp_path: Path) -> None:
    # A folder of that name that cannot be imported, whether there is a real one or not.
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text(
        "raise ModuleNotFoundError('no module', name='tensorflow')"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import untrue.keras"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={**os.environ, "KERAS_BACKEND": "tensorflow", "KERAS_HOME": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "needs a backend of Keras, and tensorflow is missing" in done.stderr
    assert "set KERAS_BACKEND to torch or jax" in done.stderr
