"""What may name a class, for both hierarchies and penalties."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray, unmasked
from untrue.errors import HierarchyError, UntrueError, nearest


def check_names(
    names: Iterable[str], what: str, kind: type[UntrueError] = HierarchyError
) -> tuple[str, ...]:
    """Names as a tuple of plain strings; `what` names the argument in messages."""
    if isinstance(names, str):
        raise kind(f"{what} must be a list of names; got the string {names!r}.")
    if isinstance(names, set | frozenset):
        raise kind(f"{what} must have an order; got a set.")
    try:
        listed = tuple(names)
    except TypeError:
        raise kind(f"{what} must be a list of names; got {names!r}.") from None
    for name in listed:
        if not isinstance(name, str):
            raise kind(
                f"Class names must be strings; got {name!r} ({type(name).__name__}) in {what}. "
                "Integers always mean positions."
            )
        if not name:
            raise kind(f"Class names must not be empty; got '' in {what}.")
    try:
        "".join(listed).encode()
    except UnicodeEncodeError as error:
        # Lone surrogates, as in names of files that are not UTF-8: nothing could store them.
        raise kind(f"A name in {what} is not valid text: {error}") from None
    return tuple(map(str, listed))


def check_classes(
    classes: Iterable[str], kind: type[UntrueError] = HierarchyError
) -> tuple[str, ...]:
    """Names of classes: at least one, none twice."""
    names = check_names(classes, "`classes`", kind)
    if not names:
        raise kind("At least one class is needed; `classes` is empty.")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise kind(f"Duplicate class name {name!r}.")
        seen.add(name)
    return names


def as_whole(name: str) -> str:
    """The text of a whole number without ".0"; any other text as it is.

    >>> as_whole("1.0"), as_whole("1.5"), as_whole("cat")
    ('1', '1.5', 'cat')
    """
    return re.sub(r"^(-?[0-9]+)\.0+$", r"\1", name)


def positions(
    which: Any,
    named: Callable[[str], int],
    numbered: Callable[[npt.NDArray[Any]], IntArray],
    n_classes: int,
    kind: type[UntrueError],
    what: Literal["Class", "Action"] = "Class",
) -> IntArray:
    """What stands for classes that are given by name or by index, one or an array of them.

    named: of a name; numbered: of indices, which are checked
    """
    several = {"Class": "Classes", "Action": "Actions"}[what]
    if isinstance(which, str):
        return np.asarray(named(which))
    try:
        array = np.asarray(unmasked(which))
    except ValueError:
        raise kind(
            f"{several} are names or integer indices; got lists of several lengths."
        ) from None
    if array.dtype.kind in "UO":
        given = array.ravel().tolist()
        if None in given:
            raise kind(f"Unknown {what.lower()} None: entry {given.index(None)} is missing.")
        found = [named(name) for name in given]
        return np.array(found, dtype=np.int64).reshape(array.shape)
    if not array.size:
        return np.empty(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise kind(f"{several} are names or integer indices; got {array.dtype}.")
    if array.min() < 0 or array.max() >= n_classes:
        bad = array.min() if array.min() < 0 else array.max()
        raise kind(f"{what} index {bad} is outside 0..{n_classes - 1}.")
    return numbered(array)


def in_one_shape(
    kind: type[UntrueError], **given: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], ...]:
    """Two arrays broadcast against each other; the error names these arguments."""
    try:
        return np.broadcast_arrays(*given.values())
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in given.values())
        raise kind(
            f"{' and '.join(f'`{name}`' for name in given)} must have one shape, or shapes that "
            f"broadcast; got {shapes}."
        ) from None


def by_class(
    given: Mapping[Any, Any], classes: Sequence[str], what: str, kind: type[UntrueError]
) -> list[Any]:
    """The value of every class, in their order, from a mapping that names them all."""
    for label in given:
        if label not in classes:
            hint = nearest(str(label), classes) or "."
            raise kind(f"{what} names an unknown class {label!r}{hint}")
    for label in classes:
        if label not in given:
            raise kind(f"{what} must name every class; it has no {label!r}.")
    return [given[label] for label in classes]
