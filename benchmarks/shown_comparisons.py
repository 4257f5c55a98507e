"""Comparisons that docs/comparison.md shows with their tables, as they were committed."""

from __future__ import annotations

from pathlib import Path

from benchmarks.pages import NOT_YET
from benchmarks.recipe_studies import COMPARED

# Folders below docs/comparison; a mark of the page has the same name.
SHOWN = ("mnist-5k-zone", "cifar10-zone", "cifar100-compact", "kdd99", "german", "german-network")
FINDING = "finding.md"


def shown(name: str, docs: Path = COMPARED) -> str:
    """A comparison: its command, its finding, and two tables."""
    place = docs / name
    if not (place / FINDING).is_file():
        return NOT_YET
    tables = (sorted(place.glob(f"*-{kind}.md")) for kind in ("methods", "equal-accuracy"))
    texts = [(place / FINDING).read_text(), *(f.read_text() for each in tables for f in each)]
    more = f"Rows, all tables and figures: [comparison/{name}](comparison/{name}).\n"
    return "\n".join([*texts, more])
