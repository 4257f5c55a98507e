"""Comparisons as docs/comparison.md shows them: in short, from the tables that were committed."""

from __future__ import annotations

import textwrap
from pathlib import Path

from benchmarks.pages import NOT_YET, in_markdown
from benchmarks.recipe_studies import COMPARED

# Folders below docs/comparison, and what the page calls them; a mark of the page has their name.
SHOWN = {
    "mnist-5k-zone": "5,000 digits, random zone",
    "cifar10-zone": "CIFAR-10, random zone",
    "cifar100-compact": "CIFAR-100, super-classes",
    "kdd99": "KDD Cup 1999, trees",
    "german": "German credit, trees",
    "german-network": "German credit, network",
}
FINDING = "finding.md"
PLAIN, FREE, RULE = "ce", "ce+cost", "ce, free rule"
AT_BEST = "Each method at the setting that the validation examples picked, beside ce+cost:"
EQUAL = (
    "Cost at equal accuracy, where so many points may be lost against plain ce: that of the free "
    "rule at its best strength, and what the methods cost beside it:"
)
WIDTH = 100
Lines = list[list[str]]


def shown(name: str, docs: Path = COMPARED) -> str:
    """A comparison: its command, who beats the free rule, each method, and equal accuracy."""
    place = docs / name
    if not (place / FINDING).is_file():
        return NOT_YET
    command, first, *_ = (place / FINDING).read_text().split("\n\n")
    best = in_markdown(at_their_best(lines_of(place, "methods")))
    equal = in_markdown(at_equal_accuracy(lines_of(place, "equal-accuracy")))
    more = (
        f"[The finding in full](comparison/{name}/{FINDING}); all tables with the settings that "
        f"were picked, figures and rows: [comparison/{name}](comparison/{name})."
    )
    parts = [wrapped(command), first.strip(), AT_BEST, best.strip(), EQUAL, f"{equal}\n{more}\n"]
    return "\n\n".join(parts)


def wrapped(block: str) -> str:
    """A block of one command, on lines that a page shows whole."""
    lines = (
        textwrap.wrap(line, WIDTH, break_on_hyphens=False, subsequent_indent="  ")
        for line in block.splitlines()
    )
    return "\n".join(" \\\n".join(parts) for parts in lines)


def in_short(docs: Path = COMPARED) -> str:
    """All comparisons in one table: plain ce and the free rule, then what others cost beside it."""
    lines = [["data", PLAIN, FREE, "bilinear", "log-bilinear", "the cheapest method"]]
    for name, title in SHOWN.items():
        if not (docs / name / FINDING).is_file():
            continue
        _, *rows = lines_of(docs / name, "methods")
        cost = {_plain(row[0]): _plain(row[1]) for row in reversed(rows)}
        change = {row[0]: row[2] for row in rows if _plain(row[0]) not in (PLAIN, FREE)}
        best = min(change, key=lambda method: float(change[method].split()[0]))
        ours = (change["bilinear"], change["log-bilinear"])
        lines.append([title, cost[PLAIN], cost[FREE], *ours, f"{best} {change[best]}"])
    return in_markdown(lines)


def at_their_best(lines: Lines) -> Lines:
    """Of each method the cost, its errors and the costly ones; the setting of plain ce alone."""
    head, *rows = lines
    kept = [i for i, text in enumerate(head) if text != "setting" and not _of_errors(text)]
    named = ([f"ce, {row[-1]}", *row[1:]] if row[0] == PLAIN else row for row in rows)
    return [[line[i] for i in kept] for line in (head, *named)]


def _of_errors(column: str) -> bool:
    return column.startswith("difference in") and column != "difference in cost"


def at_equal_accuracy(lines: Lines) -> Lines:
    """A line for each method, a column for each number of points that may be lost."""
    head, *rows = lines
    wanted = ("may lose (points)", "method", "expected cost", "difference in cost")
    points, method, cost, change = map(head.index, wanted)
    tolerances = list(dict.fromkeys(_plain(row[points]) for row in rows))
    found: dict[str, list[str]] = {}
    for row in rows:
        of_rule = _plain(row[method]) == RULE
        found.setdefault(row[method], []).append(row[cost if of_rule else change])
    columns = ("1 point" if text == "1" else f"{text} points" for text in tolerances)
    return [["method", *columns], *([name, *cells] for name, cells in found.items())]


def lines_of(place: Path, kind: str) -> Lines:
    """The cells of a committed table, its head first."""
    (file,) = place.glob(f"*-{kind}.md")
    table = [line for line in file.read_text().splitlines() if line.startswith("|")]
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    return [head, *rows]


def _plain(cell: str) -> str:
    return cell.strip("*")
