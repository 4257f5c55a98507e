"""A default and its exceptions: checked, sorted, and never k x k numbers."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch

from untrue import Penalty, decide
from untrue.errors import PenaltyError
from untrue.penalty import RulesPenalty

NAMES = ("cat", "dog", "owl")


def rules(*cells: tuple[int, int, float], default: Any = 1.0) -> RulesPenalty:
    true, predicted, costs = (np.array(column) for column in zip(*cells, strict=True))
    return RulesPenalty(NAMES, default, true, predicted, costs)


def test_rules_are_sorted_so_that_their_order_is_no_content() -> None:
    p, q = rules((2, 0, 5.0), (0, 1, 3.0)), rules((0, 1, 3.0), (2, 0, 5.0))
    assert p == q
    assert p.true.tolist() == [0, 2]
    assert p.matrix().tolist() == [[0, 3, 1], [1, 0, 1], [5, 1, 0]]
    assert p.starts.tolist() == [0, 1, 1, 2]
    assert p.excess.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: rules((0, 2, -1.0)),
            r"Cost of predicting 'owl' for 'cat' is -1\.0: .*not negative",
        ),
        (lambda: rules((1, 0, np.nan)), "Cost of predicting 'cat' for 'dog' is nan: .* finite"),
        (lambda: rules((1, 0, np.inf)), "Cost of predicting 'cat' for 'dog' is inf: .* finite"),
        (lambda: rules((1, 1, 2.0)), "A rule leads from 'dog' to itself: a right answer is free"),
        (
            lambda: rules((1, 0, 2.0), (0, 1, 1.0), (1, 0, 3.0)),
            "Two rules for predicting 'cat' for 'd",
        ),
        (lambda: rules((0, 1, 1.0), default=-2.0), r"Default cost for 'cat' is -2\.0: .* negative"),
        (lambda: rules((0, 1, 1.0), default=[0, np.inf, 1]), "Default cost for 'dog' is inf"),
    ],
)
def test_what_is_no_penalty_is_refused(make: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        make()


def test_a_default_that_rules_hide_does_not_count_as_greatest() -> None:
    cells = [(i, j, 1.0) for i in range(3) for j in range(3) if i != j]
    assert rules(*cells, default=99.0).greatest == 1.0
    assert rules(*cells[:-1], default=99.0).greatest == 99.0


def test_a_small_row_sum_under_a_great_default_keeps_its_digits() -> None:
    cells = [(0, 1, 1e-12), (0, 2, 1e-12)]
    assert rules(*cells, default=1e6).normalized("rows").cost("cat", "dog") == 0.5


@pytest.mark.parametrize("tiny", [1e-31, 1e-200, 1e-310])
@pytest.mark.parametrize("how", ["rows", "max"])
def test_a_default_that_rules_hide_stands_in_the_way_of_no_scale(tiny: float, how: Any) -> None:
    p = rules((0, 1, 3 * tiny), (0, 2, tiny), default=[1.0, 0.0, 0.0]).normalized(how)
    assert p.cost("cat", "dog") == pytest.approx(0.75 if how == "rows" else 1.0)


@pytest.mark.parametrize("tiny", [1e-8, 1e-20, 1e-200])
def test_a_default_that_rules_hide_does_not_drown_what_an_answer_is_expected_to_cost(
    tiny: float,
) -> None:
    p = Penalty.from_rules(["cat", "dog"], {("cat", "dog"): 3 * tiny, ("dog", "cat"): tiny})
    wanted = pytest.approx([0.6 * tiny, 1.2 * tiny], rel=1e-12, abs=0.0)
    assert p.expected([[0.4, 0.6]])[0] == wanted
    # With a gradient it is computed by torch, as on any device.
    probs = torch.tensor([[0.4, 0.6]], dtype=torch.float64, requires_grad=True)
    assert p.expected(probs)[0].tolist() == wanted
    assert decide([[0.4, 0.6]], p).tolist() == [0]


@pytest.mark.parametrize(
    ("p", "free"),
    [
        (Penalty.from_rules(NAMES, {}, default=0.0), NAMES),
        (Penalty.from_rules(NAMES, {("cat", "dog"): 1.0}, default=0.0), ("cat", "owl")),
        (Penalty.from_rules(NAMES, {("cat", "dog"): 0, ("owl", "dog"): 0}), ("dog",)),
        (Penalty.from_rules(NAMES, {("cat", "dog"): 0}), ()),
        (Penalty.from_rules(NAMES, {("cat", "dog"): 0}, {"owl": 0}), ("dog",)),
        (Penalty.from_rules(NAMES, {("cat", "dog"): 0}, default=0.0), NAMES),
    ],
)
def test_free_classes(p: Penalty, free: tuple[str, ...]) -> None:
    assert p.free_classes() == free


def test_a_hundred_thousand_classes_need_no_matrix() -> None:
    k = 100_000
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, k, (50_000, 2)), axis=0)
    cells = cells[cells[:, 0] != cells[:, 1]]
    costs = rng.random(len(cells))
    names = tuple(f"c{i}" for i in range(k))
    tracemalloc.start()
    p = RulesPenalty(names, rng.random(k), cells[:, 0], cells[:, 1], costs)
    assert (p.cost(cells[:, 0], cells[:, 1]) == costs).all()
    assert p.cost(f"c{cells[7, 0]}", f"c{cells[7, 1]}") == costs[7]
    assert p.free_classes() == ()
    assert p.normalized("rows").greatest < 1.0
    probs = np.zeros((3, k))
    probs[[0, 1, 2], [5, cells[9, 0], 7]] = 1.0
    expected = p.expected(probs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6, "a matrix would have 80 GB"
    everyone = np.arange(k)
    for row, true in zip(expected, (5, cells[9, 0], 7), strict=True):
        np.testing.assert_allclose(row, p.cost(int(true), everyone), atol=1e-12)
