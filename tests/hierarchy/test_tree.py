"""A hierarchy is a checked, immutable tree; heights and groups are those that loops would find."""

from __future__ import annotations

import copy
import pickle
import random
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hierarchy.random_taxonomy import random_taxonomy

import untrue
from untrue import Hierarchy
from untrue.errors import HierarchyError

ANIMALS = {"animal": {"reptile": ["snake", "turtle"], "fish": {"trout": ["brook"], "ray": {}}}}


@st.composite
def edge_lists(draw: Any) -> list[tuple[str, str]]:
    """Any tree of two to fifteen nodes, its edges in any order."""
    n = draw(st.integers(2, 15))
    edges = [(f"n{draw(st.integers(0, v - 1))}", f"n{v}") for v in range(1, n)]
    return draw(st.permutations(edges))


def ways_up(edges: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Node -> itself and what is above it, the root last."""
    parent_of = {child: parent for parent, child in edges}

    def way(node: str) -> list[str]:
        return [node, *(way(parent_of[node]) if node in parent_of else [])]

    return {node: way(node) for edge in edges for node in edge}


def naive_height(edges: list[tuple[str, str]], a: str, b: str) -> int:
    up = ways_up(edges)
    common = next(node for node in up[a] if node in up[b])
    return 0 if a == b else max(way.index(common) for way in up.values() if common in way)


@given(edge_lists())
def test_heights_are_those_of_the_lowest_common_ancestor(edges: list[tuple[str, str]]) -> None:
    nodes = sorted(ways_up(edges))
    tree = Hierarchy.from_edges(edges, classes=nodes)  # inner nodes and the root are classes too
    expected = [[naive_height(edges, a, b) for b in nodes] for a in nodes]
    by_name = tree.height(np.array(nodes)[:, None], np.array(nodes)[None, :])
    assert by_name.tolist() == expected
    assert tree.height(np.arange(len(nodes))[:, None], np.arange(len(nodes))).tolist() == expected
    assert tree.max_height == max(map(max, expected))


@given(edge_lists())
def test_its_arrays_describe_the_tree(edges: list[tuple[str, str]]) -> None:
    tree = Hierarchy(edges)
    up = ways_up(edges)
    assert sorted(tree.names) == sorted(up)
    parents = {child: parent for parent, child in edges}
    for v, name in enumerate(tree.names):
        below = {node for node, way in up.items() if name in way}
        block = tree.names[v : v + tree.sizes[v]]
        assert set(block) == below, "the subtree of a node is a block"
        assert tree.depths[v] == len(up[name]) - 1
        assert tree.heights[v] == max(up[node].index(name) for node in below)
        expected = parents.get(name)
        assert (tree.names[tree.parents[v]] if v else None) == expected
    inner = {parent for parent, _ in edges}
    assert tree.leaves == tuple(child for _, child in edges if child not in inner)
    assert tree.classes == tree.leaves
    assert [tree.names[v] for v in tree.class_nodes] == list(tree.classes)


@given(edge_lists(), st.data())
def test_groups_and_coarsening_follow_the_ancestor_at_a_level(edges: Any, data: Any) -> None:
    up = ways_up(edges)
    classes = data.draw(st.permutations(sorted(up)).map(lambda names: names[: len(names) // 2 + 1]))
    tree = Hierarchy(edges, classes)
    for level in range(int(tree.depths.max()) + 1):
        groups = tree.groups(level)
        assert [name for name in tree.names if name in groups] == list(groups)
        labels = tree.coarsen(level)
        for name, label in zip(classes, labels.tolist(), strict=True):
            way = up[name][::-1]
            group = way[min(level, len(way) - 1)]
            assert list(groups)[label] == group
            assert name in groups[group]
        assert sum(map(len, groups.values())) == len(classes)
        assert labels.dtype == np.int64


def test_an_example_to_read() -> None:
    tree = Hierarchy.from_dict(ANIMALS)
    assert tree.leaves == ("snake", "turtle", "brook", "ray")
    assert tree.height("snake", "turtle") == 1
    assert tree.height("brook", "ray") == 2
    assert tree.height("snake", "ray") == 3
    assert tree.height("trout", "brook") == 1, "inner nodes have heights too"
    assert tree.groups(1) == {"reptile": ("snake", "turtle"), "fish": ("brook", "ray")}
    assert tree.groups(2) == {
        "snake": ("snake",),
        "turtle": ("turtle",),
        "trout": ("brook",),
        "ray": ("ray",),
    }
    assert tree.coarsen(1).tolist() == [0, 0, 1, 1]
    assert tree.coarsen(0).tolist() == [0, 0, 0, 0]
    assert (tree.root, tree.n_classes, tree.max_height) == ("animal", 4, 3)
    assert repr(tree) == "Hierarchy(4 classes, 8 nodes, height 3, root 'animal')"


def test_classes_may_be_inner_nodes_in_an_order_of_ones_own() -> None:
    tree = Hierarchy.from_dict(ANIMALS, classes=["ray", "fish", "snake"])
    assert tree.classes == ("ray", "fish", "snake")
    assert tree.height([0, 0, 1], [1, 2, 1]).tolist() == [2, 3, 0]
    assert tree.groups(2) == {"snake": ("snake",), "fish": ("fish",), "ray": ("ray",)}


def test_a_height_is_a_plain_number_and_heights_of_nothing_are_nothing() -> None:
    tree = Hierarchy.from_dict(ANIMALS)
    assert type(tree.height("snake", "ray")) is int
    assert tree.height(0, [1, 2]).tolist() == [1, 3]
    assert tree.height([], []).shape == (0,)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.height("snaik", "ray"), "Unknown class 'snaik' .*; did you mean 'snake'"),
        (lambda t: t.height("zebra", "ray"), r"Unknown class 'zebra' in this hierarchy\.$"),
        (lambda t: t.height(None, "ray"), "Unknown class None"),
        (lambda t: t.height(4, 0), r"Class index 4 is outside 0\.\.3"),
        (lambda t: t.height([0, -1], 0), r"Class index -1 is outside 0\.\.3"),
        (lambda t: t.height(0.5, 0), "names or integer indices; got float64"),
        (lambda t: t.height(True, 0), "names or integer indices; got bool"),
        (lambda t: t.groups(4), r"`level` must be a whole number in 0\.\.3 .*; got 4"),
        (lambda t: t.groups(-1), r"`level` .* 0\.\.3 .*; got -1"),
        (lambda t: t.coarsen(True), "`level` must be a whole number.*; got True"),
        (lambda t: t.coarsen(1.0), r"`level` must be a whole number.*; got 1\.0"),
        (lambda t: t.coarsen("fish"), "`level` must be a whole number.*; got 'fish'"),
    ],
)
def test_questions_it_cannot_answer(ask: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        ask(Hierarchy.from_dict(ANIMALS))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "needs at least one class; got none"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "A tree has no cycles; found b -> c -> a -> b"),
        ([("r", "x"), ("a", "b"), ("b", "a")], "no cycles; found [ab] -> [ab] -> [ab]"),
        ([("a", "a")], "'a' is its own parent"),
        ([("a", "c"), ("b", "c")], "'c' has two parents, 'a' and 'b': .* must be a tree"),
        ([("a", "x"), ("b", "y")], "one root; found 2: 'a', 'b'. Put a common parent above them"),
        ([(f"r{i}", f"x{i}") for i in range(9)], "found 9: 'r0', 'r1', 'r2', 'r3', 'r4', ..."),
        ([("a", "b", "c")], r"An edge is a \(parent, child\) pair; got \('a', 'b', 'c'\)"),
        (["ab"], r"An edge is a \(parent, child\) pair; got 'ab'"),
        ([7], "pair; got 7"),
        ([("a", 1)], r"names must be strings; got 1 \(int\) in an edge"),
        ([("a", ["b"])], r"names must be strings; got \['b'\] \(list\)"),
        ([("a", "")], "names must not be empty; got ''"),
        ([("a", "\udcff")], "not valid text"),
    ],
)
def test_what_is_no_tree_is_refused(edges: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_edges(edges)


def test_a_long_cycle_is_shown_in_part() -> None:
    ring = [(f"n{i}", f"n{(i + 1) % 50}") for i in range(50)]
    with pytest.raises(HierarchyError, match=r"no cycles; found n\d+ -> \.\.\. -> .* -> n\d+\.$"):
        Hierarchy(ring)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["snake", "snaik"], "Unknown class 'snaik' .*; did you mean 'snake'"),
        (["ray", "snake", "ray"], "Duplicate class name 'ray'"),
        ([], "At least one class is needed; `classes` is empty"),
        ("snake", "`classes` must be a list of names; got the string 'snake'"),
        (3, "`classes` must be a list of names; got 3"),
        ({"snake", "ray"}, "`classes` must have an order; got a set"),
        ([0, 1], r"names must be strings; got 0 \(int\) .* Integers always mean positions"),
    ],
)
def test_classes_it_does_not_have_are_refused(classes: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_dict(ANIMALS, classes=classes)


def test_an_error_of_a_hierarchy_is_a_value_error() -> None:
    assert issubclass(HierarchyError, ValueError)
    assert issubclass(HierarchyError, untrue.errors.UntrueError)


def test_it_cannot_be_changed() -> None:
    tree = Hierarchy.from_dict(ANIMALS)
    with pytest.raises(FrozenInstanceError, match="immutable; cannot set 'classes'"):
        tree.classes = ("snake",)
    with pytest.raises(FrozenInstanceError, match="immutable; cannot delete 'names'"):
        del tree.names
    for name in ("parents", "sizes", "depths", "heights", "class_nodes"):
        for version in (tree, pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
            with pytest.raises(ValueError, match="read-only"):
                getattr(version, name)[0] = 5


@given(edge_lists(), st.randoms(use_true_random=False))
def test_equal_content_makes_equal_trees(edges: Any, rng: random.Random) -> None:
    tree = Hierarchy(edges)
    again = [tuple(edge) for edge in edges]
    rng.shuffle(again)
    for twin in (
        Hierarchy(again, tree.classes),
        Hierarchy(tree.edges(), tree.classes),
        pickle.loads(pickle.dumps(tree)),
    ):
        assert twin == tree
        assert hash(twin) == hash(tree)
    assert pickle.loads(pickle.dumps(tree)).leaves == tree.leaves
    assert Hierarchy(tree.edges()) == tree, "the leaves keep their order"


def test_different_content_makes_different_trees() -> None:
    tree = Hierarchy.from_dict(ANIMALS)
    assert tree != Hierarchy.from_dict(ANIMALS, classes=tree.leaves[::-1])
    assert tree != Hierarchy(tree.edges()[:-1])
    assert tree != "animal"


@pytest.mark.parametrize("leaves", [10_000, 100_000])
def test_large_taxonomies_are_right(leaves: int) -> None:
    edges = random_taxonomy(leaves, 7)
    tree = Hierarchy.from_edges(edges)
    assert (tree.n_classes, tree.max_height) == (leaves, 7)
    assert set(tree.edges()) == set(edges)
    parent_of = {child: parent for parent, child in edges}
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, leaves, (2, 500))
    for a, b, height in zip(first, second, tree.height(first, second).tolist(), strict=True):
        one, other, steps = tree.classes[a], tree.classes[b], 0
        while one != other:  # every leaf is at the same depth, so both climb at one pace
            one, other, steps = parent_of[one], parent_of[other], steps + 1
        assert height == steps
    labels = tree.coarsen(6)
    assert len(tree.groups(6)) == labels.max() + 1 == len({parent_of[c] for c in tree.classes})


def test_a_chain_of_depth_5000_works() -> None:
    n = 5_000
    chain = [(f"n{i}", f"n{i + 1}") for i in range(n)]
    random.Random(0).shuffle(chain)
    tree = Hierarchy(chain, [f"n{n}", "n0", f"n{n // 2}"])
    assert tree.max_height == n
    assert tree.height(0, 1) == n
    assert tree.height(0, 2) == n - n // 2
    assert tree.coarsen(n - 1).tolist() == [2, 0, 1]
    assert pickle.loads(pickle.dumps(tree)) == tree
