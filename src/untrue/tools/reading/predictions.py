"""Predictions to measure: from a file whose columns are found, or from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.budgets.calibration_set import check_order
from untrue.errors import ArgumentError, DataError, listed
from untrue.metrics.inputs import (
    BLOCK_VALUES,
    IntArray,
    are_names,
    read_labels,
    read_scores,
    to_numpy,
)
from untrue.metrics.layouts import in_column_order
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.penalty.stated import class_names, formulas_over, has_names, named_for
from untrue.tools.reading.columns import (
    PREDICTED,
    Columns,
    choose,
    find_truth,
    guess_column,
    single_class,
)
from untrue.tools.reading.cost_columns import file_columns
from untrue.tools.reading.labels import abstained, abstained_text, positions
from untrue.tools.reading.row_costs import formulas_in_words, given_columns
from untrue.tools.reading.tables import (
    Kind,
    TableFile,
    codes,
    matrix,
    open_table,
    read_table,
)

# Rounded probabilities pass; what is off by more is not a probability.
SUM_SLACK = 1e-3
# Fewer answers that are the most probable class are rather rows in another order.
LEAST_ALIKE = 0.5
NODE_HINT = (
    " If it is a node of a hierarchy (`untrue predict --decide node`), add --hierarchy FILE (in "
    "Python, `audit_nodes`)."
)
MOST_PROBABLE = "no column of predictions: the most probable class is taken for the answer"


@dataclass(frozen=True, slots=True, eq=False)
class PredictionTable:
    """Predictions: classes by position (N,), -1 where it abstains; probs (N, k).

    penalty: as given, with the names of the labels where it has none of its own; the means by class
        of costs of each example, which are `each`
    """

    source: str
    columns: Columns
    true: IntArray
    predicted: IntArray
    probs: npt.NDArray[np.floating[Any]] | None
    penalty: Penalty
    names: tuple[str, ...] | None
    notes: tuple[str, ...]
    each: ExamplePenalty | None = None


def predictions_of(
    data: Any,
    y: Any,
    penalty: Penalty | FormulaPenalty | ExamplePenalty,
    *,
    cost_columns: Any = None,
    classes: Sequence[str] | None = None,
    **columns: Any,
) -> PredictionTable:
    """A file (with its columns, as `read_predictions` takes them), or arrays with `y`."""
    if isinstance(data, str | Path):
        if y is not None or cost_columns is not None:
            raise ArgumentError(
                "`y` and `cost_columns` belong to arrays; a file has them as columns."
            )
        if isinstance(penalty, ExamplePenalty):
            raise ArgumentError(
                "`penalty` holds costs of certain examples; for a file give a FormulaPenalty, by "
                "its columns."
            )
        return read_predictions(Path(data), penalty, classes=classes, **columns)
    if y is None:
        raise ArgumentError("`y` must hold the true labels of the predictions.")
    if not isinstance(penalty, Penalty):
        return _with_costs(_read_arrays(data, y, penalty.base), penalty, cost_columns)
    if cost_columns is not None:
        raise ArgumentError("`cost_columns` belong to costs by columns: a FormulaPenalty.")
    return _read_arrays(data, y, penalty)


def _with_costs(
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
        raise ArgumentError(f"`penalty` has costs of {len(costs):,} examples; there are {n:,}.")
    return replace(read, penalty=costs.mean(read.true), each=costs)


def _read_arrays(data: Any, y: Any, penalty: Penalty) -> PredictionTable:
    given = to_numpy(in_column_order(data, penalty.classes))
    true = _array_codes(to_numpy(y), penalty, "y")
    if given.ndim == 2:
        scores = read_scores(given, "data", penalty.n_classes)
        check_probs(scores, penalty.classes, "data")
        answers, probs = np.asarray(scores.argmax(axis=1), dtype=np.int64), scores
    else:
        answers, probs = _array_codes(given, penalty, "data", least=-1), None
    if len(answers) != len(true):
        raise DataError(f"`data` has {len(answers):,} rows, `y` {len(true):,}.")
    named = Columns("y", None if probs is not None else "data", None)
    return PredictionTable("the data", named, true, answers, probs, penalty, None, ())


def _array_codes(
    labels: npt.NDArray[Any], penalty: Penalty, name: str, *, least: int = 0
) -> IntArray:
    """Positions of classes: whole numbers are those, unless they are names; names are looked up.

    least: -1 where no answer, -1 or None, is one too
    """
    may_abstain = least < 0
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


def read_predictions(
    path: Path,
    stated: Penalty | FormulaPenalty,
    *,
    truth: str | None = None,
    predicted: str | None = None,
    probs: str | None = None,
    delimiter: str | None = None,
    classes: Sequence[str] | None = None,
) -> PredictionTable:
    """Read and check a file of predictions; `classes` as in `audit`."""
    file = open_table(path, delimiter=delimiter)
    penalty = stated.base if isinstance(stated, FormulaPenalty) else stated
    by_columns = file_columns(file, stated.columns) if isinstance(stated, FormulaPenalty) else None
    named = penalty
    if not has_names(penalty):
        named = named_for(penalty, labels_in(file, truth, predicted, classes))
    taken = None if named is penalty else named.classes
    # Names in the order of the codes are in the order of the columns, too.
    order = named.classes
    if classes is not None and set(classes) == set(order):
        order = tuple(classes)
    columns = choose(
        file,
        order,
        truth=truth,
        predicted=predicted,
        probs=probs,
        label_names=classes or taken,
    )
    wanted: dict[str, Kind] = {columns.truth: "label"}
    wanted |= {columns.predicted: "label"} if columns.predicted else {}
    wanted |= dict.fromkeys(columns.probs or (), "number")
    wanted |= {columns.names: "label"} if columns.names else {}
    table = read_table(file, wanted)
    notes = list(columns.notes)
    if taken:
        notes.append(
            "the penalty has no class names; its rows are taken for the labels in sorted order: "
            f"{listed(taken)}"
        )
    true_codes, true_names = codes(table, columns.truth, file)
    true_names = class_names(true_names, classes)
    predicted_codes, predicted_names = (
        codes(table, columns.predicted, file) if columns.predicted else (true_codes, [])
    )
    none = abstained_text(classes or penalty.classes)
    given = [name for name in predicted_names if name != none]
    answers = dict(zip(given, class_names(given, classes), strict=True))
    true = positions(true_codes, true_names, named.classes, column=columns.truth, source=str(path))
    scores = None
    if columns.probs is not None:
        scores = probability_matrix(table, columns.probs, order, file)
        if order != named.classes:
            scores = scores[:, [order.index(name) for name in named.classes]]
        if columns.notes and classes is None:  # something was guessed
            check_order(scores, true, named.classes)
    if columns.predicted is not None:
        found = positions(
            predicted_codes,
            [answers.get(name, abstained_text(named.classes)) for name in predicted_names],
            named.classes,
            column=columns.predicted,
            source=str(path),
            may_abstain=True,
            hint=NODE_HINT,
        )
    else:
        assert scores is not None  # `choose` found one of the two
        found = scores.argmax(axis=1)
        notes.append(MOST_PROBABLE)
    if scores is not None and columns.predicted is not None:
        answered = found >= 0
        alike = float((scores.argmax(axis=1) == found)[answered].mean()) if answered.any() else 1.0
        if alike < LEAST_ALIKE:
            notes.append(
                f"the predictions are the most probable class in only {100 * alike:.0f} % of rows; "
                "are both columns in the same order?"
            )
    abstained = int((found < 0).sum())
    if abstained:
        notes.append(
            f"{abstained:,} of {len(found):,} predictions abstain; the measures are "
            "about the others"
        )
    names = None
    if columns.names:
        name_codes, name_texts = codes(table, columns.names, file)
        names = tuple(name_texts[code] for code in name_codes.tolist())
    each = None
    if isinstance(stated, FormulaPenalty) and by_columns is not None:
        over = formulas_over(stated, named)
        assert isinstance(over, FormulaPenalty)  # the names are others, the classes the same
        each = over.per_example(by_columns, source=str(path))
        named = each.mean(true)
        notes.append(
            f"{formulas_in_words(over)}, of each row; where costs are shown by class they are "
            "the means of the true class"
        )
    return PredictionTable(
        str(path), columns, true, found, scores, named, names, tuple(notes), each
    )


def labels_in(
    file: TableFile,
    truth: str | None,
    predicted: str | None,
    classes: Sequence[str] | None = None,
) -> set[str]:
    """The classes that a file's labels and answers name, where they are not known otherwise."""
    true = find_truth(file, (), truth, needed=True)
    assert true is not None
    answers = predicted or guess_column(file, PREDICTED, ())
    file.check([] if answers is None else [answers])
    found = _texts(file, true)
    if answers is not None:
        none = abstained_text(classes or [*found])
        found |= {name for name in _texts(file, answers) if name != none}
    return set(class_names([*found], classes))


def _texts(file: TableFile, column: str) -> set[str]:
    return set(class_names(codes(read_table(file, {column: "label"}), column, file)[1]))


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
    check_probs(values, names, str(file.path))
    return values


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
