"""The code of a page of docs/ as one program."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def run_page(name: str, *, cwd: Path, until: str | None = None) -> tuple[str, list[str]]:
    """Run the Python of a page in order, up to the mark `until`.

    What it prints, and what the page shows right after each block of code, "" where nothing.
    """
    page = (DOCS / name).read_text(encoding="utf-8")
    page = page if until is None else page[: page.index(until)]
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    code = "\n".join(text for kind, text in blocks if kind == "python")
    shown = [
        text if after == "text" else ""
        for (kind, _), (after, text) in itertools.pairwise([*blocks, ("", "")])
        if kind == "python"
    ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, shown
