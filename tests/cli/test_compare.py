"""`untrue compare` as a person runs it: to the page, killed and resumed, on own data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from tests.cli.untrue_process import UNTRUE, run_untrue

import untrue
from untrue.cli import exit_code
from untrue.lab import comparison
from untrue.lab.data import load
from untrue.lab.scoring import SHARES
from untrue.lab.splits import describe
from untrue.lab.store import FILE, Store
from untrue.losses import registry

ONE = ["--device", "cpu", "--jobs", "1", "--threads", "1"]
DIGITS = ["compare", "--data", "digits", "--scale", "smoke", *ONE]
# Two methods at two strengths and the baseline, in two repetitions: ten models.
SMALL = [
    *DIGITS, "--methods", "ce+cost,bilinear,sosr", "--strength", "bilinear=.5,.9",
    "--strength", "sosr=1,3", "--repetitions", "2", "--epochs", "2",
]  # fmt: skip


def rows(directory: Path) -> list[tuple[object, ...]]:
    with Store.read(directory) as store:
        (sweep,) = store.sweeps()
        return [
            (
                result.config,
                result.confusion.tobytes(),
                [(d.costs, d.calibrated, d.confusion.tobytes()) for d in result.decisions],
                result.temperature,
            )
            for result in store.results(sweep)
        ]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    place = tmp_path_factory.mktemp("compared")
    done = run_untrue(*SMALL, "--out", place)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return place, done.stdout


def test_it_says_how_many_models_and_ends_with_finding_and_page(
    compared: tuple[Path, str],
) -> None:
    place, shown = compared
    lines = shown.splitlines()
    assert lines[0].startswith(
        "compare on digits, scale smoke: 10 models, 0 done already, 10 to train, 1 at a time: the "
    )
    # A slow machine first says how long it will take.
    first = next(line for line in lines if line.startswith("["))
    assert first.startswith("[1/10] digits baseline seed=0: ")
    assert "digits sosr scale=3 n=20 seed=1: " in shown
    assert "10 runs stored." in lines
    assert "ce+cost" in shown
    made_json = json.loads((place / "report.json").read_text())["sweeps"][0]
    assert made_json["done"] == made_json["expected"] == 10
    assert lines[-1] == str(place / "report.html")
    assert (place / "report.html").stat().st_size > 10_000


def test_every_model_is_asked_three_times_some_more_and_a_regression_once(
    compared: tuple[Path, str],
) -> None:
    with Store.read(compared[0]) as store:
        (sweep,) = store.sweeps()
        assert sweep.name == "compare/digits"
        for result in store.results(sweep):
            asked = [decision.rule for decision in result.decisions]
            usual = (
                [] if result.config.method == "sosr" else ["least-cost", "least-cost-calibrated"]
            )
            usual += ["posterior"] * (result.config.loss in registry.MIXED)
            # The free rule has strengths.
            usual += ["softened-cost"] * len(SHARES) if result.config.is_baseline else []
            assert asked == usual


def test_the_same_command_makes_nothing_twice_and_report_draws_it_again(
    compared: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, _ = compared
    before = rows(place)
    assert exit_code([*SMALL, "--out", str(place)]) == 0
    again = capsys.readouterr().out
    assert "10 models, 10 done already, 0 to train." in again
    assert again.splitlines()[-1] == str(place / "report.html")
    assert rows(place) == before
    assert exit_code(["status", str(place)]) == 0
    assert "compare/digits, scale smoke: 10 of 10 done" in capsys.readouterr().out
    assert exit_code(["report", str(place), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "report.html").is_file()


def test_killed_in_the_middle_it_goes_on_to_the_same_rows(
    compared: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = subprocess.Popen(
        [*UNTRUE, *SMALL, "--out", str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while not process.stdout.readline().startswith("[3/10]"):
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert exit_code(["status", str(tmp_path)]) == 0
    assert "continue with: untrue compare --data digits" in capsys.readouterr().out
    done = run_untrue(*SMALL, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert " 0 done already" not in done.stdout
    assert rows(tmp_path) == rows(compared[0])


def test_ctrl_c_ends_in_one_line_and_keeps_what_is_done(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*UNTRUE, *SMALL, "--epochs", "40", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 300
    while not (tmp_path / FILE).exists() or not _finished(tmp_path):
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert err == "interrupted\n"
    assert " stored." in out
    assert "report.html" not in out


def _finished(directory: Path) -> int:
    with Store.read(directory) as store:
        try:
            return len(store.status())
        except untrue.errors.UntrueError:
            return 0


def test_a_run_that_fails_is_stored_and_the_page_is_made_of_the_rest(tmp_path: Path) -> None:
    # The costs are scaled out of all numbers, so this method alone diverges.
    words = [*DIGITS, "--methods", "bilinear,sosr", "--strength", "sosr=1e38", "--epochs", "1"]
    done = run_untrue(*words, "--out", tmp_path)
    assert done.returncode == 1
    assert "digits sosr scale=1e+38 n=20 seed=0: failed: " in done.stdout
    assert "2 runs stored, 1 failed" in done.stdout
    assert done.stdout.splitlines()[-1] == str(tmp_path / "report.html")


def test_when_every_run_fails_there_is_no_page(tmp_path: Path) -> None:
    words = [*DIGITS, "--methods", "bilinear", "--learning-rate", "1e30", "--epochs", "1"]
    done = run_untrue(*words, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"0 runs stored, 2 failed (see `untrue status {tmp_path}`)." in done.stdout
    assert not (tmp_path / "report.html").exists()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with `wine.csv`, `costs.toml` and a penalty from a tree."""
    monkeypatch.chdir(tmp_path)
    wines = ["barolo", "grignolino", "barbera"]
    frame = load_wine(as_frame=True).frame
    frame["wine"] = np.array(wines)[frame.pop("target")]
    frame.to_csv("wine.csv", index=False)
    untrue.Penalty.from_rules(wines, {("barolo", "barbera"): 10.0}).save("costs.toml")
    return tmp_path


def test_own_data_are_compared_too(folder: Path) -> None:
    frame = pd.read_csv("wine.csv")
    frame.assign(bottle=[f"no. {i}" for i in frame.index]).to_csv("wine.csv", index=False)
    words = ["compare", "--data", "wine.csv", "--target", "wine", "--penalty", "costs.toml", *ONE]
    done = run_untrue(*words, "--scale", "smoke", "--epochs", "8", "--out", "runs")
    assert done.returncode == 0, done.stderr
    # Said once, although the process that trains reads them too.
    (warning,) = done.stderr.splitlines()
    assert warning.startswith("warning: column 'bottle' is left out: ")
    assert "Left out: hxe needs a hierarchy, and this penalty has none." in done.stdout
    assert "compare on wine.csv, scale smoke: 9 models" in done.stdout
    assert done.stdout.splitlines()[-1] == "runs/report.html"
    with Store.read(folder / "runs") as store:
        info = store.dataset("wine.csv")
        assert {run.config.setup.training.optimizer for run in store.results()} == {"adamw"}
        assert info.classes == ("barolo", "grignolino", "barbera")
        (sweep,) = store.sweeps()
        assert sweep.configs[1].penalty is not None
        assert sweep.configs[1].penalty.matrix(info)[0, 2] == 10.0
    # Shown from the record, in the row on how the networks were trained.
    assert "AdamW 0.001, constant, weight decay 0.0001" in Path("runs/report.html").read_text()


def test_costs_are_matched_with_the_classes_by_name_in_whatever_order(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(digit) for digit in range(10)]
    pairs = {("3", "8"): 9.0, ("1", "7"): 4.0}
    untrue.Penalty.from_rules(names, pairs).save("sorted.csv")
    untrue.Penalty.from_rules([*names[::-1], "none"], pairs).save("reversed.toml")
    info = describe(load("digits"))
    for file in ("sorted.csv", "reversed.toml"):
        costs = comparison.read_costs(file, info).of(info, 0)
        assert costs.matrix(info)[3, 8] == 9.0
        assert costs.matrix(info)[1, 7] == 4.0
    # A groups file, as `penalty new --hierarchy` writes it, lists the classes by group.
    groups = {"round": ["9", "8", "6", "0", "3"], "other": ["1", "2", "4", "5", "7"]}
    Path("groups.json").write_text(json.dumps(groups))
    assert exit_code(["penalty", "new", "--hierarchy", "groups.json", "--out", "groups.toml"]) == 0
    words = [*DIGITS, "--penalty", "groups.toml", "--out", "runs", "--dry-run"]
    assert exit_code(words) == 0
    assert "to train" in capsys.readouterr().out


def test_a_limit_on_the_training_images_scales_the_default_validation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*DIGITS, "--limit-train", "150", "--out", "runs", "--dry-run"]
    assert exit_code(words) == 0
    assert exit_code([*words, "--validation", "200"]) == 2
    assert "`--validation` must be below" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "digts"], "there is no 'digts'; did you mean 'digits'?"),
        (["--data", "wine.csv"], "Name the column to learn, `target` (--target)."),
        (["--target", "wine"], "target is for own data"),
        (["--methods", "ce,magic"], "Unknown method 'magic'."),
        (["--methods", "hxe"], "The method hxe needs a hierarchy, and this penalty has none"),
        (["--strength", "bilinear=strong"], "must be numbers with commas between"),
        (["--strength", "bilinear=2"], "`alpha` must lie in [0, 1]; got 2.0."),
        (["--penalty", "zone:91"], "1 to 90 with 10 classes; got '91'"),
        (["--penalty", "hierarchy"], "'digits' has none"),
        (["--penalty", "costs.toml"], "costs.toml: holds no class '0', which digits has."),
        (["--penalty", "nothing.csv"], "there is no such file"),
        (["--scale", "huge"], "Unknown scale 'huge'."),
        (["--repetitions", "0"], "`--repetitions` must be at least 1; got 0."),
        (["--validation", "0"], "`--validation` must be at least 1"),
        (["--validation", "5000"], "`--validation` must be below the number of training images"),
        (["--network", "cifar10"], "Network 'cifar10' takes images of (3, 32, 32)"),
        (["--jobs", "0"], "`--jobs` must be at least 1; got 0."),
    ],
)
def test_nonsense_is_answered_in_one_line_and_nothing_is_written(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert exit_code([*DIGITS, *words, "--out", "runs"]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_dry_run_changes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code([*SMALL, "--out", "runs", "--dry-run"]) == 0
    assert "10 to train" in capsys.readouterr().out
    assert not (folder / "runs").exists()
