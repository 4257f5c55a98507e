"""The numbers of docs/scaling.md are those that the benchmark wrote."""

from __future__ import annotations

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = " ".join((ROOT / "docs" / "scaling.md").read_text().split())
LINES = (ROOT / "docs" / "scaling.md").read_text().splitlines()


def results(name: str) -> list[dict[str, str]]:
    with (ROOT / "benchmarks" / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def table(heading: str) -> list[list[float]]:
    """The numbers of each row of the table whose header starts so."""
    start = next(i for i, line in enumerate(LINES) if line.startswith(heading)) + 2
    found = []
    for line in LINES[start:]:
        if not line.startswith("|"):
            return found
        cells = [cell.strip(" h%").replace(",", "") for cell in line.strip("|").split("|")]
        found.append([float(cell) for cell in cells if re.fullmatch(r"[\d.]+", cell)])
    return found


def test_the_hours_on_n_nodes() -> None:
    wanted = [
        [
            float(row["nodes"]),
            float(row["cores"]),
            float(row["mnist_2550_hours"]),
            round(100 * float(row["mnist_2550_busy"]), 1),
            float(row["all_3060_hours"]),
            round(100 * float(row["all_3060_busy"]), 1),
        ]
        for row in results("scaling")
    ]
    assert table("| nodes |") == wanted


def test_the_core_hours_of_the_paper() -> None:
    names = ("models", "epochs_at_most", "epoch_s", "core_hours_at_most")
    wanted = [[float(row[name]) for name in names] for row in results("paper_hours")]
    assert table("| experiment |") == wanted


def test_what_the_executor_adds() -> None:
    (row,) = results("ray")
    each, most = (1000 * float(row[name]) for name in ("overhead_s", "overhead_p95_s"))
    assert f"by {row['runs']} runs that do nothing" in PAGE
    assert f"{row['connect_s']} s to connect, {row['first_run_s']} s to the first result" in PAGE
    assert f"then {each:g} ms a run (95 % of them within {most:g} ms)" in PAGE
