"""docs/guarantees.md runs and prints what it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text()


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
