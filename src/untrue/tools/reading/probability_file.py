"""A file of probabilities, with the truth or without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.budgets.calibration_set import check_order
from untrue.errors import DataError, listed
from untrue.penalty.prob_columns import PREFIXES
from untrue.penalty.stated import class_names, sorted_labels
from untrue.tools.reading.columns import (
    class_of,
    column_ends,
    find_truth,
    has_prefix,
    known_probs,
    probability_columns,
    single_class,
    single_column,
    taken_for_second,
)
from untrue.tools.reading.labels import positions
from untrue.tools.reading.probabilities import number_kinds, probability_matrix
from untrue.tools.reading.tables import TableFile, codes, open_table, read_table

WithTruth = Literal["needed", "if there", "no"]


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityFile:
    """Probabilities (N, k) of the classes, in their order, and positions of the true ones (N,).

    columns  of the probabilities; one where it is that of one of two classes
    truth    the column of the true classes, None where there is none or none was asked for
    notes    what was guessed
    """

    file: TableFile
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    probs: npt.NDArray[np.floating[Any]]
    truth: str | None
    true: IntArray | None
    notes: tuple[str, ...]

    def by_column(
        self, probs: npt.NDArray[np.floating[Any]]
    ) -> dict[str, npt.NDArray[np.floating[Any]]]:
        """Other probabilities (N, k) of the classes, for the columns that the file has them in."""
        if len(self.columns) == 1:
            return {self.columns[0]: probs[:, single_class(self.columns[0], self.classes)]}
        return {name: probs[:, j] for j, name in enumerate(self.columns)}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file is read, where that is not to be guessed.

    truth    column of the true classes
    probs    the prefix of the columns of probabilities, or the columns with commas between
    classes  the names that labels 0, 1, ... stand for; where nothing else names the classes, these
    """

    truth: str | None = None
    probs: str | None = None
    delimiter: str | None = None
    classes: Sequence[str] | None = None


GUESSED = ReadOptions()


def read_probabilities(
    path: Path,
    options: ReadOptions = GUESSED,
    *,
    known: Sequence[str] | None,
    with_truth: WithTruth,
    of_single: Sequence[str] | None = None,
) -> ProbabilityFile:
    """Read and check.

    known      the classes, where something names them; else they are those of the columns
    of_single  the two classes of a single column of probabilities, where `known` has none; else
               they are those of the truth
    """
    truth, probs, label_names = options.truth, options.probs, options.classes
    file = open_table(path, delimiter=options.delimiter)
    columns, notes = tuple[str, ...](), list[str]()
    # `label_names` are in the order of the codes, which is that of the classes and columns.
    if label_names is not None and (known is None or set(known) == set(label_names)):
        known = label_names
    if known is None:
        known = _named_by_truth(file, probs, truth)
    classes = None if known is None else tuple(known)
    if classes is None:
        columns, classes = _unknown_columns(file, probs, truth)
    column: str | None = None
    if with_truth != "no":
        column = find_truth(file, classes or (), truth, needed=with_truth == "needed")
    if known is not None:
        columns, notes = _known_columns(file, known, probs, label_names, column)
    wanted = number_kinds(columns)
    table = read_table(file, wanted | ({} if column is None else {column: "label"}))
    numbers, names = codes(table, column, file) if column is not None else (None, [])
    names = class_names(names, label_names, beside=column_ends(columns, probs))
    if classes is None:
        classes = _two_classes(columns[0], of_single or names, file, notes)
    elif known is None and names and set(names) <= set(columns):
        classes = columns  # what looks like a prefix is part of the names
    true = None
    if column is not None and numbers is not None:
        true = positions(numbers, names, classes, column=column, source=str(path))
    values = probability_matrix(table, columns, classes, file)
    if notes and true is not None and label_names is None:  # something was guessed
        check_order(values, true, classes)
    return ProbabilityFile(file, columns, classes, values, column, true, tuple(notes))


def _named_by_truth(
    file: TableFile, probs: str | None, truth: str | None
) -> tuple[str, ...] | None:
    """The true labels, where columns are called after them, or one column is clearly that of one of
    two; None where the columns of probabilities name the classes themselves."""
    if probs is not None or has_prefix(file):
        return None
    column = find_truth(file, (), truth, needed=False)
    if column is None:
        return None
    labels = tuple(sorted_labels(codes(read_table(file, {column: "label"}), column, file)[1]))
    if len(labels) < 2:
        return None
    found, _ = known_probs(file, labels, None, None, but=[column])
    return labels if found is not None else None


def _unknown_columns(
    file: TableFile, probs: str | None, truth: str | None
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The columns of probabilities, and the classes they name; of a single column None."""
    single = single_column(file, probs)
    if single is not None and single != find_truth(file, (), truth, needed=False):
        return (single,), None
    return probability_columns(file, probs)


def _known_columns(
    file: TableFile,
    classes: Sequence[str],
    probs: str | None,
    label_names: Sequence[str] | None,
    truth: str | None,
) -> tuple[tuple[str, ...], list[str]]:
    """The columns of probabilities of these classes, and notes."""
    found, notes = known_probs(file, classes, probs, label_names, but=[truth])
    if found is None:
        raise DataError(
            f"{file.path} has no columns of probabilities for the classes {listed(classes)} "
            f"(prob_CLASS for each); name them with --probs. It has: {listed(file.names)}."
        )
    return found, notes


def _two_classes(
    column: str, names: Sequence[str], file: TableFile, notes: list[str]
) -> tuple[str, ...]:
    """The classes of a file with one column of probabilities, sorted."""
    classes = tuple(sorted_labels(names))
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
        notes.append(taken_for_second(column, classes))
    return classes
