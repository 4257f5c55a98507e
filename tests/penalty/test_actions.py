"""Answers that are not classes: what they cost, from tables and along trees."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import Actions, Hierarchy, Penalty, decide, metrics
from untrue.errors import ArgumentError, DataError, PenaltyError

CLASSES = ["tumour", "cyst", "benign"]
TABLE = [[0.0, 3.0, 20.0, 0.4], [1.0, 0.0, 3.0, 0.4], [1.0, 1.0, 0.0, 0.4]]
SCAN = Actions.from_matrix(TABLE, CLASSES, [*CLASSES, "scan"])
TREE = Hierarchy.from_edges(
    [
        ("all", "animal"),
        ("all", "car"),
        ("animal", "bird"),
        ("bird", "owl"),
        ("bird", "wren"),
        ("animal", "dog"),
        ("dog", "poodle"),
        ("animal", "unseen"),
    ],
    classes=["owl", "wren", "dog", "poodle", "car"],
)


@st.composite
def trees(draw: Any) -> Hierarchy:
    """Any tree, some of whose nodes, inner ones too, are classes."""
    n = draw(st.integers(2, 14))
    up = [draw(st.integers(0, v - 1)) for v in range(1, n)]
    nodes = draw(st.permutations(range(n)))
    classes = [f"n{v}" for v in nodes[: draw(st.integers(1, n))]]
    edges = [(f"n{p}", f"n{v}") for v, p in enumerate(up, start=1)]
    return Hierarchy.from_edges(edges, classes=classes)


def above(tree: Hierarchy, name: str) -> list[str]:
    """The node and its ancestors, upwards."""
    up = {child: parent for parent, child in tree.edges()}
    found = [name]
    while found[-1] in up:
        found.append(up[found[-1]])
    return found


def below(tree: Hierarchy, name: str) -> list[str]:
    return [c for c in tree.classes if name in above(tree, c)]


def common(tree: Hierarchy, a: str, b: str) -> str:
    return next(node for node in above(tree, a) if node in above(tree, b))


def by_hand(tree: Hierarchy, cost: Any, true: str, answer: str) -> float:
    if true == answer:
        return 0.0
    met = common(tree, true, answer)
    if cost == "distance":
        return above(tree, true).index(met) + above(tree, answer).index(met)
    if cost == "information":
        whole = math.log(tree.n_classes) or 1.0
        return math.log(len(below(tree, answer))) / whole if met == answer else 1.0
    heights = dict(zip(tree.names, tree.heights.tolist(), strict=True))
    return cost(heights[met], heights[answer])


def halves(height: int, answer: int) -> float:
    """A coarse answer costs half of the worst mistake below it."""
    return height / 2 if height == answer else float(height)


@settings(max_examples=80, deadline=None)
@given(trees(), st.sampled_from(["distance", "information", halves]), st.integers(0, 10**6))
def test_nodes_cost_what_the_tree_says(tree: Hierarchy, cost: Any, seed: int) -> None:
    actions = Actions.from_hierarchy(tree, cost)
    assert set(actions.actions) == {name for name in tree.names if below(tree, name)}
    expected = [[by_hand(tree, cost, c, a) for a in actions.actions] for c in tree.classes]
    np.testing.assert_allclose(actions.matrix(), expected, atol=1e-12)
    probs = np.random.default_rng(seed).dirichlet(np.ones(tree.n_classes), 7)
    np.testing.assert_allclose(actions.expected(probs), probs @ np.array(expected), atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(trees(), st.integers(0, 10**6))
def test_by_distance_the_deepest_node_with_half_of_the_mass_is_best(
    tree: Hierarchy, seed: int
) -> None:
    """Ramaswamy, Tewari and Agarwal (ICML 2015), where classes are leaves."""
    leaves = Hierarchy.from_edges(tree.edges())
    actions = Actions.from_hierarchy(leaves)
    probs = np.random.default_rng(seed).dirichlet(np.full(leaves.n_classes, 0.3), 20)
    answers = decide(probs, actions)
    for row, answer in zip(probs, answers.tolist(), strict=True):
        share = dict(zip(leaves.classes, row.tolist(), strict=True))
        mass = {v: sum(share[c] for c in below(leaves, v)) for v in leaves.names}
        deep = max((len(above(leaves, v)), v) for v, m in mass.items() if m > 0.5 + 1e-9)
        near_half = [v for v, m in mass.items() if abs(m - 0.5) <= 1e-9]
        assert actions.actions[answer] in (deep[1], *near_half)


def test_information_is_the_greatest_expected_gain() -> None:
    """Deng et al. (CVPR 2012): probability times log2(classes) - log2(classes below)."""
    tree = Hierarchy.from_dict(
        {"all": {"a": ["1", "2", "3"], "b": {"c": ["4", "5"], "d": ["6", "7"]}}}
    )
    actions = Actions.from_hierarchy(tree, "information")
    probs = np.random.default_rng(0).dirichlet(np.full(7, 0.5), 200)
    sizes = [len(below(tree, v)) for v in actions.actions]
    mass = np.stack(
        [probs[:, [tree.classes.index(c) for c in below(tree, v)]].sum(1) for v in actions.actions],
        axis=1,
    )
    gain = mass * (math.log2(7) - np.log2(sizes))
    np.testing.assert_array_equal(decide(probs, actions), gain.argmax(axis=1))


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_decisions_are_the_cheapest_actions(kind: Any) -> None:
    probs = np.random.default_rng(0).dirichlet(np.full(3, 0.5), 300)
    found = decide(kind(probs), SCAN)
    expected = probs @ np.array(TABLE)
    np.testing.assert_array_equal(np.asarray(found), expected.argmin(axis=1))
    assert set(np.asarray(found).tolist()) == {0, 1, 2, 3}
    silent = decide(kind(probs), SCAN, abstain_cost=0.3)
    np.testing.assert_array_equal(np.asarray(silent) == -1, expected.min(axis=1) > 0.3)
    images = np.moveaxis(probs.reshape(3, 10, 10, 3), -1, 1).copy()
    assert tuple(decide(kind(images), SCAN).shape) == (3, 10, 10)
    nodes = Actions.from_hierarchy(TREE)
    probs = np.random.default_rng(1).dirichlet(np.full(5, 0.4), 50)
    np.testing.assert_array_equal(np.asarray(decide(kind(probs), nodes)), decide(probs, nodes))


def test_of_equal_actions_the_first_is_taken_and_of_nodes_the_deepest() -> None:
    alike = Actions.from_matrix([[1.0, 1.0], [1.0, 1.0]], 2, ["wait", "act"])
    assert decide([[0.5, 0.5]], alike).tolist() == [0]
    tree = Hierarchy.from_groups({"g": ["a", "b"], "h": ["c", "d"]})
    nodes = Actions.from_hierarchy(tree)
    assert nodes.actions[decide([[0.25, 0.25, 0.5, 0.0]], nodes)[0]] == "c"


def test_a_penalty_and_more_actions() -> None:
    costs = Penalty.from_matrix(np.array(TABLE)[:, :3], CLASSES)
    assert (Actions.from_penalty(costs, {"scan": 0.4}).matrix() == np.array(TABLE)).all()
    by_class = Actions.from_penalty(costs, {"scan": {"tumour": 1.0, "cyst": 2.0, "benign": 3.0}})
    assert by_class.matrix()[:, 3].tolist() == [1.0, 2.0, 3.0]
    assert by_class.cost("cyst", "scan") == 2.0
    assert by_class.cost(["cyst", "benign"], "scan").tolist() == [2.0, 3.0]


def test_measures_understand_actions() -> None:
    rng = np.random.default_rng(0)
    true, answers = rng.integers(0, 3, 100), rng.integers(0, 4, 100)
    table = metrics.answer_table(true, answers, SCAN)
    assert table.shape == (3, 4)
    assert table[1, 3] == ((true == 1) & (answers == 3)).sum()
    mean = np.mean([TABLE[t][a] for t, a in zip(true, answers, strict=True)])
    cells = metrics.answer_cells(true, answers, SCAN)
    assert cells.total == 100
    for counts in (table, cells, torch.from_numpy(table)):
        assert metrics.expected_cost(counts, SCAN) == pytest.approx(mean)
    shares = np.array([0.1, 0.2, 0.7])
    rates = table / table.sum(axis=1, keepdims=True)
    expected = (shares[:, None] * rates * np.array(TABLE)).sum()
    assert metrics.expected_cost(table, SCAN, priors=shares) == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(trees(), st.integers(0, 10**6))
def test_hierarchical_measures_of_nodes_are_those_of_sets_of_ancestors(
    tree: Hierarchy, seed: int
) -> None:
    actions = Actions.from_hierarchy(tree)
    rng = np.random.default_rng(seed)
    true = rng.integers(0, actions.n_classes, 30)
    answers = rng.integers(0, actions.n_actions, 30)
    shared = given_ = asked = 0
    for t, a in zip(true.tolist(), answers.tolist(), strict=True):
        truth = set(above(tree, tree.classes[t])) - {tree.root}
        answer = set(above(tree, actions.actions[a])) - {tree.root}
        shared, given_, asked = (
            shared + len(truth & answer),
            given_ + len(answer),
            asked + len(truth),
        )
    for counts in (
        metrics.answer_table(true, answers, actions),
        metrics.answer_cells(true, answers, actions),
    ):
        for measure, of in (
            (metrics.hierarchical_precision, given_),
            (metrics.hierarchical_recall, asked),
        ):
            expected = shared / of if of else math.nan
            assert measure(counts, actions) == pytest.approx(expected, nan_ok=True)
        whole = given_ + asked
        assert metrics.hierarchical_f(counts, actions) == pytest.approx(
            2 * shared / whole if whole else math.nan, nan_ok=True
        )


def test_a_tree_of_ten_thousand_leaves_needs_no_table() -> None:
    groups = {
        f"g{i}": {f"h{i}.{j}": [f"{i}.{j}.{m}" for m in range(10)] for j in range(20)}
        for i in range(50)
    }
    tree = Hierarchy.from_dict({"all": groups})
    actions = Actions.from_hierarchy(tree)
    assert (actions.n_classes, actions.n_actions) == (10_000, 11_051)
    probs = np.full((4, 10_000), 1e-9)
    probs[0, 0] = 1.0
    probs[1, :10] = 0.1
    probs[2, :200] = 1 / 200
    probs[3, :] = 1e-4
    probs /= probs.sum(axis=1, keepdims=True)
    answers = decide(probs, actions)
    assert [actions.actions[a] for a in answers] == ["0.0.0", "h0.0", "g0", "all"]
    cells = metrics.answer_cells([0, 0, 0, 0], answers, actions)
    assert metrics.expected_cost(cells, actions) == pytest.approx((0 + 1 + 2 + 3) / 4)
    assert metrics.hierarchical_precision(cells, actions) == 1.0
    assert metrics.hierarchical_recall(cells, actions) == pytest.approx(6 / 12)


def test_only_some_nodes_may_be_answers() -> None:
    some = Actions.from_hierarchy(TREE, nodes=["bird", "car", "all"])
    whole = Actions.from_hierarchy(TREE)
    assert some.actions == ("bird", "car", "all")
    places = [whole.index(name) for name in some.actions]
    np.testing.assert_allclose(some.matrix(), whole.matrix()[:, places])


FILE = """
classes = ["tumour", "cyst", "benign"]

[[action]]
name = "tumour"
cost = 1.0
costs = { tumour = 0.0 }

[[action]]
name = "scan"
cost = 2.0
"""


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_files_come_and_go(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "actions.toml"
    path.write_text(FILE)
    found = Actions.load(path)
    assert found.actions == ("tumour", "scan")
    assert found.matrix().tolist() == [[0, 2], [1, 2], [1, 2]]
    nodes = Actions.from_hierarchy(TREE, "information", nodes=["bird", "all"])
    for actions in (found, SCAN, nodes, Actions.from_hierarchy(TREE)):
        again = Actions.load(actions.save(tmp_path / f"again{suffix}"))
        assert (again.classes, again.actions) == (actions.classes, actions.actions)
        np.testing.assert_array_equal(again.matrix(), actions.matrix())
    with pytest.raises(PenaltyError, match="Costs by a function cannot be written to a file"):
        Actions.from_hierarchy(TREE, halves).save(tmp_path / f"no{suffix}")
    assert not (tmp_path / f"no{suffix}").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cost = 2.0", 'cost = "two"', "Expected a number for the action 'scan'; got 'two'"),
        ("cost = 2.0", "cost = -2.0", "Cost of 'scan' for 'tumour' is -2.0: costs must be finite"),
        (
            "cost = 2.0",
            "costs = { cyst = 1.0 }",
            "action 'scan' has no cost for 'tumour'",
        ),
        ("cost = 2.0", "note = 1", "action 2: expected name, and cost or costs; got name, note"),
        ("tumour = 0.0", "tumor = 0.0", "unknown class 'tumor'; did you mean 'tumour'"),
        ('name = "scan"', 'name = "tumour"', "The action 'tumour' is named twice"),
        ('name = "scan"', "name = 3", "action 2: name must be a text"),
        ("classes =", "clases =", "unknown key 'clases'; did you mean 'classes'"),
        ("[[action]]", "[action]", "not readable as TOML|actions are written as"),
    ],
)
def test_files_that_are_wrong_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "actions.toml"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(PenaltyError, match=rf"actions\.toml.*({message})"):
        Actions.load(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Actions.from_matrix(TABLE, CLASSES, CLASSES), r"has shape \(3, 3\); got \(3, 4\)"),
        (lambda: Actions.from_matrix([[1e39]], ["a"], ["b"]), "costs must be at most"),
        (lambda: Actions.from_matrix([[np.nan]], ["a"], ["b"]), "is nan: costs must be finite"),
        (lambda: Actions.from_matrix([[1.0]], ["a"], "b"), "`actions` must be a list of names"),
        (lambda: Actions.from_matrix([[]], ["a"], []), "At least one action is needed"),
        (lambda: Actions.from_penalty(Penalty.from_ordinal(2), {}), "More actions are"),
        (
            lambda: Actions.from_penalty(Penalty.from_ordinal(2), {"scan": {"0": 1.0}}),
            "The action 'scan' must name every class; it has no '1'",
        ),
        (lambda: Actions.from_hierarchy([("a", "b")]), "`hierarchy` must be a Hierarchy; got list"),
        (lambda: Actions.from_hierarchy(TREE, "depth"), "`cost` must be 'distance', 'informat"),
        (lambda: Actions.from_hierarchy(TREE, lambda h: h), r"`f\(h, a\)` of two .*of \(h\)"),
        (lambda: Actions.from_hierarchy(TREE, lambda h, a: 1.0), "right answer 'owl' is 1; not 0"),
        (lambda: Actions.from_hierarchy(TREE, lambda h, a: -h), r"`cost\(1, 0\)` is -1: it must"),
        (lambda: Actions.from_hierarchy(TREE, nodes=["birds"]), "'birds'; did you mean 'bird'"),
        (lambda: Actions.from_hierarchy(TREE, nodes=["unseen"]), "No class is below the node"),
        (lambda: Actions.from_hierarchy(TREE, nodes=[]), "`nodes` must be a list of names"),
        (lambda: SCAN.cost("tumour", "scn"), "Unknown action 'scn'; did you mean 'scan'"),
        (lambda: SCAN.cost(0, 4), r"Action index 4 is outside 0\.\.3"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        make()


def test_tables_and_answers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match=r"`answers` must lie in \[-1, 4\).*got 4 at position 1"):
        metrics.answer_table([0, 1], [0, 4], SCAN)
    with pytest.raises(DataError, match=r"`answers` abstains \(-1\) at position 0 and 1 times"):
        metrics.answer_table([0, 1], [-1, 3], SCAN)
    assert metrics.answer_table([0, 1], [-1, 3], SCAN, abstained="drop").sum() == 1
    with pytest.raises(ArgumentError, match=r"shape \(3, 4\), classes by actions; got \(3, 3\)"):
        metrics.expected_cost(np.eye(3, dtype=int), SCAN)
    with pytest.raises(ArgumentError, match="about answers that are nodes of a hierarchy"):
        metrics.hierarchical_precision(np.ones((3, 4), dtype=int), SCAN)
    with pytest.raises(ArgumentError, match=r"`actions` must be untrue.Actions; got Hierarchy"):
        metrics.answer_table([0], [0], TREE)
