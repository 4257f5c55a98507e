"""Hierarchical precision, recall and F, beside the sets of ancestors that define them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrue import Hierarchy, metrics
from untrue.errors import ArgumentError

# Classes at different depths, one of them an inner node.
TREE = Hierarchy.from_edges(
    [
        ("all", "animal"),
        ("all", "car"),
        ("animal", "bird"),
        ("bird", "owl"),
        ("bird", "wren"),
        ("animal", "dog"),
    ],
    classes=["owl", "wren", "bird", "dog", "car"],
)
K = TREE.n_classes
counts = st.lists(st.integers(0, 9), min_size=K * K, max_size=K * K)


def above(name: str) -> set[str]:
    """The class and its ancestors, the root excepted."""
    up = {child: parent for parent, child in TREE.edges()}
    found = set()
    while name in up:
        found.add(name)
        name = up[name]
    return found


@given(counts, st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_they_are_the_sums_over_sets_of_ancestors(cells: list[int], beta: float) -> None:
    cm = np.reshape(cells, (K, K))
    shared = answered = asked = 0
    for i, true in enumerate(TREE.classes):
        for j, predicted in enumerate(TREE.classes):
            shared += cm[i, j] * len(above(true) & above(predicted))
            answered += cm[i, j] * len(above(predicted))
            asked += cm[i, j] * len(above(true))
    if not cm.any():
        assert np.isnan(metrics.hierarchical_precision(cm, TREE))
        return
    precision, recall = shared / answered, shared / asked
    assert metrics.hierarchical_precision(cm, TREE) == pytest.approx(precision)
    assert metrics.hierarchical_recall(cm, TREE) == pytest.approx(recall)
    below = beta**2 * precision + recall
    f = (1 + beta**2) * precision * recall / below if below else 0.0
    assert metrics.hierarchical_f(cm, TREE, beta) == pytest.approx(f)


def test_f_of_a_large_beta_is_recall() -> None:
    cm = np.arange(K * K).reshape(K, K)
    for beta in (1e9, 1e200):
        assert metrics.hierarchical_f(cm, TREE, beta) == metrics.hierarchical_recall(cm, TREE)


def test_a_coarse_answer_is_precise_and_recalls_little() -> None:
    cm = np.zeros((K, K), dtype=int)
    cm[TREE.classes.index("owl"), TREE.classes.index("bird")] = 4
    assert metrics.hierarchical_precision(cm, TREE) == 1.0
    assert metrics.hierarchical_recall(cm, TREE) == pytest.approx(2 / 3)


def test_a_bad_beta_is_refused() -> None:
    with pytest.raises(ArgumentError, match="`beta` must be at least 0; got -1"):
        metrics.hierarchical_f(np.eye(K, dtype=int), TREE, -1)


def test_beta_may_be_a_number_of_numpy() -> None:
    cm = np.full((K, K), 3)
    assert metrics.hierarchical_f(cm, TREE, np.float32(2)) == metrics.hierarchical_f(cm, TREE, 2.0)
