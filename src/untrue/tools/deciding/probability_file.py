"""A file of probabilities, with the truth or without: what rules are made from and used on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError, listed
from untrue.metrics.inputs import IntArray
from untrue.penalty.stated import class_names
from untrue.tools.reading.columns import (
    PREFIXES,
    class_of,
    find_truth,
    known_probs,
    probability_columns,
    single_column,
)
from untrue.tools.reading.labels import positions
from untrue.tools.reading.predictions import probability_matrix
from untrue.tools.reading.tables import Kind, TableFile, codes, open_table, read_table


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityFile:
    """Probabilities (N, k) of the classes, in their order, and positions of the true ones (N,).

    columns  of the probabilities; one where it is that of one of two classes
    truth    the column of the true classes, None where none was asked for
    notes    what was guessed
    """

    file: TableFile
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    probs: npt.NDArray[np.floating[Any]]
    truth: str | None
    true: IntArray | None
    notes: tuple[str, ...]


def read_probabilities(
    path: Path,
    *,
    known: Sequence[str] | None,
    truth: str | None = None,
    probs: str | None = None,
    delimiter: str | None = None,
    label_names: Sequence[str] | None = None,
    with_truth: bool,
) -> ProbabilityFile:
    """Read and check.

    known        the classes, where something names them; else they are those of the columns
    probs        the prefix of the columns of probabilities, or the columns with commas between
    label_names  the names that 0, 1, ... stand for
    """
    file = open_table(path, delimiter=delimiter)
    notes: list[str] = []
    classes: tuple[str, ...] | None = None
    column: str | None = None
    if with_truth:
        column = find_truth(file, known or (), truth, needed=True)
    if known is not None:
        classes = tuple(known)
        found, notes = known_probs(file, classes, probs, label_names, but=[column])
        if found is None:
            raise DataError(
                f"{path} has no columns of probabilities for the classes {listed(classes)} "
                f"(prob_CLASS for each); name them with --probs. It has: {listed(file.names)}."
            )
        columns = found
    else:
        single = single_column(file, probs)
        if single is not None and single != column:
            columns = (single,)
        else:
            columns, suffixes = probability_columns(file, probs)
            classes = tuple(class_names(suffixes, label_names))
    wanted: dict[str, Kind] = dict.fromkeys(columns, "number")
    table = read_table(file, wanted | ({} if column is None else {column: "label"}))
    true = None
    if column is not None:
        numbers, labels = codes(table, column, file)
        names = class_names(labels, label_names)
        if classes is None:
            classes = _two_classes(columns[0], names, file, notes)
        true = positions(numbers, names, classes, column=column, source=str(path))
    assert classes is not None  # without a truth they are known
    values = probability_matrix(table, columns, classes, file)
    return ProbabilityFile(file, columns, classes, values, column, true, tuple(notes))


def _two_classes(
    column: str, names: Sequence[str], file: TableFile, notes: list[str]
) -> tuple[str, ...]:
    """The classes of a file with one column of probabilities: those of the truth, sorted."""
    classes = tuple(sorted(set(names)))
    if len(classes) != 2:
        raise DataError(
            f"{file.path} has one column of probabilities, {column!r}, and {len(classes)} classes "
            f"in the truth ({listed(classes)}); one column is enough for two classes only."
        )
    if class_of(column, classes) is None:
        prefix = next((p for p in PREFIXES if column.startswith(p)), None)
        if prefix is not None:
            raise DataError(
                f"{file.path}: the column {column!r} is called after none of the classes "
                f"{listed(classes)}."
            )
        notes.append(f"the column {column!r} is taken for the probability of {classes[1]!r}")
    return classes
