"""docs/scikit-learn.md runs, and prints what it shows; skorch's part: tests/frameworks."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "scikit-learn.md").read_text()


def test_the_examples_run_in_order_and_print_what_is_shown(tmp_path: Path) -> None:
    page = PAGE[: PAGE.index("<!-- skorch -->")]
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    code = "\n".join(text for kind, text in blocks if kind == "python")
    shown = [
        text
        for (before, _), (kind, text) in itertools.pairwise(blocks)
        if (before, kind) == ("python", "text")
    ]
    assert len(shown) == len(blocks) / 2
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(shown)
