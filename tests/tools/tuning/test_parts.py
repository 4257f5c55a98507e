"""The parts of a tuning: a held-out one, and every other example judged exactly once."""

from __future__ import annotations

import numpy as np
import pytest

from untrue.errors import ArgumentError
from untrue.tools.tuning.parts import Parts, part

LABELS = np.repeat(np.arange(5), [200, 100, 40, 9, 3])


def parted(**changed: object) -> Parts:
    options = {"repetitions": 4, "test_share": 0.25, "watch_share": 0.2, "given": None, "seed": 3}
    return part(LABELS, **{**options, **changed})  # type: ignore[arg-type]


def test_each_example_is_held_out_or_judged_once_by_a_network_that_has_not_seen_it() -> None:
    found = parted()
    judged = np.concatenate([fold.test for fold in found.folds])
    np.testing.assert_array_equal(np.sort(judged), found.development)
    both = np.concatenate([found.held_out, found.development])
    np.testing.assert_array_equal(np.sort(both), np.arange(len(LABELS)))
    for fold in found.folds:
        every = np.concatenate([fold.train, fold.validation, fold.test])
        np.testing.assert_array_equal(np.sort(every), found.development)
    learned = np.concatenate([found.final.train, found.final.validation])
    np.testing.assert_array_equal(np.sort(learned), found.development)


def test_the_examples_tuned_on_are_dealt_out_in_proportion() -> None:
    found = parted()
    assert len(found.held_out) == len(LABELS) // 4
    own = np.bincount(LABELS[found.development], minlength=5)
    for fold in found.folds:
        counts = np.bincount(LABELS[fold.test], minlength=5)
        np.testing.assert_allclose(counts, own / 4, atol=1)


def test_a_test_part_that_is_given_is_the_held_out_one() -> None:
    given = np.arange(len(LABELS)) % 5 == 0
    np.testing.assert_array_equal(parted(given=given).held_out, np.flatnonzero(given))


def test_the_seed_decides() -> None:
    np.testing.assert_array_equal(parted().folds[1].test, parted().folds[1].test)
    assert not np.array_equal(parted().folds[1].test, parted(seed=4).folds[1].test)


def test_one_repetition_cannot_judge() -> None:
    with pytest.raises(ArgumentError, match=r"`repetitions` must be at least 2: .* got 1"):
        parted(repetitions=1)
