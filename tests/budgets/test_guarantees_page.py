"""docs/guarantees.md runs and prints what it shows."""

from __future__ import annotations

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text()
RESULTS = ROOT / "benchmarks" / "results"


def test_the_examples_run_and_print_what_the_page_shows(tmp_path) -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(shown) == 2
    assert done.stdout == "".join(shown)
    # The last Python block made the files that the commands read.
    commands = re.findall(r"^untrue (.*)$", PAGE, flags=re.MULTILINE)
    assert [line.split()[0] for line in commands] == ["control", "decide", "audit"]
    for line in commands:
        words = [sys.executable, "-m", "untrue", *shlex.split(line)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "rule.html").exists()


def test_a_million_rows_take_no_more_than_the_page_says() -> None:
    found = re.search(r"under (\d+) seconds of one core and under (\d+) GB", PAGE)
    assert found is not None
    with (RESULTS / "control_size.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["rows"], row["classes"], row["budgets"]) for row in rows] == [
        ("1000000", "100", "1"),
        ("1000000", "100", "2"),
    ]
    for row in rows:
        assert float(row["core_seconds"]) < int(found[1])
        assert float(row["memory_gb"]) < int(found[2])
