"""Imports point down the house plan only, and torch is imported only where it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "untrue"

# A room may import itself and the rooms after it.
ROOMS = [
    "cli",
    "report",
    "lab",
    "tools",
    "adapters",
    "training",
    "networks",
    "losses",
    "functional",
    "newton",
    "reference",
    "exits",
    "budgets",
    "decision",
    "metrics",
    "penalty",
    "hierarchy",
    "storage",
    "array_files",
    "input_files",
    # Names, numbers and strings, which every room may read.
    "registry",
    "atomic_files",
    "optional",
    "checks",
    "errors",
]
ADAPTERS = {"sklearn", "boosting"}


def room_of(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "untrue" or len(parts) < 2:
        return None
    if parts[1:3] == ["losses", "registry"]:
        return "registry"
    return "adapters" if parts[1] in ADAPTERS else parts[1]


def imported(path: Path) -> set[str]:
    """Every `untrue` module that a file names in an import, wherever in the file."""
    package = "untrue." + ".".join(path.relative_to(SOURCE).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                kept = package.rstrip(".").split(".")
                base = ".".join([*kept[: len(kept) - node.level + 1], *([base] if base else [])])
            whole = base in ("untrue", "untrue.losses")
            found |= {f"{base}.{alias.name}" for alias in node.names} if whole else {base}
    return {name for name in found if name.startswith("untrue.")}


def test_imports_point_down_the_house_plan() -> None:
    upward = []
    for path in SOURCE.rglob("*.py"):
        relative = path.relative_to(SOURCE)
        if relative.parts[0] in ("__init__.py", "__main__.py"):
            continue
        here = room_of("untrue." + relative.parts[0].removesuffix(".py"))
        assert here in ROOMS, f"{relative} stands in no room of the house plan"
        for name in imported(path):
            there = room_of(name)
            if there is not None and ROOMS.index(there) < ROOMS.index(here):
                upward.append(f"{relative} imports {name}")
    assert not upward


@pytest.mark.parametrize(
    "statement",
    [
        "import untrue; untrue.Penalty; untrue.Hierarchy; untrue.metrics; untrue.decide",
        "import untrue; untrue.Budget",
        "import untrue.report",
        "from untrue.losses import registry; registry.find('bilinear').strengths",
        "import untrue.cli",
        "import untrue.training.splits, untrue.networks",
    ],
)
def test_what_needs_no_torch_does_not_import_it(statement: str) -> None:
    check = f"{statement}\nimport sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
