"""Class names in files turned into positions in the list of classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, IntArray
from untrue.errors import DataError, UntrueWarning, listed, nearest
from untrue.hierarchy.names import as_whole
from untrue.tools.reading.tables import where

# Beyond this, floats cannot hold every whole number.
MOST_WHOLE = 2.0**53


def abstained_text(classes: Sequence[str]) -> str:
    """What `untrue predict --abstain-cost` writes for no answer: a text that no class is called.

    >>> abstained_text(["cat", "dog"]), abstained_text(["cat", "(abstained)"])
    ('(abstained)', '((abstained))')
    """
    text = "(abstained)"
    while text in classes:
        text = f"({text})"
    return text


def abstained(answers: npt.NDArray[Any]) -> BoolArray:
    """(N,) Where an array of labels holds no answer: None, or the -1 of a decision rule.

    >>> abstained(np.array(["cat", -1, None], dtype=object)).tolist()
    [False, True, True]
    """
    if answers.dtype.kind != "O":
        return np.zeros(len(answers), dtype=np.bool_)
    none = (a is None or (isinstance(a, int | np.integer) and a == -1) for a in answers)
    return np.fromiter(none, dtype=np.bool_, count=len(answers))


def place_of(name: str, classes: Mapping[str, int]) -> int | None:
    """The place of a class by its name in `places`, None of what names none."""
    return classes.get(name, classes.get(as_whole(name)))


def places(classes: Sequence[str]) -> dict[str, int]:
    """The place of each class by its name, for `place_of`.

    1.0 is the class 1 where none is called 1.0, and the other way round.

    >>> found = places(["1.0", "2.0"])
    >>> place_of("2", found), place_of("2.0", found), place_of("3", found)
    (1, 1, None)
    """
    whole = [as_whole(name) for name in classes]
    found = {name: i for i, name in enumerate(whole)} if len(set(whole)) == len(whole) else {}
    return found | {name: i for i, name in enumerate(classes)}


def positions(
    codes: npt.NDArray[np.int32],
    labels: Sequence[str],
    classes: Sequence[str],
    *,
    column: str,
    source: str,
    may_abstain: bool = False,
    hint: str = "",
) -> IntArray:
    """The class of each row, (N,), by name; -1 where it abstains. An unknown label is an error.

    hint: what else the label may be, where no class has a name like it
    """
    position = places(classes)
    if may_abstain:
        position[abstained_text(classes)] = -1
    found = np.empty(len(labels), dtype=np.int64)
    for code, given in enumerate(labels):
        place = place_of(given, position)
        if place is None:
            row = int(np.argmax(codes == code))
            near = nearest(as_whole(given), classes) or f"; known are {listed(classes)}.{hint}"
            raise DataError(
                f"{source}: {where(row, column)} holds an unknown label {given!r}{near}"
                f"{numbered(given, classes)}"
            )
        found[code] = place
    return found[codes]


def one_spelling(labels: Sequence[str]) -> list[str]:
    """The labels; where one is written as 1 and as 1.0, all whole numbers without ".0".

    >>> one_spelling(["0", "1", "1.0"]), one_spelling(["1.0", "2.0"])
    (['0', '1', '1'], ['1.0', '2.0'])
    """
    whole = [as_whole(label) for label in labels]
    return whole if len(set(whole)) < len(set(labels)) else list(labels)


def numbered(label: str, classes: Sequence[str]) -> str:
    """A hint where labels may be codes 0, 1, ... for the classes."""
    if not (label.isascii() and label.isdigit() and int(label[:9]) <= len(classes)):
        return ""
    return (
        " If the labels are numbers that stand for classes, name these in the order of the "
        "numbers: --classes NAME_OF_0,NAME_OF_1,... (in Python, `classes`)."
    )


def plain_labels(y: Any) -> npt.NDArray[Any]:
    """Labels as an array: floats that are whole as integers, objects of one plain kind as that."""
    labels = np.asarray(y)
    if labels.dtype.kind == "O":
        kinds = set(map(type, labels.ravel().tolist()))
        if len(kinds) <= 1 and kinds <= {str, bool, int, float}:
            labels = np.array(labels.tolist())
    if labels.dtype.kind == "f" and is_whole(labels).all():
        return labels.astype(np.int64)
    return labels


def is_whole(numbers: npt.NDArray[np.floating]) -> BoolArray:
    """Where floats are whole numbers that an integer holds exactly."""
    return np.asarray((np.abs(numbers) <= MOST_WHOLE) & (np.round(numbers) == numbers))


def answer_labels(
    y: Any, classes: tuple[str, ...], names: Sequence[str] | None
) -> npt.NDArray[Any]:
    """(k,) The label of each class: numbers for whole numbers, True and False, else names.

    names: those that the numbers in `y` stand for, in their order
    """
    kind = "" if y is None else plain_labels(y).dtype.kind
    if kind == "b" and set(classes) <= {"False", "True"}:
        return np.array([name == "True" for name in classes])
    if kind in ("i", "u"):
        codes = {name: code for code, name in enumerate(names or ())}
        if codes.keys() >= set(classes):
            return np.array([codes[name] for name in classes])
        if all(name.lstrip("-").isdecimal() for name in classes):
            return np.array([int(name) for name in classes])
    return np.array(classes)


def warn_of_absent(classes: Sequence[str], labels: IntArray) -> None:
    """Say which classes have none of the examples to learn from; labels: (N,) their positions."""
    absent = sorted(set(classes) - {classes[i] for i in np.unique(labels).tolist()})
    if absent:
        warnings.warn(
            f"no example to learn from for {listed(absent)}, so that the model will hardly ever "
            f"predict {'it' if len(absent) == 1 else 'them'}",
            UntrueWarning,
            stacklevel=3,
        )
