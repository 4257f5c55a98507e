"""`untrue run --dry-run` and `compare --dry-run`: a plan, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from untrue.cli import exit_code

ONE = ["--device", "cpu", "--jobs", "1", "--threads", "1"]
TINY = ["run", "demo", "--data", "digits", "--scale", "smoke", "--limit-train", "300", *ONE]


def write_mnist(place: Path, size: int) -> Path:
    """Files of MNIST with black images, `size` to train and 20 to test."""
    (place / "mnist").mkdir(parents=True)
    for part, n in (("train", size), ("t10k", 20)):
        head = n.to_bytes(4, "big")
        images = bytes([0, 0, 8, 3]) + head + bytes([0, 0, 0, 28, 0, 0, 0, 28]) + bytes(784 * n)
        labels = bytes([0, 0, 8, 1]) + head + bytes(i % 10 for i in range(n))
        (place / f"mnist/{part}-images-idx3-ubyte").write_bytes(images)
        (place / f"mnist/{part}-labels-idx1-ubyte").write_bytes(labels)
    return place


def test_a_limit_needs_no_word_on_validation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_mnist(tmp_path / "data", 12_000)
    words = ["run", "masked-zone", "--limit-train", "4000", "--dry-run", *ONE]
    words += ["--data-dir", str(data), "--out", str(tmp_path / "runs")]
    assert exit_code(words) == 0
    printed = capsys.readouterr()
    assert "to train" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(
    "words", [["run", "masked-zone"], ["compare", "--data", "mnist", "--penalty", "zone:20"]]
)
@pytest.mark.parametrize(
    ("option", "value"), [("--jobs", "0"), ("--device", "abacus"), ("--gpus", "1")]
)
def test_options_of_the_machine_are_checked_before_data_are_read(
    words: list[str],
    option: str,
    value: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = write_mnist(tmp_path / "data", 20)
    (data / "mnist/train-images-idx3-ubyte").write_bytes(b"damaged")
    words = [*words, "--data-dir", str(data), "--out", str(tmp_path / "runs"), option, value]
    assert exit_code(words) == 2
    assert option in capsys.readouterr().err


def test_a_dry_run_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code([*TINY, "--out", str(tmp_path / "runs"), "--dry-run"]) == 0
    assert "5 to train" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_fetches_nothing(tmp_path: Path) -> None:
    """It plans from what is known of a data set, whether its files are there or not."""
    nowhere = {"HOME": tmp_path, "XDG_CACHE_HOME": tmp_path, "UNTRUE_DATA": tmp_path}
    environment = {**os.environ, **{name: str(path) for name, path in nowhere.items()}}
    for words, expected in (
        (
            "run masked-zone --scale paper --data cifar10",
            "masked-zone on cifar10, scale paper: 5",
        ),
        ("run small-sample", "small-sample on cifar100, scale desk: 14 models"),
        (
            "compare --data cifar100 --penalty hierarchy --out runs",
            "compare on cifar100, scale desk",
        ),
        ("compare --data mnist --out runs", "compare on mnist, scale desk: "),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "untrue", *words.split(), "--dry-run", "--device", "cpu"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert expected in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_counts_what_is_there_and_leaves_it_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code([*TINY, "--out", str(tmp_path), "--alpha", "0"]) == 0
    assert ": 1 model, 0 done already, 1 to train, " in capsys.readouterr().out
    before = (tmp_path / "runs.sqlite").read_bytes()
    capsys.readouterr()
    assert exit_code([*TINY, "--out", str(tmp_path), "--dry-run"]) == 0
    assert "5 models, 1 done already, 4 to train, " in capsys.readouterr().out
    assert exit_code([*TINY, "--out", str(tmp_path), "--dry-run", "--keep-weights"]) == 0
    assert (
        "0 done already, 5 to train (1 of them again: their weights, or scores by these costs, "
        "were not kept)"
    ) in " ".join(capsys.readouterr().out.split())
    assert (tmp_path / "runs.sqlite").read_bytes() == before


@pytest.mark.parametrize("words", ["run masked-zone", "compare --data mnist --methods ce"])
def test_a_dry_run_counts_runs_made_from_a_part_of_a_data_set(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The validation part follows from how many images there are, and the run's id from that."""
    data = write_mnist(tmp_path / "data", 6000)
    command = [*words.split(), "--repetitions", "1", "--limit-train", "6000", "--epochs", "1", *ONE]
    command += ["--network", "linear", "--data-dir", str(data), "--out", str(tmp_path / "runs")]
    command += ["--alpha", "0"] if "run" in words else []
    assert exit_code(command) == 0
    capsys.readouterr()
    assert exit_code([*command, "--dry-run"]) == 0
    assert ", 0 to train" in capsys.readouterr().out
