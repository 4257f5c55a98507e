"""Whatever a person can say about mistakes becomes the penalty it describes, or a clear error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrue import Hierarchy, Penalty, decide
from untrue.errors import HierarchyError, PenaltyError

NAMES = ["cat", "dog", "owl"]
GROUPS = {"furry": ["cat", "dog"], "feathered": ["owl"]}
COSTS = [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]


def fails(message: str) -> Any:
    return pytest.raises(PenaltyError, match=message)


# Names of classes, wherever they come in

WRONG_CLASSES = [
    ([], "At least one class is needed; `classes` is empty"),
    (["cat", "dog", "cat"], "Duplicate class name 'cat'"),
    ("cat", "`classes` must be a list of names; got the string 'cat'"),
    ({"cat", "dog", "owl"}, "`classes` must have an order; got a set"),
    (["cat", 1, "owl"], r"strings; got 1 \(int\) in `classes`. Integers always mean positions"),
    (["cat", "", "owl"], "Class names must not be empty"),
    (["cat", None, "owl"], "Class names must be strings; got None"),
    (["cat", "\udcff", "owl"], "A name in `classes` is not valid text"),
    (3.0, r"`classes` must be a list of names; got 3\.0"),
    (True, "`classes` must be a list of names; got True"),
    (0, "At least one class is needed; `classes` is 0"),
    (-2, "At least one class is needed; `classes` is -2"),
]


@pytest.mark.parametrize(("classes", "message"), WRONG_CLASSES)
def test_names_that_cannot_be_are_refused_everywhere(classes: Any, message: str) -> None:
    for build in (
        lambda: Penalty.from_matrix(COSTS, classes),
        lambda: Penalty.from_rules(classes, {}),
        lambda: Penalty.from_ordinal(classes),
        lambda: Penalty.from_zone([], classes),
    ):
        with fails(message):
            build()


def test_a_number_of_classes_names_them_by_their_positions() -> None:
    assert Penalty.from_ordinal(3).classes == ("0", "1", "2")
    assert Penalty.from_rules(np.int64(2), {}).classes == ("0", "1")
    assert Penalty.from_matrix(COSTS).classes == ("0", "1", "2")
    assert Penalty.from_matrix(COSTS, np.array(NAMES)).classes == tuple(NAMES)
    assert type(Penalty.from_matrix(COSTS, np.array(NAMES)).classes[0]) is str


def test_equal_costs_are_1_for_every_mistake() -> None:
    assert Penalty.equal(NAMES).matrix().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


# from_matrix


def test_a_matrix_is_kept_as_it_is() -> None:
    p = Penalty.from_matrix(COSTS, NAMES)
    assert p.form == "dense"
    assert p.matrix().tolist() == COSTS
    assert p.cost("owl", "cat") == 5.0, "the true class comes first"


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([], "needs at least one class; this one is empty"),
        ([[]], "needs at least one class; this one is empty"),
        (np.zeros((0, 0)), "needs at least one class; this one is empty"),
        ([[0, 1, 2], [1, 0, 2]], r"must be square; got shape \(2, 3\)"),
        ([0, 1], r"must be square; got shape \(2,\)"),
        (7, r"must be square; got shape \(\)"),
        ([[0, 1], [1]], "its rows differ in length"),
        ([[0, -1], [1, 0]], r"predicting '1' for '0' \(row 0, column 1\) is -1\.0: .* negative"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: Any, message: str) -> None:
    with fails(message):
        Penalty.from_matrix(matrix)


def test_a_matrix_for_other_classes_is_refused() -> None:
    with fails(r"The matrix has shape \(3, 3\), but 2 classes are named"):
        Penalty.from_matrix(COSTS, ["cat", "dog"])


def test_a_table_brings_its_names() -> None:
    table = pd.DataFrame(COSTS, index=NAMES, columns=NAMES)
    assert Penalty.from_matrix(table) == Penalty.from_matrix(COSTS, NAMES)
    assert Penalty.from_matrix(table, NAMES) == Penalty.from_matrix(COSTS, NAMES)
    assert Penalty.from_matrix(pd.DataFrame(COSTS)) == Penalty.from_matrix(COSTS)
    assert Penalty.from_matrix(pd.DataFrame(COSTS), NAMES) == Penalty.from_matrix(COSTS, NAMES)


def test_a_table_without_names_of_rows_has_them_in_the_order_of_its_columns() -> None:
    table = pa.table(dict(zip(NAMES, np.transpose(COSTS), strict=True)))
    assert Penalty.from_matrix(table) == Penalty.from_matrix(COSTS, NAMES)


@pytest.mark.parametrize(
    ("rows", "columns", "classes", "message"),
    [
        (NAMES[::-1], NAMES, None, "same names .*; row 0 is 'owl', column 0 is 'cat'"),
        (range(3), NAMES, None, "same names .*; row 0 is 0, column 0 is 'cat'"),
        (NAMES, NAMES, NAMES[::-1], "table is for the classes cat, dog, owl, but `classes` has ow"),
        ([3, 5, 7], [3, 5, 7], None, r"Class names must be strings; got 3 \(int\)"),
    ],
)
def test_a_table_with_names_that_clash_is_refused(
    rows: Any, columns: Any, classes: Any, message: str
) -> None:
    with fails(message):
        Penalty.from_matrix(pd.DataFrame(COSTS, index=rows, columns=columns), classes)


def test_a_table_that_is_not_square_or_holds_words_is_refused() -> None:
    with fails(r"must be square; got shape \(2, 3\)"):
        Penalty.from_matrix(pd.DataFrame(COSTS[:2], index=NAMES[:2], columns=NAMES))
    with fails("must hold real numbers"):
        Penalty.from_matrix(pd.DataFrame([["0", "1"], ["1", "0"]]))


# from_rules


def test_rules_are_exceptions_to_a_default() -> None:
    p = Penalty.from_rules(NAMES, {("owl", "cat"): 20, (0, "dog"): 0.5}, default=2)
    assert p.form == "rules"
    assert p.matrix().tolist() == [[0, 0.5, 2], [2, 0, 2], [20, 2, 0]]
    assert Penalty.from_rules(NAMES, {}).greatest == 1.0
    each = Penalty.from_rules(NAMES, {("owl", "cat"): 20}, default={"cat": 3.0, 2: 7})
    assert each.matrix().tolist() == [[0, 3, 3], [1, 0, 1], [20, 7, 0]]


@pytest.mark.parametrize(
    ("rules", "default", "message"),
    [
        ({("catt", "dog"): 1}, 1, "Unknown class 'catt'; did you mean 'cat'"),
        ({("zebra", "dog"): 1}, 1, r"Unknown class 'zebra'\.$"),
        ({(True, "dog"): 1}, 1, "Unknown class True"),
        ({(3, "dog"): 1}, 1, r"Class index 3 is outside 0\.\.2"),
        ({(-1, "dog"): 1}, 1, "Class index -1 is outside"),
        ({("cat", "cat"): 1}, 1, "A rule leads from 'cat' to itself: a right answer is free"),
        ({("cat", 0): 0}, 1, "A rule leads from 'cat' to itself"),
        ({("cat", "dog"): 1, (0, 1): 2}, 1, r"Two rules for one mistake: \('cat', 'dog'\) and \(0"),
        ({("cat", "dog", "owl"): 1}, 1, r"A mistake is a \(true, predicted\) pair; got \('cat'"),
        ({"cat": 1}, 1, r"A mistake is a \(true, predicted\) pair; got 'cat'"),
        ({7: 1}, 1, r"A mistake is a \(true, predicted\) pair; got 7"),
        ([("cat", "dog", 1)], 1, r"`rules` must be a mapping .*; got list"),
        ({("cat", "dog"): -1}, 1, r"predicting 'dog' for 'cat' is -1\.0: .* not negative"),
        ({("cat", "dog"): float("nan")}, 1, "predicting 'dog' for 'cat' is nan: .* finite"),
        ({("cat", "dog"): "3"}, 1, r"Expected a number for \('cat', 'dog'\); got '3'"),
        ({("cat", "dog"): None}, 1, r"Expected a number for \('cat', 'dog'\); got None"),
        ({("cat", "dog"): True}, 1, r"Expected a number for \('cat', 'dog'\); got True"),
        ({("cat", "dog"): 1j}, 1, "Expected a number .*; got 1j"),
        ({("cat", "dog"): 10**400}, 1, r"number given for \('cat', 'dog'\) is too large"),
        ({}, -1, r"Default cost for 'cat' is -1\.0"),
        ({}, "1", "Expected a number for `default`; got '1'"),
        ({}, [1, 2, 3], r"Expected a number for `default`; got \[1, 2, 3\]"),
        ({}, {"catt": 1}, "Unknown class 'catt'; did you mean 'cat'"),
        ({}, {"cat": "1"}, "Expected a number for `default` of 'cat'; got '1'"),
        ({}, {"dog": float("inf")}, "Default cost for 'dog' is inf"),
    ],
)
def test_rules_that_cannot_be_are_refused(rules: Any, default: Any, message: str) -> None:
    with fails(message):
        Penalty.from_rules(NAMES, rules, default)


# from_groups and from_hierarchy


def test_groups_cost_within_and_across() -> None:
    p = Penalty.from_groups(GROUPS, within=0.5, across=3)
    assert p.form == "tree"
    assert p.classes == ("cat", "dog", "owl")
    assert p.matrix().tolist() == [[0, 0.5, 3], [0.5, 0, 3], [3, 3, 0]]
    assert Penalty.from_groups(GROUPS).matrix().tolist() == [[0, 1, 5], [1, 0, 5], [5, 5, 0]]
    part = Penalty.from_groups(GROUPS, classes=["owl", "cat"])
    assert part.classes == ("owl", "cat")
    assert part.matrix().tolist() == [[0, 5], [5, 0]]
    assert Penalty.from_groups({"all": ["x", "y"]}).matrix().tolist() == [[0, 1], [1, 0]]
    assert Penalty.from_groups({"x": ["x"], "y": ["y"]}).matrix().tolist() == [[0, 5], [5, 0]]


def test_groups_that_cannot_be_are_refused() -> None:
    with fails("Expected a number for `within`; got '1'"):
        Penalty.from_groups(GROUPS, within="1")
    with fails(r"Cost at height 2 is -1\.0"):
        Penalty.from_groups(GROUPS, across=-1)
    with pytest.raises(HierarchyError, match="Class 'cat' is in two groups, 'a' and 'b'"):
        Penalty.from_groups({"a": ["cat"], "b": ["cat"]})
    with pytest.raises(HierarchyError, match=r"Unknown class 'cta' .*; did you mean 'cat'"):
        Penalty.from_groups(GROUPS, classes=["cta"])


def test_a_tree_costs_by_height() -> None:
    tree = Hierarchy.from_groups(GROUPS)
    assert Penalty.from_hierarchy(tree) == Penalty.from_groups(GROUPS, 1.0, 2.0)
    for cost in (lambda h: 10.0**h, {1: 10, 2: 100}, {0: 0, 1: np.float32(10), 2: 100}):
        assert Penalty.from_hierarchy(tree, cost) == Penalty.from_groups(GROUPS, 10, 100)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ({1: 1.0}, "`cost` names no cost for height 2 of this hierarchy"),
        ({1: 1.0, 2: 2.0, 3: 3.0}, "`cost` names height 3; the hierarchy's is 2"),
        ({1: 1.0, 2: 2.0, "3": 3.0}, "`cost` names height 3; the hierarchy's is 2"),
        ({0: 1.0, 1: 1.0, 2: 2.0}, r"Cost at height 0 is 1\.0: a right answer is free"),
        ("depth", r"`cost` must be 'height', a function or \{height: cost\}; got 'depth'"),
        (3.0, "`cost` must be 'height', a function"),
        (lambda h: -h, r"Cost at height 1 is -1\.0: .* not negative"),
        (lambda h: float("nan"), "Cost at height 1 is nan"),
        (lambda h: None, "Expected a number for cost at height 1; got None"),
    ],
)
def test_costs_of_heights_that_cannot_be_are_refused(cost: Any, message: str) -> None:
    with fails(message):
        Penalty.from_hierarchy(Hierarchy.from_groups(GROUPS), cost)


def test_a_nesting_is_not_yet_a_tree() -> None:
    with fails("`hierarchy` must be a Hierarchy; got dict. Hierarchy.from_dict"):
        Penalty.from_hierarchy(GROUPS)


# from_ordinal


@given(st.integers(1, 9), st.sampled_from([0.5, 1.0, 2, 3.5]))
def test_ordered_classes_cost_their_distance(k: int, power: float) -> None:
    p = Penalty.from_ordinal(k, power)
    for i in range(k):
        for j in range(k):
            assert p.cost(i, j) == pytest.approx(abs(i - j) ** power)
    assert Penalty.from_ordinal(["low", "high"]).cost("low", "high") == 1.0


@pytest.mark.parametrize(
    ("power", "message"),
    [
        (0, r"`power` must be positive; got 0\.0"),
        (-1, r"`power` must be positive; got -1\.0"),
        (float("nan"), "`power` must be positive; got nan"),
        ("2", "Expected a number for `power`; got '2'"),
        (5e3, r"predicting '2' for '0' \(row 0, column 2\) is inf"),
    ],
)
def test_powers_that_cannot_be_are_refused(power: Any, message: str) -> None:
    with fails(message):
        Penalty.from_ordinal(3, power)


@pytest.mark.parametrize(
    ("given", "way_out"),
    [
        ("costs.toml", "got 'costs.toml'. For a file: Penalty.load(path)."),
        (None, "got None."),
        ({("a", "b"): 2.0}, "got a dict. For rules by name: Penalty.from_rules(classes, rules)."),
        (
            Hierarchy.from_groups({"x": ["a", "b"]}),
            "got a Hierarchy. With it: Penalty.from_hierarchy(hierarchy).",
        ),
    ],
)
def test_what_is_no_matrix_is_shown_its_own_door(given: Any, way_out: str) -> None:
    with pytest.raises(PenaltyError, match=re.escape(f"A penalty matrix is a table; {way_out}")):
        Penalty.from_matrix(given)


def test_gains_become_what_each_answer_falls_short_of_the_right_one() -> None:
    gains = [[10.0, -5.0, 0.0], [2.0, 3.0, 3.0], [-100.0, -50.0, 0.0]]
    p = Penalty.from_utilities(gains, ["a", "b", "c"])
    assert p.matrix().tolist() == [[0, 15, 10], [1, 0, 0], [100, 50, 0]]
    assert p.classes == ("a", "b", "c")
    table = pd.DataFrame(gains, index=["a", "b", "c"], columns=["a", "b", "c"])
    assert Penalty.from_utilities(table) == p
    # The best answer by gain is the best answer by cost.
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    np.testing.assert_array_equal(decide(probs, p), (probs @ np.array(gains)).argmax(axis=1))


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        ([[1.0, 2.0], [0.0, 1.0]], "Row '0' gains 2 by answering '1', more than 1 by the right"),
        ([[1.0, np.nan], [0.0, 1.0]], r"answering '1' for '0' \(row 0, column 1\) is nan"),
        ([[1.0, 2.0]], r"A table of gains must be square; got shape \(1, 2\)"),
        ({("a", "b"): 1.0}, "A table of gains is a table; got a dict"),
    ],
)
def test_gains_that_make_no_costs_are_refused(gains: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        Penalty.from_utilities(gains)


def test_a_diagonal_that_is_not_zero_is_reported_of_gains(tmp_path: Path) -> None:
    file = tmp_path / "profits.csv"
    file.write_text("true,a,b\na,10,0\nb,0,5\n")
    with pytest.raises(PenaltyError, match=r"profits.csv: .*by Penalty\.from_utilities\(gains\)"):
        Penalty.load(file)
