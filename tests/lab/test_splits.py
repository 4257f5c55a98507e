"""Which images a run sees is decided by its config alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from untrue.errors import ArgumentError
from untrue.hierarchy import Hierarchy
from untrue.lab.data import Dataset, load
from untrue.lab.design import Setup, made_from
from untrue.lab.records import RunConfig
from untrue.lab.splits import describe, split


def setup(**values: object) -> Setup:
    return made_from(Setup, {"data": "digits", "network": "digits", "epochs": 1, **values})


CONFIG = RunConfig(setup(), seed=0)


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


def test_everything_is_used_once(digits: Dataset) -> None:
    parts = split(dataclasses.replace(CONFIG, setup=setup(validation=100)), digits)
    assert len(parts.validation) == 100
    both = np.concatenate([parts.train, parts.validation])
    assert sorted(both) == list(range(len(digits.train_labels)))
    assert list(parts.test) == list(range(len(digits.test_labels)))


def test_the_split_follows_the_seed(digits: Dataset) -> None:
    config = dataclasses.replace(CONFIG, setup=setup(validation=100))
    again = split(dataclasses.replace(config, alpha=0.0), digits).validation
    assert np.array_equal(split(config, digits).validation, again)
    other = split(dataclasses.replace(config, seed=1), digits).validation
    assert not np.array_equal(again, other)


@pytest.mark.parametrize("limit", [1, 7, 100, 333])
def test_limits_take_every_class_evenly(digits: Dataset, limit: int) -> None:
    config = dataclasses.replace(CONFIG, setup=setup(limit_train=limit, limit_test=limit))
    parts = split(config, digits)
    assert len(parts.train) == len(parts.test) == len(set(parts.train)) == limit
    share = limit / len(digits.train_labels)
    counts = np.bincount(digits.train_labels[parts.train], minlength=10)
    wanted = np.bincount(digits.train_labels, minlength=10) * share
    assert np.abs(counts - wanted).max() <= 1
    other_seed = split(dataclasses.replace(config, seed=5), digits)
    assert set(other_seed.train) == set(parts.train)


def test_a_limit_above_the_number_of_images_is_no_limit(digits: Dataset) -> None:
    assert (
        len(split(dataclasses.replace(CONFIG, setup=setup(limit_train=10**6)), digits).train)
        == 1442
    )


def test_more_validation_than_images_is_refused(digits: Dataset) -> None:
    config = dataclasses.replace(CONFIG, setup=setup(limit_train=50, validation=50))
    with pytest.raises(ArgumentError, match=r"must be below the number of training images, 50"):
        split(config, digits)


@pytest.mark.parametrize("count", [0, 3, 10])
def test_small_classes_are_cut_and_repeated_to_their_old_number(
    digits: Dataset, count: int
) -> None:
    plain = dataclasses.replace(CONFIG, setup=setup(validation=200))
    small = dataclasses.replace(plain, small_classes=(2, 7), small_count=count)
    before, after = split(plain, digits), split(small, digits)
    labels = digits.train_labels
    for label in range(10):
        old = before.train[labels[before.train] == label]
        new = after.train[labels[after.train] == label]
        if label not in (2, 7):
            assert np.array_equal(old, new)
        elif count == 0:
            assert len(new) == 0
        else:
            assert len(new) == len(old)
            assert len(set(new)) == count
            assert set(new) <= set(old)
            repeats = np.unique(new, return_counts=True)[1]
            assert repeats.max() - repeats.min() <= 1
    assert not np.isin(labels[after.validation], (2, 7)).any()


def test_the_description_names_classes_and_groups_and_changes_with_the_images(
    digits: Dataset,
) -> None:
    info = describe(digits)
    assert info.classes == tuple("0123456789")
    assert info.groups == ()
    pixels = digits.train_images.copy()
    pixels[0, 0, 0, 0] ^= 1
    assert describe(dataclasses.replace(digits, train_images=pixels)).fingerprint != (
        info.fingerprint
    )
    groups = {"even": list("02468"), "odd": list("13579")}
    tree = Hierarchy.from_groups(groups, classes=digits.classes)
    with_tree = describe(dataclasses.replace(digits, hierarchy=tree))
    assert dict(with_tree.groups) == {"even": (0, 2, 4, 6, 8), "odd": (1, 3, 5, 7, 9)}
