"""Predictions that come without costs: their classes, and costs of 1. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from untrue.budgets import Budget
from untrue.errors import ArgumentError, DataError, listed
from untrue.hierarchy import Hierarchy
from untrue.metrics.inputs import read_labels, to_numpy
from untrue.penalty import Penalty
from untrue.penalty.prob_columns import column_names
from untrue.penalty.stated import sorted_labels
from untrue.tools.reading.columns import probability_columns
from untrue.tools.reading.labels import abstained, abstained_text
from untrue.tools.reading.prediction_file import labels_in
from untrue.tools.reading.prediction_table import PredictionTable
from untrue.tools.reading.tables import TableFile, open_table


def counts_alike(penalty: Penalty) -> bool:
    """Whether every mistake costs 1, as where no costs were stated.

    >>> counts_alike(Penalty.equal(3)), counts_alike(Penalty.from_ordinal(3))
    (True, False)
    """
    alike = penalty.row_sums() == penalty.n_classes - 1
    return bool(penalty.greatest == 1 and np.all(alike))


def check_without_costs(budgets: Sequence[Budget], zone_above: float | None) -> None:
    """Refuse what needs to know what mistakes cost."""
    about = [str(budget) for budget in budgets if budget.kind in ("zone", "cost")]
    asked = f"Budget {about[0]!r}" if about else "`zone_above`" if zone_above is not None else None
    if asked is not None:
        raise ArgumentError(
            f"{asked} is about what mistakes cost: give a `penalty` (--penalty FILE; make one with "
            "`untrue penalty new`)."
        )


def equal_costs(
    data: Any,
    y: Any,
    hierarchy: Hierarchy | None,
    *,
    truth: str | None = None,
    predicted: str | None = None,
    probs: str | None = None,
    delimiter: str | None = None,
    classes: Sequence[str] | None = None,
) -> Penalty:
    """Every mistake counts 1, over the classes that the predictions name; see `audit`."""
    if hierarchy is not None:
        names: Sequence[str] = hierarchy.classes
    elif classes is not None:
        names = classes
    elif isinstance(data, str | Path):
        file = open_table(Path(data), delimiter=delimiter)
        names = _classes_in(file, truth=truth, predicted=predicted, probs=probs)
    else:
        names = _classes_of_arrays(data, y)
    return Penalty.equal(names)


def never_true(read: PredictionTable) -> tuple[str, ...]:
    """A note on answers that are never the truth: misspelt, or nodes of a hierarchy."""
    absent = np.setdiff1d(read.predicted[read.predicted >= 0], read.true)
    if not len(absent):
        return ()
    names = listed([read.penalty.classes[i] for i in absent.tolist()])
    hint = "if they are nodes of a hierarchy (`untrue predict --decide node`), add --hierarchy FILE"
    return (f"answers that are never the truth: {names}; {hint}",)


def _classes_in(
    file: TableFile, *, truth: str | None, predicted: str | None, probs: str | None
) -> list[str]:
    """Those of the columns of probabilities, where the labels are among them; else the labels."""
    true, answers = labels_in(file, truth, predicted)
    try:
        columns = probability_columns(file, probs)[1]
    except DataError:
        columns = ()
    if true | answers <= set(columns):
        return list(columns)
    if answers and true.isdisjoint(answers):
        raise DataError(
            f"{file.path}: no answer is ever a true label: the answers are "
            f"{listed(sorted_labels(answers))}, the true labels {listed(sorted_labels(true))}. "
            "Write both in the same way, or name all classes: --classes A,B,... (in Python, "
            "`classes`)."
        )
    return sorted_labels(true | answers)


def _classes_of_arrays(data: Any, y: Any) -> list[str]:
    if y is None:
        raise ArgumentError("`y` must hold the true labels of the predictions.")
    names_of_columns = column_names(data, set(map(str, to_numpy(y).ravel().tolist())))
    if names_of_columns is not None:
        return names_of_columns
    given, labels = to_numpy(data), to_numpy(y)
    k = given.shape[1] if given.ndim == 2 else None
    answers = given[:0, 0] if k else given[~abstained(given)]
    if labels.dtype.kind not in "OUS" and (answers.dtype.kind not in "OUS" or not answers.size):
        parts = read_labels(labels, "y", 2**31), read_labels(answers, "data", 2**31, least=-1)
        most = max((int(part.max()) for part in parts if part.size), default=0)
        return [str(i) for i in range(k or most + 1)]
    true_names = {*labels.astype(str).tolist()}
    answer_names = {*answers.astype(str).tolist()} - {abstained_text([*true_names])}
    names = sorted_labels(true_names | answer_names)
    if k not in (None, len(names)):
        raise ArgumentError(
            f"`y` has {len(names)} different labels and `data` {k} columns: give `classes`, the "
            "class of each column, in order."
        )
    return names
