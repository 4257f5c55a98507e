"""Columns of numbers that costs are made of, from a table, or from arrays beside X in an .npz."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from untrue.array_files import read_npz
from untrue.array_types import FloatArray
from untrue.errors import ArgumentError, DataError, listed, nearest
from untrue.tools.reading.tables import TableFile, read_table

# What messages call data that came as arrays.
ARRAYS = Path("the data")


def file_columns(file: TableFile, names: Sequence[str]) -> dict[str, FloatArray]:
    """Columns of a table that costs are made of; missing values are nan."""
    for name in names:
        if name not in file.names:
            hint = nearest(name, file.names) or f". It has: {listed(file.names)}."
            raise DataError(f"{file.path} has no column {name!r}, which the costs need{hint}")
    table = read_table(file, dict.fromkeys(names, "real"))
    return {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in names}


def array_columns(path: Path, names: Sequence[str], n: int) -> dict[str, FloatArray]:
    """Arrays beside X in an .npz file."""
    if path == ARRAYS:
        raise ArgumentError(
            f"The costs need the column {names[0]!r}: give `cost_columns`, a table or a dict of "
            "arrays with a value for each example."
        )
    arrays, held = read_npz(path, tuple(names))
    for name in names:
        if name not in arrays:
            raise DataError(
                f"{path} has no array {name!r}, which the costs need; it holds {listed(held)}."
            )
        if arrays[name].shape != (n,) or arrays[name].dtype.kind not in "fiub":
            raise DataError(
                f"{path}: {name!r} must hold {n:,} numbers, one for each row of 'X'; got "
                f"{arrays[name].dtype} of shape {arrays[name].shape}."
            )
    return {name: arrays[name].astype(np.float64) for name in names}
