"""`untrue calibrate` from a file to a file, as a person runs it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from untrue import Temperature
from untrue.cli import exit_code
from untrue.metrics import ece


@pytest.fixture
def predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    logits = 3.0 * rng.normal(size=(60, 2))
    true = (rng.random(60) > Temperature(3.0)(logits)[:, 0]).astype(int)
    table = pd.DataFrame(Temperature(1.0)(logits), columns=["prob_no", "prob_yes"])
    table.insert(0, "truth", np.array(["no", "yes"])[true])
    table.to_csv("p.csv", index=False)
    return tmp_path


def test_it_says_what_it_found_and_ends_with_the_path(
    predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["calibrate", "p.csv", "--out", "c.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("p.csv: temperature ")
    assert lines[0].endswith(
        "fitted to 60 examples of p.csv: the model was too sure of its answers"
    )
    assert re.fullmatch(
        r"calibration error [\d.]+ % before, [\d.]+ % after, each fifth of the examples at the "
        r"temperature of the others\. That estimates the error on new examples; c\.csv itself, "
        r"fitted to all of these, cannot be judged by them",
        lines[1],
    )
    assert lines[2].startswith("Note: the probabilities are calibrated on 60 examples, too few")
    assert lines[-1] == "c.csv"
    found = pd.read_csv("c.csv")
    given = pd.read_csv("p.csv")
    assert list(found) == list(given)
    assert (found["prob_no"] > 0.5).equals(given["prob_no"] > 0.5)
    columns = ["prob_no", "prob_yes"]
    assert found[columns].max(axis=1).mean() < given[columns].max(axis=1).mean() - 0.05


def test_one_example_is_one_example(predictions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (predictions / "one.csv").write_text("truth,prob_no,prob_yes\nno,0.9,0.1\n")
    assert exit_code(["calibrate", "one.csv", "--out", "c.csv"]) == 0
    text = capsys.readouterr().out
    assert "fitted to 1 example of one.csv" in text
    assert "calibrated on 1 example, too few" in text


@pytest.mark.parametrize(
    ("column", "option", "kept"),
    [
        ("prob_no", (), "prob_no"),
        ("prob_yes", (), "prob_yes"),
        ("score", ("--probs", "score"), "prob_yes"),
    ],
)
def test_of_two_classes_one_column_will_do(
    column: str,
    option: tuple[str, ...],
    kept: str,
    predictions: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code(["calibrate", "p.csv", "--out", "both.csv"]) == 0
    single = pd.read_csv("p.csv")[["truth", kept]].rename(columns={kept: column})
    single.to_csv("single.csv", index=False)
    capsys.readouterr()
    assert exit_code(["calibrate", "single.csv", *option, "--out", "c.csv"]) == 0
    guess = "Note: the column 'score' is taken for the probability of 'yes'."
    assert (guess in capsys.readouterr().out) is bool(option)
    found = pd.read_csv("c.csv")
    assert list(found) == ["truth", column]
    np.testing.assert_allclose(found[column], pd.read_csv("both.csv")[kept], atol=1e-5)
    # Without a truth of its own, a file has the classes of the other.
    single.drop(columns="truth").to_csv("new.csv", index=False)
    for held_out in ("single.csv", "p.csv") if not option else ("single.csv",):
        words = ["calibrate", "new.csv", *option, "--on", held_out, "--out", "n.csv", "--overwrite"]
        assert exit_code(words) == 0
        again = pd.read_csv("n.csv")
        assert list(again) == [column]
        np.testing.assert_allclose(again[column], found[column], atol=1e-5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["p.csv", "--out", "p.csv"], "p.csv is read by this command; name another file to write."),
        (["p.csv", "--out", "c.txt"], "A table is written as .csv or .parquet; got c.txt."),
        (["none.csv", "--out", "c.csv"], "There is no file none.csv."),
        (["p.csv"], "Missing option '--out'"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], message: str, predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["calibrate", *words]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert [path.name for path in predictions.iterdir()] == ["p.csv"]


def test_the_error_of_the_file_written_is_said_where_others_were_fitted_to(
    predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv("p.csv")
    table.iloc[:30].to_csv("half.csv", index=False)
    assert exit_code(["calibrate", "p.csv", "--on", "half.csv", "--out", "c.csv"]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    found = pd.read_csv("c.csv")
    error = ece(found[["prob_no", "prob_yes"]].to_numpy(), (found["truth"] == "yes").to_numpy() * 1)
    assert line.endswith(f" % before, {100 * error:.1f} % after, in c.csv")
