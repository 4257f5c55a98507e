"""Zones, groups and subsets of classes, in every form that people have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from untrue import Hierarchy, Penalty, metrics
from untrue.errors import ArgumentError

GROUPS = {"cats": ["lion", "lynx"], "dogs": ["wolf", "fox", "jackal"]}
NAMES = [name for group in GROUPS.values() for name in group]
GROUP_OF = [0, 0, 1, 1, 1]
TREE = Hierarchy.from_groups(GROUPS)
K = len(NAMES)


def test_a_zone_is_a_penalty_a_mask_or_pairs_by_index_or_name() -> None:
    cm = np.arange(K * K).reshape(K, K)
    pairs = [(0, 2), (3, 1)]
    mask = np.zeros((K, K), dtype=bool)
    mask[0, 2] = mask[3, 1] = True
    expected = int(cm[0, 2] + cm[3, 1])
    forms: list[Any] = [
        Penalty.from_zone([("lion", "wolf"), ("fox", "lynx")], NAMES),
        mask,
        mask.tolist(),
        torch.tensor(mask),
        pairs,
        [*pairs, pairs[0]],
        set(pairs),
        (pair for pair in pairs),
        [[0, 2], [3, 1]],
        np.array(pairs),
        torch.tensor(pairs),
    ]
    for zone in forms:
        assert metrics.zone_errors(cm, zone) == expected
    by_name = [("lion", "wolf"), ("fox", "lynx")]
    assert metrics.zone_errors(cm, by_name, classes=NAMES) == expected
    turned = NAMES[::-1]
    for named in (
        Penalty.from_zone(by_name, turned),
        pd.DataFrame(mask[::-1, ::-1], index=turned, columns=turned),
    ):
        assert metrics.zone_errors(cm, named, classes=NAMES) == expected
        assert metrics.zone_share(cm, named, classes=NAMES) == metrics.zone_share(cm, mask)
        found = metrics.summary(cm, zone=named, penalty=Penalty.equal(NAMES))
        assert found.zone_errors == expected
        numbered = metrics.summary(cm[::-1, ::-1], zone=named, penalty=Penalty.equal(K))
        assert numbered.zone_errors == expected, "numbers are no names: by position"
    assert metrics.zone_errors(cm, []) == 0
    assert metrics.zone_errors(cm, np.zeros((K, K), bool)) == 0


def test_numbers_of_two_classes_are_pairs_and_booleans_a_mask() -> None:
    cm = [[5, 1], [2, 5]]
    assert metrics.zone_errors(cm, [[0, 1], [1, 0]]) == 3
    assert metrics.zone_errors(cm, [[False, True], [False, False]]) == 1
    for mask in ([[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 0], [0, 0]]):
        for zone in (mask, np.array(mask)):
            with pytest.raises(
                ArgumentError, match=r"is a right answer\. A mask .* boolean by `mask != 0`"
            ):
                metrics.zone_errors(cm, zone)
    with pytest.raises(ArgumentError, match=r"\(1, 1\) is a right answer\.$"):
        metrics.zone_errors(cm, [(1, 1)])


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        (
            np.ones((K, K)),
            r"boolean mask of shape \(5, 5\) or \(true, predicted\) pairs; got dtype",
        ),
        (np.ones((2, 2), bool), r"as a mask, must have shape \(5, 5\); got \(2, 2\)"),
        (np.eye(K, dtype=bool), r"mistakes only, but its mask is true at \[0, 0\]"),
        (3, "`zone` must be a Penalty, a mask or pairs; got 3"),
        ([(1, 1)], r"mistakes only; \(1, 1\) is a right answer"),
        ([(0, 5)], r"`zone` must hold classes in \[0, 5\); got class 5"),
        ([(0, 1, 2)], r"must hold \(true, predicted\) pairs; got \(0, 1, 2\)"),
        (["lion"], r"must hold \(true, predicted\) pairs; got 'lion'"),
        ([[True, False], [True]], "`zone` must be an array; NumPy says"),
        ([(0, 1.5)], "class indices or names; got 1.5"),
        ([("lion", "lynks")], "unknown class 'lynks'; did you mean 'lynx'"),
        (
            Penalty.from_zone([(0, 1)], 3),
            "`zone` must be about the 5 classes of the data; it is ab",
        ),
        (
            Penalty.equal([*NAMES[:-1], "cow"]),
            f"`zone`, as a penalty: The penalty has no class '{NAMES[-1]}'",
        ),
    ],
)
def test_a_zone_that_cannot_be_is_refused(zone: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        metrics.zone_errors(np.eye(K, dtype=int), zone, classes=NAMES)


def test_names_need_the_list_of_classes() -> None:
    with pytest.raises(ArgumentError, match="names the class 'lion', but `classes`"):
        metrics.zone_errors(np.eye(K, dtype=int), [("lion", "wolf")])
    with pytest.raises(ArgumentError, match="`classes` must name 5 classes; got 1"):
        metrics.zone_errors(np.eye(K, dtype=int), [("lion", "wolf")], classes=["lion"])


def test_groups_come_as_an_array_or_by_index_or_name() -> None:
    cm = np.arange(K * K).reshape(K, K)
    expected = metrics.coarse_error(cm, GROUP_OF)
    assert metrics.coarse_error(cm, GROUPS, classes=NAMES) == expected
    assert metrics.coarse_error(cm, {"a": [0, 1], "b": [2, 3, 4]}) == expected
    assert metrics.coarse_error(cm, torch.tensor(GROUP_OF)) == expected
    assert metrics.coarse_error(cm, TREE.coarsen(1)) == expected
    assert metrics.coarse_error(cm, TREE.groups(1), classes=TREE.classes) == expected
    assert metrics.super_class_accuracy(cm, GROUP_OF) == pytest.approx(1 - expected)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], r"group of each of 5 classes.*got dtype int64 of shape \(2,\)"),
        ([0.0] * K, "group of each of 5 classes.*got dtype float64"),
        ({"a": [0, 1, 2]}, "`groups` must hold every class; class 3 is in none"),
        ({"a": [0, 1], "b": [1, 2, 3, 4]}, "`groups` has class 1 twice, again in 'b'"),
        ({"a": "lion"}, "`groups` must hold lists of classes; got 'lion'"),
        ({"a": 0}, "`groups` must hold lists of classes; got 0"),
        ({"a": ["lion", "tiger"]}, "unknown class 'tiger'"),
    ],
)
def test_groups_that_cannot_be_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        metrics.coarse_error(np.eye(K, dtype=int), groups, classes=NAMES)


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        ("lion", "`subset` must be a list of classes; got 'lion'"),
        ([True, False], "turn a mask into indices by np.nonzero"),
        (np.array([True, False]), "turn a mask into indices by np.nonzero"),
        (7, "`subset` must be a list of classes; got 7"),
        ([7], r"classes in \[0, 5\); got class 7"),
    ],
)
def test_a_subset_that_cannot_be_is_refused(subset: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        metrics.small_class_accuracy(np.eye(K, dtype=int), subset)


def test_a_subset_comes_by_index_name_array_or_tensor() -> None:
    cm = np.arange(K * K).reshape(K, K)
    expected = metrics.small_class_accuracy(cm, [1, 4])
    assert metrics.small_class_accuracy(cm, ["lynx", "jackal"], classes=NAMES) == expected
    assert metrics.small_class_accuracy(cm, np.array([1, 4])) == expected
    assert metrics.small_class_accuracy(cm, torch.tensor([1, 4])) == expected
