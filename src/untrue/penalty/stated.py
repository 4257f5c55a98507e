"""Costs as a person states them, made a `Penalty` over the labels that data turn out to have."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import PenaltyError, nearest
from untrue.penalty.base import Penalty

DEFAULT = "default"


def penalty_over(stated: Any, labels: Sequence[Any] | npt.NDArray[Any]) -> Penalty:
    """The penalty over these labels, in their order.

    stated: one of
        None                     every mistake costs 1
        {(true, predicted): cost}     rules by label; the key "default" is what every other mistake
                                 costs (1 if absent)
        a (k, k) matrix          by position, in the order of the labels; a DataFrame with class
                                 names on both sides goes by name
        a `Penalty`              by name; may know more classes than there are labels. One without
                                 names of its own ("0", "1", ...) goes by position if no label bears
                                 such a name.

    A label's name is `str(label)`; 1.0 is named "1".

    >>> penalty_over({("b", "a"): 5.0}, ["a", "b"]).matrix()
    array([[0., 1.],
           [5., 0.]])
    """
    names = [name_of(label) for label in labels]
    if stated is None:
        return Penalty.from_rules(names, {})
    if isinstance(stated, Mapping):
        return _from_rules(stated, names)
    if isinstance(stated, Penalty):
        return _reorder(stated, names)
    if hasattr(stated, "columns") and hasattr(stated, "index"):
        columns, rows = map(name_of, stated.columns), map(name_of, stated.index)
        classes = list(columns)
        if list(rows) != classes:
            raise PenaltyError("The rows of the table must carry the same names as its columns.")
        return _reorder(Penalty.from_matrix(np.asarray(stated), classes=classes), names)
    return _reorder(Penalty.from_matrix(_matrix(stated)), names, by_position=True)


def name_of(label: Any) -> str:
    """The class name that stands for a label.

    >>> name_of(3), name_of(3.0), name_of(np.str_("cat"))
    ('3', '3', 'cat')
    """
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _matrix(stated: Any) -> Any:
    if isinstance(stated, str | bytes):
        raise PenaltyError(
            f"`penalty` must be a Penalty, a matrix or a dict of rules; got {stated!r}. "
            "For a file: untrue.Penalty.load(path)."
        )
    return stated


def _from_rules(stated: Mapping[Any, Any], names: list[str]) -> Penalty:
    rules: dict[tuple[str | int, str | int], float] = {}
    for pair, cost in stated.items():
        if isinstance(pair, str) and pair == DEFAULT:
            continue
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise PenaltyError(
                f"A rule is {{(true, predicted): cost}}; got the key {pair!r}. "
                'Every other mistake\'s cost has the key "default".'
            )
        for label in pair:
            if name_of(label) not in names:
                raise PenaltyError(_unknown(name_of(label), names))
        rules[name_of(pair[0]), name_of(pair[1])] = cost
    return Penalty.from_rules(names, rules, default=stated.get(DEFAULT, 1.0))


def _reorder(penalty: Penalty, names: list[str], by_position: bool = False) -> Penalty:
    known = set(penalty.classes)
    missing = [name for name in names if name not in known]
    if not missing and not by_position:
        return penalty if list(penalty.classes) == names else penalty.select(names)
    nameless = penalty.classes == tuple(map(str, range(penalty.n_classes)))
    # Labels 1, 2, 3 under classes "0", "1", "2" could mean either: refuse to guess.
    if by_position or (nameless and missing == names and penalty.form != "tree"):
        if penalty.n_classes != len(names):
            raise PenaltyError(
                f"The penalty is for {penalty.n_classes} classes, but the data have {len(names)}: "
                f"{_few(names)}. Give it class names (Penalty.from_matrix(matrix, classes=[...])), "
                "then it may know more classes than the data."
            )
        return dataclasses.replace(penalty, classes=tuple(names))
    hint = nearest(missing[0], [name for name in penalty.classes if name not in names])
    raise PenaltyError(
        f"The penalty has no class {missing[0]!r}, which is in the data"
        f"{hint or '; it knows ' + _few(penalty.classes) + '.'}{_numbered(names)}"
    )


def _unknown(name: str, names: Sequence[str]) -> str:
    hint = nearest(name, names) or f"; the data have {_few(names)}."
    return f"Unknown class {name!r} in the penalty{hint}{_numbered(names)}"


def _numbered(names: Sequence[str]) -> str:
    """A word on labels 0, 1, ..., which may be another program's for the names."""
    if list(names) != list(map(str, range(len(names)))):
        return ""
    return (
        " If scikit-learn has put numbers for your labels (cross_val_predict of probabilities, "
        "VotingClassifier and StackingClassifier do), give the penalty as a matrix in the order "
        "of the sorted labels."
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
