"""docs/explore.md: its commands run and print its numbers, its speeds are on record."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "explore.md").read_text(encoding="utf-8")


def test_the_commands_run(tmp_path: Path) -> None:
    code, command = re.findall(r"```(?:python|bash)\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path)
    assert done.returncode == 0
    words = [sys.executable, "-m", *command.split()]
    shown = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert "holds all 1,647 examples of digits.csv, 10 classes" in shown.stdout
    assert "which changes 0 of 1,647 answers" in shown.stdout
    assert "of the 1,647 digits, none" in PAGE
    assert (tmp_path / "digits.html").exists()


def test_the_speeds_are_those_of_the_record() -> None:
    with (ROOT / "benchmarks" / "results" / "explore.csv").open() as file:
        rows = list(csv.DictReader(file))
    line = r"^\| (\d+) \| .* \| ([\d.]+) ms \| ([\d.]+) ms \| ([\d.]+) ms \| (\d+) ms \|$"
    names = ("classes", "processor_ms", "median_ms", "p95_ms", "limit_ms")
    shown = [tuple(map(float, found)) for found in re.findall(line, PAGE, re.M)]
    assert shown == [tuple(float(row[name]) for name in names) for row in rows]
    assert all(float(row["p95_ms"]) <= float(row["limit_ms"]) for row in rows)
    loads = [float(row["load"]) for row in rows]
    assert f"{min(loads):g} to {max(loads):g} programs" in PAGE
    for row in rows:
        share = 1 / 5 if row["classes"] == "10" else 1 / 4
        assert float(row["processor_ms"]) <= share * float(row["limit_ms"])
