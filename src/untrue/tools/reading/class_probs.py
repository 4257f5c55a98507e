"""The truth and the probabilities of every class from a file whose own columns name the classes.

For a file of two classes one column of probabilities will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError, listed
from untrue.metrics.inputs import IntArray
from untrue.penalty.stated import class_names
from untrue.tools.reading.columns import (
    NAMES,
    PREFIXES,
    find_truth,
    guess_column,
    probability_columns,
)
from untrue.tools.reading.labels import positions
from untrue.tools.reading.predictions import check_probs
from untrue.tools.reading.tables import TableFile, codes, matrix, open_table, read_table

# What the one column of probabilities of a two-class file is called, in lower case.
ONE_COLUMN = ("prob", "proba", "probability", "probs", "p", "score", "y_prob", "y_proba", "y_score")


@dataclass(frozen=True, slots=True, eq=False)
class ClassProbs:
    """true (N,) by position in `classes`; probs (N, k); names: what the examples are called."""

    source: str
    truth: str
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    true: IntArray
    probs: npt.NDArray[np.float64]
    names: tuple[str, ...] | None
    notes: tuple[str, ...]


def read_class_probs(
    path: Path,
    *,
    truth: str | None = None,
    probs: str | None = None,
    delimiter: str | None = None,
    classes: Sequence[str] | None = None,
    known: Sequence[str] = (),
) -> ClassProbs:
    """Read and check a file of true labels and probabilities.

    truth, probs  columns, where they are not to be guessed (`probs`: a prefix, or their names)
    classes       the names that labels 0, 1, ... stand for
    known         classes known from elsewhere: a table whose columns are called so, without a
                  prefix, is understood
    """
    file = open_table(path, delimiter=delimiter)
    label = find_truth(file, known, truth, needed=True)
    assert label is not None
    single = _single_column(file, probs, but=label)
    if single is None:
        columns, suffixes = _columns(file, probs, known, but=label)
    else:
        columns, suffixes = (single,), ()
    named = guess_column(file, NAMES, known)
    named = None if named in {label, *columns} else named
    table = read_table(
        file,
        {label: "label", **dict.fromkeys(columns, "number"), **({named: "label"} if named else {})},
    )
    true_codes, labels = codes(table, label, file)
    labels = class_names(labels, classes)
    values = matrix(table, columns, file).astype(np.float64)
    notes: list[str] = []
    if single is not None:
        names, values = _two_classes(file, single, labels, values, classes, notes)
    else:
        names = tuple(class_names(suffixes, classes))
        check_probs(values, columns, str(path))
    true = positions(true_codes, labels, names, column=label, source=str(path))
    called = None
    if named:
        name_codes, texts = codes(table, named, file)
        called = tuple(texts[code] for code in name_codes.tolist())
    return ClassProbs(str(path), label, columns, names, true, values, called, tuple(notes))


def _columns(
    file: TableFile, probs: str | None, known: Sequence[str], *, but: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    prefixed = any(sum(name.startswith(prefix) for name in file.names) > 1 for prefix in PREFIXES)
    if probs is None and not prefixed and len(known) > 1 and set(file.names) - {but} >= set(known):
        return tuple(known), tuple(known)
    return probability_columns(file, probs)


def _single_column(file: TableFile, probs: str | None, *, but: str) -> str | None:
    """The column of a file that has only one of probabilities."""
    if probs is not None:
        return probs if probs in file.names else None
    begun = [
        name
        for name in file.names
        if name != but and (name.startswith(PREFIXES) or name.lower() in ONE_COLUMN)
    ]
    return begun[0] if len(begun) == 1 else None


def _two_classes(
    file: TableFile,
    column: str,
    labels: Sequence[str],
    values: npt.NDArray[np.float64],
    classes: Sequence[str] | None,
    notes: list[str],
) -> tuple[tuple[str, ...], npt.NDArray[np.float64]]:
    """Both classes, and the probabilities of both."""
    names = list(class_names(classes)) if classes is not None else sorted(set(labels))
    if len(names) != 2:
        raise DataError(
            f"{file.path}: one column of probabilities, {column!r}, is enough for two classes; "
            f"there are {len(names)}: {listed(names)}. Name the column of each with --probs, or "
            "both classes with --classes."
        )
    own = next((p for p in PREFIXES if column.startswith(p) and column[len(p) :] in names), None)
    of = names[1] if own is None else column[len(own) :]
    if own is None:
        notes.append(
            f"column {column!r} is taken for the probability of {of!r}; if it is the other's, give "
            f"--classes {names[1]},{names[0]}"
        )
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        row = int(np.argmax(bad[:, 0]))
        raise DataError(
            f"{file.path}: data row {row + 1}, column {column!r}, is {values[row, 0]:g}; a "
            "probability lies between 0 and 1."
        )
    both = np.hstack([1 - values, values])
    return tuple(names), both if of == names[1] else both[:, ::-1]
