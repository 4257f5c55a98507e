"""`untrue fit` as a real process: model folder, page, before and after; and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits, load_wine
from tests.cli.untrue_process import environment, run_untrue

from untrue import Penalty
from untrue.cli import exit_code
from untrue.tools.fitting.model_folder import load_model

WINES = ["barolo", "grignolino", "barbera"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with `wine.csv` and `costs.toml`."""
    monkeypatch.chdir(tmp_path)
    data = load_wine(as_frame=True)
    frame = data.frame.rename(columns=str.strip)
    frame["wine"] = np.array(WINES)[frame.pop("target")]
    frame["colour"] = np.where(frame["hue"] > 1, "deep", "light")
    frame.loc[::17, "colour"] = None
    frame.loc[::11, "ash"] = np.nan
    frame.to_csv("wine.csv", index=False)
    Penalty.from_rules(WINES, {("barolo", "barbera"): 10.0}).save("costs.toml")
    return tmp_path


def test_it_trains_both_compares_and_writes_the_model(folder: Path) -> None:
    done = run_untrue(
        "fit", "wine.csv", "--target", "wine", "--penalty", "costs.toml", "--out", "model",
        "--alpha", ".7", "--epochs", "20", "--learning-rate", ".005",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "wine.csv: 178 examples (table)"
    assert lines[1] == (
        "Note that `--epochs` belongs to a network, so one is trained. Boosted trees, the usual "
        "choice for a table, take `--rounds` instead; `model` (--model) names either."
    )
    assert lines[2].startswith("cross-entropy: ")
    assert lines[3].startswith("bilinear, alpha 0.7: ")
    for name in ("cross-entropy + least cost", "bilinear, alpha 0.7 + least cost"):
        assert name in done.stdout
    assert lines[-2:] == ["model/page.html", "model"]
    assert sorted(path.name for path in (folder / "model").iterdir()) == [
        "metrics.json",
        "model.json",
        "page.html",
        "penalty.json",
        "preprocessing.json",
        "weights.safetensors",
    ]
    model = load_model(folder / "model")
    assert model.classes == tuple(WINES)
    assert model.training["alpha"] == 0.7
    variants = json.loads((folder / "model/metrics.json").read_text())["variants"]
    assert variants[0]["summary"]["total_error"] < 0.2
    assert "change" not in variants[0]
    page = (folder / "model/page.html").read_text()
    for part in ("Before and after", "Loss by epoch", "barolo"):
        assert part in page


def test_numbers_in_the_table_are_never_taken_for_named_classes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv("wine.csv")
    order = ["grignolino", "barolo", "barbera"]
    frame["wine"] = frame["wine"].map(order.index)
    frame.to_csv("numbered.csv", index=False)
    words = ["numbered.csv", "--target", "wine", "--penalty", "costs.toml", "--out", "model"]
    assert exit_code(["fit", *words]) == 2
    assert "--classes NAME_OF_0,NAME_OF_1" in capsys.readouterr().err
    quick = ["--epochs", "15", "--learning-rate", ".01", "--no-baseline"]
    assert exit_code(["fit", *words, *quick, "--classes", ",".join(order)]) == 0
    named = ["model", "wine.csv", "--out", "p.csv"]
    assert exit_code(["predict", *named]) == 0
    found = pd.read_csv("p.csv")
    assert (found["truth"] == found["predicted"]).mean() > 0.9


def test_images_in_folders_by_the_plain_loss_alone(folder: Path) -> None:
    digits = load_digits()
    for i in np.flatnonzero(digits.target < 2)[:80].tolist():
        path = folder / "images" / f"digit {digits.target[i]}" / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((digits.images[i] * 15).astype(np.uint8)).save(path)
    done = run_untrue(
        "fit", "images", "--loss", "cross-entropy", "--out", "deep/model", "--epochs", "4",
        "--image-size", "10",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "80 examples (images)" in done.stdout
    assert load_model(folder / "deep/model").predictor.inputs == (1, 10, 10)


def test_no_baseline_trains_one_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--target", "wine", "--penalty", "costs.toml", "--out", "m", "--epochs", "6"]
    assert exit_code(["fit", "wine.csv", *words, "--no-baseline", "--learning-rate", ".005"]) == 0
    shown = capsys.readouterr().out
    assert "cross-entropy" not in shown
    assert "bilinear, alpha 0.5" in shown
    assert exit_code(["fit", "wine.csv", *words]) == 2
    assert (
        "m holds a model already; add --overwrite (`overwrite=True`) to replace it"
        in capsys.readouterr().err
    )


FIT = ["wine.csv", "--target", "wine", "--penalty", "costs.toml"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wine.csv", "--penalty", "costs.toml"], "Name the column to learn, `target` (--target)."),
        (["wine.csv", "--target", "vine"], "wine.csv has no column 'vine'; did you mean 'wine'?"),
        (
            ["wine.csv", "--target", "wine"],
            "needs to know what mistakes cost: give `penalty` (--penalty",
        ),
        (
            ["wine.csv", "--target", "colour", "--penalty", "costs.toml"],
            "wine.csv: data row 1, column 'colour', is empty; expected a label. Without one: "
            "11 of 178 rows; remove such rows, or fill them in.",
        ),
        (
            ["wine.csv", "--target", "wine", "--image-size", "5"],
            "`image_size` (--image-size) belongs to a folder of images; wine.csv is a file",
        ),
        (
            ["wine.csv", "--target", "wine", "--ignore", "ash,wine"],
            "`ignore` (--ignore) names 'wine', the column to learn",
        ),
        (
            ["wine.csv", "--target", "wine", "--ignore", "wine", "--ignore", "ash"],
            "`ignore` (--ignore) names 'wine', the column to learn",
        ),
        (["wine.csv", "--target", "wine", "--alpha", "2"], "`--alpha` must lie in [0, 1]; got 2.0"),
        ([*FIT, "--epochs", "0"], "`--epochs` must be at least 1; got 0"),
        (
            [*FIT, "--learning-rate", "0"],
            "`--learning-rate` must be positive; got 0.0",
        ),
        (["wine.csv", "--loss", "hinge", "--target", "wine"], "`--loss` must be 'bilinear'"),
        (["wine.csv", "--target", "wine", "--ignore", "x"], "wine.csv has no column 'x'"),
        (["nothing.csv"], "There is no file or folder nothing.csv."),
        (["costs.toml"], "costs.toml is neither a table"),
    ],
)
def test_wrong_use_is_one_sentence_and_nothing_is_written(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["fit", *words, "--out", "model"]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["costs.toml", "wine.csv"]


@pytest.mark.parametrize("option", ["target", "delimiter", "ignore", "categorical", "classes"])
def test_options_of_tables_are_refused_on_a_folder_of_images(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cat", "dog"):
        (folder / "images" / name).mkdir(parents=True)
        Image.new("L", (16, 16)).save(folder / "images" / name / "0.png")
    words = ["fit", "images", "--loss", "cross-entropy", f"--{option}", ";", "--out", "model"]
    assert exit_code(words) == 2
    said = f"`{option}` (--{option}) has no effect on images, a folder of images: leave it out."
    assert said in capsys.readouterr().err
    np.savez("a.npz", X=np.zeros((4, 2)), y=np.arange(4))
    if option not in ("target", "classes"):
        assert exit_code(["fit", "a.npz", *words[2:]]) == 2
        assert "has no effect on a.npz, a file of arrays" in capsys.readouterr().err


def test_a_file_that_is_no_image_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cat", "dog"):
        (folder / "images" / name).mkdir(parents=True)
        for i in range(10):
            Image.new("L", (16, 16), i).save(folder / "images" / name / f"{i}.png")
    (folder / "images/dog/7.png").write_text("no image")
    words = ["fit", "images", "--loss", "cross-entropy", "--out", "model"]
    assert exit_code(words) == 2
    assert "images/dog/7.png is not an image (PNG, JPEG, " in capsys.readouterr().err
    assert not (folder / "model").exists()


def test_an_interrupt_ends_it_and_leaves_nothing(folder: Path) -> None:
    command = [
        sys.executable, "-m", "untrue", "fit", "wine.csv", "--target", "wine", "--out", "model",
        "--penalty", "costs.toml", "--epochs", "1000000", "--patience", "1000000",
    ]  # fmt: skip
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "wine.csv: 178 examples (table)\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "interrupted\n")
    assert sorted(path.name for path in folder.iterdir()) == ["costs.toml", "wine.csv"]
