"""Examples parted in proportion, each into one part, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from untrue.errors import ArgumentError, DataError
from untrue.training.splits import split_by_share


def test_each_example_is_in_one_part_and_classes_keep_their_share() -> None:
    labels = np.repeat([0, 1, 2], [600, 300, 100])
    parts = split_by_share(labels, test_share=0.2, validation_share=0.25, seed=3)
    every = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(every.tolist()) == list(range(1000))
    for part, share in ((parts.test, 0.2), (parts.validation, 0.2), (parts.train, 0.6)):
        np.testing.assert_array_equal(np.bincount(labels[part]), share * np.bincount(labels))


def test_many_tiny_classes_leave_one_to_train_and_some_to_test() -> None:
    labels = np.repeat(np.arange(50), 2)
    parts = split_by_share(labels)
    assert set(labels[parts.train]) == set(range(50))
    assert len(parts.test) == 20


def test_the_seed_decides() -> None:
    labels = np.repeat([0, 1], 50)
    first, again, other = (
        split_by_share(labels, seed=1),
        split_by_share(labels, seed=1),
        split_by_share(labels, seed=2),
    )
    np.testing.assert_array_equal(first.test, again.test)
    assert (first.test != other.test).any()


def test_a_test_part_that_is_given_stays() -> None:
    labels = np.repeat([0, 1], 50)
    held_out = np.arange(100) % 10 == 0
    parts = split_by_share(labels, held_out=held_out)
    assert parts.test.tolist() == list(range(0, 100, 10))
    assert not held_out[parts.train].any()
    assert not held_out[parts.validation].any()


@pytest.mark.parametrize(
    ("labels", "options", "error", "message"),
    [
        ([0, 1] * 4, {}, DataError, "At least 10 examples are needed to learn from; got 8"),
        (
            [0] * 20,
            {},
            DataError,
            "All 20 examples have the same label, and there must be at least",
        ),
        ([0, 1] * 9, {"test_share": 0.0}, ArgumentError, "`test_share` must lie strictly between"),
        ([0, 1] * 9, {"validation_share": 1.0}, ArgumentError, "`validation_share` must lie"),
        (list(range(20)), {}, DataError, "too few: none is left for the validation part"),
    ],
)
def test_what_cannot_be_parted_is_refused(
    labels: list[int], options: dict[str, float], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        split_by_share(np.array(labels), **options)
