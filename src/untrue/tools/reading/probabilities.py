"""Probabilities in columns of a file: read, without their rounding, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError
from untrue.metrics.inputs import BLOCK_VALUES
from untrue.tools.reading.columns import single_class
from untrue.tools.reading.tables import Kind, TableFile, matrix

# Rounded probabilities pass; what is off by more is not a probability.
SUM_SLACK = 1e-3
# However many columns are rounded, a row that is off by more is not one of probabilities.
MOST_ROUNDING = 0.1


def number_kinds(columns: Sequence[str]) -> dict[str, Kind]:
    """As what to read columns of probabilities: a single one as float64, in which 1 - p is exact
    where p is nearly 1; of many that would be twice the memory."""
    return dict.fromkeys(columns, "real" if len(columns) == 1 else "number")


def probability_matrix(
    table: Any, columns: Sequence[str], classes: Sequence[str], file: TableFile
) -> npt.NDArray[np.floating[Any]]:
    """(N, k) Checked probabilities; one column is that of the class it is called after, or of the
    second of two."""
    values = matrix(table, columns, file)
    names = tuple(columns)
    if len(names) == 1 and len(classes) == 2:
        own, rest = values, 1 - values
        first = single_class(names[0], classes) == 0
        values = np.hstack([own, rest] if first else [rest, own])
        other = f"1 - {names[0]}"
        names = (names[0], other) if first else (other, names[0])
    values = without_rounding(values)
    check_probs(values, names, str(file.path))
    return values


def without_rounding(probs: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    """Probabilities written with one to three digits, each row scaled to sum to 1.

    Rows that are off by more than this rounding explains are left as they are, and so is anything
    written with more digits.

    >>> without_rounding(np.array([[0.33, 0.33, 0.33]])).sum().item()
    1.0
    """
    total = probs.sum(axis=1, dtype=np.float64)
    if not (np.abs(total - 1) > SUM_SLACK).any():
        return probs
    for digits in (1, 2, 3):
        steps = probs * 10.0**digits
        if not (np.abs(steps - np.rint(steps)) < 1e-4).all():  # also where one is NaN
            continue
        slack = min(0.5 * 10.0**-digits * probs.shape[1], MOST_ROUNDING) + 1e-9
        near = np.abs(total - 1) <= slack
        return probs / np.where(near, total, 1.0).astype(probs.dtype)[:, None]
    return probs


def check_probs(probs: npt.NDArray[np.floating[Any]], names: tuple[str, ...], source: str) -> None:
    """Each row holds probabilities; the error names the row and the column."""
    step = max(1, BLOCK_VALUES // probs.shape[1])
    for start in range(0, len(probs), step):
        block = probs[start : start + step]
        low = block.min(axis=1)
        total = block.sum(axis=1, dtype=np.float64)
        bad = ~((low >= 0) & (np.abs(total - 1) <= SUM_SLACK))  # NaN is bad, too
        if not bad.any():
            continue
        row = int(np.argmax(bad))
        if low[row] < 0:
            column = int(np.argmin(block[row]))
            raise DataError(
                f"{source}: data row {start + row + 1}, column {names[column]!r}, is "
                f"{block[row, column]:g}: probabilities are not negative. Logits become "
                "probabilities by softmax."
            )
        raise DataError(
            f"{source}: the probabilities of data row {start + row + 1}, columns {names[0]!r} to "
            f"{names[-1]!r}, sum to {total[row]:.4g}, not to 1. Are they logits, percentages, "
            "rounded to fewer than four digits, or some of the columns only?"
        )
