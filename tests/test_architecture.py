"""The architecture page is held to the code: its picture, the packages and files it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "untrue"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
REGISTRY = SOURCE / "losses" / "registry.py"
IMPORT = re.compile(
    r"^\s*(?:from untrue\.(\w+)|import untrue\.(\w+)|from untrue import (.+))", re.M
)


def packages() -> dict[str, set[str]]:
    """What each package or module of the top level imports of the others."""
    names = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"} - {
        "__init__",
        "__main__",
        "__pycache__",
        "py",
    }
    found: dict[str, set[str]] = {}
    for name in names:
        place = SOURCE / name
        files = [SOURCE / f"{name}.py"] if not place.is_dir() else list(place.rglob("*.py"))
        used = set()
        for file in files:
            if file == REGISTRY:
                continue
            text = file.read_text(encoding="utf-8")
            if name != "losses" and "registry" in text:
                # The list of losses is names and numbers, which every package may read.
                text = re.sub(r"from untrue\.losses(\.| import )registry.*", "", text)
            for one, two, many in IMPORT.findall(text):
                used |= {one, two, *re.findall(r"\w+", many)}
        found[name] = (used & names) - {name}
    return found


def reduced(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that no longer way makes needless."""

    def reach(name: str, seen: set[str]) -> set[str]:
        for other in graph[name] - seen:
            seen.add(other)
            reach(other, seen)
        return seen

    beyond = {name: reach(name, set()) for name in graph}
    return sorted(
        (name, other)
        for name, direct in graph.items()
        for other in direct
        if not any(other in beyond[via] for via in direct - {other})
    )


def test_the_picture_is_the_import_graph() -> None:
    drawn = re.findall(r"^  (\w+) --> (\w+)$", PAGE, re.M)
    arrows = "\n".join(f"  {a} --> {b}" for a, b in reduced(packages()))
    assert sorted(drawn) == reduced(packages()), f"the picture should be\n{arrows}"


def test_every_package_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)`", PAGE, re.M))
    assert described == set(packages())


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", PAGE))))
def test_every_file_that_a_recipe_touches_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_a_class_name_stands_for_one_thing() -> None:
    """Only an adapter repeats names: those of what it adapts."""
    found: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        if path.name != "keras.py":
            for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(encoding="utf-8"), re.M):
                found.setdefault(name, []).append(path.relative_to(SOURCE).as_posix())
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
