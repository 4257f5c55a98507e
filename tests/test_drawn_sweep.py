"""A published sweep grows by runs of another store, and refuses rows that do not compare."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.drawn_sweep import collected, read_rows, with_published
from benchmarks.reproduction import keep
from tests.report.conftest import THINGS, fill_store

from untrue.errors import DataError
from untrue.report.runs.rows import to_csv

FIRST_TWO = {"repetitions": 2, "alpha": (0.0, 0.5)}


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """The folder of two repetitions whose store is lost."""
    fill_store(tmp_path / "first", "hierarchy", THINGS, **FIRST_TWO)
    keep(tmp_path / "first", tmp_path / "page")
    (tmp_path / "page" / "runs.sqlite").unlink()
    return tmp_path / "page"


def test_rows_are_read_as_they_were_written(published: Path) -> None:
    text = (published / "rows.csv").read_text()
    assert to_csv(read_rows(published / "rows.csv")) == text


def test_a_published_sweep_grows_to_what_one_store_would_give(
    tmp_path: Path, published: Path
) -> None:
    three = {"repetitions": 3, "alpha": (0.0, 0.5)}
    fill_store(tmp_path / "third", "hierarchy", THINGS, skip=lambda c: c.seed < 2, **three)
    matrices = {p.name: p.read_bytes() for p in published.glob("*confusions*")}
    keep(tmp_path / "third", published, add=True)
    fill_store(tmp_path / "whole", "hierarchy", THINGS, **three)
    keep(tmp_path / "whole", tmp_path / "expected")
    made = {p.name: p.read_text() for p in published.iterdir() if p.suffix in (".csv", ".md")}
    assert made == {
        p.name: p.read_text()
        for p in (tmp_path / "expected").iterdir()
        if p.suffix in (".csv", ".md")
    }
    assert matrices
    assert {p.name: p.read_bytes() for p in published.glob("*confusions*")} == matrices


def test_a_run_that_came_out_otherwise_is_refused(tmp_path: Path, published: Path) -> None:
    rows = published / "rows.csv"
    lines = rows.read_text().splitlines()
    errors = lines[0].split(",").index("errors")
    cells = lines[1].split(",")
    cells[errors] = str(int(cells[errors]) + 1)
    rows.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    with pytest.raises(DataError, match=r"Run \w+ has \d+ errors in the store and \d+ in"):
        with_published(collected(tmp_path / "first"), rows)


def test_rows_of_another_sweep_are_refused(tmp_path: Path, published: Path) -> None:
    fill_store(tmp_path / "other", "small-sample", THINGS, repetitions=1)
    with pytest.raises(DataError, match=r"has run \w+, which small-sample/cifar100 does not plan"):
        with_published(collected(tmp_path / "other"), published / "rows.csv")
