"""Which examples stand behind a cell of a confusion matrix: the most confident ones, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray

# How many of a cell are named, and of how many cells: a page must stay small.
NAMED = 20
CELLS = 500


@dataclass(frozen=True, slots=True)
class CellExamples:
    """Examples of class `true` predicted as `predicted`, by name, the most confident first."""

    true: int
    predicted: int
    names: tuple[str, ...]


def wrong_examples(
    true: IntArray,
    predicted: IntArray,
    probs: npt.NDArray[np.floating[Any]] | None,
    names: Sequence[str] | None,
) -> tuple[CellExamples, ...]:
    """The errors by cell, the fullest cells first; without names, examples are called by row.

    >>> found = wrong_examples(np.array([0, 0, 1]), np.array([1, 0, 1]), None, ["a", "b", "c"])
    >>> found
    (CellExamples(true=0, predicted=1, names=('a',)),)
    """
    rows = np.flatnonzero((true != predicted) & (predicted >= 0))
    if not rows.size:
        return ()
    sure = np.zeros(rows.size) if probs is None else probs[rows, predicted[rows]]
    k = int(max(true.max(), predicted.max())) + 1
    code = true[rows] * k + predicted[rows]
    order = np.lexsort((rows, -sure, code))
    rows, code = rows[order], code[order]
    cells, first, counts = np.unique(code, return_index=True, return_counts=True)
    fullest = np.argsort(-counts, kind="stable")[:CELLS]
    return tuple(
        CellExamples(
            int(cells[i]) // k,
            int(cells[i]) % k,
            tuple(
                f"row {row + 1}" if names is None else names[row]
                for row in rows[first[i] : first[i] + min(counts[i], NAMED)].tolist()
            ),
        )
        for i in fullest.tolist()
    )
