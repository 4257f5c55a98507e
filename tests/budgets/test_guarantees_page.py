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


def test_a_million_rows_take_what_the_page_says() -> None:
    with (RESULTS / "control_size.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    one, two = (f"{row['seconds']} seconds and {float(row['memory_gb']):.1f} GB" for row in rows)
    assert f"take {one} with one budget, {two} with two" in " ".join(PAGE.split())
