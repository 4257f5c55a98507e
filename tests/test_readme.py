"""The README's code runs, its links lead somewhere, and it names only commands that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_example_runs(tmp_path) -> None:
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "expected_cost" in done.stdout


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_somewhere(link) -> None:
    assert (ROOT / link).exists()


def test_commands_exist() -> None:
    from untrue.cli import COMMANDS

    for command in re.findall(r"^untrue (\w+)", "\n".join(blocks("sh")), flags=re.MULTILINE):
        assert command in COMMANDS
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", README):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_importing_the_package_costs_little_beside_torch() -> None:
    """No timing: nothing but errors and the list of losses is loaded until a name is used."""
    check = (
        "import sys, untrue; "
        "print(*[m for m in sys.modules if m.startswith('untrue.') or m in ('torch', 'pandas', "
        "'numpy', 'scipy')])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"untrue.errors", "untrue.losses", "untrue.losses.registry"}
