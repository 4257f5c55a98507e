"""Costs as a person states them, turned into a `Penalty` over the labels of the data."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError, DataError, PenaltyError, listed, nearest
from untrue.hierarchy.names import as_whole
from untrue.penalty.arrays import table_columns
from untrue.penalty.base import Penalty
from untrue.penalty.builders import Pair
from untrue.penalty.example_cells import ANY
from untrue.penalty.formula_penalty import FormulaPenalty
from untrue.penalty.per_example import ExamplePenalty

DEFAULT = "default"
# Labels that an error spells out as an option.
LISTED = 12


def penalty_over(
    stated: Any,
    labels: Sequence[Any] | npt.NDArray[Any],
    *,
    classes: Sequence[Any] | None = None,
) -> Penalty:
    """The penalty over these labels, in their order. The rule for label values, everywhere.

    stated: one of
        None                     every mistake costs 1
        {(true, predicted): c}   rules by label; the key "default" is what every other mistake
                                 costs (1 if absent)
        a (k, k) matrix          by position, in the order of the labels; a table with class
                                 names goes by name; rows without names are in
                                 the order of its columns
        a `Penalty`              by name; may have more classes than there are labels. One without
                                 names of its own ("0", "1", ...) goes by position if no label has
                                 such a name.
    classes: where labels are codes 0, 1, ... that stand for names: these names, in the order of
        the codes. A matrix then has its rows in this order.

    A label's name is `str(label)`; 1.0 is named "1".

    >>> penalty_over({("b", "a"): 5.0}, ["a", "b"]).matrix()
    array([[0., 1.],
           [5., 0.]])
    >>> penalty_over({("b", "a"): 5.0}, [0, 1], classes=["b", "a"]).matrix()
    array([[0., 5.],
           [1., 0.]])
    """
    if classes is not None:
        names = class_names(labels, classes)
        return penalty_over(stated, classes).select(names)
    names = class_names(labels)
    if stated is None:
        return Penalty.equal(names)
    if isinstance(stated, Mapping):
        return _from_rules(stated, names)
    if isinstance(stated, Penalty):
        return _reorder(stated, names)
    if is_table(stated):
        return _reorder(_from_table(stated), names)
    return _reorder(Penalty.from_matrix(_matrix(stated)), names, by_position=True)


def examples_over(
    stated: ExamplePenalty,
    labels: Sequence[Any] | npt.NDArray[Any],
    *,
    classes: Sequence[Any] | None = None,
) -> ExamplePenalty:
    """Costs of each example over these labels, by the rule of `penalty_over`."""
    base = penalty_over(stated.base, labels, classes=classes)
    given = stated.classes
    # One without names of its own went by position, and has taken the names of the labels.
    if not has_names(stated.base) and set(base.classes).isdisjoint(given):
        given = tuple(class_names(labels if classes is None else classes))
    given = _spelled(given, base.classes)
    place = {name: i for i, name in enumerate(base.classes)}
    new = np.array([place.get(name, -1) for name in given], dtype=np.int64)
    true, predicted = new[stated.true], new[stated.predicted]
    kept = (true >= 0) & (predicted >= 0)
    return dataclasses.replace(
        stated,
        base=base,
        true=true[kept],
        predicted=predicted[kept],
        column=stated.column[kept],
    )


def formulas_over(stated: FormulaPenalty, base: Penalty) -> Penalty | FormulaPenalty:
    """The formulas over `base`, which is their own base over other labels.

    What is about classes that `base` lacks is left out: without any formula it is `base` itself.

    >>> stated = FormulaPenalty(Penalty.from_ordinal(["a", "b", "c"]), {("a", "b"): "amount"})
    >>> formulas_over(stated, stated.base.select(["b", "a"])).formulas
    {('a', 'b'): 'amount'}
    """
    given, new = stated.classes, base.classes
    by_position = not has_names(stated.base) and set(new).isdisjoint(given)
    names = new if by_position else _spelled(given, new)

    def name(which: str | int) -> str:
        if which == ANY and ANY not in given:
            return ANY
        place = given.index(which) if isinstance(which, str) else which
        return names[place]

    found: dict[Pair, str] = {(name(i), name(j)): text for (i, j), text in stated.formulas.items()}
    known = {*new, ANY}
    kept = {pair: text for pair, text in found.items() if known.issuperset(pair)}
    return FormulaPenalty(base, kept) if kept else base


def penalty_of_codes(stated: Any, classes: Sequence[Any] | None = None) -> Penalty | ExamplePenalty:
    """The penalty over codes 0, 1, ...: in its own order, or in that of `classes`.

    >>> penalty_of_codes(Penalty.from_ordinal(["b", "a"]), classes=["a", "b"]).classes
    ('a', 'b')
    """
    if isinstance(stated, ExamplePenalty):
        return stated if classes is None else examples_over(stated, classes)
    if classes is not None:
        return penalty_over(stated, classes)
    if stated is None or isinstance(stated, Mapping):
        raise ArgumentError(
            "`penalty` needs `classes` here, the labels in the order of their codes 0, 1, ..., "
            "unless it is a Penalty or a matrix."
        )
    if isinstance(stated, Penalty):
        return stated
    return _from_table(stated) if is_table(stated) else Penalty.from_matrix(_matrix(stated))


def has_names(penalty: Penalty) -> bool:
    """Whether its classes have names of their own, other than the default "0", "1", ...

    >>> has_names(Penalty.from_ordinal(2)), has_names(Penalty.from_ordinal(["low", "high"]))
    (False, True)
    """
    return penalty.classes != tuple(map(str, range(penalty.n_classes)))


def named_for(penalty: Penalty, names: Iterable[str]) -> Penalty:
    """The penalty; one without names of its own takes these, in sorted order (whole numbers as
    numbers), unless they are its "0", "1", ...

    >>> named_for(Penalty.from_ordinal(2), ["low", "high"]).classes
    ('high', 'low')
    >>> named_for(Penalty.from_ordinal(3), ["8", "9", "10"]).classes
    ('8', '9', '10')
    """
    given = sorted_labels(names)
    if has_names(penalty) or not given or not set(given).isdisjoint(penalty.classes):
        return penalty
    return _reorder(penalty, given)


def sorted_labels(names: Iterable[str]) -> list[str]:
    """Each label's name once, sorted; whole numbers as numbers. The order of labels, everywhere.

    >>> sorted_labels(["10", "9", "9"]), sorted_labels(["10", "9", "a"])
    (['9', '10'], ['10', '9', 'a'])
    """
    found = sorted(set(names))
    whole = all(re.fullmatch(r"-?[0-9]{1,20}", name) for name in found)
    return sorted(found, key=int) if whole else found


def class_names(
    labels: Sequence[Any] | npt.NDArray[Any],
    classes: Sequence[Any] | None = None,
    *,
    beside: Sequence[str] = (),
) -> list[str]:
    """The name of each label; with `classes`, codes 0, 1, ... stand for these names.

    Refused where labels may be either, as 1 and 2 may of the classes 1, 2, 3.

    beside: what decides then, written as the labels are: other labels, ends of columns' names

    >>> class_names([1.0, 0.0]), class_names([1, 0], ["bad", "good"])
    (['1', '0'], ['good', 'bad'])
    """
    names = [name_of(label) for label in labels]
    if classes is None:
        return names
    known = class_names(classes)
    # A column of codes with gaps is written as 0.0, 1.0.
    names = [name if name in known else as_whole(name) for name in names]
    if len(set(known)) < len(known):
        raise ArgumentError(f"`classes` must name each class once; got {listed(known)}.")
    codes = {str(code): name for code, name in enumerate(known)}
    if set(known).issuperset(names):
        if not set(codes).issuperset(names) or all(codes[name] == name for name in names):
            return names
        by_code, by_name = set(codes).issuperset(beside), set(known).issuperset(beside)
        if by_code == by_name:
            raise DataError(
                f"The labels {listed(sorted_labels(names))} may be names of `classes` (--classes) "
                "or codes 0, 1, ... for them, and these differ. If they are names, leave `classes` "
                "out; if they are codes, write the names in their place."
            )
        if by_name:
            return names
    strange = next((name for name in names if name not in known and name not in codes), None)
    if strange is not None:
        raise DataError(
            f"Label {strange!r} is not in `classes`"
            f"{nearest(strange, known) or f', which are {listed(known)}.'}"
        )
    if not set(codes).issuperset(names):
        raise DataError(
            f"The labels {listed(sorted(set(names)))} mix names of `classes` and their codes."
        )
    return [codes[name] for name in names]


def name_of(label: Any) -> str:
    """The class name that stands for a label.

    >>> name_of(3), name_of(3.0), name_of(np.str_("cat"))
    ('3', '3', 'cat')
    """
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def is_table(stated: Any) -> bool:
    """Whether it is a table with names of columns (pandas, polars, pyarrow)."""
    return table_columns(stated) is not None


def _from_table(stated: Any) -> Penalty:
    columns = table_columns(stated) or []
    classes = list(map(name_of, columns))
    if list(map(name_of, getattr(stated, "index", columns))) != classes:
        raise PenaltyError("The rows of the table must carry the same names as its columns.")
    return Penalty.from_matrix(np.asarray(stated), classes=classes)


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
    if not by_position and not known.issuperset(names) and penalty.form != "tree":
        whole = _spelled(penalty.classes, names)
        if len(set(whole)) == len(whole) and set(whole).issuperset(names):
            return dataclasses.replace(penalty, classes=whole).select(names)
    missing = [name for name in names if name not in known]
    if not missing and not by_position:
        return penalty if list(penalty.classes) == names else penalty.select(names)
    # Labels 1, 2, 3 under classes "0", "1", "2" could mean either: refuse to guess.
    if by_position or (not has_names(penalty) and missing == names and penalty.form != "tree"):
        if penalty.n_classes != len(names):
            raise PenaltyError(
                f"The penalty is for {penalty.n_classes} classes, but the data have {len(names)}: "
                f"{listed(names)}. Give it class names (Penalty.from_matrix(matrix, "
                "classes=[...])), then it may have more classes than the data."
            )
        return dataclasses.replace(penalty, classes=tuple(names))
    if not has_names(penalty) and "0" not in names:
        raise PenaltyError(_unclear_rows(penalty, names))
    hint = nearest(missing[0], [name for name in penalty.classes if name not in names])
    raise PenaltyError(
        f"The penalty has no class {missing[0]!r}, which is in the data"
        f"{hint or '; it has ' + listed(penalty.classes) + '.'}{_numbered(names)}"
    )


def _spelled(classes: tuple[str, ...], labels: Sequence[str]) -> tuple[str, ...]:
    """The classes, 1.0 as 1 where only this is a label: costs for 1.0 and 0.0 are those of 1 and 0.

    >>> _spelled(("1.0", "0.0"), ["0", "1"]), _spelled(("1.0", "1"), ["1"])
    (('1', '0'), ('1.0', '1'))
    """
    new = set(labels).difference(classes)
    return tuple(as_whole(name) if as_whole(name) in new else name for name in classes)


def _unclear_rows(penalty: Penalty, names: Sequence[str]) -> str:
    """What to do about labels 1, 2, 3 and costs whose classes are 0, 1, 2 for want of names."""
    whole = len(names) == penalty.n_classes <= LISTED
    return (
        f"The penalty names no classes: its rows are {listed(penalty.classes)}, the labels of the "
        f"data {listed(names)}, and which row is for which label is not clear. Give it the labels "
        "as names, in the order of its rows: Penalty.from_matrix(matrix, classes=[...]), or for a "
        "file `untrue penalty convert FILE.npy costs.toml --classes "
        f"{','.join(names) if whole else 'A,B,C'}` (in a file of another format, change the names)."
    )


def _unknown(name: str, names: Sequence[str]) -> str:
    hint = nearest(name, names) or f"; the data have {listed(names)}."
    return f"Unknown class {name!r} in the penalty{hint}{_numbered(names)}"


def _numbered(names: Sequence[str]) -> str:
    """A hint about labels 0, 1, ..., which may be codes for the names."""
    if not set(names) <= set(map(str, range(max(len(names), 2)))):
        return ""
    return (
        " If these numbers stand for names (a LabelEncoder, cross_val_predict of probabilities, "
        "VotingClassifier and StackingClassifier put them in the order of the sorted labels), give "
        "the names as `classes`, in the order of the numbers."
    )
