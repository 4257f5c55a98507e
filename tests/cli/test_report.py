"""`untrue report` as a person types it, after a real run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.untrue_process import run_untrue


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real models trained on real digits, the smallest there are."""
    folder = tmp_path_factory.mktemp("cli") / "runs"
    options = ("--data", "digits", "--scale", "smoke", "--zone-size", "20", "--alpha", "0,.9")
    options += ("--repetitions", "1", "--epochs", "1", "--loss", "bilinear", "--jobs", "1")
    done = run_untrue("run", "demo", "--out", folder, *options)
    assert done.returncode == 0, done.stderr
    return folder


def test_it_prints_before_and_after_and_ends_with_the_path_of_the_page(runs: Path) -> None:
    done = run_untrue("report", runs)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert lines[-1] == str(runs / "report.html")
    after = [line.split() for line in lines if "alpha 0.9" in line or "least-cost" in line]
    assert [words[1:-4] for words in after] == [
        ["bilinear,", "alpha", "0.9"],
        ["least-cost", "decision", "only"],
    ]
    # Errors in the zone and accuracy, each before and after: the same before in both rows.
    assert after[0][-4::2] == after[1][-4::2]
    made_json = json.loads((runs / "report.json").read_text())["sweeps"][0]
    assert made_json["done"] == made_json["expected"] == 2
    for name in ("rows.csv", "figures/demo-digits-frontier.svg", "tables/demo-digits-n20.md"):
        assert (runs / name).stat().st_size > 100


def test_out_leaves_the_runs_alone_and_a_long_path_stays_on_one_line(
    runs: Path, tmp_path: Path
) -> None:
    before = (runs / "runs.sqlite").read_bytes()
    deep = tmp_path / ("long" * 20) / ("name [red]" * 5)
    done = run_untrue("report", runs, "--out", deep)
    assert done.stdout.splitlines()[-1] == str(deep / "report.html")
    assert (deep / "rows.csv").is_file()
    assert (runs / "runs.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: p / "nowhere", "is not there. Make some with `untrue run EXPERIMENT --out"),
        (lambda p: p, "runs.sqlite is not there"),
        (
            lambda p: _file(p / "runs.sqlite", b"no database at all, but long enough to look"),
            "not a database. Choose another directory.",
        ),
        (
            lambda p: _file(p / "runs.sqlite", b"") / "runs.sqlite",
            "runs.sqlite is a file; name the folder that `untrue run` or `untrue compare` made.",
        ),
    ],
)
def test_nonsense_is_one_line_and_exit_code_2(make, expected: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = run_untrue("report", make(tmp_path))
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")
    assert expected in done.stderr


def _file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path.parent


def test_an_out_that_cannot_be_written_is_one_line(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_untrue("report", runs, "--out", tmp_path / "file")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "file" in done.stderr


def test_help_has_an_example() -> None:
    done = run_untrue("report", "--help")
    assert done.returncode == 0
    assert "untrue report runs/mnist" in done.stdout


def test_no_torch_is_imported(runs: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom untrue.cli import exit_code\n"
        f"code = exit_code(['report', {str(runs)!r}, '--out', {str(tmp_path)!r}])\n"
        "sys.exit(code or ('torch' in sys.modules and 'torch was imported'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
