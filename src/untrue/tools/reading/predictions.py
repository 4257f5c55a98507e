"""Predictions to measure: from a file whose columns are found, or from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.budgets.calibration_set import check_order
from untrue.decision import decide
from untrue.errors import ArgumentError, DataError, counted, listed
from untrue.metrics.inputs import are_names, from_booleans, read_labels, read_scores, to_numpy
from untrue.metrics.layouts import class_rows
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.penalty.prob_columns import column_names, in_column_order
from untrue.penalty.stated import class_names, formulas_over, has_names, named_for, penalty_over
from untrue.tools.reading.columns import (
    PREDICTED,
    Columns,
    choose,
    column_ends,
    find_truth,
    guess_column,
)
from untrue.tools.reading.cost_columns import file_columns
from untrue.tools.reading.labels import abstained, abstained_text, one_spelling, positions
from untrue.tools.reading.probabilities import check_probs, number_kinds, probability_matrix
from untrue.tools.reading.row_costs import formulas_in_words, given_columns
from untrue.tools.reading.tables import (
    Kind,
    TableFile,
    codes,
    open_table,
    read_table,
)

# If fewer answers are the most probable class, the rows are probably in another order.
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
        if classes is not None:
            raise ArgumentError(
                "`classes` goes with costs by class: order the columns of `data` as the classes of "
                "the penalty are."
            )
        return _with_costs(_read_arrays(data, y, penalty.base), penalty, cost_columns)
    if cost_columns is not None:
        raise ArgumentError("`cost_columns` belong to costs by columns: a FormulaPenalty.")
    return _read_arrays(data, y, penalty, classes)


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
        raise ArgumentError(
            f"`penalty` has costs of {counted(len(costs), 'example')}; there are {n:,}."
        )
    return replace(read, penalty=costs.mean(read.true), each=costs)


def _read_arrays(
    data: Any, y: Any, penalty: Penalty, classes: Sequence[str] | None = None
) -> PredictionTable:
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
        named = named_for(penalty, set.union(*labels_in(file, truth, predicted, classes)))
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
    table = read_table(file, _wanted(columns))
    notes = list(columns.notes)
    if taken:
        notes.append(
            "the penalty has no class names; its rows are taken for the labels in sorted order: "
            f"{listed(taken)}"
        )
    true_codes, true_labels = codes(table, columns.truth, file)
    given, answers = (None, []) if not columns.predicted else codes(table, columns.predicted, file)
    none = abstained_text(classes or penalty.classes)
    known = [answer for answer in answers if answer != none]
    ends = column_ends(columns.probs or (), probs)
    true = positions(
        true_codes,
        class_names(true_labels, classes, beside=[*known, *ends]),
        named.classes,
        column=columns.truth,
        source=str(path),
    )
    scores = _scores(table, columns, file, order, named.classes)
    if scores is not None and columns.notes and classes is None:  # something was guessed
        check_order(scores, true, named.classes)
    each, note = None, ""
    if isinstance(stated, FormulaPenalty) and by_columns is not None:
        each, note = _row_costs(stated, named, by_columns, str(path))
    if columns.predicted is not None and given is not None:
        names_of = class_names(known, classes, beside=[*true_labels, *ends])
        name_of = dict(zip(known, names_of, strict=True))
        found = positions(
            given,
            [name_of.get(answer, abstained_text(named.classes)) for answer in answers],
            named.classes,
            column=columns.predicted,
            source=str(path),
            may_abstain=True,
            hint=NODE_HINT,
        )
        notes += _doubts(found, scores, named if each is None else each)
    else:
        assert scores is not None  # `choose` found one of the two
        found = scores.argmax(axis=1)
        notes.append(MOST_PROBABLE)
    names = None
    if columns.names:
        name_codes, name_texts = codes(table, columns.names, file)
        names = tuple(name_texts[code] for code in name_codes.tolist())
    if each is not None:
        named = each.mean(true)
        notes.append(note)
    return PredictionTable(
        str(path), columns, true, found, scores, named, names, tuple(notes), each
    )


def _alike(answers: IntArray, given: IntArray) -> float:
    """Share of the answers given that are these."""
    answered = given >= 0
    return float((answers == given)[answered].mean()) if answered.any() else 1.0


def _wanted(columns: Columns) -> dict[str, Kind]:
    """What to read of the file, and as what."""
    wanted: dict[str, Kind] = {columns.truth: "label"}
    wanted |= {columns.predicted: "label"} if columns.predicted else {}
    wanted |= number_kinds(columns.probs or ())
    wanted |= {columns.names: "label"} if columns.names else {}
    return wanted


def _scores(
    table: Any, columns: Columns, file: TableFile, order: tuple[str, ...], classes: tuple[str, ...]
) -> npt.NDArray[np.floating[Any]] | None:
    """Probabilities (N, k) by `classes`, from columns in the order `order`; None without any."""
    if columns.probs is None:
        return None
    scores = probability_matrix(table, columns.probs, order, file)
    return scores if order == classes else scores[:, [order.index(name) for name in classes]]


def _doubts(
    found: IntArray,
    scores: npt.NDArray[np.floating[Any]] | None,
    costs: Penalty | ExamplePenalty,
) -> list[str]:
    """Notes on answers that do not fit the probabilities, and on those that are missing."""
    notes = []
    if scores is not None:
        alike = _alike(scores.argmax(axis=1), found)
        if alike < LEAST_ALIKE and _alike(decide(scores, costs), found) < LEAST_ALIKE:
            notes.append(
                f"the predictions are the most probable class in only {100 * alike:.0f} % of rows; "
                "check that both columns are in the same order"
            )
    n_abstained = int((found < 0).sum())
    if n_abstained:
        notes.append(
            f"{n_abstained:,} of {len(found):,} predictions abstain; the measures are "
            "about the others"
        )
    return notes


def _row_costs(
    stated: FormulaPenalty, named: Penalty, columns: dict[str, FloatArray], source: str
) -> tuple[ExamplePenalty, str]:
    """The costs of each row, and a note on them; named: the base with the names of the labels."""
    over = formulas_over(stated, named)
    assert isinstance(over, FormulaPenalty)  # the names are others, the classes the same
    note = (
        f"{formulas_in_words(over)}, of each row; where costs are shown by class they are "
        "the means of the true class"
    )
    return over.per_example(columns, source=source), note


def labels_in(
    file: TableFile,
    truth: str | None,
    predicted: str | None,
    classes: Sequence[str] | None = None,
) -> tuple[set[str], set[str]]:
    """The classes that a file's true labels name, and those that its answers name, where they are
    not known otherwise."""
    true = find_truth(file, (), truth, needed=True)
    assert true is not None
    answers = predicted or guess_column(file, PREDICTED, ())
    file.check([] if answers is None else [answers])
    found, given = codes(read_table(file, {true: "label"}), true, file)[1], list[str]()
    if answers is not None:
        none = abstained_text(classes or found)
        texts = codes(read_table(file, {answers: "label"}), answers, file)[1]
        given = [name for name in texts if name != none]
    if classes is None:
        names = one_spelling([*found, *given])
        return set(names[: len(found)]), set(names[len(found) :])
    return (
        set(class_names(found, classes, beside=given)),
        set(class_names(given, classes, beside=found)),
    )
