"""The page of the library names every public name and every command, and its code runs."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import typer

from untrue import cli, errors

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "library.md").read_text()
ROOMS = (
    *("budgets", "boosting", "decision", "functional", "hierarchy", "losses", "metrics"),
    *("networks", "penalty", "sklearn"),
)
# The page of the losses has the card of each, with its function.
WITH_CARDS = PAGE + (DOCS / "losses.md").read_text()


def missing(names: Iterable[str], page: str) -> list[str]:
    return [name for name in names if not re.search(rf"\b{name}\b", page)]


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_is_on_the_page(room: str) -> None:
    page = WITH_CARDS if room in ("functional", "losses") else PAGE
    assert missing(importlib.import_module(f"untrue.{room}").__all__, page) == []


def test_every_name_at_the_top_is_on_the_page() -> None:
    assert missing(importlib.import_module("untrue").__all__, WITH_CARDS) == []


def test_every_kind_of_error_is_on_the_page() -> None:
    kinds = [
        kind.__name__
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, (errors.UntrueError, errors.UntrueWarning))
    ]
    assert len(kinds) == 10
    assert missing(kinds, PAGE) == []


def test_every_command_is_on_the_page() -> None:
    for name in cli.COMMANDS:
        assert f"`untrue {name}" in PAGE, name
        command = getattr(typer.main.get_command(cli.build(name)), "commands", {})[name]
        assert missing(getattr(command, "commands", {}), PAGE) == []


def test_the_code_runs_from_top_to_bottom(tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "estimator__C" in done.stdout
