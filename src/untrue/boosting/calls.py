"""What LightGBM and XGBoost call an objective or a metric with, read into one form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.errors import ArgumentError, DataError


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A call of either interface: logits (N, k), target (N,), weight (N,) or None.

    shape: that of the scores as they came; single: one score stood for two classes
    """

    logits: FloatArray
    target: IntArray
    weight: FloatArray | None
    shape: tuple[int, ...]
    single: bool
    by_booster: bool


def read_call(
    first: Any, second: Any, weight: Any, n_classes: int, *, raw: bool, unmatched: tuple[str, ...]
) -> LibraryCall:
    """The arguments of a Booster's call or of an estimator's; see `Objective`.

    raw: the scores are raw, and no probabilities; unmatched: as in `Objective`
    """
    by_booster = hasattr(second, "get_label")
    if unmatched and not by_booster:
        example = [*sorted(unmatched)[:3], *(["..."] if len(unmatched) > 3 else [])]
        raise ArgumentError(
            f"The penalty has class names, {', '.join(unmatched[:5])}, but an estimator gives its "
            "objective numbers, LGBMClassifier those of the sorted labels. Give `classes`, the "
            f"labels in the order of their numbers, such as classes={example}, or use "
            "untrue.sklearn.BoostedClassifier, which matches labels by name."
        )
    if by_booster:
        scores, labels, weight = first, second.get_label(), second.get_weight()
    else:
        labels, scores = first, second
    scores = np.asarray(scores, np.float64)
    labels = np.asarray(labels).reshape(-1)
    single = scores.shape in ((len(labels),), (len(labels), 1)) and n_classes == 2
    if not single and scores.shape != (len(labels), n_classes):
        raise ArgumentError(
            f"The penalty is for {n_classes} classes, so that scores must have shape "
            f"({len(labels)}, {n_classes}); got {scores.shape}. A Booster needs "
            f"params['num_class'] = {n_classes}."
        )
    target = read_codes(labels, n_classes)
    if raw:
        logits = two_columns(scores) if single else scores
    else:
        shares = np.column_stack([1.0 - scores.reshape(-1), scores]) if single else scores
        logits = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
    weights = None if weight is None or not np.size(weight) else np.asarray(weight, np.float64)
    return LibraryCall(logits, target, weights, scores.shape, single, by_booster)


def read_codes(labels: npt.NDArray[Any], n_classes: int) -> IntArray:
    """Labels (N,) as the positions of classes; anything else is refused."""
    rule = f"Labels must be the integers 0..{n_classes - 1}, one for each class of the penalty"
    if labels.dtype.kind not in "biuf":
        way = "Give each label's position in the penalty's classes."
        raise ArgumentError(f"{rule}; got dtype {labels.dtype}. {way}")
    with np.errstate(invalid="ignore"):  # NaN and inf cast to anything, and are found below
        target = labels.astype(np.int64)
    outside = (target != labels) | (target < 0) | (target >= n_classes)
    if outside.any():
        row = outside.argmax()
        raise DataError(f"{rule}; row {row} has {labels[row]:g}.")
    return target


def two_columns(scores: FloatArray) -> FloatArray:
    """A single score of the second class as logits of both."""
    return np.column_stack([np.zeros(len(scores)), scores])
