"""What the page of `untrue explore` computes with: examples, starting costs, groups. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_count, check_seed
from untrue.decision import decide
from untrue.errors import ArgumentError, DataError
from untrue.hierarchy.super_classes import super_classes
from untrue.penalty import Penalty
from untrue.penalty.stated import has_names, penalty_over
from untrue.tools.exploring.drawing import drawn
from untrue.tools.exploring.quantised import Codes, quantised, restored
from untrue.tools.reading.columns import NAMES, guess_column
from untrue.tools.reading.hierarchies import stated_hierarchy
from untrue.tools.reading.probability_file import (
    GUESSED,
    ProbabilityFile,
    ReadOptions,
    read_probabilities,
)
from untrue.tools.reading.tables import read_table, texts

MOST_EXAMPLES = 20_000
# A larger matrix cannot be edited by hand, and its page would be too large to send.
MOST_CLASSES = 200


@dataclass(frozen=True, slots=True)
class Group:
    """Classes that belong together, by position."""

    name: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Exploration:
    """What stands in the page.

    rows      of the file, from 0: the examples kept, in order; names: what they are called
    true      (n,) class of each, by position
    codes     (n, k) their probabilities, as `quantised` has them
    counts    (k,) examples of each class in the whole file
    costs     (k, k) to start with
    groups    of the classes, () if none were given
    altered   how many of the answers at the start are others than before quantising
    """

    source: str
    truth: str
    columns: tuple[str, ...]
    classes: tuple[str, ...]
    rows: IntArray
    names: tuple[str, ...] | None
    true: IntArray
    codes: Codes
    counts: IntArray
    costs: FloatArray
    groups: tuple[Group, ...]
    altered: int
    seed: int
    notes: tuple[str, ...]

    @property
    def weights(self) -> FloatArray:
        """(k,) How many examples of the file one that was kept stands for; 0 where none is."""
        kept = np.bincount(self.true, minlength=len(self.classes))
        found: FloatArray = self.counts / np.maximum(kept, 1)
        return found


def explore(
    path: Path,
    *,
    penalty: Penalty | None = None,
    hierarchy: Path | None = None,
    options: ReadOptions = GUESSED,
    examples: int = MOST_EXAMPLES,
    seed: int = 0,
) -> Exploration:
    """Read a file of predictions and keep what fits into a page.

    penalty    costs to start with; without it every mistake costs 1
    hierarchy  a hierarchy file of the classes: its groups may be edited as one
    examples   how many are kept at most, drawn by class
    """
    check_count("examples", examples, most=MOST_EXAMPLES)
    check_seed(seed)
    known = penalty.classes if penalty is not None and has_names(penalty) else None
    read = read_probabilities(path, options, known=known, with_truth="needed")
    assert read.truth is not None
    assert read.true is not None
    k = len(read.classes)
    if k > MOST_CLASSES:
        raise DataError(
            f"{path} has {k:,} classes; a page to edit costs in takes at most {MOST_CLASSES}. "
            "Group the classes first, or write costs by a hierarchy (`untrue penalty new "
            "--hierarchy FILE`)."
        )
    if examples < k:
        raise ArgumentError(f"`examples` must be at least the number of classes, {k}.")
    known_hierarchy = stated_hierarchy(hierarchy, penalty, read.classes)
    found = None if known_hierarchy is None else super_classes(known_hierarchy)
    members = {} if found is None else found[0]
    names = _ordered(read.classes, penalty, members)
    costs = penalty_over(penalty, names).matrix()
    place = [read.classes.index(name) for name in names]
    true = np.argsort(place)[read.true]
    rows = drawn(true, k, examples, seed)
    kept = read.probs[rows][:, place].astype(np.float64)
    called = _example_names(read)
    codes = quantised(kept)
    start = Penalty.from_matrix(costs, list(names))
    sums = kept.sum(axis=1, keepdims=True)
    altered = int((decide(kept / sums, start) != decide(restored(codes), start)).sum())
    return Exploration(
        source=str(path),
        truth=read.truth,
        columns=read.columns,
        classes=names,
        rows=rows,
        names=None if called is None else tuple(called[row] for row in rows.tolist()),
        true=true[rows],
        codes=codes,
        counts=np.bincount(true, minlength=k).astype(np.int64),
        costs=costs,
        groups=_groups(members, names),
        altered=altered,
        seed=seed,
        notes=read.notes,
    )


def _example_names(read: ProbabilityFile) -> tuple[str, ...] | None:
    """What the examples are called, where a column says so."""
    column = guess_column(read.file, NAMES, read.classes)
    if column is None or column in (read.truth, *read.columns):
        return None
    return texts(read_table(read.file, {column: "label"}), column, read.file)


def _ordered(
    classes: tuple[str, ...], penalty: Penalty | None, members: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The classes as the penalty has them, else as the file; members of a group side by side."""
    known = set(classes)
    names = [] if penalty is None else [name for name in penalty.classes if name in known]
    if len(names) < len(classes):
        names = list(classes)
    group = {name: number for number, each in enumerate(members.values()) for name in each}
    return tuple(sorted(names, key=lambda name: group.get(name, len(members))))


def _groups(members: Mapping[str, Sequence[str]], names: tuple[str, ...]) -> tuple[Group, ...]:
    place = {name: i for i, name in enumerate(names)}
    groups = (
        Group(name, tuple(sorted(place[each] for each in own if each in place)))
        for name, own in members.items()
    )
    return tuple(group for group in groups if group.members)
