"""Temperature: probabilities that match how often the model is right."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from untrue.array_types import ArrayOrTensor, FloatArray
from untrue.checks import check_number, is_tensor
from untrue.errors import ArgumentError, DataError, UntrueWarning
from untrue.metrics.inputs import (
    check_same_length,
    in_precision_of,
    read_labels,
    read_scores,
    row_blocks,
    to_numbers,
)
from untrue.metrics.layouts import class_rows, flat_labels, read_weight
from untrue.metrics.probabilities import softmax

if TYPE_CHECKING:
    import torch

# Probabilities below this, zero above all, count as this before their logarithm is taken.
LEAST_PROB = 1e-12


@dataclass(frozen=True, slots=True)
class Temperature:
    """A temperature T > 0; called on logits (..., k) it gives probabilities `softmax(logits / T)`.

    The classes are in the last dimension, or in `dim`; with `binary=True` there is none, and logits
    and probabilities are those of the second of two classes: `sigmoid(logits / T)`.

    Above 1 it makes a model less sure of itself, below 1 more. The order of the classes stays.

    >>> Temperature(2.0)([[2.0, 0.0]]).round(3)
    array([[0.731, 0.269]])
    """

    temperature: float

    def __post_init__(self) -> None:
        t = self.temperature
        if not isinstance(t, int | float | np.number) or not 0 < t < math.inf:
            raise ArgumentError(f"`temperature` must be positive and finite; got {t!r}.")
        object.__setattr__(self, "temperature", float(t))

    @overload
    def __call__(
        self, logits: torch.Tensor, *, dim: int = -1, binary: bool = False
    ) -> torch.Tensor: ...
    @overload
    def __call__(
        self, logits: npt.ArrayLike, *, dim: int = -1, binary: bool = False
    ) -> npt.NDArray[np.floating[Any]]: ...
    def __call__(self, logits: Any, *, dim: int = -1, binary: bool = False) -> Any:
        """Probabilities in the precision of the logits, but at least float32."""
        if binary:
            rows, layout = class_rows(logits, "logits", 2, binary=True)
            return in_precision_of(layout.scores(self(rows)), logits)
        if is_tensor(logits):
            import torch

            tensor = logits if logits.dtype == torch.float64 else logits.float()
            # The greatest logit goes first: a division that overflows then ends in exp(-inf) = 0.
            return torch.softmax((tensor - tensor.amax(dim, keepdim=True)) / self.temperature, dim)
        array = to_numbers(logits, "logits")
        if array.ndim == 0 or array.shape[dim] == 0 or array.dtype.kind not in "fiub":
            raise ArgumentError(
                f"`logits` must be numbers of shape (..., k); got dtype {array.dtype} of shape "
                f"{array.shape}."
            )
        kept = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
        wide = array.astype(np.float64)
        with np.errstate(over="ignore"):
            cold = (wide - wide.max(axis=dim, keepdims=True)) / self.temperature
        return softmax(cold, dim).astype(kept)


def log_probs(probs: npt.NDArray[Any], *, least: float = LEAST_PROB) -> FloatArray:
    """`log max(p, least)` in double precision: logits of these probabilities.

    >>> log_probs(np.array([1.0, 0.0])).round(3)
    array([  0.   , -27.631])
    """
    return np.asarray(np.log(np.maximum(probs.astype(np.float64, copy=False), least)))


def tempered(
    probs: npt.NDArray[Any], temperature: float, *, least: float = LEAST_PROB
) -> FloatArray:
    """`softmax(log p / T)` of probabilities (..., k), none of them below `least`.

    That is `softmax(z / T)` of the logits z that gave p.

    >>> tempered(np.array([[0.9, 0.1]]), 2.0)
    array([[0.75, 0.25]])
    """
    return np.asarray(Temperature(temperature)(log_probs(probs, least=least)), dtype=np.float64)


def calibrate(
    logits: ArrayOrTensor,
    target: ArrayOrTensor,
    weight: ArrayOrTensor | None = None,
    *,
    dim: int = 1,
    binary: bool = False,
    ignore_index: int | None = None,
) -> Temperature:
    """The temperature under which held-out data are most probable. (Guo et al., ICML 2017.)

    Minimises the mean of `-log softmax(b z)_y` over b = 1 / T, which is convex in b, for logits
    (N, k) and classes (N,); use data the model was not trained on. An example of weight 2 counts as
    two, N being the sum of the weights (N,) if given. Logits (N, k, d1, ...) have a target, and may
    have a weight, for each of (N, d1, ...); `dim` is the dimension of the classes. With `binary`
    the logits, of any shape, are those of the second of two classes. Examples of class
    `ignore_index` are left out. Where no temperature is best:

    - every target has the greatest logit of its row, and the likelihood only grows as T falls: T
      is where the mean loss is log((N + 2) / (N + 1)), for N right answers in a row leave room for
      an error rate of 1 / (N + 2) (Laplace's rule of succession);
    - the logits are no better than chance, and it only grows as T rises: T is a thousand times the
      greatest spread of a row, which is all but uniform, with a warning;
    - all logits of each row are equal: T = 1.

    >>> logits = np.array([[4.0, 0.0]] * 4)
    >>> calibrate(logits, [0, 0, 0, 1])(logits[0]).round(6)  # right 3 times in 4
    array([0.75, 0.25])
    """
    rows, layout = class_rows(logits, "logits", None, dim=dim, binary=binary)
    scores = read_scores(rows, "logits")
    if not binary and len(scores) > 1 and _are_probs(scores):
        raise ArgumentError(
            "`logits` are probabilities: each row is at least 0 and sums to 1. Give their "
            "logarithms, np.log(probs)."
        )
    given = flat_labels(target, "target")
    check_same_length(logits=scores, target=given)
    flat_labels(target, "target", layout.shape)
    ignored = np.zeros(given.shape, dtype=bool) if ignore_index is None else given == ignore_index
    # A zero of their own kind, so that names are still names and are refused as such.
    kept = np.where(ignored, given.dtype.type(0), given)
    labels = read_labels(kept, "target", scores.shape[1])
    weights = np.broadcast_to(1.0, labels.shape)
    if weight is not None:
        weights = read_weight(weight)
        check_same_length(logits=scores, weight=weights)
        flat_labels(weight, "weight", layout.shape)
        if labels.size and not weights.any():
            raise DataError("`weight` must leave an example to calibrate on; all weights are 0.")
    counted = (weights > 0) & ~ignored
    if not counted.all():
        scores, labels, weights = scores[counted], labels[counted], weights[counted]
    if not labels.size:
        raise DataError("`logits` must hold at least one example to calibrate on; got none.")
    loss = _Likelihood(scores, labels, weights)
    if loss.spread == 0:
        return Temperature(1.0)
    hottest, usual = 1e-3 / loss.spread, 5 / loss.mean_spread
    if loss.separable:
        n = loss.total
        allowed = math.log((n + 2) / (n + 1))
        # With few examples and many ties less loss than that may be possible.
        excess = min(allowed, 0.5 * (loss.value(0.0) - loss.floor))
        inverse = _root(lambda b: loss.floor + excess - loss.value(b), usual)
    elif loss.slope(0.0) >= 0:
        warnings.warn(
            "The scores say no more about the true classes than chance, so that no temperature is "
            "best and the probabilities become nearly equal. Are the columns in the order of the "
            "classes?",
            UntrueWarning,
            stacklevel=2,
        )
        inverse = hottest
    else:
        inverse = hottest if loss.slope(hottest) >= 0 else _root(loss.slope, usual)
    return Temperature(loss.scale / inverse)


def _are_probs(scores: FloatArray) -> bool:
    sums = np.abs(scores.sum(axis=1) - 1) < 1e-6
    return bool((scores >= 0).all() and sums.all() and ((scores > 0) & (scores < 1)).any())


def temperature_interval(
    logits: ArrayOrTensor, target: ArrayOrTensor, *, confidence: float = 0.95
) -> tuple[float, float]:
    """The temperatures that held-out data do not contradict: an interval by likelihood ratio.

    All T under which the log-likelihood of N examples lies within `z^2 / 2` of the greatest, z
    being the normal quantile (1.96 at 95 %). From 0 where every target has the greatest logit of
    its row, to infinity where the logits may be pure chance.

    >>> low, high = temperature_interval([[4.0, 0.0]] * 40, [0] * 30 + [1] * 10)
    >>> round(low, 2), round(high, 2)
    (2.14, 9.57)
    """
    check_number("confidence", confidence, 0, 1, ends=False)
    scores = read_scores(logits, "logits")
    labels = read_labels(target, "target", scores.shape[1])
    check_same_length(logits=scores, target=labels)
    if not labels.size:
        raise DataError("`logits` must hold at least one example to calibrate on; got none.")
    loss = _Likelihood(scores, labels, np.broadcast_to(1.0, labels.shape))
    if loss.spread == 0:
        return 0.0, math.inf
    usual = 5 / loss.mean_spread
    no_better_than_chance = not loss.separable and loss.slope(0.0) >= 0
    best = usual if loss.separable else 1e-3 / loss.spread
    if not loss.separable and not no_better_than_chance:
        best = _root(loss.slope, usual)
    least = loss.floor if loss.separable else loss.value(0.0 if no_better_than_chance else best)
    most = least + NormalDist().inv_cdf((1 + confidence) / 2) ** 2 / (2 * loss.total)
    low, high = 0.0, math.inf
    if not loss.separable:
        low = loss.scale / _root(lambda b: loss.value(b) - most, best)
    if loss.value(0.0) > most:
        high = loss.scale / _root(lambda b: most - loss.value(b), best)
    return low, high


class _Likelihood:
    """Weighted mean of `log sum_j exp(b z_j) - b z_y` as a function of b, over blocks of rows.

    Logits are divided by `scale`, their greatest size, so that no scale overflows, and each row is
    shifted to a greatest logit of 0. `spread` is the greatest distance of two logits of a row,
    `mean_spread` the mean of the rows' own, `separable` whether each target is greatest in its row,
    `floor` the limit of the loss if so.
    """

    def __init__(
        self,
        logits: npt.NDArray[Any],
        target: npt.NDArray[np.integer[Any]],
        weight: FloatArray,
    ) -> None:
        self._logits, self._target, self._weight = logits, target, weight
        self.total = float(weight.sum())
        self.scale = self._greatest_size()
        self.spread, self.mean_spread, self.separable, self.floor = 0.0, 0.0, True, 0.0
        for z, z_target, share in self._blocks():
            low = z.min(axis=1)
            self.spread = max(self.spread, float(-low.min()))
            self.mean_spread -= float(low @ share)
            self.separable = self.separable and bool((z_target == 0).all())
            self.floor += float(np.log((z == 0).sum(axis=1)) @ share)

    def value(self, b: float) -> float:
        return sum(
            float((np.log(np.exp(b * z).sum(axis=1)) - b * z_target) @ share)
            for z, z_target, share in self._blocks()
        )

    def slope(self, b: float) -> float:
        """The derivative: mean of `E_b[z] - z_y`; increasing in b."""
        total = 0.0
        for z, z_target, share in self._blocks():
            power = np.exp(b * z)
            mean = np.einsum("nk,nk->n", power, z) / power.sum(axis=1)
            total += float((mean - z_target) @ share)
        return total

    def _greatest_size(self) -> float:
        greatest = 0.0
        for rows in row_blocks(*self._logits.shape):
            size = np.abs(self._logits[rows].astype(np.float64)).max(axis=1)
            if not np.isfinite(size).all():
                row = rows.start + int(np.argmin(np.isfinite(size)))
                raise DataError(f"`logits` must be finite; row {row} holds NaN or infinity.")
            greatest = max(greatest, float(size.max()))
        return greatest or 1.0

    def _blocks(self) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        for rows in row_blocks(*self._logits.shape):
            z = self._logits[rows].astype(np.float64) / self.scale
            z -= z.max(axis=1, keepdims=True)
            share = self._weight[rows] / self.total
            yield z, z[np.arange(len(z)), self._target[rows]], share


def _root(increasing: Callable[[float], float], start: float) -> float:
    """Where an increasing function of a positive number changes sign, to 10 digits.

    Brackets by factors of 4, then false position in log b with the Illinois rule (the end that
    stays counts half), which needs no derivative and cannot leave the bracket.
    """
    low = high = math.log(start)
    f_low = f_high = increasing(start)
    while f_low > 0:
        high, f_high = low, f_low
        low -= math.log(4)
        f_low = increasing(math.exp(low))
    while f_high < 0:
        low, f_low = high, f_high
        high += math.log(4)
        f_high = increasing(math.exp(high))
    side = 0
    for _ in range(100):
        if f_low == 0 or high - low < 1e-10:
            return math.exp(low)
        if f_high == 0:
            return math.exp(high)
        middle = (low * f_high - high * f_low) / (f_high - f_low)
        # Rounding may put it onto an end: then the middle, so that the bracket shrinks.
        if not low < middle < high:
            middle = (low + high) / 2
        f_middle = increasing(math.exp(middle))
        if abs(f_middle) <= 1e-15 * (abs(f_low) + abs(f_high)) / 2 and f_middle != 0:
            return math.exp(middle)
        if f_middle <= 0:
            low, f_low = middle, f_middle
            f_high = f_high / 2 if side < 0 else f_high
            side = -1
        else:
            high, f_high = middle, f_middle
            f_low = f_low / 2 if side > 0 else f_low
            side = 1
    return math.exp((low + high) / 2)
