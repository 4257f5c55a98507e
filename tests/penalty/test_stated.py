"""Costs stated in any of their forms become the same penalty over the labels of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from untrue import Penalty
from untrue.errors import PenaltyError
from untrue.penalty import FormulaPenalty
from untrue.penalty.stated import class_names, examples_over, formulas_over, penalty_over

WANTED = [[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
LABELS = np.array(["ant", "bee", "cat"])


@pytest.mark.parametrize(
    "stated",
    [
        {("ant", "cat"): 9.0},
        {("ant", "cat"): 9.0, "default": 1.0},
        WANTED,
        np.array(WANTED),
        pd.DataFrame(WANTED, index=LABELS, columns=LABELS),
        pd.DataFrame(WANTED, index=LABELS, columns=LABELS).iloc[::-1, ::-1],
        pa.table({"cat": [0.0, 1.0, 9.0], "bee": [1.0, 0.0, 1.0], "ant": [1.0, 1.0, 0.0]}),
        Penalty.from_matrix(WANTED),
        Penalty.from_rules(["cat", "ant", "bee"], {("ant", "cat"): 9.0}),
        Penalty.from_rules(["dog", "cat", "ant", "bee"], {("ant", "cat"): 9.0, ("dog", "cat"): 4}),
    ],
    ids=lambda stated: type(stated).__name__,
)
def test_every_form_means_the_same(stated: Any) -> None:
    penalty = penalty_over(stated, LABELS)
    assert penalty.classes == ("ant", "bee", "cat")
    np.testing.assert_array_equal(penalty.matrix(), WANTED)


def test_nothing_stated_makes_all_mistakes_alike() -> None:
    np.testing.assert_array_equal(penalty_over(None, [4, 7]).matrix(), 1 - np.eye(2))


def test_numbers_as_labels_go_by_name_too() -> None:
    assert penalty_over({(1, 2): 5.0}, np.array([1.0, 2.0])).cost("1", "2") == 5.0
    assert penalty_over({("1", "2"): 5.0}, np.array([1, 2])).cost("1", "2") == 5.0
    # A fold of the data without class 1 keeps the costs of the others.
    assert penalty_over(Penalty.from_ordinal(3), [0, 2]).cost("0", "2") == 2.0


def test_a_tree_is_cut_to_the_labels() -> None:
    tree = Penalty.from_groups({"pet": ["cat", "dog"], "bug": ["ant"]}, within=1, across=5)
    np.testing.assert_array_equal(penalty_over(tree, ["ant", "dog"]).matrix(), [[0, 5], [5, 0]])


@pytest.mark.parametrize(
    ("stated", "labels", "message"),
    [
        ({("catt", "ant"): 2.0}, LABELS, "Unknown class 'catt' in the penalty; did you mean 'cat'"),
        ({("x", "ant"): 2.0}, LABELS, "Unknown class 'x' in the penalty; the data have ant, bee"),
        ({"cat": 2.0}, LABELS, r"A rule is \{\(true, predicted\): cost\}; got the key 'cat'"),
        ({("cat", "cat"): 2.0}, LABELS, "A rule leads from 'cat' to itself"),
        (Penalty.from_rules(["ants", "bee", "cat"], {}), LABELS,
         "The penalty has no class 'ant', which is in the data; did you mean 'ants'?"),
        (np.zeros((2, 2)), LABELS, "The penalty is for 2 classes, but the data have 3: ant, bee"),
        (Penalty.from_ordinal(3), [1, 2, 3], "rows are 0, 1, 2, the labels of the data 1, 2, 3"),
        (pd.DataFrame(WANTED, index=["a", "b", "c"], columns=["a", "b", "c"]), LABELS,
         "The penalty has no class 'ant'"),
        (pd.DataFrame(WANTED, index=LABELS, columns=LABELS[::-1]), LABELS,
         "must carry the same names"),
        ("costs.csv", LABELS, r"got 'costs.csv'. For a file: untrue.Penalty.load\(path\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(stated: Any, labels: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        penalty_over(stated, labels)


@pytest.mark.parametrize("stated", [{("wolf", "dog"): 3.0}, Penalty.from_ordinal(["dog", "wolf"])])
def test_labels_that_scikit_learn_has_numbered_are_explained(stated: Any) -> None:
    with pytest.raises(PenaltyError, match=r"stand for names.*cross_val_predict.*`classes`"):
        penalty_over(stated, np.array([0, 1]))
    with pytest.raises(PenaltyError) as raised:  # these are names of the user's own
        penalty_over(stated, ["cat", "cow"])
    assert "cross_val_predict" not in str(raised.value)


@pytest.mark.parametrize(
    "stated",
    [
        {("wolf", "dog"): 3.0},
        Penalty.from_rules(["wolf", "cat", "dog"], {("wolf", "dog"): 3.0}),
        [[0.0, 1.0], [3.0, 0.0]],
        pd.DataFrame([[0.0, 3.0], [1.0, 0.0]], index=["wolf", "dog"], columns=["wolf", "dog"]),
    ],
    ids=lambda stated: type(stated).__name__,
)
@pytest.mark.parametrize("labels", [["dog", "wolf"], [0, 1], [0.0, 1.0]])
def test_codes_are_matched_by_the_names_that_are_said(stated: Any, labels: Any) -> None:
    found = penalty_over(stated, labels, classes=["dog", "wolf"])
    assert found.classes == ("dog", "wolf")
    np.testing.assert_array_equal(found.matrix(), [[0.0, 1.0], [3.0, 0.0]])
    # A part of the data may lack a class.
    assert penalty_over(stated, labels[1:], classes=["dog", "wolf"]).classes == ("wolf",)


@pytest.mark.parametrize(
    ("base", "labels", "classes"),
    [
        (Penalty.from_rules(["wolf", "cat", "dog"], {}), ["dog", "wolf"], None),
        (Penalty.from_rules(["wolf", "cat", "dog"], {}), [0, 1], ["dog", "wolf"]),
        (Penalty.from_rules(["wolf", "dog"], {}), ["wolf", "dog"], None),
    ],
)
def test_costs_of_each_example_follow_their_classes(base: Any, labels: Any, classes: Any) -> None:
    each = base.per_example({("wolf", "dog"): [1.0, 9.0], ("dog", "*"): [2.0, 3.0]})
    found = examples_over(each, labels, classes=classes)
    assert set(found.classes) == {"dog", "wolf"}
    assert found.penalty(1).cost("wolf", "dog") == 9.0
    assert found.penalty(1).cost("dog", "wolf") == 3.0


def test_costs_of_each_example_without_names_go_by_position() -> None:
    each = Penalty.from_rules(2, {}).per_example({(1, 0): [4.0, 5.0]})
    assert examples_over(each, ["dog", "wolf"]).penalty(0).cost("wolf", "dog") == 4.0
    by_code = examples_over(each, [1, 0], classes=["dog", "wolf"])
    assert by_code.classes == ("wolf", "dog")
    assert by_code.penalty(0).cost("wolf", "dog") == 4.0


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        (["dog", "cat"], ["dog", "wolf"], "Label 'cat' is not in `classes`, which are dog, wolf"),
        ([0, 2], ["dog", "wolf"], "Label '2' is not in `classes`"),
        (["dog", "0"], ["dog", "wolf"], "The labels 0, dog mix names of `classes` and their codes"),
        ([0, 1], ["dog", "dog"], "`classes` must name each class once; got dog, dog"),
    ],
)
def test_labels_that_are_neither_names_nor_codes_are_refused(
    labels: Any, classes: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        penalty_over(None, labels, classes=classes)


def test_labels_that_may_be_names_or_codes_are_refused_unless_something_decides() -> None:
    classes = ["1", "2", "3"]
    with pytest.raises(ValueError, match=r"The labels 1, 2 may be names .* leave `classes` out"):
        class_names(["1", "2"], classes)
    assert class_names(["1", "2", "3"], classes) == ["1", "2", "3"]
    assert class_names(["1", "2", "0"], classes) == ["2", "3", "1"]
    assert class_names(["1", "2"], classes, beside=["0", "1", "2"]) == ["2", "3"]
    assert class_names(["1", "2"], classes, beside=["3"]) == ["1", "2"]
    assert class_names(["1", "0"], ["0", "1", "2"]) == ["1", "0"]


def test_codes_written_with_a_point_are_codes() -> None:
    assert class_names(["1.0", "0.0"], ["bad", "good"]) == ["good", "bad"]
    assert class_names(["1.0", "x"], ["1.0", "x"]) == ["1.0", "x"]


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], ["0", "1"]])
def test_costs_of_the_classes_1_0_are_those_of_the_labels_1(labels) -> None:
    stated = Penalty.from_rules(["1.0", "0.0"], {("1.0", "0.0"): 5.0})
    found = penalty_over(stated, labels)
    assert found.classes == ("0", "1")
    assert found.cost("1", "0") == 5.0
    both = Penalty.from_ordinal(["1.0", "1", "2"])
    assert penalty_over(both, [1, 2]).cost("1", "2") == 1.0
    with pytest.raises(PenaltyError, match="no class '0'"):
        penalty_over(Penalty.from_ordinal(["0.0", "0.00", "1"]), [0, 1])
    each = FormulaPenalty(stated, {("1.0", "0.0"): "amount"})
    over = formulas_over(each, found)
    assert isinstance(over, FormulaPenalty)
    assert over.formulas == {("1", "0"): "amount"}
    costs = examples_over(each.per_example({"amount": [7.0, 8.0]}), labels)
    assert costs.rows(np.array([1, 1]))[:, 0].tolist() == [7.0, 8.0]
