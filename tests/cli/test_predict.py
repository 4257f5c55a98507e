"""`untrue predict` as a real process: from a model folder to a file that `untrue audit` reads."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_wine
from tests.cli.untrue_process import run_untrue

from untrue import Penalty
from untrue.cli import exit_code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `wine.csv`, `costs.json` and a model fitted to them."""
    folder = tmp_path_factory.mktemp("wine")
    frame = load_wine(as_frame=True).frame
    frame["target"] = frame["target"].map("wine {}".format)
    frame["grown"] = ["north", "south"] * 89
    frame.to_csv(folder / "wine.csv", index=False)
    Penalty.from_rules([f"wine {i}" for i in range(3)], {("wine 0", "wine 1"): 9.0}).save(
        folder / "costs.json"
    )
    at = str(folder)
    words = ["fit", f"{at}/wine.csv", "--target", "target", "--penalty", f"{at}/costs.json"]
    quick = ["--out", f"{at}/model", "--epochs", "15", "--learning-rate", ".005", "--no-baseline"]
    assert exit_code([*words, *quick]) == 0
    return folder


def test_labels_and_probabilities_come_in_order_and_are_audited_as_they_are(folder: Path) -> None:
    done = run_untrue(
        "predict", "model", "wine.csv", "--decide", "cost", "--out", "p.csv", cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "178 predictions, decided by least expected cost\np.csv\n"
    lines = (folder / "p.csv").read_text().splitlines()
    assert lines[0] == "truth,predicted,prob_wine 0,prob_wine 1,prob_wine 2"
    truth = [line.split(",")[0] for line in lines[1:]]
    assert truth == ["wine 0"] * 59 + ["wine 1"] * 71 + ["wine 2"] * 48
    done = run_untrue("audit", "p.csv", "--penalty", "model/penalty.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "178 predictions of 3 classes" in done.stdout
    assert "0 of 178" in done.stdout


def test_argmax_is_by_scores_after_training_by_costs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = str(folder)
    assert exit_code(["predict", f"{at}/model", f"{at}/wine.csv", "--out", f"{at}/s.csv"]) == 0
    line = "178 predictions, decided by the highest score of the model\n"
    assert capsys.readouterr().out == f"{line}{at}/s.csv\n"


def test_it_needs_no_scikit_learn_and_warns_of_unseen_categories_in_one_line(folder: Path) -> None:
    text = (folder / "wine.csv").read_text().replace("north", "east")
    (folder / "east.csv").write_text(text)
    script = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from untrue.cli import main; main(['predict', 'model', 'east.csv', '--out', 'q.parquet'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr == (
        "warning: column 'grown' holds categories not seen in training ('east') in 89 of "
        "178 rows; they are taken as 'other'\n"
    )
    assert (folder / "q.parquet").exists()


def test_abstaining_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = str(folder)
    words = ["predict", f"{at}/model", f"{at}/wine.csv", "--out", f"{at}/a.csv"]
    assert exit_code([*words, "--decide", "cost", "--abstain-cost", "0.001"]) == 0
    shown = capsys.readouterr().out
    count = int(shown.split(";")[1].split()[0])
    assert count > 0
    assert (folder / "a.csv").read_text().count("(abstained)") == count


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "nothing.csv"}, "There is no file or folder"),
        ({"model": "."}, "is no model folder: it has no model.json"),
        ({"data": "renamed.csv"}, "lacks 1 column that the model learned from: alcohol."),
        ({"out": "x.txt"}, "A table is written as .csv or .parquet"),
        ({"out": "no/where/p.csv"}, "There is no folder"),
        ({"out": "wine.csv"}, "wine.csv is read by this command; name another file"),
        (
            {"decide": "best"},
            "`decision` (--decide) must be 'argmax', 'cost', 'tuned' or 'node'; got 'best'",
        ),
        ({"abstain-cost": "1"}, "(--abstain-cost) belongs to the decision"),
    ],
)
def test_wrong_use_is_one_sentence_and_nothing_is_written(
    change: dict[str, str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = (folder / "wine.csv").read_text().replace("alcohol,", "Alcohol,", 1)
    (folder / "renamed.csv").write_text(renamed)
    before = sorted(folder.iterdir())
    given = {"model": "model", "data": "wine.csv", "out": "new.csv"} | change
    words = [str(folder / given.pop("model")), str(folder / given.pop("data"))]
    words += ["--out", str(folder / given.pop("out"))]
    for option, value in given.items():
        words += [f"--{option}", value]
    assert exit_code(["predict", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_a_newer_and_a_tampered_model_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = shutil.copytree(folder / "model", tmp_path / "model")
    out = tmp_path / "new.csv"
    words = ["predict", str(model), str(folder / "wine.csv"), "--out", str(out)]
    with (model / "weights.safetensors").open("r+b") as file:
        file.truncate(1000)
    assert exit_code(words) == 2
    assert "weights.safetensors is not what was written with the model" in capsys.readouterr().err
    content = json.loads((model / "model.json").read_text())
    (model / "model.json").write_text(json.dumps(content | {"format": 7, "untrue": "8.0"}))
    assert exit_code(words) == 2
    assert "was written by a newer untrue (8.0)" in capsys.readouterr().err
    assert not out.exists()
