"""Cost by height, without a matrix: the layout, the scale, great and deep trees."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.hierarchy.random_taxonomy import random_taxonomy

from untrue import Hierarchy, Penalty
from untrue.errors import PenaltyError
from untrue.penalty import TreePenalty
from untrue.penalty.tensors import make_costs

TREE = Hierarchy.from_dict({"all": {"cats": ["lion", "lynx"], "dogs": {"wolf": ["grey", "red"]}}})


@pytest.mark.parametrize(
    ("costs", "scale", "message"),
    [
        ([0, 1, 2], 1.0, "Heights 0 to 3 need a cost each; got 3 costs"),
        ([0, 1, -2, 3], 1.0, r"Cost at height 2 is -2\.0: costs must be finite and not negative"),
        ([0, 1, np.nan, 3], 1.0, "Cost at height 2 is nan"),
        ([0, np.inf, 2, 3], 1.0, "Cost at height 1 is inf"),
        ([5, 1, 2, 3], 1.0, r"Cost at height 0 is 5\.0: a right answer is free"),
        ([0, 1, 2, 3], [1, 1, 0, 1], "`row_scale` must be positive and finite"),
        ([0, 1, 2, 3], np.nan, "`row_scale` must be positive and finite"),
    ],
)
def test_costs_that_cannot_be_are_refused(costs: Any, scale: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        TreePenalty(TREE, costs, scale)


def test_the_layout_holds_parting_nodes_alone() -> None:
    # "dogs" and "wolf" hold the same classes: they part at "wolf".
    p = TreePenalty(TREE, [0, 1, 2, 3])
    layout, (path, starts) = p.layout, p.paths
    assert layout.slots.tolist() == [0, 1, 2, 3]
    assert layout.first.tolist() == [0, 0, 2]  # all, cats, wolf
    assert layout.last.tolist() == [4, 2, 4]
    assert layout.ends.tolist() == [3, 2, 3]
    assert layout.steps.tolist() == [-3.0, 2.0, 2.0]
    assert layout.parents.tolist() == [1, 1, 2, 2]
    assert layout.parent_costs.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert layout.upper.tolist() == [-1, 0, 0]
    assert path.tolist() == [1, 0, 1, 0, 2, 0, 2, 0]
    assert starts.tolist() == [0, 2, 4, 6, 8]


def test_height_counts_what_is_no_class_too() -> None:
    p = TreePenalty(Hierarchy(TREE.edges(), ["lion", "grey", "wolf"]), [0, 10, 20, 30])
    assert p.matrix().tolist() == [[0, 30, 30], [30, 0, 10], [30, 10, 0]]


def test_a_cost_that_no_classes_reach_is_not_the_greatest() -> None:
    p = TreePenalty(Hierarchy(TREE.edges(), ["grey", "red"]), [0, 1, 50, 90])
    assert p.greatest == 1.0
    assert p.normalized("max").matrix().tolist() == [[0, 1], [1, 0]]


def test_zero_costs_within_make_free_classes_of_a_lone_group() -> None:
    free = Penalty.from_groups({"a": ["x", "y"]}, within=0.0)
    assert free.free_classes() == ("x", "y")
    assert Penalty.from_groups({"a": ["x", "y"], "b": ["z"]}, within=0.0).free_classes() == ()


def test_the_names_of_inner_nodes_are_content() -> None:
    one = Penalty.from_groups({"a": ["x", "y"], "b": ["z"]})
    assert one != Penalty.from_groups({"A": ["x", "y"], "b": ["z"]})


def test_row_sums_keep_their_digits() -> None:
    # The rows of x and y are tiny beside that of the others.
    p = Penalty.from_hierarchy(
        Hierarchy.from_dict({"r": {"m": {"n": ["x", "y"]}, "o": {"p": {"q": ["u", "v"]}}}}),
        {1: 1e-12, 2: 5.0, 3: 1e9, 4: 1e-12},
    )
    rows = p.normalized("rows").matrix()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(rows[0, 1], 1 / 3, rtol=1e-14)


@pytest.fixture(scope="module")
def large() -> TreePenalty:
    return TreePenalty(Hierarchy(random_taxonomy(100_000, 7)), np.arange(8.0) ** 2)


def test_a_hundred_thousand_leaves_need_no_matrix(large: TreePenalty) -> None:
    k = large.n_classes
    true = np.array([0, 77_777])
    tracemalloc.start()
    expected = large.expected(one_hot(true, k))
    rows = make_costs(large).rows(torch.tensor(true), torch.float64).numpy()
    assert tracemalloc.get_traced_memory()[1] < 100e6, "a matrix would have 80 GB"
    tracemalloc.stop()
    for i, t in enumerate(true.tolist()):
        costs = large.cost(t, np.arange(k))
        np.testing.assert_allclose(expected[i], costs, atol=1e-11)
        np.testing.assert_allclose(rows[i], costs, atol=1e-11)
    assert large.greatest == 49.0
    assert large.free_classes() == ()
    sums = [large.cost(t, np.arange(k)).sum() for t in true.tolist()]
    np.testing.assert_allclose(large.row_sums()[true], sums, rtol=1e-12)


def one_hot(true: Any, k: int) -> Any:
    probs = np.zeros((len(true), k))
    probs[np.arange(len(true)), true] = 1.0
    return probs


def test_a_matrix_of_many_classes_is_that_of_their_heights() -> None:
    tree = Hierarchy(random_taxonomy(1_500, 7))
    everyone = np.arange(tree.n_classes)
    heights = tree.height(everyone[:, None], everyone[None, :])
    assert (Penalty.from_hierarchy(tree).matrix() == heights).all()


@pytest.fixture(scope="module")
def chain() -> TreePenalty:
    """5,000 levels, a class at each: the cost of two is that of the upper one's height."""
    n = 5_000
    tree = Hierarchy([(f"n{i}", f"n{i + 1}") for i in range(n)], [f"n{i}" for i in range(n + 1)])
    return TreePenalty(tree, np.arange(n + 1.0))


def test_a_chain_of_depth_5000_is_a_penalty_too(chain: TreePenalty) -> None:
    k = chain.n_classes
    height = k - 1 - np.arange(k)
    wanted = np.maximum(height[:, None], height[None, :]) * (1.0 - np.eye(k))
    assert (chain.matrix() == wanted).all()
    assert chain.cost("n3", "n4999") == k - 1 - 3
    true = np.array([0, 1, k // 2, k - 1])
    np.testing.assert_allclose(chain.expected(one_hot(true, k)), wanted[true], atol=1e-8)
    rows = make_costs(chain).rows(torch.tensor(true), torch.float64)
    np.testing.assert_allclose(rows, wanted[true], atol=1e-8)
    assert chain.greatest == k - 1
    np.testing.assert_allclose(chain.row_sums(), wanted.sum(axis=1), rtol=1e-13)


def test_deciding_by_a_chain_takes_memory_for_its_nodes_alone() -> None:
    n = 2_000
    tree = Hierarchy([(f"n{i}", f"n{i + 1}") for i in range(n)], [f"n{i}" for i in range(n + 1)])
    p = Penalty.from_hierarchy(tree)
    tracemalloc.start()
    p.expected(np.full((1, n + 1), 1 / (n + 1)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1000 * n  # the nodes above each class, one by one, would be 4000 n


@given(data=st.data())
def test_selecting_in_two_steps_is_selecting_in_one(twins: Any, data: Any) -> None:
    p, _ = data.draw(twins)
    assume(p.form == "tree")
    some = data.draw(st.permutations(p.classes))[: data.draw(st.integers(1, p.n_classes))]
    fewer = some[: data.draw(st.integers(1, len(some)))]
    assert p.select(some).select(fewer) == p.select(fewer)
