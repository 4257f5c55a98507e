"""A confusion matrix as a CSV file: header row and first column are class names, rows the truth."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from untrue.array_types import IntArray
from untrue.errors import DataError, listed, nearest
from untrue.input_files import read_text, reading

# So that the sum of all counts fits into 64 bits.
MOST_COUNT = 10**12
MOST_CLASSES = 10_000


def read_confusion_csv(path: Path) -> tuple[tuple[str, ...], IntArray]:
    """The class names and the counts (k, k), rows in the order of the header."""
    text = read_text(path)
    with reading(path, "CSV"):
        rows = csv.reader(io.StringIO(text, newline=""))
        lines = [(n, row) for n, row in enumerate(rows, start=1) if any(row)]
    if not lines:
        raise DataError(f"{path}: the file is empty.")
    header, rows_of = lines[0][1][1:], [row[0] for _, row in lines[1:]]
    # Blanks around a name are mostly there for looks, but the names may also end in them.
    exact = set(header) == set(rows_of)
    classes = tuple(header if exact else (name.strip() for name in header))
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise DataError(
            f"{path}: the header row must name at least two classes, each once, after an empty "
            f"corner; got {', '.join(lines[0][1])!r}."
        )
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"{path}: the header row names {len(classes):,} classes; at most {MOST_CLASSES:,} are "
            "read."
        )
    if rows_of and not exact and set(classes).isdisjoint(name.strip() for name in rows_of):
        raise DataError(
            f"{path} is no confusion matrix: no row begins with a class of the header, which has "
            f"{listed(classes)}. Of a file of predictions `untrue audit` makes one, confusion.csv."
        )
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    position = {name: i for i, name in enumerate(classes)}
    seen = set()
    for number, (first, *cells) in lines[1:]:
        name = first if exact else first.strip()
        if name not in position:
            hint = nearest(name, classes) or "."
            raise DataError(f"{path}, line {number}: {name!r} is not a class of the header{hint}")
        if name in seen:
            raise DataError(f"{path}, line {number}: a second row for class {name!r}.")
        if len(cells) != len(classes):
            raise DataError(
                f"{path}, line {number}: {len(cells)} counts for {len(classes)} classes."
            )
        seen.add(name)
        counts[position[name]] = [
            _count(cell, f"{path}, line {number}, column {predicted!r}")
            for cell, predicted in zip(cells, classes, strict=True)
        ]
    absent = [name for name in classes if name not in seen]
    if absent:
        raise DataError(f"{path}: no row for class {absent[0]!r}.")
    return classes, counts


def _count(cell: str, where: str) -> int:
    try:
        value = float(cell)
        if not 0 <= value <= MOST_COUNT or value != int(value):
            raise ValueError
    except (ValueError, OverflowError):
        raise DataError(
            f"{where}: {cell[:40]!r} is not a count (a whole number from 0 to {MOST_COUNT:,})."
        ) from None
    return int(value)
