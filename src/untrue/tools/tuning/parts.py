"""The examples of a tuning: a held-out part, and the others, each judged once by cross-fitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from untrue.array_types import BoolArray, IntArray
from untrue.budgets.sequence import split
from untrue.checks import MOST_REPETITIONS, check_count, check_number, check_seed
from untrue.errors import ArgumentError
from untrue.training.splits import Split, split_by_share


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Positions of examples.

    held_out     tests the rules, and nothing else: a random draw, not by class, since numbers of a
                 class that are fixed in advance are not those of independent draws
    development  all others, increasing
    folds        one for each repetition: train, watch (`validation`: stops and calibrates), judged
                 (`test`). The judged parts of all folds together are `development`, each example
                 once.
    final        the split of the model that is kept: train and watch are `development`
    """

    held_out: IntArray
    development: IntArray
    folds: tuple[Split, ...]
    final: Split


def part(
    labels: IntArray,
    *,
    repetitions: int,
    test_share: float,
    watch_share: float,
    given: BoolArray | None,
    seed: int,
) -> Parts:
    """Hold out at random, and part the others by class in proportion.

    given  marks a held-out part that is there already
    """
    if check_count("repetitions", repetitions, most=MOST_REPETITIONS) < 2:
        raise ArgumentError(
            "`repetitions` must be at least 2: each example is judged by a model that has not "
            f"learned from it; got {repetitions}."
        )
    check_number("test_share", test_share, 0, 0.9, ends=False)
    check_seed(seed)
    if given is None and len(labels) > 1:
        n = len(labels)
        _, drawn = split(n, 1.0 - test_share, seed, most=n)
        given = np.isin(np.arange(n), drawn)
    final = split_by_share(labels, validation_share=watch_share, held_out=given, seed=seed)
    development = np.sort(np.concatenate([final.train, final.validation]))
    own = labels[development]
    fold = _assigned(own, repetitions, seed)
    folds = []
    for r in range(repetitions):
        inner = split_by_share(
            own, validation_share=watch_share, held_out=fold == r, seed=(seed + r) % 2**32
        )
        folds.append(
            Split(development[inner.train], development[inner.validation], development[inner.test])
        )
    return Parts(final.test, development, tuple(folds), final)


def _assigned(labels: IntArray, repetitions: int, seed: int) -> IntArray:
    """The fold of each example: those of a class are dealt out in turn, shuffled.

    The next class continues where the last ended, so that many small classes fill all folds evenly.
    """
    rng = np.random.default_rng(seed)
    order = np.concatenate(
        [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    )
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.arange(len(labels)) % repetitions
    return fold
