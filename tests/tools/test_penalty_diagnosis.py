"""A penalty looked at: the same facts for every form, and remarks where training may disappoint."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import Penalty
from untrue.tools.penalty_diagnosis import SMALL, AsymmetricPair, diagnose


def test_the_facts_are_those_of_the_matrix() -> None:
    matrix = np.array([[0.0, 2.0, 0.0], [8.0, 0.0, 4.0], [1.0, 1.0, 0.0]])
    found = diagnose(Penalty.from_matrix(matrix, ["a", "b", "c"]))
    assert (found.least, found.greatest, found.free_mistakes) == (1.0, 8.0, 1)
    assert found.mean == pytest.approx(16 / 6)
    assert found.asymmetric == (
        AsymmetricPair("b", "a", 8.0, 2.0),
        AsymmetricPair("b", "c", 4.0, 1.0),
        AsymmetricPair("c", "a", 1.0, 0.0),
    )
    assert found.n_asymmetric == 3
    assert found.constant == (
        ("b", pytest.approx(1.0)),
        ("c", pytest.approx(4 / 3)),
        ("a", pytest.approx(3.0)),
    )
    assert found.remarks == ()


def test_large_rules_are_looked_at_without_their_matrix() -> None:
    k = SMALL + 1
    penalty = Penalty.from_rules(k, {(0, 1): 9.0, (1, 0): 9.0, (5, 6): 4.0}, default=1.0)
    found = diagnose(penalty)
    assert found.asymmetric == (AsymmetricPair("5", "6", 4.0, 1.0),)
    assert (found.least, found.greatest, found.free_mistakes) == (1.0, 9.0, None)
    assert Penalty.from_rules(k, {(0, 1): 0.25}).cheapest == 0.25


def test_large_trees_are_symmetric_without_their_matrix() -> None:
    groups = {f"g{i}": [f"{i}.{j}" for j in range(50)] for i in range(50)}
    found = diagnose(Penalty.from_groups(groups, within=2.0, across=6.0))
    assert (found.least, found.greatest, found.n_asymmetric) == (2.0, 6.0, 0)


@pytest.mark.parametrize(
    ("penalty", "remark"),
    [
        (Penalty.from_zone([], classes=3), "No mistake costs anything"),
        (Penalty.from_zone([(0, 1)], classes=3), "Predicting 0, 2 never costs anything"),
        (Penalty.from_rules(3, {(0, 1): 5000.0}), "costs 5,000 times the cheapest"),
        (Penalty.from_rules(3, {}, default=100.0), "A mistake costs 100 on average, far from 1"),
        (
            Penalty.from_matrix([[0, 9, 9], [1, 0, 9], [1, 9, 0]]),
            "Always predicting '0' costs only 0.666667 per answer",
        ),
    ],
)
def test_what_may_disappoint_is_said(penalty: Penalty, remark: str) -> None:
    assert any(remark in each for each in diagnose(penalty).remarks)
