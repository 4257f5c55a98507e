"""No command replaces a file without --overwrite: one rule, for all of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import typer.main
from tests.cli.test_control import BUDGET, table

from untrue import Penalty, cli
from untrue.cli import exit_code

FIT = ["--target", "truth", "--model", "linear", "--epochs", "2"]
CLASSES = "tumour,cyst,benign"
# What each writes in a folder that has the files it reads.
WRITERS: dict[str, list[str]] = {
    "fit": ["fit", "new.csv", *FIT, "--penalty", "costs.toml", "--out", "made"],
    "tune": ["tune", "new.csv", *FIT, "--trials", "0", "--repetitions", "2", "--max-accuracy-drop",
             "100", "--budget", "tumour->benign <= 99%", "--out", "made"],
    "predict": ["predict", "model", "new.csv", "--out", "made.csv"],
    "audit": ["audit", "new.csv", "--penalty", "costs.toml", "--resamples", "10", "--out", "made"],
    "explore": ["explore", "new.csv", "--out", "made.html"],
    "calibrate": ["calibrate", "new.csv", "--out", "made.csv"],
    "control": ["control", "known.csv", "--budget", BUDGET, "--out", "made.json"],
    "decide": ["decide", "rule.json", "new.csv", "--out", "made.csv"],
    "report": ["report", "runs", "--out", "made"],
    "penalty show": ["penalty", "show", "costs.toml", "--html", "made.html"],
    "penalty convert": ["penalty", "convert", "costs.toml", "made.json"],
    "penalty new": ["penalty", "new", "--classes", CLASSES, "--out", "made.toml"],
    "penalty suggest": ["penalty", "suggest", "--confusion", "cm.csv", "--out", "made.csv"],
}  # fmt: skip
# Needs ONNX: held to it in tests/frameworks/test_onnx.py.
ELSEWHERE = {"export"}
# These continue in a directory of their own, or write nothing.
OTHERS = {"run", "compare", "merge", "status", "penalty check", "data get"}
OTHERS |= {"data list", "data show", "data check"}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that the commands read."""
    folder = tmp_path_factory.mktemp("read")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        table(1500, 0).to_csv("known.csv", index=False)
        table(400, 1).drop(columns="id").to_csv("new.csv", index=False)
        Penalty.from_rules(CLASSES.split(","), {("tumour", "benign"): 9.0}).save("costs.toml")
        Path("cm.csv").write_text("true,a,b\na,5,2\nb,1,7\n")
        runs = ["run", "demo", "--data", "digits", "--scale", "smoke", "--out", "runs", "--jobs"]
        runs += ["1", "--zone-size", "20", "--alpha", "0", "--repetitions", "1", "--epochs", "1"]
        rule = ["control", "known.csv", "--budget", BUDGET, "--out", "rule.json"]
        for words in (runs, rule, [*WRITERS["fit"][:-1], "model"]):
            assert exit_code(words) == 0
    return folder


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """What was made in a folder, and when."""
    made = [path for path in (*folder.glob("made*"), *folder.rglob("made/**/*")) if path.is_file()]
    record = folder / "made.tuning.sqlite"  # continued, as the runs of a sweep are
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in made if p != record}


@pytest.mark.filterwarnings("ignore::untrue.errors.UntrueWarning")
@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_what_is_there_is_replaced_with_overwrite_only(
    words: list[str],
    read: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(read, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    assert exit_code(words) == 0
    before = files(tmp_path)
    assert before
    capsys.readouterr()
    assert exit_code(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "already; add --overwrite" in shown.err
    assert shown.err.count("\n") == 1
    assert files(tmp_path) == before
    assert exit_code([*words, "--overwrite"]) == 0
    after = files(tmp_path)
    assert after.keys() == before.keys()
    assert all(after[path][1] > before[path][1] for path in before)


def test_every_command_is_held_to_it() -> None:
    held = set()
    for name in cli.COMMANDS:
        whole = getattr(typer.main.get_command(cli.build(name)), "commands", {})[name]
        parts = getattr(whole, "commands", None)
        alone = {name: whole} if parts is None else {f"{name} {n}": c for n, c in parts.items()}
        held |= {n for n, c in alone.items() if any(p.name == "overwrite" for p in c.params)}
        assert set(alone) <= OTHERS | ELSEWHERE | set(WRITERS)
    assert held == ELSEWHERE | set(WRITERS)


def test_one_of_several_files_is_enough(
    read: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(read, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    Path("made.html").write_text("mine")
    assert exit_code(WRITERS["control"]) == 2
    assert "made.html is there already" in capsys.readouterr().err
    Path("made/tables").mkdir(parents=True)
    Path("made/tables/demo-digits-n20.md").write_text("mine")
    assert exit_code(WRITERS["report"]) == 2
    assert "demo-digits-n20.md is there already" in capsys.readouterr().err
    Path("made/confusion.csv").write_text("mine")
    assert exit_code(WRITERS["audit"]) == 2
    assert "made/confusion.csv is there already" in capsys.readouterr().err
    assert [path.name for path in Path("made").rglob("*.*")] == [
        "confusion.csv",
        "demo-digits-n20.md",
    ]
    assert not Path("made.json").exists()
