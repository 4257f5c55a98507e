"""Zones, given or drawn, become the penalty they describe, or a clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from untrue import Penalty
from untrue.errors import PenaltyError

NAMES = ["cat", "dog", "owl"]


def fails(message: str) -> Any:
    return pytest.raises(PenaltyError, match=message)


PAIRS = [("owl", "cat"), ("dog", "owl")]
MASK = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0]], dtype=bool)


@pytest.mark.parametrize(
    ("zone", "classes"),
    [
        (PAIRS, NAMES),
        (set(PAIRS), NAMES),
        (iter([*PAIRS, PAIRS[0]]), NAMES),
        (np.array([[2, 0], [1, 2]]), NAMES),
        ([("owl", 0), [1, 2]], NAMES),
        (MASK, NAMES),
        (torch.tensor(MASK), NAMES),
        (MASK.tolist(), NAMES),
        (pd.DataFrame(MASK, index=NAMES, columns=NAMES), None),
        (torch.tensor([[2, 0], [1, 2]]), NAMES),
        (pd.DataFrame(PAIRS, columns=["true", "predicted"]), NAMES),
    ],
    ids=[
        "pairs",
        "set",
        "twice",
        "indices",
        "mixed",
        "mask",
        "tensor",
        "lists",
        "table",
        "tensor of pairs",
        "table of pairs",
    ],
)
def test_a_zone_costs_one_inside_and_nothing_outside(zone: Any, classes: Any) -> None:
    p = Penalty.from_zone(zone, classes)
    assert p.form == "rules"
    assert p.matrix().tolist() == MASK.astype(float).tolist()
    assert p.classes == tuple(NAMES)
    assert p.free_classes() == ("dog",)


def test_a_zone_may_be_empty_and_a_mask_may_go_without_names() -> None:
    assert Penalty.from_zone([], 3).greatest == 0.0
    assert Penalty.from_zone(MASK).classes == ("0", "1", "2")
    assert Penalty.from_zone(MASK.tolist()) == Penalty.from_zone(MASK)


@pytest.mark.parametrize(
    ("zone", "classes", "message"),
    [
        (PAIRS, None, "A zone given as pairs needs `classes`: their names, or their number"),
        ([("catt", "dog")], NAMES, "Unknown class 'catt'; did you mean 'cat'"),
        ([("cat", "cat")], NAMES, "A rule leads from 'cat' to itself"),
        ([("cat",)], NAMES, "A mistake is a .* pair; got"),
        (["cd"], NAMES, "A mistake is a .* pair; got 'cd'"),
        (MASK[:2], NAMES, r"A zone mask must be square; got shape \(2, 3\)"),
        (MASK[:2].tolist(), NAMES, r"A zone mask must be square; got shape \(2, 3\)"),
        ([[False, True], [False]], 2, "A zone mask must be square; its rows differ in length"),
        (MASK, NAMES[:2], "The mask is for 3 classes, but 2 are named"),
        (
            pd.DataFrame(MASK, index=NAMES, columns=NAMES),
            NAMES[::-1],
            "The table is for the classes cat, dog, owl, but `classes` has owl, dog, cat: leave",
        ),
        (MASK.astype(int), NAMES, "A zone mask must hold booleans; got int64"),
        (MASK.astype(float), NAMES, "A zone mask must hold booleans; got float64"),
        (np.array([[0, 1], [0, 0]]), None, "needs `classes`.* boolean by `mask != 0`"),
        (np.array([[0, 1], [0, 0]]), 2, "to itself.* boolean by `mask != 0`"),
        (~MASK, NAMES, "A rule leads from 'cat' to itself: a right answer is free"),
    ],
)
def test_zones_that_cannot_be_are_refused(zone: Any, classes: Any, message: str) -> None:
    with fails(message):
        Penalty.from_zone(zone, classes)


@given(st.integers(1, 7), st.data(), st.integers(0, 2**40))
def test_a_random_zone_has_exactly_n_cells(k: int, data: Any, seed: int) -> None:
    n = data.draw(st.integers(0, k * (k - 1)))
    p = Penalty.random_zone(k, n, seed)
    matrix = p.matrix()
    assert matrix.sum() == n
    assert set(np.unique(matrix)) <= {0.0, 1.0}
    assert not np.diag(matrix).any()
    assert p == Penalty.random_zone(k, n, seed=seed), "the seed decides"


def test_random_zones_reach_every_cell_alike() -> None:
    counts = sum(Penalty.random_zone(4, 3, seed).matrix() for seed in range(2_000))
    off = counts[~np.eye(4, dtype=bool)]
    assert abs(off / 2_000 - 3 / 12).max() < 0.04  # four standard deviations
    assert Penalty.random_zone(10, 5, 1) != Penalty.random_zone(10, 5, 2)


def test_a_random_zone_of_many_classes_needs_no_matrix() -> None:
    p = Penalty.random_zone(100_000, 1_000)
    assert len(p.costs) == 1_000
    assert len(np.unique(p.true * 100_000 + p.predicted)) == 1_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 7), r"`n` must lie in 0\.\.6, the off-diagonal cells of 3 classes; got 7"),
        ((1, 1), r"`n` must lie in 0\.\.0, .* of 1 classes; got 1"),
        ((3, -1), "`n` must be a whole number, 0 or more; got -1"),
        ((3, 2.0), r"`n` must be a whole number, 0 or more; got 2\.0"),
        ((3, True), "`n` must be a whole number, 0 or more; got True"),
        ((3.0, 2), r"`n_classes` must be a whole number, 0 or more; got 3\.0"),
        ((["a", "b"], 2), r"`n_classes` must be a whole number.*; got \['a', 'b'\]"),
        ((0, 0), "At least one class is needed; `classes` is 0"),
        ((3, 2, 1.5), r"`seed` must be a whole number, 0 or more; got 1\.5"),
        ((3, 2, -1), "`seed` must be a whole number, 0 or more; got -1"),
        ((3, 2, None), "`seed` must be a whole number, 0 or more; got None"),
    ],
)
def test_random_zones_that_cannot_be_are_refused(arguments: Any, message: str) -> None:
    with fails(message):
        Penalty.random_zone(*arguments)
