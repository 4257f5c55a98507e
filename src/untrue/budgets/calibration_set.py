"""The input of `control`: probabilities and the truth, as codes or as names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.decision.calibration import tempered
from untrue.errors import ArgumentError, DataError, listed, nearest
from untrue.metrics.inputs import (
    BOOLEANS,
    are_booleans,
    are_names,
    check_same_length,
    from_booleans,
    precision,
    prob_blocks,
    read_labels,
    to_numpy,
)
from untrue.metrics.layouts import class_rows
from untrue.optional import need
from untrue.penalty import Actions, ExamplePenalty, FormulaPenalty, Penalty
from untrue.penalty.base import check_classes
from untrue.penalty.prob_columns import column_names, in_column_order
from untrue.penalty.stated import has_names, penalty_over, sorted_labels

Answers = Literal["codes", "names", "numbers", "booleans"]

# Columns are in another order if that order is better by this much, in accuracy.
CLEARLY = 0.05
SURELY = 3.0  # standard deviations
LEAST_JUDGED = 20  # examples; fewer show no order
MOST_MATCHED = 300  # classes; more take seconds to match with columns


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationSet:
    """Checked examples.

    probs    (N, k) in their own precision, columns in the order of the penalty's classes
    target   (N,) positions of the classes
    penalty  over the classes; equal costs if none was given
    answers  what `target` was made of: positions, names, names that are whole numbers, or True
             and False where classes are called so
    """

    probs: npt.NDArray[np.floating[Any]]
    target: IntArray
    penalty: Penalty
    answers: Answers


def read_calibration_set(
    probs: Any, target: Any, penalty: Any, classes: Sequence[str] | None
) -> CalibrationSet:
    """Check and pair; classes are named by `classes`, by the columns of a table, by the penalty."""
    labels, own = _labels(target), _named(penalty)
    known = set(map(str, labels.tolist())) if own is None else own.classes
    named = classes if classes is not None else column_names(probs, known)
    if named is not None:
        names = check_classes([str(name) for name in named])
    else:
        names = _names_of(probs, labels) if own is None else own.classes
    where = "`classes`" if classes is not None else "`probs`"
    costs = penalty_over(penalty, names) if own is None else _in_order(own, names, where)
    scores = read_probs(in_column_order(probs, names), len(names))
    codes, answers = _codes(labels, names)
    check_same_length(probs=scores, target=codes)
    if not len(codes):
        raise DataError("`probs` must hold at least one example; got none.")
    # Names on both sides settle the order. Codes may be in another than that of a table's columns.
    if named is None or (classes is None and answers == "codes"):
        check_order(scores, codes, names)
    return CalibrationSet(scores, codes, costs, answers)


def _named(penalty: Any) -> Penalty | None:
    """A penalty that names its classes; None where they take their names from the data."""
    if isinstance(penalty, ExamplePenalty | FormulaPenalty | Actions):
        raise ArgumentError(
            "`penalty` must hold costs by class and predicted class, a Penalty; got "
            f"{type(penalty).__name__}."
        )
    return penalty if isinstance(penalty, Penalty) and has_names(penalty) else None


def read_probs(probs: Any, n_classes: int) -> npt.NDArray[np.floating[Any]]:
    """(N, k) Checked probabilities; with two classes (N,) are those of the second."""
    rows, layout = class_rows(probs, "probs", n_classes)
    if len(layout.shape) != 1:
        raise ArgumentError(f"`probs` must have shape (N, k); got shape {np.shape(probs)}.")
    scores = to_numpy(rows, "probs")
    if scores.dtype.kind not in "fiub":
        raise ArgumentError(f"`probs` must hold numbers; got dtype {scores.dtype}.")
    scores = scores if scores.dtype.kind == "f" else scores.astype(np.float64)
    for _ in prob_blocks(scores, precision(probs)):
        pass
    return scores


def calibrated(probs: npt.NDArray[Any], temperature: float | None) -> FloatArray:
    """`p^(1/T)`, scaled to sum to 1; no class has a probability of exactly 0. None: as they are."""
    if temperature is None:
        return probs.astype(np.float64, copy=False)
    return tempered(probs, temperature)


def _labels(target: Any) -> npt.NDArray[Any]:
    labels = to_numpy(target, "target")
    if labels.ndim != 1:
        hint = "; flatten it" if labels.ndim > 1 else ""
        raise ArgumentError(f"`target` must have shape (N,); got shape {labels.shape}{hint}.")
    if labels.dtype.kind == "f":
        whole = np.isfinite(labels) & (labels == np.floor(labels))
        if not whole.all():
            row = int(np.argmin(whole))
            raise DataError(f"`target` must hold classes; row {row} is {labels[row]}.")
        return labels.astype(np.int64)
    return labels.astype(np.bool_) if are_booleans(labels) else labels


def _names_of(probs: Any, labels: npt.NDArray[Any]) -> tuple[str, ...]:
    """Names where nothing names them: positions, or the labels in sorted order."""
    shape = np.shape(probs)
    k = 2 if len(shape) == 1 or shape[1:] == (1,) else int(shape[1]) if len(shape) == 2 else 0
    if labels.dtype.kind == "b" and k == 2:
        return BOOLEANS
    labels = np.asarray(from_booleans(labels, ()))
    if labels.dtype.kind in "iu" and labels.size and labels.min() >= 0 and labels.max() < max(k, 2):
        return tuple(str(i) for i in range(max(k, 1)))
    own = sorted_labels(_text(label) for label in labels.tolist())
    if k and len(own) != k:
        raise ArgumentError(
            f"`target` has {len(own)} different labels and `probs` {k} columns: give `classes`, "
            "the class of each column, in order."
        )
    return check_classes(own)


def _text(label: Any) -> str:
    if isinstance(label, str):
        return label
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return str(int(label))
    raise DataError(f"`target` must hold class names or whole numbers; got {label!r}.")


def _in_order(penalty: Penalty, names: tuple[str, ...], where: str) -> Penalty:
    if penalty.classes == names:
        return penalty
    for name in names:
        if name not in penalty.classes:
            hint = nearest(name, penalty.classes) or "."
            raise ArgumentError(
                f"{where} names {name!r}, which is not a class of the penalty{hint}"
            )
    if len(names) != penalty.n_classes:
        raise ArgumentError(
            f"{where} must name all {penalty.n_classes} classes of the penalty; got {len(names)}."
        )
    return penalty.select(names)


def _codes(labels: npt.NDArray[Any], names: tuple[str, ...]) -> tuple[IntArray, Answers]:
    """Positions, and what they were given as."""
    if labels.dtype.kind == "b":
        named = set(BOOLEANS) <= set(names)
        places = read_labels(from_booleans(labels, names), "target", len(names))
        return places.astype(np.int64), "booleans" if named else "codes"
    k, number = len(names), labels.dtype.kind in "iu"
    if number and not are_names(labels, "target", names):
        return read_labels(labels, "target", k).astype(np.int64), "codes"
    labels = np.array([_text(label) for label in labels.tolist()], dtype=object)
    values, place = np.unique(labels, return_inverse=True)
    position = {name: i for i, name in enumerate(names)}
    for i, value in enumerate(values.tolist()):
        if value not in position:
            hint = nearest(value, names)
            known = "" if hint else f"; known are {', '.join(names[:5])}{', ...' * (k > 5)}."
            raise DataError(
                f"`target` holds an unknown class {value!r}, at position "
                f"{int(np.argmax(place == i))}{hint or known}"
            )
    codes = np.array([position[value] for value in values.tolist()], dtype=np.int64)
    return codes[place], "numbers" if number else "names"


def check_order(
    probs: npt.NDArray[np.floating[Any]], codes: IntArray, names: tuple[str, ...]
) -> None:
    """Refuse columns that are clearly those of other classes.

    Which class each column fits best is found on every other example and judged on the rest.
    """
    k = len(names)
    if not 2 <= k <= MOST_MATCHED:
        return
    top = probs.argmax(axis=1)
    counts = np.zeros((k, k))
    np.add.at(counts, (top[::2], codes[::2]), 1.0)
    matching = need("scipy.optimize", "Matching columns with classes")
    columns, fits = matching.linear_sum_assignment(-counts)
    best = fits[np.argsort(columns)]
    judged, true = top[1::2], codes[1::2]
    if len(true) < LEAST_JUDGED:
        return
    as_given, as_found = judged == true, best[judged] == true
    given, found = float(as_given.mean()), float(as_found.mean())
    # Of the examples that the two orders answer differently: more than chance would give.
    gained = float(as_found.sum()) - float(as_given.sum())
    if found > given + CLEARLY and gained > SURELY * float((as_found != as_given).sum()) ** 0.5:
        raise DataError(
            f"The columns of `probs` are taken for {listed(names)}, and the most probable class is "
            f"right in {100 * given:.0f} % of cases. Taken for {listed([names[i] for i in best])} "
            f"it would be in {100 * found:.0f} %. Give `classes` (--classes), the class of each "
            "column in order (scikit-learn: model.classes_)."
        )
