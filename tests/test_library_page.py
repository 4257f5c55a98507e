"""The page of the library names every public name, and its code runs."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "library.md").read_text()
ROOMS = ("metrics", "functional", "sklearn", "boosting", "penalty", "hierarchy")


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_is_on_the_page(room: str) -> None:
    # The page of the losses has the card of each, with its function.
    page = PAGE + (DOCS / "losses.md").read_text() if room == "functional" else PAGE
    public = importlib.import_module(f"untrue.{room}").__all__
    assert [name for name in public if not re.search(rf"\b{name}\b", page)] == []


def test_every_name_at_the_top_is_on_some_page() -> None:
    pages = "\n".join(path.read_text() for path in DOCS.glob("*.md"))
    public = importlib.import_module("untrue").__all__
    assert [name for name in public if not re.search(rf"\b{name}\b", pages)] == []


def test_the_code_runs_from_top_to_bottom(tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "estimator__C" in done.stdout
