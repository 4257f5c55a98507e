"""Pages of the documentation whose tables are made from results.

A table stands between two marks that name it, `<!-- losses: begin -->` and `<!-- losses: end -->`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
NOT_YET = "Not measured yet.\n"
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table's rows are, and how they become text."""

    rows: Path
    shown: Callable[[Sequence[Row]], str]

    def __str__(self) -> str:
        rows = read(self.rows)
        return self.shown(rows) if rows else NOT_YET


@dataclass(frozen=True, slots=True)
class Made:
    """A table from more than one file of rows."""

    shown: Callable[[], str]

    def __str__(self) -> str:
        return self.shown()


@dataclass(frozen=True, slots=True)
class Page:
    """A page and its tables by name."""

    path: Path
    sources: Mapping[str, Source | Made]

    def update(self) -> Path:
        """Write every table into the page, as its results are now."""
        text = self.path.read_text()
        for name in self.sources:
            text = self.replaced(text, name)
        temporary = self.path.with_suffix(".partial")
        temporary.write_text(text)
        return temporary.replace(self.path)

    def replaced(self, text: str, name: str) -> str:
        """The text with one table as its results are now."""
        table = str(self.sources[name])
        pattern = rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)"
        return re.sub(pattern, lambda found: found[1] + table + found[2], text, flags=re.DOTALL)


def read(path: Path) -> list[Row]:
    """The rows of a CSV file; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def in_markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table; the first line is its head."""
    if len(lines) == 1:
        return NOT_YET
    head, *body = (f"| {' | '.join(cells)} |" for cells in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body, ""])
