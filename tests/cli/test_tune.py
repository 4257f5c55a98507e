"""`untrue tune` as a real process: from a table to a model that predict takes; killed; refused."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from sklearn.datasets import load_digits
from tests.cli.untrue_process import UNTRUE, environment, run_untrue

from untrue import Penalty
from untrue.cli import exit_code
from untrue.tools.fitting.model_folder import load_model

CLASSES = [f"<i>{i}</i>" for i in range(10)]
TUNE = [
    "tune", "digits.csv", "--target", "digit", "--model", "linear", "--epochs", "12",
    "--learning-rate", ".005", "--repetitions", "3", "--max-accuracy-drop", "2", "--test-share",
    ".4", "--out", "model",
]  # fmt: skip
BUDGET = ["--budget", "* -> '<i>8</i>' <= 2%"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with `digits.csv` and `costs.toml`."""
    monkeypatch.chdir(tmp_path)
    data = load_digits(as_frame=True)
    frame = data.data.assign(digit=[CLASSES[i] for i in data.target])
    frame.to_csv("digits.csv", index=False)
    Penalty.from_rules(CLASSES, {(CLASSES[8], CLASSES[1]): 10.0}).save("costs.toml")
    return tmp_path


def test_a_table_and_a_budget_become_a_model_that_predict_takes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_untrue(*TUNE, *BUDGET, "--penalty", "costs.toml")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "digits.csv: 1,797 examples (table)"
    assert lines[1] == "At most 2 points of accuracy may be lost (--max-accuracy-drop)."
    assert lines[2].startswith("cross-entropy, repetition 1 of 3: 12 epochs, validation loss ")
    assert lines[5].startswith('The plain model: *->"<i>8</i>" <= 2%: ')
    assert re.search(r"; chance to be shown \d+ %; accuracy 9", lines[5])
    assert lines[-2:] == ["model/page.html", "model"]
    result = lines[lines.index("") + 1]  # its first line
    priced = (
        r"The budget is kept by what (loses|gains) (no|\d\.\d points of) accuracy "
        r"\(9\d\.\d %.*\): plain tr"
    )
    assert re.match(priced, result)
    page = (folder / "model/page.html").read_text()
    assert "&lt;i&gt;8&lt;/i&gt;" in page
    assert "<i>" not in page
    made_json = json.loads((folder / "model/metrics.json").read_text())
    assert made_json["kept"] is True
    assert made_json["budgets"][0]["held_out"]["upper"] <= 0.02
    assert (made_json["held_out_drawn"], made_json["seed"]) == ("at random", 0)
    assert 0 < made_json["passed"] <= made_json["tested"]
    assert "The path that was tested" in page
    assert "With 95 % confidence it holds for new cases like these" in result
    model = load_model(folder / "model")
    assert model.decision is not None
    assert model.training["tuned"]["budgets"] == ['*->"<i>8</i>" <= 2%']

    assert exit_code(["predict", "model", "digits.csv", "--out", "tuned.csv"]) == 0
    assert capsys.readouterr().out == "1,797 predictions, decided by the tuned rule\ntuned.csv\n"
    assert (
        exit_code(["predict", "model", "digits.csv", "--decide", "argmax", "--out", "p.csv"]) == 0
    )
    false = [
        sum(
            line.split(",")[1] == "<i>8</i>" != line.split(",")[0]
            for line in (folder / name).read_text().splitlines()
        )
        for name in ("tuned.csv", "p.csv")
    ]
    assert false[0] < false[1]


def test_killed_half_way_the_same_command_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*TUNE, *BUDGET]
    with subprocess.Popen(
        [*UNTRUE, *words],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("cross-entropy, repetition 2 of 3: "):
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "model").exists()
    done = run_untrue(*words)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for r in (1, 2):
        assert lines[1 + r] == f"cross-entropy, repetition {r} of 3: trained before"
    assert "on all but the held-out part: 12 epochs" in done.stdout
    first = json.loads((folder / "model/metrics.json").read_text())
    # Once more with the whole record, and with none: the same model.
    assert exit_code([*words, "--overwrite"]) == 0
    again = capsys.readouterr().out
    assert again.count("trained before") == 4
    assert "epochs" not in again
    assert exit_code([*words, "--overwrite", "--record", "other.sqlite"]) == 0
    assert "trained before" not in capsys.readouterr().out
    last = json.loads((folder / "model/metrics.json").read_text())
    del first["seconds"], last["seconds"]
    assert first == last
    assert sorted(path.name for path in folder.iterdir()) == [
        "costs.toml",
        "digits.csv",
        "model",
        "model.tuning.sqlite",
        "other.sqlite",
    ]


def test_damaged_entries_of_the_record_are_trained_again_and_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*TUNE, "--budget", "*->* <= 50%"]
    assert exit_code(words) == 0
    first = json.loads((folder / "model/metrics.json").read_text())
    record = folder / "model.tuning.sqlite"
    with closing(sqlite3.connect(record)) as db, db:
        db.execute("UPDATE entries SET facts = '{}' WHERE label LIKE '%repetition 2 of 3'")
    capsys.readouterr()
    assert exit_code(["status", str(record)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("3 trained models, ")
    assert "damaged: cross-entropy, repetition 2 of 3: its checksum does not match" in shown
    assert exit_code(["status", "model"]) == 2
    assert "it is in model.tuning.sqlite: `untrue status model.tun" in capsys.readouterr().err
    shutil.copy(record, "copy.sqlite")
    assert exit_code(["status", "copy.sqlite", "--repair"]) == 0
    shown = capsys.readouterr().out
    assert "repair: 1 damaged dropped, 3 kept\n3 trained models, " in shown
    assert "damaged:" not in shown

    assert exit_code([*words, "--overwrite"]) == 0
    note = "1 entry of the record was damaged, and trained again: cross-entropy, repetition 2 of 3."
    assert note in capsys.readouterr().out
    assert note in (folder / "model/page.html").read_text()
    last = json.loads((folder / "model/metrics.json").read_text())
    assert last.pop("notes") == [*first.pop("notes"), note]
    del first["seconds"], last["seconds"]
    assert first == last
    assert exit_code([*words, "--overwrite"]) == 0
    assert "damaged" not in capsys.readouterr().out


def test_what_cannot_be_kept_ends_with_1_and_the_closest_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--budget", "*->* <= 0.5%", "--trials", "1", "--loss", "bilinear"]
    assert exit_code([*TUNE, *words]) == 1
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "No rule can be shown to keep *->* <= 0.5% with 95 %: the closest rule" in shown.out
    assert shown.out.splitlines()[-2:] == ["model/page.html", "model"]
    assert "No rule can be shown to keep" in (folder / "model/page.html").read_text()
    assert load_model(folder / "model").training["tuned"]["kept"] is False
    assert exit_code(["predict", "model", "digits.csv", "--out", "p.csv"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "note: this model does not keep its budgets; model/page.html says how far\n"


def test_groups_come_from_a_tree_and_need_no_penalty(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = ["round" if i in (0, 6, 8, 9) else "straight" for i in range(10)]
    pairs = [f"{shape},{name}\n" for shape, name in zip(shapes, CLASSES, strict=True)]
    tops = [f"any,{shape}\n" for shape in ("round", "straight")]
    (folder / "tree.csv").write_text("".join(["parent,child\n", *tops, *pairs]))
    words = ["--hierarchy", "tree.csv", "--budget", "straight->round <= 20%", "--trials", "0"]
    assert exit_code([*TUNE, *words]) == 0
    assert "The plain model keeps the budget already: nothing" in capsys.readouterr().out
    assert load_model(folder / "model").decision is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing option '--budget'"),
        (["--budget", "8 is fine"], "Budget '8 is fine', at its end: expected <= and a limit"),
        (["--budget", "cat->* <= 1%"], "'cat'"),
        ([*BUDGET, *BUDGET], "is given twice"),
        ([*BUDGET, "--max-accuracy-drop", "-1"], "--max-accuracy-drop"),
        ([*BUDGET, "--confidence", "2"], "`--confidence` must lie in [0.5, 1)"),
        ([*BUDGET, "--repetitions", "1"], "`--repetitions` must be at least 2"),
        ([*BUDGET, "--loss", "hinge"], "Unknown loss 'hinge'"),
        ([*BUDGET, "--trials", "-3"], "`--trials` must be at least 0; got -3"),
        ([*BUDGET, "--model", "cnn"], "Network 'cnn' is for images"),
        ([*BUDGET, "--epochs", "0"], "`--epochs` must be at least 1; got 0"),
        ([*BUDGET, "--learning-rate", "0"], "`--learning-rate` must be positive"),
        ([*BUDGET, "--target", "number"], "digits.csv has no column 'number'"),
        ([*BUDGET, "--penalty", "none.toml"], "none.toml"),
        (
            [*BUDGET, "--record", "digits.csv"],
            "not a database. Name another with --record.",
        ),
        ([*BUDGET, "--hierarchy", "digits.csv"], "digits.csv"),
    ],
)
def test_wrong_use_is_one_sentence_and_nothing_is_written(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code([*TUNE, *words]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["costs.toml", "digits.csv"]
