"""Measures that need the probabilities: calibration, and how far off the runners-up are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import ArrayOrTensor, BoolArray, FloatArray, IntArray
from untrue.checks import check_count
from untrue.errors import ArgumentError, DataError
from untrue.metrics.inputs import (
    check_hierarchy,
    check_same_length,
    precision,
    prob_blocks,
    read_labels,
    read_scores,
    row_blocks,
)
from untrue.penalty.prob_columns import in_column_order

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy

# Of equal width, for the calibration error.
BINS = 15


def softmax(logits: npt.NDArray[Any], axis: int = -1) -> FloatArray:
    """`exp(z) / sum exp(z)` in double precision, in NumPy.

    >>> softmax(np.array([[0.0, 0.0], [1e4, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    wide = np.asarray(logits, dtype=np.float64)
    shares = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return np.asarray(shares / shares.sum(axis=axis, keepdims=True))


def ece(probs: ArrayOrTensor, true: ArrayOrTensor, bins: int = BINS) -> float:
    """Expected calibration error of the most probable class; nan without examples.

    The examples are put into `bins` equal intervals `(b / bins, (b + 1) / bins]` by their greatest
    probability; `ECE = sum_b (n_b / N) |accuracy_b - mean confidence_b|`. (Guo et al., ICML 2017.)
    `probs` has shape (N, k), `true` shape (N,).

    >>> ece([[0.9, 0.1], [0.1, 0.9]], [0, 0])
    0.4
    """
    return ece_of_top(*top_label(probs, true), check_count("bins", bins))


def ece_of_top(confidence: FloatArray, correct: BoolArray, bins: int) -> float:
    """`ece` from what `top_label` returns."""
    gaps = np.bincount(bin_of(confidence, bins), confidence - correct, bins)
    return float(np.abs(gaps).sum() / confidence.size) if confidence.size else float("nan")


def top_label(probs: ArrayOrTensor, true: ArrayOrTensor) -> tuple[FloatArray, BoolArray]:
    """For each example the greatest probability, and whether the class that has it is right."""
    scores = read_scores(probs, "probs")
    labels = read_labels(true, "true", scores.shape[1])
    check_same_length(probs=scores, true=labels)
    confidence = np.empty(len(scores))
    correct = np.empty(len(scores), dtype=bool)
    for rows, block in prob_blocks(scores, precision(probs)):
        predicted = block.argmax(axis=1)
        confidence[rows] = block[np.arange(len(predicted)), predicted]
        correct[rows] = predicted == labels[rows]
    return confidence, correct


def bin_of(confidence: FloatArray, bins: int) -> IntArray:
    """The interval `(b / bins, (b + 1) / bins]` in which each confidence lies."""
    inner_edges = np.linspace(0, 1, bins + 1)[1:-1]
    return np.searchsorted(inner_edges, confidence, side="left").astype(np.int64)


def height_at_k(
    probs: ArrayOrTensor, true: ArrayOrTensor, hierarchy: Hierarchy, k: int = 1
) -> float:
    """Mean height over the k most probable classes of all examples; nan without examples.

    `mean over n of (1/k) sum of h(true_n, j) over the k most probable j`, right answers counting
    as height 0. (Bertinetto et al., CVPR 2020: hierarchical distance of the top k.) Only the order
    of each row matters, so that logits do as well; equal ones are taken in class order. A table is
    read by the names of its columns.
    """
    heights = top_heights(probs, true, hierarchy, k)
    return float(heights.mean() / k) if heights.size else float("nan")


def top_heights(
    probs: ArrayOrTensor, true: ArrayOrTensor, hierarchy: Hierarchy, k: int
) -> IntArray:
    """Sum of the heights between the truth and the k most probable classes of each example."""
    check_hierarchy(hierarchy)
    scores = read_scores(in_column_order(probs, hierarchy.classes), "probs")
    check_hierarchy(hierarchy, scores.shape[1])
    labels = read_labels(true, "true", scores.shape[1])
    check_same_length(probs=scores, true=labels)
    wanted = check_count("k", k)
    if wanted > scores.shape[1]:
        raise ArgumentError(
            f"`k` must be at most the number of classes, {scores.shape[1]}; got {wanted}."
        )
    total = np.empty(len(scores), dtype=np.int64)
    for rows in row_blocks(*scores.shape):
        top = _top(scores[rows], wanted, rows.start)
        total[rows] = hierarchy.height(labels[rows][:, None], top).sum(axis=1)
    return total


def _top(scores: npt.NDArray[Any], k: int, first: int) -> IntArray:
    """The classes of the k greatest scores of each row, ties in class order, shape (N, k)."""
    bad = np.isnan(scores).any(axis=1)
    if bad.any():
        raise DataError(f"`probs` must not be NaN; row {first + int(np.argmax(bad))} holds one.")
    if k == 1:
        return np.asarray(scores.argmax(axis=1)[:, None])
    # Whatever beats the k-th greatest is in; of its equals the first ones, until there are k.
    kth = np.partition(scores, -k, axis=1)[:, -k, None]
    chosen = scores > kth
    equal = scores == kth
    places = k - chosen.sum(axis=1, keepdims=True)
    chosen |= equal & (equal.cumsum(axis=1, dtype=np.int32) <= places)
    return np.nonzero(chosen)[1].reshape(len(scores), k)
