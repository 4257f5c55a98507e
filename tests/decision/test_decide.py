"""Least expected cost, and abstaining."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import Actions, Hierarchy, Penalty, decide, metrics
from untrue.errors import ArgumentError, DataError
from untrue.metrics import inputs
from untrue.penalty import ExamplePenalty

GROUPS = {"cats": ["lion", "lynx"], "dogs": ["wolf", "fox", "jackal"]}
NAMES = [name for group in GROUPS.values() for name in group]
K = len(NAMES)
COSTS = np.random.default_rng(1).integers(0, 5, (K, K)) * (1.0 - np.eye(K))
PENALTIES = {
    "dense": Penalty.from_matrix(COSTS, NAMES),
    "rules": Penalty.from_rules(NAMES, {("lion", "wolf"): 9.0, ("fox", "lynx"): 0.0}, default=2.0),
    "tree": Penalty.from_groups(GROUPS, 1.0, 5.0),
}
probabilities = st.lists(
    st.lists(st.integers(0, 9), min_size=K, max_size=K).filter(any), min_size=1, max_size=8
).map(lambda rows: np.array([np.array(row) / sum(row) for row in rows]))


def naive(probs: Any, costs: Any, abstain_cost: float | None) -> list[int]:
    """By loops: least cost first, then the more probable class, then the first class."""
    labels = []
    for row in probs:
        expected = [sum(p * costs[i][j] for i, p in enumerate(row)) for j in range(len(row))]
        ranked = sorted(range(len(row)), key=lambda j: (round(expected[j], 9), -row[j], j))
        abstains = abstain_cost is not None and min(expected) > abstain_cost + 1e-9
        labels.append(-1 if abstains else ranked[0])
    return labels


@given(
    probabilities, st.sampled_from(sorted(PENALTIES)), st.none() | st.sampled_from([0, 0.3, 1.7])
)
@settings(max_examples=200)
def test_it_decides_as_loops_do(probs: Any, form: str, abstain_cost: float | None) -> None:
    penalty = PENALTIES[form]
    expected = naive(probs, penalty.matrix(), abstain_cost)
    labels = decide(probs, penalty, abstain_cost)
    assert labels.tolist() == expected
    assert labels.dtype == np.int64
    tensor = decide(torch.tensor(probs), penalty, abstain_cost)
    assert tensor.tolist() == expected
    assert tensor.dtype == torch.int64


NEVER = 1e20
BESIDE = np.where(np.eye(K)[0][:, None] * np.eye(K)[2], NEVER, COSTS)
WITH_A_HUGE_COST = {
    "dense": Penalty.from_matrix(BESIDE),
    "rules": Penalty.from_rules(K, {(0, 2): NEVER, (3, 1): 0.0, (1, 4): 7.0}, default=2.0),
    "dense, by example": Penalty.from_matrix(BESIDE).per_example({(3, 1): np.arange(200) / 9}),
    "rules, by example": Penalty.from_rules(K, {(0, 2): NEVER}).per_example(
        {(3, "*"): np.arange(200) / 9}
    ),
    "actions": Actions.from_matrix(BESIDE, K, NAMES),
}


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
@pytest.mark.parametrize("form", WITH_A_HUGE_COST)
def test_a_cost_that_forbids_an_answer_leaves_the_others_apart(form: str, kind: Any) -> None:
    penalty = WITH_A_HUGE_COST[form]
    probs = np.random.default_rng(0).dirichlet(np.ones(K), size=200)
    if isinstance(penalty, ExamplePenalty):
        tables = [penalty.penalty(n).matrix() for n in range(200)]
    else:
        tables = [penalty.matrix()] * 200
    expected = np.array([row @ table for row, table in zip(probs, tables, strict=True)])
    assert decide(kind(probs), penalty).tolist() == expected.argmin(axis=1).tolist()
    silent = decide(kind(probs), penalty, abstain_cost=1.0) == -1
    assert silent.tolist() == (expected.min(axis=1) > 1.0).tolist()


@pytest.mark.parametrize("form", sorted(PENALTIES))
def test_no_other_decision_costs_less(form: str) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(K), size=500)
    penalty = PENALTIES[form]
    expected = probs @ penalty.matrix()
    labels = decide(probs, penalty)
    assert np.allclose(expected[np.arange(500), labels], expected.min(axis=1))
    assert (labels != probs.argmax(axis=1)).any()


def test_a_penalty_that_tells_nothing_apart_decides_as_argmax_does() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(K), size=200)
    argmax = probs.argmax(axis=1).tolist()
    for penalty in (
        Penalty.from_matrix(np.zeros((K, K))),
        Penalty.from_rules(K, {}, default=3.0),
        Penalty.from_rules(K, {}, default=0.0),
        Penalty.from_groups(GROUPS, 2.0, 2.0),
    ):
        assert decide(probs, penalty).tolist() == argmax
        assert decide(torch.tensor(probs, dtype=torch.float32), penalty).tolist() == argmax


def test_ties_go_to_the_most_probable_class_among_the_cheapest() -> None:
    # Only the group matters, so that within the better group all decisions cost the same.
    rng = np.random.default_rng(0)
    groups = {f"g{i}": [f"c{i}.{j}" for j in range(7)] for i in range(9)}
    probs = rng.dirichlet(np.full(63, 0.2), size=300)
    mass = probs.reshape(300, 9, 7)
    best = mass.sum(axis=2).argmax(axis=1)
    expected = best * 7 + mass[np.arange(300), best].argmax(axis=1)
    tree = Penalty.from_groups(groups, 0.0, 5.0)
    for penalty in (tree, Penalty.from_matrix(tree.matrix())):
        assert decide(probs, penalty).tolist() == expected.tolist()
        assert decide(torch.tensor(probs), penalty).tolist() == expected.tolist()
    assert decide([[0.5, 0.5]], Penalty.from_rules(2, {})).tolist() == [0]


def test_a_zone_is_left_for_the_most_probable_answer_that_is_free() -> None:
    penalty = Penalty.from_zone([(0, 1)], 3)
    assert decide([[0.3, 0.6, 0.1], [0.0, 0.9, 0.1]], penalty).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_abstaining_at_exactly_the_least_cost_still_answers(dtype: str) -> None:
    penalty = Penalty.from_rules(3, {})
    probs = np.array([[0.7, 0.1, 0.2]], dtype=dtype)
    assert decide(probs, penalty, abstain_cost=0.3).tolist() == [0]
    assert decide(probs, penalty, abstain_cost=0.29).tolist() == [-1]
    tensor = torch.tensor(probs)
    assert decide(tensor, penalty, abstain_cost=0.3).tolist() == [0]
    assert decide(tensor, penalty, abstain_cost=0.29).tolist() == [-1]


def test_abstaining_ends() -> None:
    penalty = Penalty.from_rules(2, {})
    probs = [[1.0, 0.0], [0.6, 0.4]]
    assert decide(probs, penalty, abstain_cost=0).tolist() == [0, -1]
    assert decide(probs, penalty, abstain_cost=math.inf).tolist() == [0, 0]


def test_abstentions_go_on_to_the_measures() -> None:
    predicted = decide([[0.9, 0.1], [0.5, 0.5]], Penalty.from_rules(2, {}), abstain_cost=0.2)
    assert metrics.confusion_matrix([0, 0], predicted, 2, abstained="drop").tolist() == [
        [1, 0],
        [0, 0],
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_a_softmax_of_any_precision_is_accepted(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    logits = 4 * torch.randn(200, 1000)
    probs = torch.softmax(logits.to(dtype), -1).requires_grad_()
    penalty = Penalty.from_rules(1000, {})
    assert decide(probs, penalty).tolist() == probs.argmax(-1).tolist()
    if dtype != torch.bfloat16:
        assert decide(probs.detach().numpy(), penalty).tolist() == probs.argmax(-1).tolist()


def test_what_comes_in_decides_what_goes_out() -> None:
    penalty = PENALTIES["tree"]
    probs = np.full((2, K), 1 / K)
    assert isinstance(decide(probs, penalty), np.ndarray)
    assert isinstance(decide(probs.tolist(), penalty), np.ndarray)
    tensor = decide(torch.tensor(probs), penalty)
    assert isinstance(tensor, torch.Tensor)
    assert not tensor.requires_grad
    assert decide(np.empty((0, K)), penalty).shape == (0,)
    assert decide(torch.empty(0, K), penalty).shape == (0,)
    assert decide(np.eye(K, dtype=int), penalty).tolist() == list(range(K))
    assert decide(torch.eye(K, dtype=torch.int64), penalty).tolist() == list(range(K))
    assert decide([[1.0]], Penalty.from_matrix([[0.0]])).tolist() == [0]


def test_blocks_of_rows_do_not_change_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(K), size=103)
    whole = decide(probs, PENALTIES["dense"], 1.0).tolist()
    monkeypatch.setattr(inputs, "BLOCK_VALUES", 10 * K)
    assert decide(probs, PENALTIES["dense"], 1.0).tolist() == whole
    assert decide(torch.tensor(probs), PENALTIES["dense"], 1.0).tolist() == whole
    probs[101] = 0
    with pytest.raises(DataError, match="row 101 sums to 0"):
        decide(probs, PENALTIES["dense"])


def test_many_rows_need_little_memory_beside_themselves() -> None:
    probs = np.full((40_000, 100), 0.01, dtype=np.float32)  # 16 MB, 32 MB for each float64 copy
    penalty = Penalty.from_rules(100, {(0, 1): 3.0})
    decide(probs[:10], penalty)
    tracemalloc.start()
    decide(probs, penalty)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_a_tree_of_many_classes_decides_without_a_matrix() -> None:
    k = 30_000  # a matrix would take 7 GB
    tree = Hierarchy.from_groups({f"g{i}": [f"c{i}.{j}" for j in range(100)] for i in range(300)})
    probs = np.zeros((3, k))
    probs[0, 5] = 1.0
    probs[1, [0, 100, 101, 102]] = [0.4, 0.2, 0.2, 0.2]
    probs[2] = 1 / k
    labels = decide(probs, Penalty.from_hierarchy(tree, {1: 0.1, 2: 1.0}))
    assert labels.tolist() == [5, 100, 0]


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
@pytest.mark.parametrize(
    ("probs", "message"),
    [
        ([[0.5, 0.5], [0.9, 0.3]], "must sum to 1; row 1 sums to 1.2. Logits become probabil"),
        ([[2.0, -1.0]], "must not be negative; row 0 holds -1"),
        ([[0.5, 0.5], [0.5, math.nan]], "must not be NaN; row 1 holds one"),
        ([0.5, 1.5], "must not be negative; row 1 holds -0.5"),
        ([[0.2, 0.3, 0.5]], "one column for each of 2 classes; got 3"),
    ],
)
def test_bad_probabilities_are_named(kind: Any, probs: Any, message: str) -> None:
    with pytest.raises((ArgumentError, DataError), match=message):
        decide(kind(probs), Penalty.from_rules(2, {}))


@pytest.mark.parametrize("cost", [-1, math.nan, "much"])
def test_a_bad_abstain_cost_is_named(cost: Any) -> None:
    with pytest.raises(ArgumentError, match="`abstain_cost` must be a number of at least 0, or No"):
        decide([[0.5, 0.5]], Penalty.from_rules(2, {}), cost)


def test_a_bare_matrix_is_no_penalty() -> None:
    with pytest.raises(ArgumentError, match=r"`penalty` must be an untrue.Penalty; got list"):
        decide([[0.5, 0.5]], [[0, 1], [1, 0]])  # type: ignore[call-overload]
