"""Scaled costs: the formula, in the penalty's own form where that can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import Budget, Penalty
from untrue.budgets import resolve_all, scaled_penalty
from untrue.errors import ArgumentError

CLASSES = ["car", "bus", "cat", "dog"]
RULES = Penalty.from_rules(CLASSES, {("car", "cat"): 20.0, ("dog", "bus"): 0.0}, default=1.0)
TREE = Penalty.from_groups({"vehicle": ["car", "bus"], "animal": ["cat", "dog"]})
DENSE = Penalty.from_matrix(np.abs(np.subtract.outer(np.arange(4), np.arange(4))) ** 1.5, CLASSES)
FREE = Penalty.from_zone([("car", "cat")], classes=CLASSES)
SKEWED = Penalty.from_groups({"a": ["car"], "b": ["bus", "cat", "dog"]}).normalized("rows")
GROUPS = {"vehicle": ["car", "bus"], "animal": ["cat", "dog"]}


@pytest.mark.parametrize(
    ("penalty", "text", "form"),
    [
        (RULES, "car->cat <= 1%", "rules"),
        (RULES, "car->* <= 1%", "rules"),
        (RULES, "*->cat <= 1%", "rules"),
        (RULES, "vehicle->animal <= 1%", "rules"),
        (RULES, "zone <= 1%", "rules"),
        (RULES, "expected cost <= 1", "rules"),
        (RULES, "across groups <= 1%", "dense"),
        (FREE, "bus->dog <= 1%", "rules"),
        (TREE, "zone <= 1%", "tree"),
        (TREE, "across groups <= 1%", "tree"),
        (TREE, "expected cost <= 1", "tree"),
        (TREE, "car->cat <= 1%", "dense"),
        (SKEWED, "expected cost <= 1", "tree"),
        (SKEWED, "across groups <= 1%", "dense"),
        (SKEWED, "zone <= 1%", "dense"),
        (DENSE, "car->cat <= 1%", "dense"),
        (DENSE, "across groups <= 1%", "dense"),
    ],
)
def test_the_formula_and_the_form(penalty, text, form) -> None:
    groups = None if penalty.form == "tree" else GROUPS
    budget = Budget.parse(text).resolve(penalty, groups=groups)
    found = scaled_penalty(penalty, [budget], [2.5])
    matrix = penalty.matrix()
    if text.startswith("expected"):
        wanted = 2.5 * matrix
    else:
        mean = matrix[budget.mask()].mean() or matrix.sum() / 12
        assert budget.unit == pytest.approx(mean)
        wanted = matrix + 1.5 * mean * budget.mask()
    np.testing.assert_allclose(found.matrix(), wanted, rtol=1e-12)
    assert found.form == form


def test_multipliers_of_one_change_nothing() -> None:
    budgets = resolve_all(["car->cat <= 1%", "expected cost <= 1"], TREE)
    assert scaled_penalty(TREE, budgets, [1.0, 1.0]) is TREE


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([RULES, TREE, DENSE, FREE]),
    st.lists(st.floats(1, 1e6), min_size=4, max_size=4),
)
def test_several_add_up_and_stay_a_penalty(penalty, multipliers) -> None:
    texts = ["car->cat <= 1%", "*->cat, dog <= 1%", "zone <= 1%", "expected cost <= 1"]
    budgets = resolve_all(texts, penalty)
    found = scaled_penalty(penalty, budgets, multipliers).matrix()
    wanted = penalty.matrix() * multipliers[-1]
    for budget, multiplier in zip(budgets[:-1], multipliers[:-1], strict=True):
        wanted = wanted + (multiplier - 1) * budget.unit * budget.mask()
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert (np.diag(found) == 0).all()
    assert (found >= penalty.matrix() - 1e-12).all()


def test_many_classes_stay_rules() -> None:
    k = 50_000
    penalty = Penalty.from_rules(k, {(0, 1): 50.0})
    budgets = resolve_all(["0->1 <= 1%", "3->* <= 1%", "*->4 <= 1%", "zone <= 1%"], penalty)
    found = scaled_penalty(penalty, budgets, [2.0, 3.0, 4.0, 2.0])
    assert found.form == "rules"
    assert found.cost(0, 1) == 150.0
    assert found.cost(3, 9) == 3.0
    assert found.cost(3, 4) == 6.0
    assert found.cost(8, 9) == 1.0
    # A whole row is a default, not k rules.
    assert len(scaled_penalty(penalty, budgets[1:2], [3.0]).costs) < 10


def test_bad_multipliers_are_named() -> None:
    budgets = resolve_all(["car->cat <= 1%"], RULES)
    with pytest.raises(ArgumentError, match=r"must be 1 numbers, one per budget; got shape \(2,\)"):
        scaled_penalty(RULES, budgets, [1.0, 2.0])
    for bad in (0.5, np.inf, np.nan):
        with pytest.raises(ArgumentError, match="must be finite and 1 or more; got"):
            scaled_penalty(RULES, budgets, [bad])
    with pytest.raises(ArgumentError, match="'car->cat <= 1%' was resolved for other classes"):
        scaled_penalty(Penalty.from_ordinal(4), budgets, [2.0])
