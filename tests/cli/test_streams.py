"""Printing never loses work: the reader leaves, the disk is full, the terminal knows few signs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from untrue import Penalty
from untrue.tools.fitting.model_folder import load_model

# A name that clears a terminal, one that ASCII has not, one that turns the writing round.
NAMES = ("plain\x1b[2J", "naïve", "\u202eright")
FIT = [
    sys.executable, "-m", "untrue", "fit", "data.csv", "--target", "kind", "--penalty",
    "costs.json", "--out", "model", "--epochs", "9", "--learning-rate", "0.02", "--no-baseline",
]  # fmt: skip
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [f"{x + i % 3:.3f},{NAMES[i % 3]}" for i, x in enumerate(rng.normal(0, 0.5, size=90))]
    (tmp_path / "data.csv").write_text("\n".join(["x,kind", *rows]), encoding="utf-8")
    Penalty.from_rules(NAMES, {(NAMES[0], NAMES[1]): 5.0}).save(tmp_path / "costs.json")
    return tmp_path


def test_a_reader_that_leaves_after_a_line_does_not_cost_the_model(folder: Path) -> None:
    with subprocess.Popen(
        FIT, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        assert (process.wait(timeout=120), errors) == (0, b"")
    load_model(folder / "model")


def test_a_full_output_is_reported_and_does_not_cost_the_model(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            FIT, cwd=folder, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 3
    assert done.stderr == (
        "error: standard output was not written: No space left on device; files that were made are "
        "whole.\n"
    )
    load_model(folder / "model")


def test_a_closed_output_does_not_cost_the_model(folder: Path) -> None:
    done = subprocess.run(
        FIT, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1)
    )
    assert (done.returncode, done.stderr) == (0, b"")
    load_model(folder / "model")


def test_names_that_a_terminal_cannot_show_are_escaped(folder: Path) -> None:
    ascii_only = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(FIT, cwd=folder, env=ascii_only, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode("ascii")
    assert "na\\xefve" in shown
    assert "plain\\x1b[2J" in shown
    assert "\\u202eright" in shown
    assert "\x1b" not in shown
    load_model(folder / "model")


def test_an_error_shows_control_characters_escaped(folder: Path) -> None:
    command = [sys.executable, "-m", "untrue", "predict", "nowhere\x1b[2J", "data.csv"]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "error: nowhere\\x1b[2J is no model folder" in done.stderr
