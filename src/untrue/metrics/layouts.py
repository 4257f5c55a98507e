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
from untrue.errors import ArgumentError, DataError, listed
from untrue.metrics.inputs import to_numpy

# Before the name of a class, in the name of a column of its probabilities.
PREFIXES = ("prob_", "proba_", "probability_", "probs_", "p_")


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
    array: Any = scores if is_tensor(scores) else to_numpy(scores, name)
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


def column_names(table: Any) -> list[str] | None:
    """The classes that a table's columns (pandas, polars, pyarrow) are called after, with a prefix
    such as prob_ or without; None where they are only numbers."""
    columns = _columns(table)
    if columns is None or len(columns) < 2:
        return None
    names = [str(name) for name in columns]
    prefix = next((p for p in PREFIXES if all(name.startswith(p) for name in names)), "")
    names = [name.removeprefix(prefix) for name in names]
    return None if names == [str(i) for i in range(len(names))] else names


def in_column_order(probs: Any, classes: tuple[str, ...]) -> Any:
    """A table's columns in the order of `classes`, by their names.

    What is no table, columns that are only numbered, and classes that are: by position. Columns 0,
    1, ... of classes that are called so in another order go by name where they are text, and are
    refused where they are numbers.
    """
    columns, names = _columns(probs), column_names(probs)
    if columns is None:
        return probs
    places = [str(i) for i in range(len(columns))]
    if names is None and list(classes) != places and set(classes) == set(places):
        if not all(isinstance(name, str) for name in columns):
            raise ArgumentError(
                f"The columns of the table of probabilities are numbered {listed(places)}, which "
                f"may be names of the classes {listed(classes)} or their positions. Name them by "
                "text: table.add_prefix('prob_'); .to_numpy() goes by position."
            )
        names = places
    if names is None:
        return _values(probs, columns)
    place = {name: i for i, name in enumerate(names)}
    if len(names) == len(classes) and set(names) == set(classes):
        return _values(probs, [columns[place[name]] for name in classes])
    known = place.keys() & set(classes)
    if not known and classes == tuple(map(str, range(len(classes)))):
        return _values(probs, columns)
    absent = next((name for name in classes if name not in place), None)
    what = f"no column of the class {absent!r}" if absent else "more columns than the classes"
    raise ArgumentError(
        f"The table of probabilities has {what}: it has {listed(names)}, the classes are "
        f"{listed(classes)}. Name or choose its columns; .to_numpy() goes by position."
    )


def _columns(table: Any) -> list[Any] | None:
    """The columns of a table, as it calls them; None of anything else."""
    if hasattr(table, "column_names") and hasattr(table, "schema"):  # pyarrow
        return list(table.column_names)
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        return list(table.columns)
    return None


def _values(table: Any, columns: list[Any]) -> npt.NDArray[Any]:
    if hasattr(table, "column_names"):
        return np.column_stack([table[name].to_numpy() for name in columns])
    # As it is, if it can be: without a copy.
    whole = columns == list(table.columns)
    return (table if whole else table[columns]).to_numpy()  # type: ignore[no-any-return]
