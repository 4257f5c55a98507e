"""Comparisons that docs/comparison.md shows with their tables, as they were committed."""

from __future__ import annotations

from pathlib import Path

from benchmarks.recipe_studies import COMPARED

# Of each comparison shown with its tables: the folder, and what to call it.
SHOWN = {
    "kdd99": "KDD Cup 1999, boosted trees",
    "german": "German credit, boosted trees",
    "german-network": "German credit, a network",
}
FINDING = "finding.md"


def shown(docs: Path = COMPARED) -> str:
    """The comparisons of `SHOWN` that are there: command, finding, and two tables each."""
    parts = []
    for name, title in SHOWN.items():
        place = docs / name
        if not (place / FINDING).is_file():
            parts.append(f"**{title}.** Not measured yet.\n")
            continue
        tables = (sorted(place.glob(f"*-{kind}.md")) for kind in ("methods", "equal-accuracy"))
        texts = [(place / FINDING).read_text(), *(f.read_text() for each in tables for f in each)]
        more = f"Rows, all tables and figures: [comparison/{name}](comparison/{name}).\n"
        parts.append("\n".join([f"**{title}.**\n", *texts, more]))
    return "\n".join(parts)
