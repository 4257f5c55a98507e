"""Predictions in arrays: answers or probabilities, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.budgets.calibration_set import check_order
from untrue.errors import ArgumentError, DataError, counted, listed
from untrue.metrics.inputs import are_names, from_booleans, read_labels, read_scores, to_numpy
from untrue.metrics.layouts import class_rows
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.penalty.prob_columns import column_names, in_column_order
from untrue.penalty.stated import penalty_over
from untrue.tools.reading.columns import Columns
from untrue.tools.reading.labels import abstained, positions
from untrue.tools.reading.prediction_table import PredictionTable
from untrue.tools.reading.probabilities import check_probs
from untrue.tools.reading.row_costs import given_columns


def read_arrays(
    data: Any, y: Any, penalty: Penalty, classes: Sequence[str] | None = None
) -> PredictionTable:
    """Answers (N,), or probabilities (N, k), with the true labels; `classes` as in `audit`."""
    if classes is not None:
        penalty = penalty_over(penalty, classes)
    named_columns = classes is not None or column_names(data, penalty.classes) is not None
    given = to_numpy(in_column_order(data, penalty.classes))
    true = _array_codes(to_numpy(y), penalty, "y")
    if given.ndim == 1 and given.dtype.kind == "f" and penalty.n_classes == 2:
        given = class_rows(given, "probs", 2)[0]  # those of the second class
    if given.ndim == 2:
        scores = read_scores(given, "data", penalty.n_classes)
        check_probs(scores, penalty.classes, "data")
        if len(true) == len(scores) and not named_columns:
            check_order(scores, true, penalty.classes)
        answers, probs = np.asarray(scores.argmax(axis=1), dtype=np.int64), scores
    else:
        answers, probs = _array_codes(given, penalty, "data", least=-1), None
    if len(answers) != len(true):
        raise DataError(f"`data` has {counted(len(answers), 'row')}, `y` {len(true):,}.")
    named = Columns("y", None if probs is not None else "data", None)
    return PredictionTable("the data", named, true, answers, probs, penalty, None, ())


def with_costs(
    read: PredictionTable, costs: FormulaPenalty | ExamplePenalty, given: Any
) -> PredictionTable:
    """Arrays of predictions with the costs of each of them."""
    n = len(read.true)
    if isinstance(costs, FormulaPenalty):
        if given is None:
            raise ArgumentError(
                f"The costs need {listed(costs.columns)}: give `cost_columns`, a table or a dict "
                "of arrays with a value for each example."
            )
        costs = costs.per_example(given_columns(costs.columns, given, n))
    if len(costs) != n:
        raise ArgumentError(
            f"`penalty` has costs of {counted(len(costs), 'example')}; there are {n:,}."
        )
    return replace(read, penalty=costs.mean(read.true), each=costs)


def _array_codes(
    labels: npt.NDArray[Any], penalty: Penalty, name: str, *, least: int = 0
) -> IntArray:
    """Positions of classes: whole numbers are those, unless they are names; names are looked up.

    least: -1 where no answer, -1 or None, is one too
    """
    may_abstain = least < 0
    labels = to_numpy(from_booleans(labels, penalty.classes))
    if labels.dtype.kind in "OUS":
        none = abstained(labels)
    elif labels.dtype.kind in "iu" and are_names(labels[labels != -1], name, penalty.classes):
        none = (labels == -1) & ("-1" not in penalty.classes)
    else:
        return read_labels(labels, name, penalty.n_classes, least=least).astype(np.int64)
    given = ~none if may_abstain else np.ones(len(labels), dtype=np.bool_)
    names, found = np.unique(labels[given].astype(str), return_inverse=True)
    answers = np.full(len(labels), -1, dtype=np.int64)
    answers[given] = positions(
        found.astype(np.int32),
        names.tolist(),
        penalty.classes,
        column=name,
        source="the data",
        may_abstain=may_abstain,
    )
    return answers
