"""A confusion matrix as a CSV file: header row and first column are class names, rows the truth."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from untrue.errors import DataError, nearest
from untrue.metrics.inputs import IntArray


def read_confusion_csv(path: Path) -> tuple[tuple[str, ...], IntArray]:
    """The class names and the counts (k, k), rows in the order of the header."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [(n, row) for n, row in enumerate(csv.reader(file), start=1) if any(row)]
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not readable as CSV ({error}).") from None
    if not lines:
        raise DataError(f"{path}: the file is empty.")
    classes = tuple(name.strip() for name in lines[0][1][1:])
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise DataError(
            f"{path}: the header row must name at least two classes, each once, after an empty "
            f"corner; got {', '.join(lines[0][1])!r}."
        )
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    seen = set()
    for number, (first, *cells) in lines[1:]:
        name = first.strip()
        if name not in classes:
            hint = nearest(name, classes) or "."
            raise DataError(f"{path}, line {number}: {name!r} is no class of the header{hint}")
        if name in seen:
            raise DataError(f"{path}, line {number}: a second row for class {name!r}.")
        if len(cells) != len(classes):
            raise DataError(
                f"{path}, line {number}: {len(cells)} counts for {len(classes)} classes."
            )
        seen.add(name)
        counts[classes.index(name)] = [
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
        if value < 0 or value != int(value):
            raise ValueError
    except (ValueError, OverflowError):
        raise DataError(
            f"{where}: {cell!r} is not a count (a whole number, not negative)."
        ) from None
    return int(value)
