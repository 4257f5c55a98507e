"""docs/decisions.md runs, and prints what it shows."""

from __future__ import annotations

from pathlib import Path

from tests.page_program import run_page


def test_the_examples_run_in_order_and_print_what_is_shown(tmp_path: Path) -> None:
    printed, shown = run_page("decisions.md", cwd=tmp_path)
    assert any(shown)
    assert printed == "".join(shown)
