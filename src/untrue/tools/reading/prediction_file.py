"""A file of predictions: the truth beside the answers, the probabilities, or both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.budgets.calibration_set import check_order
from untrue.decision import decide
from untrue.errors import listed
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.penalty.stated import class_names, formulas_over, has_names, named_for
from untrue.tools.reading.columns import (
    PREDICTED,
    Columns,
    choose,
    column_ends,
    find_truth,
    guess_column,
)
from untrue.tools.reading.cost_columns import file_columns
from untrue.tools.reading.labels import abstained_text, one_spelling, positions
from untrue.tools.reading.prediction_table import PredictionTable
from untrue.tools.reading.probabilities import number_kinds, probability_matrix
from untrue.tools.reading.row_costs import formulas_in_words
from untrue.tools.reading.tables import (
    Kind,
    TableFile,
    codes,
    open_table,
    read_table,
    texts,
)

# If fewer answers are the most probable class, the rows are probably in another order.
LEAST_ALIKE = 0.5
NODE_HINT = (
    " If it is a node of a hierarchy (`untrue predict --decide node`), add --hierarchy FILE (in "
    "Python, `audit_nodes`)."
)
MOST_PROBABLE = "no column of predictions: the most probable class is taken for the answer"


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
    penalty = base = stated.base if isinstance(stated, FormulaPenalty) else stated
    if not has_names(base):
        penalty = named_for(base, set.union(*labels_in(file, truth, predicted, classes)))
    taken = None if penalty is base else penalty.classes
    # Names in the order of the codes are in the order of the columns, too.
    order = penalty.classes
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
    notes = list(columns.notes)
    if taken:
        notes.append(
            "the penalty has no class names; its rows are taken for the labels in sorted order: "
            f"{listed(taken)}"
        )
    table = read_table(file, _wanted(columns))
    ends = column_ends(columns.probs or (), probs)
    true, answers = _labels(table, columns, file, penalty.classes, ends, classes)
    scores = _scores(table, columns, file, order, penalty.classes)
    if scores is not None and columns.notes and classes is None:  # something was guessed
        check_order(scores, true, penalty.classes)
    each, of_each = _row_costs(stated, penalty, file)
    if answers is not None:
        notes += _doubts(answers, scores, penalty if each is None else each)
    else:
        assert scores is not None  # `choose` found one of the two
        answers = scores.argmax(axis=1)
        notes.append(MOST_PROBABLE)
    return PredictionTable(
        source=str(path),
        columns=columns,
        true=true,
        predicted=answers,
        probs=scores,
        penalty=penalty if each is None else each.mean(true),
        names=texts(table, columns.names, file) if columns.names else None,
        notes=(*notes, *of_each),
        each=each,
    )


def _labels(
    table: Any,
    columns: Columns,
    file: TableFile,
    known: tuple[str, ...],
    ends: Sequence[str],
    classes: Sequence[str] | None,
) -> tuple[IntArray, IntArray | None]:
    """Positions (N,) of the true classes and of the answers, None where there is no column of them.

    ends: of the names of columns of probabilities, which are written as the labels are
    """
    found, labels = codes(table, columns.truth, file)
    given, stated = codes(table, columns.predicted, file) if columns.predicted else (None, [])
    none = abstained_text(classes or known)
    answers = [text for text in stated if text != none]
    true = positions(
        found,
        class_names(labels, classes, beside=[*answers, *ends]),
        known,
        column=columns.truth,
        source=str(file.path),
    )
    if columns.predicted is None or given is None:
        return true, None
    names = class_names(answers, classes, beside=[*labels, *ends])
    name_of = dict(zip(answers, names, strict=True))
    predicted = positions(
        given,
        [name_of.get(text, abstained_text(known)) for text in stated],
        known,
        column=columns.predicted,
        source=str(file.path),
        may_abstain=True,
        hint=NODE_HINT,
    )
    return true, predicted


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
    stated: Penalty | FormulaPenalty, named: Penalty, file: TableFile
) -> tuple[ExamplePenalty | None, list[str]]:
    """The costs of each row, where they are by columns, and a note on them; named: the costs by
    class with the names of the labels."""
    if not isinstance(stated, FormulaPenalty):
        return None, []
    columns = file_columns(file, stated.columns)
    over = formulas_over(stated, named)
    assert isinstance(over, FormulaPenalty)  # the names are others, the classes the same
    note = (
        f"{formulas_in_words(over)}, of each row; where costs are shown by class they are "
        "the means of the true class"
    )
    return over.per_example(columns, source=str(file.path)), [note]


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
        stated = codes(read_table(file, {answers: "label"}), answers, file)[1]
        given = [name for name in stated if name != none]
    if classes is None:
        names = one_spelling([*found, *given])
        return set(names[: len(found)]), set(names[len(found) :])
    return (
        set(class_names(found, classes, beside=given)),
        set(class_names(given, classes, beside=found)),
    )
