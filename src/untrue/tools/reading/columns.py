"""Which columns of a file of predictions hold the truth, the answers and the probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from untrue.errors import ArgumentError, DataError, listed
from untrue.penalty.prob_columns import PREFIXES
from untrue.tools.name_lists import split_names
from untrue.tools.reading.labels import place_of, places
from untrue.tools.reading.tables import TableFile

TRUTH = ("truth", "true", "y_true", "true_label", "ground_truth", "actual", "target", "label", "y")
PREDICTED = (
    "decided",
    "predicted",
    "prediction",
    "pred",
    "y_pred",
    "predicted_label",
    "predicted_class",
    "y_hat",
)
# Columns that name the examples.
NAMES = ("id", "file", "filename", "path", "image", "name", "row", "example")
# A single column of probabilities, that of the second of two classes.
SINGLE = ("prob", "proba", "probability", "p", "score", "y_prob", "y_proba", "y_score", "p1")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read. probs are in the order of the classes, or one column: that of one of two
    classes; names: what examples are called; notes say what was guessed."""

    truth: str
    predicted: str | None
    probs: tuple[str, ...] | None
    names: str | None = None
    notes: tuple[str, ...] = ()


def choose(
    file: TableFile,
    classes: Sequence[str],
    *,
    truth: str | None = None,
    predicted: str | None = None,
    probs: str | None = None,
    label_names: Sequence[str] | None = None,
) -> Columns:
    """What was asked for, and for the rest what is obvious from the names.

    probs        a prefix ("prob_", before every class name), or column names with commas
    label_names  the names that 0, 1, ... stand for, in the names of columns as among the labels
    """
    file.check([name for name in (truth, predicted) if name is not None])
    truth = find_truth(file, classes, truth, needed=True)
    assert truth is not None
    if predicted == truth:
        raise ArgumentError(
            f"{file.path}: {truth!r} is named for the truth and for the predictions; every answer "
            "would be right. Name two columns, with --truth and --predicted."
        )
    if predicted is None:
        guessed = guess_column(file, PREDICTED, classes)
        predicted = None if guessed == truth else guessed
    found, notes = known_probs(file, classes, probs, label_names, but=[truth, predicted])
    if predicted is None and found is None:
        raise DataError(
            f"{file.path} has no column that is clearly the prediction, nor probabilities; name "
            f"them with --predicted or --probs. It has: {listed(file.names)}"
            f"{f' ({notes[0]})' if notes else ''}."
        )
    named = guess_column(file, NAMES, classes)
    taken = {truth, predicted, *(found or ())}
    return Columns(truth, predicted, found, None if named in taken else named, tuple(notes))


def find_truth(
    file: TableFile, classes: Sequence[str], asked: str | None, *, needed: bool
) -> str | None:
    """The column of the true labels, as asked or by its name; None where there is none."""
    file.check([] if asked is None else [asked])
    truth = asked or guess_column(file, TRUTH, classes)
    if truth is None and needed:
        raise DataError(
            f"{file.path} has no column that is clearly the truth; name it with --truth. "
            f"It has: {listed(file.names)}."
        )
    return truth


def probability_columns(
    file: TableFile, asked: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of probabilities and the class of each, where the classes are not known: by a
    prefix before each class, or as asked for by name."""
    if asked is not None:
        names = split_names(asked, "Columns of probabilities")
        if len(names) > 1 or names[0] in file.names:
            file.check(names)
            prefix = next((p for p in PREFIXES if all(n.startswith(p) for n in names)), "")
            return _two(file, names, prefix)
        return _two(file, [name for name in file.names if name.startswith(asked)], asked)
    for prefix in PREFIXES:
        found = [name for name in file.names if name.startswith(prefix)]
        if len(found) > 1:
            return _two(file, found, prefix)
    raise DataError(
        f"{file.path} has no columns that are clearly probabilities (prob_CLASS for each class); "
        f"name them with --probs. It has: {listed(file.names)}."
    )


def known_probs(
    file: TableFile,
    classes: Sequence[str],
    asked: str | None,
    label_names: Sequence[str] | None,
    *,
    but: Sequence[str | None] = (),
) -> tuple[tuple[str, ...] | None, list[str]]:
    """The columns of probabilities where the classes are known, None where there are none; notes.

    One of each class, in their order; of two classes one may do.
    """
    notes: list[str] = []
    if asked:
        return _asked_probs(file, classes, asked, notes, label_names), notes
    return _guessed_probs(file, classes, notes, label_names, but=set(but)), notes


def single_column(file: TableFile, asked: str | None) -> str | None:
    """The one column of probabilities, of one of two classes: as asked, or by its name."""
    if asked is not None:
        return asked if asked in file.names else None
    for prefix in PREFIXES:
        found = [name for name in file.names if name.startswith(prefix)]
        if found:
            return found[0] if len(found) == 1 else None
    return guess_column(file, SINGLE, ())


def has_prefix(file: TableFile) -> bool:
    """Whether columns of probabilities are marked as such: prob_CLASS and the like."""
    return any(name.startswith(PREFIXES) for name in file.names)


def class_of(column: str, classes: Sequence[str]) -> int | None:
    """Which of the classes a column of probabilities is called after.

    >>> class_of("prob_fraud", ["fraud", "legitimate"]), class_of("score", ["a", "b"])
    (0, None)
    """
    known = places(classes)
    ends = (column.removeprefix(p) for p in ("", *PREFIXES) if column.startswith(p))
    return next((place for end in ends if (place := place_of(end, known)) is not None), None)


def column_ends(columns: Sequence[str], asked: str | None = None) -> list[str]:
    """The names of columns of probabilities without their prefix, `asked` if it is that.

    >>> column_ends(["prob_0", "prob_1"]), column_ends(["net.0", "net.1"], "net.")
    (['0', '1'], ['0', '1'])
    """
    prefixes = PREFIXES if asked is None else (asked, *PREFIXES)
    found = [next((p for p in prefixes if name.startswith(p)), "") for name in columns]
    return [name.removeprefix(prefix) for name, prefix in zip(columns, found, strict=True)]


def single_class(column: str, classes: Sequence[str]) -> int:
    """Which of two classes a single column of probabilities is of: the one that it is called after,
    else the second."""
    return 0 if class_of(column, classes) == 0 else 1


def taken_for_second(column: str, classes: Sequence[str]) -> str:
    return f"the column {column!r} is taken for the probability of {classes[1]!r}"


def _two(
    file: TableFile, names: Sequence[str], prefix: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if len(names) < 2:
        raise DataError(
            f"{file.path} must have a column of probabilities for each of at least two classes; "
            f"--probs finds {listed(names) or 'none'}. It has: {listed(file.names)}."
        )
    return tuple(names), tuple(name.removeprefix(prefix) for name in names)


def guess_column(file: TableFile, known: Sequence[str], classes: Sequence[str]) -> str | None:
    """The first column that is called as one of `known`, in capitals or not; None if none is."""
    # Where a class is called "true", its column of probabilities is not the truth.
    own = set(classes) if _bare_probs(file, classes) else set[str]()
    plain = {
        name.strip().lower().replace(" ", "_").replace("-", "_"): name
        for name in reversed(file.names)
        if name not in own
    }
    return next((plain[name] for name in known if name in plain), None)


def _bare_probs(file: TableFile, classes: Sequence[str]) -> bool:
    """Whether the columns of probabilities are called as the classes are, without a prefix."""
    there = set(file.names)
    prefixed = any(there.issuperset(prefix + name for name in classes) for prefix in PREFIXES)
    return not prefixed and there.issuperset(classes)


def _asked_probs(
    file: TableFile,
    classes: Sequence[str],
    probs: str,
    notes: list[str],
    label_names: Sequence[str] | None,
) -> tuple[str, ...]:
    names = split_names(probs, "Columns of probabilities")
    there = set(file.names)
    if len(names) == 1 and names[0] not in there:
        found = _with_prefix(file, classes, probs, label_names)
        if found is None:
            absent = next(name for name in classes if probs + name not in there)
            raise DataError(
                f"{file.path} has no column {probs + absent!r} for class {absent!r}, as --probs "
                f"{probs} wants. It has: {listed(file.names)}."
            )
        return found
    file.check(names)
    if len(names) == 1 and len(classes) == 2:
        if class_of(names[0], classes) is None:
            notes.append(taken_for_second(names[0], classes))
        return tuple(names)
    if len(names) != len(classes):
        raise DataError(
            f"--probs must name one column for each of the {len(classes)} classes "
            f"({listed(classes)}); got {len(names)}."
        )
    for prefix in ("", *PREFIXES):
        called = _called_after(names, prefix, classes)
        if called is not None:
            return called
    notes.append(
        "the columns of --probs are taken in the order of the classes: "
        + listed(f"{column} is {name}" for column, name in zip(names, classes, strict=True))
    )
    return tuple(names)


def _with_prefix(
    file: TableFile, classes: Sequence[str], prefix: str, label_names: Sequence[str] | None
) -> tuple[str, ...] | None:
    number = {name: str(code) for code, name in enumerate(label_names or ())}
    numbered = [number[name] for name in classes] if number.keys() >= set(classes) else None
    either = [
        None if suffixes is None else _called_after(file.names, prefix, suffixes)
        for suffixes in (classes, numbered)
    ]
    both = [found for found in either if found is not None]
    if len(set(both)) > 1:
        raise DataError(
            f"{file.path}: the columns {listed(both[0], 3)} may be called after the names of the "
            "classes or after their codes 0, 1, ..., and these differ. If it is by name, leave "
            "--classes out; if by code, write the names in their place."
        )
    return both[0] if both else None


def _called_after(
    columns: Sequence[str], prefix: str, names: Sequence[str]
) -> tuple[str, ...] | None:
    """The columns with these names behind a prefix, in their order; None unless all are there.

    1.0 is 1 where no column is called 1.0, and the other way round.
    """
    begun = [column for column in columns if column.startswith(prefix)]
    known = places([column.removeprefix(prefix) for column in begun])
    found = [place for name in names if (place := place_of(name, known)) is not None]
    if len(set(found)) < len(names):
        return None
    return tuple(begun[place] for place in found)


def _guessed_probs(
    file: TableFile,
    classes: Sequence[str],
    notes: list[str],
    label_names: Sequence[str] | None,
    *,
    but: set[str | None],
) -> tuple[str, ...] | None:
    for prefix in (*PREFIXES, ""):
        found = _with_prefix(file, classes, prefix, label_names)
        if found is not None and not but.intersection(found):
            return found
    if len(classes) == 2:
        single = _single_of_two(file, classes, but)
        if single is not None:
            if class_of(single, classes) is None:
                notes.append(taken_for_second(single, classes))
            return (single,)
    for prefix in PREFIXES:
        begun = [name for name in file.names if name.startswith(prefix) and name not in but]
        there = set(begun)
        if any(prefix + name in there for name in classes):
            absent = next(name for name in classes if prefix + name not in there)
            notes.append(f"the columns {listed(begun, 3)} are left out: class {absent!r} has none")
        elif label_names is None and {f"{prefix}0", f"{prefix}1"} <= there:
            notes.append(
                f"the columns {listed(begun, 3)} are left out: --classes must name the "
                "classes 0, 1, ..."
            )
        elif len(begun) > 1:
            notes.append(
                f"the columns {listed(begun, 3)} are left out: none is called after a class"
            )
    return None


def _single_of_two(file: TableFile, classes: Sequence[str], but: set[str | None]) -> str | None:
    """The one column that is called after one of two classes, or as such columns are."""
    bare = [name for name in file.names if name in classes and name not in but]
    if len(bare) == 1 and not has_prefix(file):
        return bare[0]
    single = single_column(file, None)
    if single is None or single in but:
        return None
    known = class_of(single, classes) is not None or not single.startswith(PREFIXES)
    return single if known else None
