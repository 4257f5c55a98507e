"""Where the classes are in an array: (N, k), (N, k, d1, ...) as the losses take it, or (N,).

Everything that computes on probabilities computes on rows, one per example (or a pixel). Here other
layouts become rows, and what was found for the rows gets the shape of the examples again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import ArrayOrTensor, FloatArray
from untrue.checks import is_tensor
from untrue.errors import ArgumentError, DataError
from untrue.metrics.inputs import to_numbers, to_numpy


@dataclass(frozen=True, slots=True)
class RowLayout:
    """How rows were laid out: the shape of the examples, and the dimension of the classes.

    dim None: one number per example, that of the second of two classes
    """

    shape: tuple[int, ...]
    dim: int | None

    def labels(self, rows: Any) -> Any:
        """(M,) One label a row -> the shape of the examples."""
        return rows.reshape(self.shape)

    def scores(self, rows: Any) -> Any:
        """(M, k) -> the classes where they were."""
        if self.dim is None:
            return rows[:, 1].reshape(self.shape)
        laid = rows.reshape(*self.shape, rows.shape[1])
        return laid.movedim(-1, self.dim) if is_tensor(laid) else np.moveaxis(laid, -1, self.dim)


def class_rows(
    scores: ArrayOrTensor,
    name: str,
    n_classes: int | None,
    *,
    dim: int = 1,
    binary: bool = False,
) -> tuple[Any, RowLayout]:
    """Rows (M, k), an array or a tensor as `scores` is, and how they were laid out.

    name       of the argument, "probs" or "logits": shows what a single number is
    n_classes  if known
    dim        the dimension of the classes: 1 as in the losses, -1 for the last
    binary     there is none: each number, in an array of any shape, is that of the second of two
               classes. With two classes known, shapes (N,) and (N, 1) mean this by default.
    """
    array: Any = scores if is_tensor(scores) else to_numbers(scores, name)
    shape = tuple(array.shape)
    if binary and n_classes not in (None, 2):
        raise ArgumentError(
            f"`binary` is about two classes, but there are {n_classes}: give `{name}` a column "
            "for each."
        )
    if binary or (n_classes == 2 and shape[1:] in ((), (1,)) and shape):
        shape = shape[:1] if shape[1:] == (1,) else shape
        return _two_columns(array.reshape(-1), name), RowLayout(shape, None)
    if len(shape) < 2 or 0 in shape[1:]:
        hint = f"; write {name}[None] for one example" if len(shape) == 1 else ""
        if hint and n_classes is None:
            hint += ", or set `binary` if each number is that of the second of two classes"
        raise ArgumentError(f"`{name}` must have shape (N, k); got shape {shape}{hint}.")
    if not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
        raise ArgumentError(
            f"`dim` must be a dimension of `{name}`, of shape {shape}; got {dim!r}."
        )
    found = shape[dim]
    if n_classes is not None and found != n_classes:
        other = [d for d, size in enumerate(shape) if size == n_classes]
        hint = f"; dim={other[0]} has as many" if len(shape) > 2 and other else ""
        where = f" in dimension {dim} of shape {shape}" if len(shape) > 2 else ""
        raise ArgumentError(
            f"`{name}` must have one column for each of {n_classes} classes; got {found}{where}"
            f"{hint}."
        )
    last = array.movedim(dim, -1) if is_tensor(array) else np.moveaxis(array, dim, -1)
    return last.reshape(-1, found), RowLayout(tuple(last.shape[:-1]), dim)


def flat_labels(
    labels: ArrayOrTensor, name: str, shape: tuple[int, ...] | None = None
) -> npt.NDArray[Any]:
    """Labels (M,) from an array of any shape; of `shape`, if that is given."""
    array = to_numpy(labels, name)
    if array.ndim == 0:
        raise ArgumentError(f"`{name}` must have shape (N,); got a single value.")
    if shape is not None and array.shape != shape:
        raise ArgumentError(
            f"`{name}` must have one entry for each example, in shape {shape}; got shape "
            f"{array.shape}."
        )
    return array.reshape(-1)


def read_weight(weight: ArrayOrTensor) -> FloatArray:
    """(M,) What each example counts, from an array of any shape; finite, none negative."""
    weights = flat_labels(weight, "weight")
    if weights.dtype.kind not in "fiub":
        raise ArgumentError(f"`weight` must be numbers of shape (N,); got dtype {weights.dtype}.")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"`weight` must be finite and not negative; row {row} has {weights[row]}.")
    return weights.astype(np.float64)


def _two_columns(second: Any, name: str) -> Any:
    """(M, 2) From the second class's numbers: probabilities add up to 1, the first's logit is 0."""
    if is_tensor(second):
        import torch

        if second.is_complex():
            raise ArgumentError(f"`{name}` must hold numbers; got dtype {second.dtype}.")
        # In double precision, where the device has it: the complement of a rounded number is exact.
        wide = second.float() if second.device.type == "mps" else second.double()
        first = torch.zeros_like(wide) if name == "logits" else 1.0 - wide
        return torch.stack([first, wide], dim=1)
    if second.dtype.kind not in "fiub":
        raise ArgumentError(f"`{name}` must hold numbers; got dtype {second.dtype}.")
    numbers = second.astype(np.float64)
    first = np.zeros_like(numbers) if name == "logits" else 1.0 - numbers
    return np.stack([first, numbers], axis=1)
