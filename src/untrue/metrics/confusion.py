"""Counts of true by predicted classes: as a (k, k) matrix, or as its cells that are not zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from untrue.array_types import ArrayOrTensor, BoolArray, FloatArray, IntArray
from untrue.checks import check_choice, check_count
from untrue.errors import ArgumentError, DataError
from untrue.metrics.inputs import check_same_length, read_labels, to_numbers, to_numpy
from untrue.metrics.layouts import flat_labels

# Labels counted at a time: their codes stay in the cache, and no copy of all labels is made.
_BLOCK = 2**19


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells of a confusion matrix that are not zero.

    `count[i]` examples of class `true[i]` were predicted as `predicted[i]`.

    Every measure takes a (k, k) matrix or `Cells`. The matrix of 100,000 classes would take
    80 GB; its cells are at most as many as there are examples.
    """

    n_classes: int
    true: IntArray
    predicted: IntArray
    count: IntArray

    @property
    def total(self) -> int:
        """The number of examples."""
        return int(self.count.sum())

    @property
    def wrong(self) -> BoolArray:
        """Which cells are errors."""
        return np.asarray(self.true != self.predicted)

    def per_class(self, weights: npt.ArrayLike = 1.0) -> FloatArray:
        """`sum of count * weights` over the cells of each true class, shape (k,)."""
        summed = np.bincount(self.true, self.count * np.asarray(weights), self.n_classes)
        return summed.astype(np.float64)

    def __repr__(self) -> str:
        return (
            f"Cells({self.n_classes} classes, {self.total} examples, {self.count.size} cells not 0)"
        )


ConfusionLike: TypeAlias = "ArrayOrTensor | Cells"
Labels: TypeAlias = "npt.NDArray[np.integer[Any]]"
Abstained: TypeAlias = Literal["error", "drop"]


def example_cells(true: ArrayOrTensor, predicted: ArrayOrTensor, n_classes: int) -> Cells:
    """A cell for each example, in their order: for measures under costs of each example.

    >>> example_cells([0, 0], [1, 1], 2).count.tolist()
    [1, 1]
    """
    labels = read_labels(true, "true", n_classes).astype(np.int64)
    answers = read_labels(predicted, "predicted", n_classes).astype(np.int64)
    check_same_length(true=labels, predicted=answers)
    return Cells(n_classes, labels, answers, np.ones(len(labels), dtype=np.int64))


def merged(cells: Cells, each: FloatArray) -> tuple[Cells, FloatArray]:
    """Cells of the same confusion merged, with the mean of their costs `each`."""
    code = cells.true * cells.n_classes + cells.predicted
    if len(code) < 2 or (code[1:] > code[:-1]).all():
        return cells, each
    kinds, place = np.unique(code, return_inverse=True)
    count = np.bincount(place, cells.count).astype(np.int64)
    mean = np.bincount(place, cells.count * each) / count
    k = cells.n_classes
    return Cells(k, kinds // k, kinds % k, count), mean


def confusion_matrix(
    true: ArrayOrTensor,
    predicted: ArrayOrTensor,
    n_classes: int,
    *,
    abstained: Abstained = "error",
    ignore_index: int | None = None,
) -> IntArray:
    """Counts of shape (k, k): `cm[i, j]` examples of class i were called j.

    `true` and `predicted` are class indices, both of shape (N,), or both of another, as those of
    the pixels of images are. A prediction of -1 is an abstention (see `untrue.decide`): an error
    here, since a measure that leaves them out silently makes the model look better, unless
    `abstained="drop"` leaves these examples out. Examples whose true class is `ignore_index` are
    left out, as in the losses.

    >>> confusion_matrix([0, 1, 1], [0, 1, -1], 2, abstained="drop").tolist()
    [[1, 0], [0, 1]]
    """
    k, true_, answers = _read_pair(true, predicted, n_classes, abstained, ignore_index)
    counts = np.zeros(k * k, dtype=np.int64)
    # A block of its own for each count would cost k * k zeros; large blocks where k is large.
    block = max(_BLOCK, k * k)
    for start in range(0, len(true_), block):
        code = _codes(true_[start : start + block], answers[start : start + block], k)
        counts += np.bincount(code, minlength=k * k)
    return counts.reshape(k, k)


def confusion_cells(
    true: ArrayOrTensor,
    predicted: ArrayOrTensor,
    n_classes: int,
    *,
    abstained: Abstained = "error",
    ignore_index: int | None = None,
) -> Cells:
    """The same counts as `confusion_matrix`, as `Cells`: for when k x k is too much.

    >>> confusion_cells([7, 7, 99_999], [7, 8, 99_999], 100_000)
    Cells(100000 classes, 3 examples, 3 cells not 0)
    """
    k, true_, answers = _read_pair(true, predicted, n_classes, abstained, ignore_index)
    code, count = np.unique(_codes(true_, answers, k), return_counts=True)
    return Cells(k, code // k, code % k, count.astype(np.int64))


def _read_pair(
    true: ArrayOrTensor,
    predicted: ArrayOrTensor,
    n_classes: int,
    abstained: Abstained,
    ignore_index: int | None,
) -> tuple[int, Labels, Labels]:
    k = check_count("n_classes", n_classes)
    true_, answers = read_answered(true, predicted, k, k, abstained, ignore_index, "predicted")
    return k, true_, answers


def read_answered(
    true: ArrayOrTensor,
    answers: ArrayOrTensor,
    n_classes: int,
    n_answers: int,
    abstained: Abstained,
    ignore_index: int | None,
    name: str,
) -> tuple[Labels, Labels]:
    """True classes and answers (argument `name`) of the examples that count and are answered."""
    check_choice("abstained", abstained, ("error", "drop"))
    given, predicted = flat_labels(true, "true"), flat_labels(answers, name)
    check_same_length(**{"true": given, name: predicted})
    flat_labels(answers, name, np.shape(to_numpy(true)))
    counted = None if ignore_index is None else given != ignore_index
    if counted is not None:
        # What is left out may hold anything. A zero of their own kind: names are refused as such.
        given, predicted = (
            np.where(counted, each, each.dtype.type(0)) for each in (given, predicted)
        )
    labels = read_labels(given, "true", n_classes)
    predicted = read_labels(predicted, name, n_answers, least=-1)
    kept = counted
    if predicted.size and predicted.min() < 0:
        answered = predicted >= 0
        if abstained == "error":
            raise DataError(
                f"`{name}` abstains (-1) at position {int(np.argmin(answered))} and "
                f"{int((~answered).sum())} times in all; "
                'pass abstained="drop" to leave these examples out.'
            )
        kept = answered if counted is None else answered & counted
    return (labels, predicted) if kept is None else (labels[kept], predicted[kept])


def _codes(
    true: npt.NDArray[np.integer[Any]], predicted: npt.NDArray[np.integer[Any]], k: int
) -> IntArray:
    """`true * k + predicted`, in 64 bits whatever the type (uint8 * k would wrap around)."""
    code = true.astype(np.int64)
    code *= k
    code += predicted.astype(np.int64, copy=False)
    return code


def read_confusion(cm: ConfusionLike) -> Cells:
    """The cells of a confusion matrix, checked: square, whole numbers, none negative."""
    if isinstance(cm, Cells):
        some = cm.count != 0
        if some.all():
            return cm
        return Cells(cm.n_classes, cm.true[some], cm.predicted[some], cm.count[some])
    matrix = to_numbers(cm, "cm")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ArgumentError(
            f"`cm` must be a confusion matrix of shape (k, k); got shape {matrix.shape}."
        )
    return Cells(matrix.shape[0], *read_counts(matrix, "cm"))


def read_counts(matrix: npt.NDArray[Any], name: str) -> tuple[IntArray, IntArray, IntArray]:
    """Rows, columns and counts of the cells that are not zero: whole numbers, none negative."""
    if matrix.dtype.kind not in "iuf":
        raise ArgumentError(f"`{name}` must hold counts; got dtype {matrix.dtype}.")
    rows, columns = np.nonzero(matrix)
    count = matrix[rows, columns]
    with np.errstate(invalid="ignore"):  # NaN and inf cast to anything, and are found below
        whole = count.astype(np.int64)
    bad = (whole != count) | (count < 0)
    if bad.any():
        first = int(np.argmax(bad))
        raise ArgumentError(
            f"`{name}` must hold counts (whole numbers, none negative); "
            f"got {count[first]} at [{rows[first]}, {columns[first]}]."
        )
    return rows, columns, whole
