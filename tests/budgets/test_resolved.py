"""Budgets over the classes of a penalty: which cells, of which examples, and the verdict."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import Budget, Hierarchy, Penalty
from untrue.budgets import resolve_all
from untrue.errors import ArgumentError, PenaltyError
from untrue.metrics import confusion_cells, expected_cost

CLASSES = ["car", "bus", "cat", "dog"]
GROUPS = {"vehicle": ["car", "bus"], "animal": ["cat", "dog"]}
RULES = Penalty.from_rules(CLASSES, {("car", "cat"): 20.0, ("dog", "bus"): 3.0}, default=1.0)
TREE = Penalty.from_groups(GROUPS, within=1.0, across=5.0)
COUNTS = np.array([[90, 5, 3, 2], [4, 96, 0, 0], [0, 1, 80, 19], [0, 2, 10, 88]])


def mask(*rows: str) -> np.ndarray:
    return np.array([[cell == "x" for cell in row] for row in rows])


@pytest.mark.parametrize(
    ("text", "penalty", "cells", "of"),
    [
        ("car->cat <= 1%", RULES, mask("..x.", "....", "....", "...."), 100),
        ("car->* <= 1%", RULES, mask(".xxx", "....", "....", "...."), 100),
        ("*->cat <= 1%", RULES, mask("..x.", "..x.", "....", "..x."), 300),
        ("*->* <= 1%", RULES, mask(".xxx", "x.xx", "xx.x", "xxx."), 400),
        ("car, cat->cat, dog <= 1%", RULES, mask("..xx", "....", "...x", "...."), 200),
        ("car->cat <= 3 errors", RULES, mask("..x.", "....", "....", "...."), 400),
        ("cat<-car <= 1%", RULES, mask("..x.", "....", "....", "...."), 93),
        ("cat<-* <= 1%", RULES, mask("..x.", "..x.", "....", "..x."), 93),
        ("cat, dog<-bus, cat <= 1%", RULES, mask("....", "..xx", "...x", "...."), 202),
        ("*<-car <= 1%", RULES, mask(".xxx", "....", "....", "...."), 400),
        ("animal<-vehicle <= 1%", TREE, mask("..xx", "..xx", "....", "...."), 202),
        ("zone <= 1%", RULES, mask("..x.", "....", "....", ".x.."), 400),
        ("zone <= 1%", TREE, mask("..xx", "..xx", "xx..", "xx.."), 400),
        ("across groups <= 1%", TREE, mask("..xx", "..xx", "xx..", "xx.."), 400),
        ("vehicle->animal <= 1%", TREE, mask("..xx", "..xx", "....", "...."), 200),
        ("vehicle->vehicle <= 1%", TREE, mask(".x..", "x...", "....", "...."), 200),
        ("cat->vehicle <= 1%", TREE, mask("....", "....", "xx..", "...."), 100),
        ("root->root <= 1%", TREE, mask(".xxx", "x.xx", "xx.x", "xxx."), 400),
    ],
)
def test_the_cells_and_the_examples_meant(text, penalty, cells, of) -> None:
    budget = Budget.parse(text).resolve(penalty)
    np.testing.assert_array_equal(budget.mask(), cells)
    found = budget.judge(COUNTS, None)
    assert (found.errors, found.of) == (COUNTS[cells].sum(), of)
    assert found.rate == found.upper == budget.rate(COUNTS) == COUNTS[cells].sum() / of


def test_groups_may_be_given() -> None:
    tree = Hierarchy.from_dict({"all": GROUPS}, classes=CLASSES)
    wanted = Budget.parse("vehicle->animal <= 1%").resolve(TREE).mask()
    for groups in (GROUPS, tree, {"vehicle": [0, 1], "animal": [2, 3]}):
        for text, cells in (("vehicle->animal <= 1%", wanted), ("across groups <= 1%", None)):
            budget = Budget.parse(text).resolve(RULES, groups=groups)
            np.testing.assert_array_equal(
                budget.mask(), wanted | wanted.T if cells is None else cells
            )
    # A group that shares its name with a class, as in a Hierarchy.
    shared = {"car": ["car", "bus"], "animal": ["cat", "dog"]}
    for groups in (shared, Hierarchy.from_groups(shared)):
        one = Budget.parse("car->animal <= 1%").resolve(RULES, groups=groups)
        both = Budget.parse("car (group)->animal <= 1%").resolve(RULES, groups=groups)
        assert (one.mask().sum(), both.mask().sum()) == (2, 4)


def test_groups_of_an_uneven_tree() -> None:
    tree = Hierarchy.from_dict({"all": {"a": {"b": ["x", "y"], "z": None}, "c": ["w", "v"]}})
    penalty = Penalty.from_hierarchy(tree)
    crossing = Budget.parse("across groups <= 1%").resolve(penalty)
    group = np.array([0 if name in "xyz" else 1 for name in penalty.classes])
    np.testing.assert_array_equal(crossing.mask(), group[:, None] != group)
    below = Hierarchy.from_dict({"top": {"only": {"a": {"b": ["x", "y"], "z": None}, "w": None}}})
    crossing = Budget.parse("across groups <= 1%").resolve(Penalty.from_hierarchy(below))
    group = np.array([0 if name in "xyz" else 1 for name in below.classes])
    np.testing.assert_array_equal(crossing.mask(), group[:, None] != group)
    inner = Budget.parse("b->c <= 1%").resolve(penalty)
    assert inner.mask().sum() == 4


def test_groups_are_those_of_the_classes_beside_a_taller_branch_without_any() -> None:
    kept = {"animal": {"fish": ["ray", "eel"], "bird": ["owl", "wren"]}}
    tall = {"thing": {"tool": {"saw": {"band saw": ["old band saw"]}}}}
    tree = Hierarchy.from_dict({"all": kept | tall}, classes=["ray", "eel", "owl", "wren"])
    crossing = Budget.parse("across groups <= 1%").resolve(Penalty.from_hierarchy(tree))
    np.testing.assert_array_equal(crossing.mask(), mask("..xx", "..xx", "xx..", "xx.."))


def test_the_zone_may_be_given() -> None:
    cells = mask(".x..", "....", "x...", "....")
    for zone in (
        [("car", "bus"), ("cat", "car")],
        [(0, 1), (2, 0)],
        cells,
        Penalty.from_zone(cells, classes=CLASSES),
        Penalty.from_matrix(cells * 7.0, CLASSES),
    ):
        np.testing.assert_array_equal(
            Budget.parse("zone <= 1%").resolve(RULES, zone=zone).mask(), cells
        )
    turned = CLASSES[::-1]
    for by_name in (
        Penalty.from_zone([("car", "bus"), ("cat", "car")], classes=turned),
        pd.DataFrame(cells[::-1, ::-1], index=turned, columns=turned),
    ):
        resolved = Budget.parse("zone <= 1%").resolve(RULES, zone=by_name)
        np.testing.assert_array_equal(resolved.mask(), cells)
    costliest = Budget.parse("zone <= 1%").resolve(RULES, zone_above=3.0)
    np.testing.assert_array_equal(costliest.mask(), RULES.matrix() > 3)


def test_the_zone_is_the_costly_cells_in_every_form() -> None:
    scaled = TREE.normalized("rows")
    skewed = Penalty.from_groups({"a": ["x"], "b": ["y", "z"]}).normalized("rows")
    dense = Penalty.from_matrix(RULES.matrix(), CLASSES)
    for penalty in (RULES, TREE, scaled, skewed, dense, TREE.normalized("max")):
        matrix = penalty.matrix()
        least = matrix[~np.eye(len(matrix), dtype=bool)].min()
        found = Budget.parse("zone <= 1%").resolve(penalty).mask()
        np.testing.assert_array_equal(found, matrix > least)
        for above in np.unique(matrix)[:-1]:
            found = Budget.parse("zone <= 1%").resolve(penalty, zone_above=above).mask()
            np.testing.assert_array_equal(found, matrix > above)


def test_expected_cost_is_that_of_the_metrics() -> None:
    for penalty in (RULES, TREE):
        budget = Budget.parse("expected cost <= 0.3").resolve(penalty)
        assert budget.rate(COUNTS) == pytest.approx(expected_cost(COUNTS, penalty), rel=1e-12)
        assert budget.limit() == 0.3
        assert budget.upper(COUNTS) > budget.rate(COUNTS)


def test_a_count_is_a_rate_of_the_data_it_was_stated_for() -> None:
    stated = Budget.parse("zone <= 20 errors")
    here, there = stated.resolve(RULES), stated.resolve(RULES, examples=2000)
    assert here.limit(COUNTS) == 20 / 400
    assert there.limit() == there.limit(COUNTS) == 20 / 2000
    assert here.rate(COUNTS) == there.rate(COUNTS) == 5 / 400
    assert here.kept(COUNTS, None)
    assert not there.kept(COUNTS, None)
    with pytest.raises(
        ArgumentError, match="'zone <= 20 errors' counts errors: give the confusion"
    ):
        here.limit()


@given(st.integers(0, 1000), st.integers(1, 3000))
def test_a_rate_at_its_limit_is_kept(tenths, errors) -> None:
    """0.7 / 100 is a little less than 7 / 1000, and no budget must be lost to that."""
    penalty = Penalty.from_rules(["a", "b"], {})
    budget = Budget("confusion", tenths / 10, "%", ("a",), ("b",)).resolve(penalty)
    assert budget.kept([[1000 - tenths, tenths], [0, 5]], None)
    counted = Budget("confusion", float(errors), "errors", ("a",), ("b",)).resolve(penalty)
    assert counted.kept([[7, errors], [0, 5]], None)
    assert not counted.kept([[7, errors + 1], [0, 5]], None)


def test_a_matrix_may_come_in_any_shape_that_measures_take() -> None:
    torch = pytest.importorskip("torch")
    budget = Budget.parse("car->* <= 1%").resolve(RULES)
    true, predicted = np.repeat(np.indices((4, 4)).reshape(2, 16), COUNTS.ravel(), axis=1)
    forms = (COUNTS.tolist(), torch.tensor(COUNTS), confusion_cells(true, predicted, 4))
    assert {budget.judge(form) for form in forms} == {budget.judge(COUNTS)}


def test_without_examples_nothing_is_kept() -> None:
    nobody = np.diag([0, 5, 5, 5])
    found = Budget.parse("car->cat <= 100%").resolve(RULES).judge(nobody)
    assert (found.errors, found.of, found.upper, found.kept) == (0, 0, 1.0, False)
    assert math.isnan(found.rate)
    assert math.isnan(found.excess)
    cost = Budget.parse("expected cost <= 99").resolve(RULES).judge(np.zeros((4, 4), int))
    assert (cost.upper, cost.kept) == (20.0, False)
    none = Budget.parse("zone <= 3 errors").resolve(RULES).judge(np.zeros((4, 4), int))
    assert not none.kept
    unsaid = Budget.parse("car<-cat <= 100%").resolve(RULES).judge(nobody)
    assert (unsaid.of, unsaid.kept, unsaid.broken) == (0, False, False)


def test_examples_without_an_answer_stay_in_the_denominator() -> None:
    silent = [10, 20, 30, 40]
    for text, of in (
        ("car->cat <= 1%", 110),
        ("*->cat <= 1%", 300 + 70),
        ("zone <= 1%", 500),
        ("car->cat <= 3 errors", 500),
        ("cat<-car <= 1%", 93),
        ("expected cost <= 1", 500),
    ):
        budget = Budget.parse(text).resolve(RULES)
        plain, found = budget.judge(COUNTS), budget.judge(COUNTS, abstained=silent)
        assert (found.errors, found.of) == (plain.errors, of)
        assert found.rate * of == pytest.approx(plain.rate * plain.of)
    counted = Budget.parse("zone <= 3 errors").resolve(RULES).judge(COUNTS, abstained=silent)
    assert counted.limit == 3 / 500
    with pytest.raises(ArgumentError, match="`abstained` must hold a count for each of 4"):
        budget.judge(COUNTS, abstained=[1, 2])


@pytest.mark.parametrize(
    ("text", "confidence", "sentence"),
    [
        (
            "car->cat <= 9%",
            0.95,
            "car->cat <= 9%: kept; 3 of 100 examples (3 %); with 95 % confidence at most 7.57 %.",
        ),
        (
            "car->cat <= 5%",
            0.95,
            "car->cat <= 5%: within, not shown; 3 of 100 examples (3 %); lower bound 0.823 % and "
            "upper bound 7.57 %, each with 95 % confidence.",
        ),
        (
            "car->cat <= 2%",
            0.95,
            "car->cat <= 2%: over, perhaps by chance; 3 of 100 examples (3 %); lower bound "
            "0.823 % and upper bound 7.57 %, each with 95 % confidence.",
        ),
        (
            "car->cat <= 0.5%",
            0.95,
            "car->cat <= 0.5%: broken; 3 of 100 examples (3 %); with 95 % confidence at least "
            "0.823 %.",
        ),
        ("cat<-car <= 5%", None, "cat<-car <= 5%: kept; 3 of 93 predictions (3.23 %)."),
        ("car->cat <= 2%", None, "car->cat <= 2%: over; 3 of 100 examples (3 %)."),
    ],
)
def test_a_verdict_prints_as_a_sentence(text, confidence, sentence) -> None:
    found = Budget.parse(text).resolve(RULES).judge(COUNTS, confidence)
    assert str(found) == sentence


def test_a_mean_cost_prints_as_a_sentence_too() -> None:
    found = Budget.parse("expected cost <= 1").resolve(RULES).judge(COUNTS)
    assert str(found) == (
        "expected cost <= 1: kept; an answer costs 0.268 on average, in 400 examples; with 95 % "
        f"confidence at most {found.upper:.3g}."
    )


def test_a_verdict_without_examples_says_so() -> None:
    found = Budget.parse("car->cat <= 1%").resolve(RULES).judge(np.diag([0, 5, 5, 5]))
    assert str(found) == "car->cat <= 1%: there is no example to judge it by."


def test_one_example_prints_as_one() -> None:
    one = Budget.parse("car->cat <= 1%").resolve(RULES).judge(np.diag([1, 5, 5, 5]), None)
    assert str(one) == "car->cat <= 1%: kept; 0 of 1 example (0 %)."


def test_excess_is_relative_to_the_limit() -> None:
    at = Budget.parse("car->cat <= 3%").resolve(RULES)
    assert at.judge(COUNTS, None).excess == 0
    assert Budget.parse("car->cat <= 1%").resolve(RULES).judge(COUNTS, None).excess == 2
    assert Budget.parse("bus->cat <= 1%").resolve(RULES).judge(COUNTS, None).excess == -1
    # Of a limit of nothing, one error is the measure.
    assert Budget.parse("car->cat <= 0%").resolve(RULES).judge(COUNTS, None).excess == 3


def test_many_classes_make_no_matrix() -> None:
    k = 30_000
    penalty = Penalty.from_rules(k, {(0, 1): 50.0}, default=1.0)
    cells = confusion_cells([0, 0, 7], [1, 0, 8], k)
    for text, errors in (
        ("zone <= 1%", 1),
        ("0->* <= 1%", 1),
        ("*->8 <= 1%", 1),
        ("*->* <= 1%", 2),
    ):
        budget = Budget.parse(text).resolve(penalty)
        assert budget.judge(cells, None).errors == errors
        assert 0 < budget.unit <= 50
    groups = {"even": [str(i) for i in range(0, k, 2)], "odd": [str(i) for i in range(1, k, 2)]}
    crossing = Budget.parse("even->odd <= 1%").resolve(penalty, groups=groups)
    assert crossing.judge(cells, None).errors == 1


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "carr->cat <= 1%",
            {},
            "Budget 'carr->cat <= 1%': unknown class 'carr'; did you mean 'car'?",
        ),
        ("zebra->cat <= 1%", {}, "unknown class 'zebra'; known are car, bus, cat, dog."),
        (
            "vehicel->cat <= 1%",
            {"groups": GROUPS},
            "unknown class or group 'vehicel'; did you mean",
        ),
        ("car->car <= 1%", {}, "that is no mistake: both sides are the same class"),
        ("across groups <= 1%", {}, "no groups are known. Give `groups`"),
        ("across groups <= 1%", {"groups": {"all": CLASSES}}, "there is only one group"),
        ("across groups <= 1%", {"groups": {"a": ["car"]}}, "`groups` must hold every class"),
        ("a->cat <= 1%", {"groups": {"a": ["kar"]}}, "`groups` names an unknown class 'kar'"),
        ("across groups <= 1%", {"groups": Hierarchy.from_groups({"a": ["x"]})}, "are not those"),
        (
            "across groups <= 1%",
            {"groups": Hierarchy.from_dict({"all": CLASSES})},
            "the hierarchy has no groups between its root and classes",
        ),
        ("across groups <= 1%", {"groups": [0, 0, 1, 1]}, "`groups` must be {group: its classes}"),
        ("zone <= 1%", {"zone_above": 20.0}, "none of its mistakes costs more than 20"),
        ("zone <= 1%", {"zone_above": -1.0}, "`zone_above` must be a cost of 0 or more; got -1"),
        ("zone <= 1%", {"zone": []}, "`zone` is empty"),
        ("zone <= 1%", {"zone": Penalty.from_ordinal(3)}, "the 4 classes of the data; it is"),
        (
            "zone <= 1%",
            {"zone": Penalty.equal(["car", "bus", "cat", "cow"])},
            "Budget 'zone <= 1%': `zone`, as a penalty: The penalty has no class 'dog'",
        ),
        ("zone <= 1%", {"zone": [(0, 1)], "zone_above": 2.0}, "`zone` or `zone_above`, not both"),
        ("zone <= 1 error", {"examples": 0}, "`examples` must be at least 1; got 0"),
    ],
)
def test_what_cannot_be_resolved_is_said(text, options, message) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Budget.parse(text).resolve(RULES, **options)


def test_more_that_cannot_be() -> None:
    with pytest.raises(ArgumentError, match="has no zone, since none of its mistakes costs any"):
        Budget.parse("zone <= 1%").resolve(Penalty.from_zone([], classes=CLASSES))
    with pytest.raises(PenaltyError, match="Unknown class 'carr'; did you mean 'car'"):
        Budget.parse("zone <= 1%").resolve(RULES, zone=[("carr", "bus")])
    with pytest.raises(ArgumentError, match=r"must be an untrue\.Penalty; got ndarray"):
        Budget.parse("zone <= 1%").resolve(RULES.matrix())
    with pytest.raises(ArgumentError, match="`budgets` is empty"):
        resolve_all([], RULES)
    with pytest.raises(ArgumentError, match="Budget 'zone <= 1%' is given twice"):
        resolve_all(["zone <= 1%", "zone<=1 %"], RULES)
    assert len(resolve_all("zone <= 1%", RULES)) == 1


@pytest.mark.parametrize(
    ("confusion", "message"),
    [
        (np.zeros((3, 3), int), "`budget` must be about the 3 classes of the data; it is about 4"),
        (np.zeros(4, int), r"must be a confusion matrix of shape \(k, k\); got shape \(4,\)"),
        (-COUNTS, "whole numbers, none negative"),
        (COUNTS + 0.5, "whole numbers, none negative"),
    ],
)
def test_matrices_that_are_none_are_refused(confusion, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        Budget.parse("zone <= 1%").resolve(RULES).kept(confusion)


TEXTS = ["car->cat <= 1%", "*->cat <= 1%", "zone <= 1%", "expected cost <= 1", "zone <= 5 errors"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=16, max_size=16),
    st.integers(0, 15),
    st.sampled_from([0.5, 0.8, 0.95, 0.999]),
    st.sampled_from(TEXTS),
)
def test_the_bound_is_above_the_rate_and_rises_with_errors(counts, cell, confidence, text) -> None:
    """One more error of the budget's, in place of a right answer about the same class."""
    before = np.array(counts).reshape(4, 4) + np.eye(4, dtype=int)
    after = before.copy()
    true, predicted = divmod(cell, 4)
    after[true, true] -= 1
    after[true, predicted] += 1
    for penalty in (RULES, TREE):
        budget = Budget.parse(text).resolve(penalty)
        low, high = budget.judge(before, confidence), budget.judge(after, confidence)
        assert low.rate <= low.upper
        assert low.rate <= high.rate
        assert low.upper <= high.upper + 1e-12
        surer = budget.upper(before, 0.9995)
        assert surer >= low.upper - 1e-12
