"""docs/decisions.md runs, and prints what it shows."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text()


def test_the_examples_run_in_order_and_print_what_is_shown(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    code = "\n".join(text for kind, text in blocks if kind == "python")
    # What is printed stands right after the code that prints it.
    shown = [
        text
        for (before, _), (kind, text) in itertools.pairwise(blocks)
        if (before, kind) == ("python", "text")
    ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(shown)
