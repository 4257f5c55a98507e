"""A file of probabilities, decided by a rule: `untrue decide`. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from untrue.budgets import DecisionRule
from untrue.errors import ArgumentError, DataError
from untrue.optional import need
from untrue.penalty.stated import sorted_labels
from untrue.tools.reading.columns import class_of
from untrue.tools.reading.labels import abstained_text
from untrue.tools.reading.probability_file import (
    GUESSED,
    ProbabilityFile,
    ReadOptions,
    read_probabilities,
)
from untrue.tools.reading.tables import whole_table
from untrue.tools.writing import write_table

COLUMN = "decided"


@dataclass(frozen=True, slots=True)
class DecidedFile:
    """What was decided.

    changed    answers that are not the most probable class
    abstained  examples without an answer
    counts     (class, answers) of every class
    """

    source: str
    columns: tuple[str, ...]
    n: int
    changed: int
    abstained: int
    counts: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]


def decide_file(
    rule: DecisionRule,
    path: Path,
    out: Path,
    *,
    column: str = COLUMN,
    options: ReadOptions = GUESSED,
) -> DecidedFile:
    """Write the file at `path` to `out` with a column more: the answers of the rule."""
    read = read_probabilities(path, options, known=rule.classes, with_truth="no")
    if not column.strip():
        raise ArgumentError("`column` (--column) must name the column of answers; got no name.")
    if column in read.file.names:
        raise ArgumentError(
            f"{path} has a column {column!r} already; name another for the answers with --column."
        )
    _check_class_of(read, rule, options.classes)
    scores = read.probs
    if read.classes != rule.classes:
        scores = scores[:, [read.classes.index(name) for name in rule.classes]]
    given = rule.codes(scores)
    names = np.array([*rule.classes, abstained_text(rule.classes)], dtype=object)
    changed = (given >= 0) & (given != scores.argmax(axis=1))
    file, columns, notes = read.file, read.columns, read.notes
    del read, scores  # a million rows of 100 classes are 800 MB, and so is the table itself
    table = whole_table(file)
    arrow = need("pyarrow", "Deciding")
    answers = arrow.DictionaryArray.from_arrays(given % len(names), arrow.array(names))
    write_table(table.append_column(column, answers.cast(arrow.string())), out)
    counts = np.bincount(given[given >= 0], minlength=len(rule.classes))
    return DecidedFile(
        source=str(path),
        columns=columns,
        n=len(given),
        changed=int(changed.sum()),
        abstained=int((given < 0).sum()),
        counts=tuple(zip(rule.classes, counts.tolist(), strict=True)),
        notes=notes,
    )


def _check_class_of(
    read: ProbabilityFile, rule: DecisionRule, classes: Sequence[str] | None
) -> None:
    """Refuse one column of either class: the second of the rule may not be the second in sorted
    order, which other commands take it for, and no truth is there to tell."""
    if classes is not None or len(read.columns) > 1:
        return
    column, (first, second) = read.columns[0], rule.classes
    if class_of(column, rule.classes) is None and [first, second] != sorted_labels(rule.classes):
        raise DataError(
            f"{read.file.path}: the column {column!r} is called after none of the classes. Name "
            f"its class last: --classes {first},{second} if it is the probability of {second!r}, "
            f"--classes {second},{first} if it is that of {first!r}."
        )
