"""Reading inputs: labels, probabilities, groups of classes, zones.

Everything is checked here, once, with the position of what is wrong; the formulas elsewhere
may rely on it. Torch tensors are known by their `detach`, so that torch need not be imported.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from untrue.array_types import ArrayOrTensor, BoolArray, FloatArray, IntArray, unmasked
from untrue.checks import is_tensor
from untrue.errors import ArgumentError, DataError, nearest
from untrue.penalty.arrays import no_number

Groups: TypeAlias = "npt.ArrayLike | Mapping[Any, Iterable[Any]]"

# Values a block of rows may hold: 1 MB of float64, so that the passes over it stay in the cache.
BLOCK_VALUES = 2**17


def to_numpy(value: ArrayOrTensor, name: str = "data") -> npt.NDArray[Any]:
    """An array with the content of `value`, the argument `name`; shares memory where it can."""
    if not is_tensor(value):
        try:
            return np.asarray(unmasked(value))
        except ValueError as error:
            raise ArgumentError(f"`{name}` must be an array; NumPy says: {error}") from error
    tensor = value.detach().cpu()
    if tensor.is_floating_point() and tensor.element_size() == 2:
        tensor = tensor.float()  # NumPy has no bfloat16
    array: npt.NDArray[Any] = tensor.numpy()
    return array


def to_numbers(value: ArrayOrTensor, name: str) -> npt.NDArray[Any]:
    """`to_numpy` of what should be numbers: objects, as nullable columns of pandas are, as float64.

    The row of one that is no number is named.
    """
    array = to_numpy(value, name)
    if array.dtype.kind != "O":
        return array
    with contextlib.suppress(TypeError, ValueError):
        if not any(isinstance(cell, str) for cell in array.flat):
            return array.astype(np.float64)
    bad = no_number(array)
    if bad is not None:
        raise DataError(f"`{name}` must hold numbers; row {bad[0]} holds {bad[1]!r}.")
    raise ArgumentError(f"`{name}` must hold numbers; got dtype {array.dtype}.")


def precision(value: ArrayOrTensor) -> float:
    """Machine epsilon of the floating-point numbers that came in; that of float64 for others."""
    if is_tensor(value):
        import torch

        return torch.finfo(value.dtype).eps if value.is_floating_point() else 2.0**-52
    dtype = _number_type(value)
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 2.0**-52


def _number_type(value: Any) -> np.dtype[Any]:
    """The NumPy type of an array, or of the numbers in a column of pandas; of others float64."""
    dtype = getattr(value, "dtype", None)
    dtype = getattr(dtype, "numpy_dtype", dtype)
    return dtype if isinstance(dtype, np.dtype) else np.dtype(np.float64)


def in_precision_of(found: Any, given: ArrayOrTensor) -> Any:
    """Numbers in the precision of what they were computed from, but at least float32.

    An array, or a tensor where it is, if `given` is one.
    """
    if is_tensor(given):
        import torch

        tensor = found if is_tensor(found) else torch.from_numpy(np.asarray(found))
        half = given.is_floating_point() and given.dtype != torch.float64
        single = half or given.device.type == "mps"
        return (tensor.float() if single else tensor).to(given.device)
    return found.astype(np.float32) if _number_type(given) in (np.float16, np.float32) else found


def row_blocks(n_rows: int, n_columns: int, values: int | None = None) -> Iterator[slice]:
    """Slices that cover `n_rows` rows, each of `values` (`BLOCK_VALUES`) or at least 8 rows."""
    step = max(8, (values or BLOCK_VALUES) // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def are_names(labels: npt.NDArray[Any], name: str, classes: Sequence[str]) -> bool:
    """Whether whole numbers are names of classes, such as 1, 2, 3, rather than their positions.

    Refused where they may be either: 1 and 2 of the classes 1, 2, 3.
    """
    places = [str(i) for i in range(len(classes))]
    if list(classes) == places:
        return False
    found = set(map(str, np.unique(labels).tolist()))
    placed = found <= set(places)
    if placed and found <= set(classes) and any(classes[int(label)] != label for label in found):
        shown = ", ".join(sorted(found)[:5])
        raise ArgumentError(
            f"`{name}` holds the numbers {shown}, which may be names of classes or their "
            "positions, and these differ. Give names as text: labels.astype(str)."
        )
    return not placed and not found.isdisjoint(classes)


BOOLEANS = ("False", "True")


def from_booleans(value: ArrayOrTensor, classes: Sequence[str]) -> ArrayOrTensor:
    """True and False as positions of the classes that are called so, or else as 1 and 0.

    Anything else is left as it is.

    >>> from_booleans([True, False], ["True", "False"]).tolist()
    [0, 1]
    """
    labels = to_numpy(value)
    if not are_booleans(labels):
        return value
    named = set(BOOLEANS) <= set(classes)
    false, true = map(list(classes).index, BOOLEANS) if named else (0, 1)
    return np.where(labels.astype(np.bool_), true, false)


def are_booleans(labels: npt.NDArray[Any]) -> bool:
    """Whether labels are all True or False; a nullable column of pandas has them as objects."""
    if labels.dtype.kind != "O":
        return labels.dtype.kind == "b"
    return bool(labels.size) and all(isinstance(each, bool | np.bool_) for each in labels.flat)


def read_labels(
    value: ArrayOrTensor, name: str, n_classes: int, *, least: int = 0
) -> npt.NDArray[np.integer[Any]]:
    """Class indices of shape (N,), each in [least, n_classes)."""
    labels = to_numpy(value, name)
    if labels.ndim != 1:
        hint = "; flatten it" if labels.ndim > 1 else ""
        raise ArgumentError(f"`{name}` must have shape (N,); got shape {labels.shape}{hint}.")
    if labels.size == 0:
        return np.zeros(0, dtype=np.int64)
    if labels.dtype.kind == "b":
        labels = labels.astype(np.int8)
    if labels.dtype.kind not in "iu":
        _refuse_labels(labels, name)
    if labels.min() < least or labels.max() >= n_classes:
        position = int(np.argmax((labels < least) | (labels >= n_classes)))
        raise DataError(
            f"`{name}` must lie in [{least}, {n_classes}) for {n_classes} classes; "
            f"got {int(labels[position])} at position {position}."
        )
    return labels


def _refuse_labels(labels: npt.NDArray[Any], name: str) -> NoReturn:
    """Say why labels that are no whole numbers are refused, and what to do about it."""
    for row, label in enumerate(labels.tolist() if labels.dtype.kind in "fO" else ()):
        number = isinstance(label, float)
        if label is None or type(label).__name__ == "NAType" or (number and math.isnan(label)):
            raise DataError(f"`{name}` must hold a class in every row; row {row} is missing.")
        if number and not label.is_integer():
            raise DataError(f"`{name}` must hold class indices (integers); row {row} is {label}.")
    way = "Turn names into indices by the position of each name in the list of classes."
    if labels.dtype.kind == "f":
        way = "Whole numbers become integers by .astype(int)."
    raise ArgumentError(
        f"`{name}` must hold class indices (integers); got dtype {labels.dtype}. {way}"
    )


def check_same_length(**arrays: npt.NDArray[Any]) -> None:
    """All arrays have equally many rows; the message names them."""
    if len({len(array) for array in arrays.values()}) > 1:
        given = ", ".join(f"{len(array)} in `{name}`" for name, array in arrays.items())
        raise ArgumentError(f"There must be equally many rows; got {given}.")


def read_scores(value: ArrayOrTensor, name: str, n_classes: int | None = None) -> npt.NDArray[Any]:
    """Floating-point numbers of shape (N, k), left in their own precision; values unchecked."""
    scores = to_numbers(value, name)
    check_scores_shape(scores.shape, name, n_classes)
    if scores.dtype.kind not in "fiub":
        raise ArgumentError(f"`{name}` must hold numbers; got dtype {scores.dtype}.")
    return scores if scores.dtype.kind == "f" else scores.astype(np.float64)


def check_scores_shape(shape: Sequence[int], name: str, n_classes: int | None) -> None:
    """The shape is (N, k), with at least one class and with `n_classes` if that is known."""
    if len(shape) != 2 or shape[1] == 0:
        hint = f"; write {name}[None] for one example" if len(shape) == 1 else ""
        if len(shape) == 1 and name == "probs":
            hint += ", np.stack([1 - probs, probs], axis=1) for the second of two classes"
        if len(shape) > 2:
            hint = "; put the classes last and flatten the rest, so that each pixel is a row"
        raise ArgumentError(f"`{name}` must have shape (N, k); got shape {tuple(shape)}{hint}.")
    if n_classes is not None and shape[1] != n_classes:
        raise ArgumentError(
            f"`{name}` must have one column for each of {n_classes} classes; got {shape[1]}."
        )


def check_prob_rows(low: npt.ArrayLike, total: npt.ArrayLike, first: int, eps: float) -> None:
    """Rows are probability vectors, judged by the least value and the sum of each.

    `first` is the number of the first row, `eps` the machine epsilon of the precision in which
    the probabilities came: 4 eps of slack lets a half-precision softmax pass, and 1e-3 numbers
    that were rounded in a file.
    """
    low, total = np.asarray(low), np.asarray(total)
    slack = max(1e-3, 4 * eps)
    bad = ~((low >= 0) & (np.abs(total - 1) <= slack))
    if not bad.any():
        return
    row = int(np.argmax(bad))
    if np.isnan(total[row]) or np.isnan(low[row]):
        raise DataError(f"`probs` must not be NaN; row {first + row} holds one.")
    if low[row] < 0:
        raise DataError(
            f"`probs` must not be negative; row {first + row} holds {low[row]:.6g}. "
            "Logits become probabilities by softmax."
        )
    raise DataError(
        f"each row of `probs` must sum to 1; row {first + row} sums to {total[row]:.6g}. "
        "Logits become probabilities by softmax; rounded probabilities by dividing by their sum."
    )


def prob_blocks(probs: npt.NDArray[Any], eps: float) -> Iterator[tuple[slice, FloatArray]]:
    """Checked blocks of rows in float64, each with its slice; `eps` as `check_prob_rows` has it."""
    for rows in row_blocks(*probs.shape):
        block = probs[rows].astype(np.float64)
        check_prob_rows(block.min(axis=1), block.sum(axis=1), rows.start, eps)
        yield rows, block


def class_indices(
    members: Iterable[Any], n_classes: int, name: str, classes: Sequence[str] | None
) -> list[int]:
    """Indices of classes given by index, or by name where `classes` lists the names."""
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise ArgumentError(f"`{name}` must hold lists of classes; got {members!r}.")
    position = {label: i for i, label in enumerate(classes)} if classes is not None else {}
    if classes is not None and len(classes) != n_classes:
        raise ArgumentError(f"`classes` must name {n_classes} classes; got {len(classes)}.")
    found = []
    for member in members:
        if isinstance(member, str):
            if classes is None:
                raise ArgumentError(
                    f"`{name}` names the class {member!r}, but `classes` (all names, in the order "
                    "of the confusion matrix) is not given."
                )
            if member not in position:
                raise ArgumentError(
                    f"`{name}` names an unknown class {member!r}{nearest(member, classes)}"
                )
            found.append(position[member])
            continue
        try:
            index = operator.index(member)
        except TypeError:
            raise ArgumentError(
                f"`{name}` must hold class indices or names; got {member!r}."
            ) from None
        if not 0 <= index < n_classes:
            raise ArgumentError(
                f"`{name}` must hold classes in [0, {n_classes}); got class {index}."
            )
        found.append(index)
    return found


def read_groups(groups: Groups, n_classes: int, classes: Sequence[str] | None = None) -> IntArray:
    """The group of each class, shape (k,): from such an array, or from {group: its classes}.

    >>> read_groups({"cats": [0, 2], "dogs": [1]}, 3).tolist()
    [0, 1, 0]
    """
    if not isinstance(groups, Mapping):
        array = to_numpy(groups, "groups")
        if array.shape != (n_classes,) or array.dtype.kind not in "iu":
            raise ArgumentError(
                f"`groups` must be an integer array with the group of each of {n_classes} classes "
                f"(as hierarchy.coarsen(level) gives), or a dict from group to classes; "
                f"got dtype {array.dtype} of shape {array.shape}."
            )
        return array.astype(np.int64)
    group_of = np.full(n_classes, -1, dtype=np.int64)
    for number, (group, members) in enumerate(groups.items()):
        for index in class_indices(members, n_classes, "groups", classes):
            if group_of[index] >= 0:
                raise ArgumentError(f"`groups` has class {index} twice, again in {group!r}.")
            group_of[index] = number
    if (group_of < 0).any():
        raise ArgumentError(
            f"`groups` must hold every class; class {int(np.argmin(group_of))} is in none."
        )
    return group_of


def read_subset(
    subset: Iterable[Any], n_classes: int, classes: Sequence[str] | None = None
) -> BoolArray:
    """Which classes are in `subset`, as a boolean array of shape (k,)."""
    if isinstance(subset, str) or not isinstance(subset, Iterable):
        raise ArgumentError(f"`subset` must be a list of classes; got {subset!r}.")
    given: Any = subset
    members = to_numpy(given).ravel().tolist() if hasattr(given, "dtype") else list(given)
    if members and all(isinstance(member, bool) for member in members):
        raise ArgumentError("`subset` must list classes; turn a mask into indices by np.nonzero.")
    chosen = np.zeros(n_classes, dtype=bool)
    chosen[class_indices(members, n_classes, "subset", classes)] = True
    return chosen


def check_hierarchy(hierarchy: Any, n_classes: int | None = None) -> None:
    """Check that it is a `Hierarchy`, of as many classes as the data, if that is known."""
    if not (hasattr(hierarchy, "height") and hasattr(hierarchy, "classes")):
        raise ArgumentError(
            f"`hierarchy` must be an untrue.Hierarchy; got {type(hierarchy).__name__}."
        )
    if n_classes is not None:
        check_n_classes(len(hierarchy.classes), n_classes, "hierarchy")


def check_n_classes(given: int, expected: int, name: str) -> None:
    """A penalty or a hierarchy is about as many classes as the confusion matrix."""
    if given != expected:
        raise ArgumentError(
            f"`{name}` must be about the {expected} classes of the data; it is about {given}."
        )
