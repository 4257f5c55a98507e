"""The documentation's tables show what was measured."""

from __future__ import annotations

import csv

import pytest
from benchmarks import (
    control_tables,
    cost_tables,
    exits,
    pages,
    posterior,
    recipes,
    reproduction,
    tables,
)

PAGES = {
    "benchmarks.control_tables": control_tables.PAGE,
    "benchmarks.tables": tables.PAGE,
    "benchmarks.cost_tables": cost_tables.PAGE,
    "benchmarks.exits": exits.PAGE,
    "benchmarks.posterior": posterior.PAGE,
    "benchmarks.recipes": recipes.PAGE,
    "benchmarks.reproduction": reproduction.PAGE,
}


@pytest.mark.parametrize(
    ("command", "name"),
    [(command, name) for command, page in PAGES.items() for name in page.sources],
)
def test_a_page_has_the_results_as_they_are(command: str, name: str) -> None:
    page = PAGES[command]
    text = page.path.read_text()
    assert f"<!-- {name}: begin -->" in text
    assert page.replaced(text, name) == text, f"run `python -m {command}`"


def test_a_table_is_written_between_its_marks_and_nowhere_else(tmp_path) -> None:
    path, results = tmp_path / "page.md", tmp_path / "rows.csv"
    path.write_text("before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter\n")
    page = pages.Page(path, {"a": pages.Source(results, lambda rows: rows[0]["x"] + "\n")})
    page.update()
    assert "\nNot measured yet.\n" in path.read_text()
    with results.open("w", newline="") as file:
        csv.writer(file).writerows([["x"], ["new"]])
    page.update()
    assert path.read_text() == "before\n<!-- a: begin -->\nnew\n<!-- a: end -->\nafter\n"
