"""Intervals by the bootstrap: the same measure on data drawn again from the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import ArrayOrTensor, FloatArray, IntArray
from untrue.checks import MOST_RESAMPLES, check_count, check_number, check_seed, is_tensor
from untrue.errors import ArgumentError
from untrue.metrics.confusion import Cells, read_confusion
from untrue.metrics.inputs import BLOCK_VALUES, check_same_length, to_numpy
from untrue.metrics.intervals import Interval, percentile_interval
from untrue.metrics.probabilities import bin_of, ece_of_top, top_heights, top_label
from untrue.metrics.weights import Weights, ratio
from untrue.penalty.arrays import table_columns

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy


def bootstrap(
    measure: Callable[..., float],
    *data: Any,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """A percentile bootstrap interval for `measure(*data)`. (Efron, 1979.)

    `data` is one confusion matrix (or `Cells`), or arrays with one row per example (`probs, true`).
    Examples are drawn with replacement, as many as there are. `measure` gets tensors of half
    precision as they are, others as arrays. For a confusion matrix it is one draw from a
    multinomial over its cells: the same distribution, without touching the examples; `measure` then
    gets `Cells`, which every measure of this module takes. Resamples for which the measure is nan
    (no errors, say) are left out. `summary(..., resamples=1000)` gives all its measures their
    intervals at once, and much faster where there are many classes.

    ECE is never negative, so noise can only raise it, and once more in each resample: its interval
    tends to lie too high when there are few examples.

    >>> from untrue.metrics import total_error
    >>> bootstrap(total_error, [[90, 10], [10, 90]])
    Interval(value=0.1, low=0.065, high=0.145, confidence=0.95)
    """
    n_resamples = check_count("resamples", resamples, most=MOST_RESAMPLES)
    check_number("confidence", confidence, 0, 1, ends=False)
    rng = np.random.default_rng(check_seed(seed))
    if not data:
        raise ArgumentError("`bootstrap` needs data after the measure; got none.")
    values = np.empty(n_resamples)
    if len(data) == 1 and _is_confusion(data[0]):
        cells = read_confusion(data[0])
        draws = (
            Cells(cells.n_classes, cells.true, cells.predicted, counts)
            for block in draw_counts(cells.count, n_resamples, rng)
            for counts in block
        )
        for i, drawn in enumerate(draws):
            values[i] = measure(drawn)
        return percentile_interval(float(measure(cells)), values, confidence)
    for i, given in enumerate(data):
        columns = table_columns(given) or []
        if len(columns) > 1 and columns != list(range(len(columns))):
            raise ArgumentError(
                f"`data[{i}]` is a table, whose columns would be taken by position. Give an array, "
                "its columns in the order of the classes: table[classes].to_numpy()."
            )
    # Measures check probabilities by the precision they came in, which an array would not show.
    arrays = [array if _is_half(array) else to_numpy(array) for array in data]
    if any(array.ndim == 0 for array in arrays):
        raise ArgumentError("`data` must be a confusion matrix or arrays with a row per example.")
    check_same_length(**{f"data[{i}]": array for i, array in enumerate(arrays)})
    n = len(arrays[0])
    for i in range(n_resamples):
        rows = rng.integers(n, size=n) if n else np.zeros(0, dtype=np.int64)
        values[i] = measure(*(array[rows] for array in arrays))
    return percentile_interval(float(measure(*arrays)), values, confidence)


def draw_counts(
    counts: IntArray, resamples: int, rng: np.random.Generator, *, width: int = 1
) -> Iterator[IntArray]:
    """Blocks of shape (some, cells) of counts drawn again: `resamples` rows in all.

    Few enough rows that `width` numbers for each of them make a block of moderate size, too.
    """
    total = int(counts.sum())
    step = max(1, 8 * BLOCK_VALUES // max(width, counts.size))
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        if total == 0:
            yield np.zeros((rows, counts.size), dtype=np.int64)
        else:
            yield rng.multinomial(total, counts / total, size=rows)


def resampled_ratios(
    cells: Cells,
    pairs: Mapping[str, Weights],
    resamples: int,
    rng: np.random.Generator,
    of_class_counts: Callable[[FloatArray], FloatArray] | None = None,
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Each ratio of `pairs` for each resample, and what a function makes of its class counts.

    `of_class_counts` takes (rows, k) to (rows,). Cells that do not differ are drawn as one:
    sums of multinomial counts are multinomial.
    A thousand classes have a million cells, but with a hierarchy a few thousand that differ.
    """
    columns = [column for pair in pairs.values() for column in pair]
    by_class = cells.true if of_class_counts else np.zeros_like(cells.true)
    kind = _kinds(by_class, columns)
    if kind.size and kind.max() >= _MANY_KINDS:
        kind = _kinds(by_class, [_steps(column) for column in columns])
    _, first = np.unique(kind, return_index=True)
    counts = np.bincount(kind, cells.count, first.size).astype(np.int64)
    table = np.stack([_means(kind, cells.count, column, first) for column in columns], axis=1)
    # Kinds are in the order of the true class, the leading part of their code.
    present, starts = np.unique(by_class[first], return_index=True)
    sums, numbers, done = np.empty((resamples, len(columns))), np.empty(resamples), 0
    for block in draw_counts(counts, resamples, rng, width=cells.n_classes):
        rows = slice(done, done + len(block))
        sums[rows] = block.astype(np.float64) @ table
        if of_class_counts:
            class_counts = np.zeros((len(block), cells.n_classes))
            if present.size:
                class_counts[:, present] = np.add.reduceat(block, starts, axis=1)
            numbers[rows] = of_class_counts(class_counts)
        done = rows.stop
    values = {name: ratio(sums[:, 2 * i], sums[:, 2 * i + 1]) for i, name in enumerate(pairs)}
    return values, numbers


# More kinds of cells than this are slow to draw; costs are then distinguished in 32 steps only.
_MANY_KINDS = 2**15
_STEPS = 32


def _kinds(by_class: IntArray, columns: Sequence[npt.NDArray[Any]]) -> IntArray:
    """A number for each cell, from 0, the same for cells alike in class and all columns."""
    _, kind = np.unique(by_class, return_inverse=True)
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        if values.size > 1:
            _, kind = np.unique(kind * values.size + code, return_inverse=True)
    return kind.astype(np.int64)


def _steps(column: FloatArray) -> FloatArray:
    """Equal steps between least and greatest: what spread is lost is below 1 in 1,000 of it all."""
    low, high = column.min(), column.max()
    return np.floor((column - low) * (_STEPS / (high - low))) if high > low else column


def _means(kind: IntArray, count: IntArray, column: FloatArray, first: IntArray) -> FloatArray:
    """The mean of a column over the examples of each kind; exact where all are equal."""
    mean = ratio(np.bincount(kind, count * column), np.bincount(kind, count))
    value = column[first]
    return np.where(np.abs(mean - value) <= 1e-12 * np.abs(value), value, mean)


def resampled_ece(
    probs: ArrayOrTensor,
    true: ArrayOrTensor,
    bins: int,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[float, FloatArray]:
    """ECE, and its value for each resample.

    Examples of one bin, right or wrong, whose confidences agree to 1/64 of the bin are drawn as
    one with their mean: the spread that is lost is 1e-3 of a bin's width over the root of N.
    """
    confidence, correct = top_label(probs, true)
    n_bins, n = check_count("bins", bins), confidence.size
    value = ece_of_top(confidence, correct, n_bins)
    if not n:
        return value, np.full(resamples, np.nan)
    fine = np.minimum(confidence * (64 * n_bins), 64 * n_bins - 1).astype(np.int64)
    kind = (bin_of(confidence, n_bins) * 64 * n_bins + fine) * 2 + correct
    kinds, kind, counts = np.unique(kind, return_inverse=True, return_counts=True)
    gap = np.bincount(kind, confidence - correct) / counts
    _, starts = np.unique(kinds // (2 * 64 * n_bins), return_index=True)
    blocks = [
        np.abs(np.add.reduceat(block * gap, starts, axis=1)).sum(axis=1) / n
        for block in draw_counts(counts, resamples, rng)
    ]
    return value, np.concatenate([np.empty(0), *blocks])


def resampled_height(
    probs: ArrayOrTensor,
    true: ArrayOrTensor,
    hierarchy: Hierarchy,
    k: int,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[float, FloatArray]:
    """Height@k, and its value for each resample; examples of equal height are drawn as one."""
    heights, counts = np.unique(top_heights(probs, true, hierarchy, k), return_counts=True)
    if not counts.size:
        return math.nan, np.full(resamples, np.nan)
    scale = 1 / (k * counts.sum())
    blocks = [block @ heights * scale for block in draw_counts(counts, resamples, rng)]
    return float(counts @ heights * scale), np.concatenate([np.empty(0), *blocks])


def _is_half(value: Any) -> bool:
    return is_tensor(value) and value.is_floating_point() and value.element_size() == 2


def _is_confusion(value: Any) -> bool:
    if isinstance(value, Cells):
        return True
    shape = to_numpy(value).shape
    return len(shape) == 2 and shape[0] == shape[1]
