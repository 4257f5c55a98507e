"""Each measure equals its loop over examples, and says so when it cannot be computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import Hierarchy, Penalty, metrics
from untrue.errors import ArgumentError

Labels = Sequence[int]

GROUPS = {"cats": ["lion", "lynx"], "dogs": ["wolf", "fox", "jackal"]}
NAMES = [name for group in GROUPS.values() for name in group]
GROUP_OF = [0, 0, 1, 1, 1]
TREE = Hierarchy.from_groups(GROUPS)
K = len(NAMES)

COSTS = np.random.default_rng(1).integers(0, 5, (K, K)) * (1.0 - np.eye(K))
PENALTIES = {
    "dense": Penalty.from_matrix(COSTS, NAMES),
    "rules": Penalty.from_rules(NAMES, {("lion", "wolf"): 9.0, ("fox", "lynx"): 0.0}, default=2.0),
    "zone": Penalty.from_zone([("lion", "wolf"), ("fox", "lynx")], NAMES),
    "tree": Penalty.from_groups(GROUPS, 1.0, 5.0),
}
examples = st.lists(st.tuples(st.integers(0, K - 1), st.integers(0, K - 1)), max_size=30)
zones = st.sets(
    st.tuples(st.integers(0, K - 1), st.integers(0, K - 1)).filter(lambda cell: cell[0] != cell[1])
)


def same(a: float, b: float) -> bool:
    return a == pytest.approx(b, rel=1e-12, abs=1e-12, nan_ok=True)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def naive_total_error(true: Labels, predicted: Labels) -> float:
    return mean([t != s for t, s in zip(true, predicted, strict=True)])


def naive_zone_errors(true: Labels, predicted: Labels, zone: set[tuple[int, int]]) -> int:
    return sum((t, s) in zone for t, s in zip(true, predicted, strict=True))


def naive_zone_share(true: Labels, predicted: Labels, zone: set[tuple[int, int]]) -> float:
    return mean([(t, s) in zone for t, s in zip(true, predicted, strict=True) if t != s])


def naive_coarse_error(true: Labels, predicted: Labels, group: Sequence[int]) -> float:
    return mean([group[t] != group[s] for t, s in zip(true, predicted, strict=True)])


def naive_in_group_share(true: Labels, predicted: Labels, group: Sequence[int]) -> float:
    return mean([group[t] == group[s] for t, s in zip(true, predicted, strict=True) if t != s])


def naive_expected_cost(true: Labels, predicted: Labels, costs: Any) -> float:
    return mean([costs[t][s] for t, s in zip(true, predicted, strict=True)])


def naive_adjusted_expected_cost(true: Labels, predicted: Labels, costs: Any) -> float:
    constant = min(naive_expected_cost(true, [j] * len(true), costs) for j in range(len(costs)))
    cost = naive_expected_cost(true, predicted, costs)
    if constant:
        return cost / constant
    return math.inf if cost else math.nan


def naive_mistake_severity(true: Labels, predicted: Labels, tree: Any) -> float:
    return mean([tree.height(t, s) for t, s in zip(true, predicted, strict=True) if t != s])


def naive_small_class_accuracy(true: Labels, predicted: Labels, subset: set[int]) -> float:
    return mean([t == s for t, s in zip(true, predicted, strict=True) if t in subset])


def naive_super_class_accuracy(
    true: Labels, predicted: Labels, group: Sequence[int], subset: set[int]
) -> float:
    return mean([group[t] == group[s] for t, s in zip(true, predicted, strict=True) if t in subset])


def naive_typicality(true: Labels, predicted: Labels, group: Sequence[int], c: int) -> float:
    pairs = [(t, s) for t, s in zip(true, predicted, strict=True) if t == c and s != c]
    return mean([group[t] == group[s] for t, s in pairs])


@given(examples, zones, st.sets(st.integers(0, K - 1)))
@settings(max_examples=150)
def test_measures_equal_loops_over_examples(
    pairs: list[tuple[int, int]], zone: set[tuple[int, int]], subset: set[int]
) -> None:
    true, predicted = [t for t, _ in pairs], [s for _, s in pairs]
    for cm in (
        metrics.confusion_matrix(true, predicted, K),
        metrics.confusion_cells(true, predicted, K),
    ):
        assert same(metrics.total_error(cm), naive_total_error(true, predicted))
        assert metrics.zone_errors(cm, zone) == naive_zone_errors(true, predicted, zone)
        assert same(metrics.zone_share(cm, zone), naive_zone_share(true, predicted, zone))
        assert same(
            metrics.coarse_error(cm, GROUP_OF), naive_coarse_error(true, predicted, GROUP_OF)
        )
        assert same(
            metrics.in_group_share(cm, GROUP_OF), naive_in_group_share(true, predicted, GROUP_OF)
        )
        assert same(
            metrics.mistake_severity(cm, TREE), naive_mistake_severity(true, predicted, TREE)
        )
        assert same(
            metrics.small_class_accuracy(cm, subset),
            naive_small_class_accuracy(true, predicted, subset),
        )
        assert same(
            metrics.super_class_accuracy(cm, GROUP_OF, subset=subset),
            naive_super_class_accuracy(true, predicted, GROUP_OF, subset),
        )
        for c, (accuracy, typical) in enumerate(
            zip(metrics.class_accuracy(cm), metrics.typicality(cm, GROUP_OF), strict=True)
        ):
            assert same(accuracy, naive_small_class_accuracy(true, predicted, {c}))
            assert same(typical, naive_typicality(true, predicted, GROUP_OF, c))


@given(examples, st.sampled_from(sorted(PENALTIES)))
@settings(max_examples=150)
def test_costs_equal_loops_over_examples(pairs: list[tuple[int, int]], form: str) -> None:
    true, predicted = [t for t, _ in pairs], [s for _, s in pairs]
    penalty = PENALTIES[form]
    costs = penalty.matrix().tolist()
    cm = metrics.confusion_matrix(true, predicted, K)
    assert same(metrics.expected_cost(cm, penalty), naive_expected_cost(true, predicted, costs))
    adjusted = metrics.adjusted_expected_cost(cm, penalty)
    if pairs:
        assert same(adjusted, naive_adjusted_expected_cost(true, predicted, costs))
    else:
        assert math.isnan(adjusted)
    rows = metrics.costliest_confusions(cm, penalty, n=K * K)
    assert sum(row.cost for row in rows) == pytest.approx(
        sum(costs[t][s] for t, s in pairs), abs=1e-9
    )
    for true_name, said_name, count, cost in rows:
        t, s = NAMES.index(true_name), NAMES.index(said_name)
        assert count == pairs.count((t, s))
        assert cost == pytest.approx(count * costs[t][s])
    ranks = [(-row.cost, -row.count, NAMES.index(row.true)) for row in rows]
    assert ranks == sorted(ranks)
    for n in range(5):
        assert metrics.costliest_confusions(cm, penalty, n) == rows[:n]


def test_a_model_without_errors_has_shares_of_nothing() -> None:
    cm = np.eye(K, dtype=int)
    assert metrics.total_error(cm) == 0
    assert math.isnan(metrics.zone_share(cm, [(0, 1)]))
    assert math.isnan(metrics.in_group_share(cm, GROUP_OF))
    assert math.isnan(metrics.mistake_severity(cm, TREE))
    assert metrics.expected_cost(cm, PENALTIES["tree"]) == 0
    assert metrics.adjusted_expected_cost(cm, PENALTIES["tree"]) == 0
    assert metrics.costliest_confusions(cm, PENALTIES["tree"]) == ()


def test_one_class_and_no_data_are_no_trouble() -> None:
    assert metrics.total_error([[3]]) == 0
    assert metrics.expected_cost([[3]], Penalty.from_matrix([[0.0]])) == 0
    assert math.isnan(metrics.adjusted_expected_cost([[3]], Penalty.from_matrix([[0.0]])))
    assert math.isnan(metrics.total_error([[0]]))


def test_a_free_constant_answer_cannot_be_beaten() -> None:
    penalty = Penalty.from_zone([(0, 1)], 3)
    assert metrics.adjusted_expected_cost([[5, 1, 0], [0, 4, 0], [0, 0, 4]], penalty) == math.inf
    assert math.isnan(metrics.adjusted_expected_cost([[5, 0, 1], [0, 4, 0], [0, 0, 4]], penalty))


def test_a_free_answer_is_free_whatever_the_rounding() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        default = float(rng.random())
        penalty = Penalty.from_rules(7, {(i, 0): 0.0 for i in range(1, 7)}, default=default)
        cm = rng.integers(1, 50, (7, 7))
        assert metrics.adjusted_expected_cost(cm, penalty) == math.inf


def test_the_best_constant_answer_is_not_free_beside_costs_that_are_far_greater() -> None:
    penalty = Penalty.from_matrix([[0.0, 1.0, 1e14], [1e14, 0.0, 1e14], [1e14, 1.0, 0.0]])
    cm = [[5, 1, 0], [0, 0, 0], [0, 1, 5]]
    assert metrics.adjusted_expected_cost(cm, penalty) == pytest.approx(2 / 12)
    assert metrics.summary(cm, penalty=penalty).adjusted_expected_cost == pytest.approx(2 / 12)


def test_the_best_constant_answer_has_adjusted_cost_one() -> None:
    penalty = PENALTIES["dense"]
    counts = np.array([5, 1, 7, 2, 9])
    answers = [np.outer(counts, np.arange(K) == j).astype(int) for j in range(K)]
    assert min(metrics.adjusted_expected_cost(cm, penalty) for cm in answers) == pytest.approx(1)


def test_severity_is_not_lowered_by_right_answers_but_height_at_1_is() -> None:
    tree = Hierarchy.from_groups(GROUPS)
    few, many = np.diag([1] * K), np.diag([100] * K)
    few[0, 4] = many[0, 4] = 2
    assert metrics.mistake_severity(few, tree) == metrics.mistake_severity(many, tree) == 2


def test_costliest_confusions_are_rows_with_names() -> None:
    cm = np.diag([9] * K)
    cm[0, 1], cm[0, 2], cm[4, 0] = 4, 1, 2
    rows = metrics.costliest_confusions(cm, PENALTIES["tree"], n=2)
    assert rows == (
        metrics.Confusion("jackal", "lion", 2, 10.0),
        metrics.Confusion("lion", "wolf", 1, 5.0),
    )
    true, predicted, count, cost = rows[0]
    assert (true, predicted, count, cost) == ("jackal", "lion", 2, 10.0)
    with pytest.raises(FrozenInstanceError):
        rows[0].count = 3  # type: ignore[misc]
    assert metrics.costliest_confusions(cm, PENALTIES["tree"], n=0) == ()
    with pytest.raises(ArgumentError, match="`n` must be at least 0; got -1"):
        metrics.costliest_confusions(cm, PENALTIES["tree"], n=-1)


def test_a_bare_matrix_or_the_wrong_number_of_classes_is_refused() -> None:
    cm = np.eye(3, dtype=int)
    with pytest.raises(
        ArgumentError, match=r"untrue.Penalty; got ndarray. A matrix becomes one by"
    ):
        metrics.expected_cost(cm, np.zeros((3, 3)))  # type: ignore[arg-type]
    with pytest.raises(
        ArgumentError, match="`penalty` must be about the 3 classes of the data; it"
    ):
        metrics.expected_cost(cm, PENALTIES["tree"])
    with pytest.raises(
        ArgumentError, match="`hierarchy` must be about the 3 classes of the data; it is"
    ):
        metrics.mistake_severity(cm, TREE)
    with pytest.raises(
        ArgumentError, match=r"`hierarchy` must be an untrue.Hierarchy; got TreePenalty"
    ):
        metrics.mistake_severity(cm, PENALTIES["tree"])  # type: ignore[arg-type]


def test_a_tree_penalty_over_many_classes_is_measured_without_a_matrix() -> None:
    k = 30_000  # a matrix would take 7 GB
    tree = Hierarchy.from_groups(
        {f"g{i}": [f"c{i}.{j}" for j in range(100)] for i in range(k // 100)}
    )
    penalty = Penalty.from_hierarchy(tree)
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(k, size=(2, 5000))
    cells = metrics.confusion_cells(true, predicted, k)
    cost = np.where(true == predicted, 0, np.where(true // 100 == predicted // 100, 1, 2)).mean()
    assert metrics.expected_cost(cells, penalty) == pytest.approx(cost)
    assert metrics.adjusted_expected_cost(cells, penalty) == pytest.approx(1, abs=0.02)
    assert metrics.coarse_error(cells, tree.coarsen(1)) == np.mean(true // 100 != predicted // 100)
