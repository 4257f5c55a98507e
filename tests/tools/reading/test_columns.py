"""Columns are guessed when obvious, never against the classes' names."""

from __future__ import annotations

from pathlib import Path

import pytest

from untrue.errors import ArgumentError, DataError
from untrue.tools.reading.columns import choose
from untrue.tools.reading.tables import TableFile

CLASSES = ("cat", "dog")


def table(*names: str) -> TableFile:
    return TableFile(Path("p.csv"), names)


@pytest.mark.parametrize(
    ("names", "truth", "predicted", "probs"),
    [
        (("truth", "predicted"), "truth", "predicted", None),
        (("Y_True", "y-pred"), "Y_True", "y-pred", None),
        (("label", "prediction", "label_id"), "label", "prediction", None),
        (("id", "truth", "prob_dog", "prob_cat"), "truth", None, ("prob_cat", "prob_dog")),
        (("truth", "dog", "cat"), "truth", None, ("cat", "dog")),
        (
            ("truth", "predicted", "proba_cat", "proba_dog"),
            "truth",
            "predicted",
            ("proba_cat", "proba_dog"),
        ),
    ],
)
def test_obvious_columns_are_found(
    names: tuple[str, ...], truth: str, predicted: str | None, probs: tuple[str, ...] | None
) -> None:
    found = choose(table(*names), CLASSES)
    assert (found.truth, found.predicted, found.probs) == (truth, predicted, probs)


def test_one_column_is_never_both_the_truth_and_the_predictions() -> None:
    file = table("truth", "predicted", "prob_cat", "prob_dog")
    for options in ({"predicted": "truth"}, {"truth": "predicted", "predicted": "predicted"}):
        with pytest.raises(ArgumentError, match="named for the truth and for the predictions"):
            choose(file, ["cat", "dog"], **options)
    found = choose(file, ["cat", "dog"], truth="predicted")
    assert (found.predicted, found.probs) == (None, ("prob_cat", "prob_dog"))


def test_a_class_called_like_a_column_is_not_taken_for_it() -> None:
    found = choose(table("label", "true", "false"), ("true", "false"))
    assert (found.truth, found.probs) == ("label", ("true", "false"))


def test_numbered_columns_are_never_taken_for_named_classes_unless_it_is_said_which() -> None:
    names = ("truth", "predicted", "p_0", "p_1")
    found = choose(table(*names), CLASSES)
    assert found.probs is None
    assert "the columns p_0, p_1 are left out" in found.notes[0]
    assert "--classes" in found.notes[0]
    with pytest.raises(DataError, match=r"nor probabilities.*p_1 are left out.*--classes"):
        choose(table("truth", "p_0", "p_1"), CLASSES)
    for options in ({}, {"probs": "p_"}):
        found = choose(table(*names), CLASSES, label_names=["dog", "cat"], **options)
        assert found.probs == ("p_1", "p_0")
    by_default = choose(table(*names), ("0", "1"))
    assert by_default.probs == ("p_0", "p_1")


def test_a_column_called_like_a_class_is_found_where_the_probabilities_have_a_prefix() -> None:
    names = ("truth", "predicted", "prob_truth", "prob_predicted")
    found = choose(table(*names), ("truth", "predicted"))
    assert (found.truth, found.predicted) == ("truth", "predicted")
    assert found.probs == ("prob_truth", "prob_predicted")


@pytest.mark.parametrize("options", [{}, {"probs": "prob_"}, {"probs": "prob_2.0,prob_1.0"}])
def test_columns_of_whole_numbers_are_found_with_a_point_and_without(
    options: dict[str, str],
) -> None:
    with_point = table("truth", "predicted", "prob_2.0", "prob_1.0")
    assert choose(with_point, ("1", "2"), **options).probs == ("prob_1.0", "prob_2.0")
    assert choose(table("truth", "p_2", "p_1"), ("1.0", "2.0")).probs == ("p_1", "p_2")
    both = table("truth", "p_1", "p_1.0", "p_2")
    assert choose(both, ("1", "2")).probs == ("p_1", "p_2")
    assert choose(both, ("1.0", "1", "2")).probs == ("p_1.0", "p_1", "p_2")


def test_columns_of_probabilities_that_name_no_class_are_left_out_and_that_is_said() -> None:
    found = choose(table("truth", "predicted", "prob_Cat", "prob_Dog"), CLASSES)
    assert found.probs is None
    assert found.notes == (
        "the columns prob_Cat, prob_Dog are left out: none is called after a class",
    )


def test_named_columns_of_probabilities_are_ordered_by_their_names() -> None:
    found = choose(table("t", "dog", "cat"), CLASSES, truth="t", probs="dog,cat")
    assert found.probs == ("cat", "dog")
    assert found.notes == ()


def test_other_columns_of_probabilities_are_taken_in_order_and_that_is_said() -> None:
    found = choose(table("t", "q1", "q2"), CLASSES, truth="t", probs="q1, q2")
    assert found.probs == ("q1", "q2")
    assert "q1 is cat, q2 is dog" in found.notes[0]


def test_an_incomplete_set_of_probabilities_is_left_out_and_that_is_said() -> None:
    three = (*CLASSES, "cow")
    found = choose(table("truth", "predicted", "prob_cat", "prob_cow"), three)
    assert found.probs is None
    assert found.notes == ("the columns prob_cat, prob_cow are left out: class 'dog' has none",)
    with pytest.raises(DataError, match=r"nor probabilities; .*class 'dog' has none"):
        choose(table("truth", "prob_cat", "prob_cow"), three)


def test_of_two_classes_one_column_is_complete() -> None:
    assert choose(table("truth", "prob_cat"), CLASSES).probs == ("prob_cat",)
