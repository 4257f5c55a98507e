"""Penalties to start from."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import Hierarchy, Penalty
from untrue.errors import ArgumentError, DataError, PenaltyError
from untrue.tools.penalty_templates import parse_rule, suggest, template
from untrue.tools.reading.confusion_file import read_confusion_csv

CLASSES = ("a", "b", "c")
COUNTS = np.array([[90, 10, 0], [10, 90, 0], [0, 2, 98]])


def test_by_distance_the_seldomest_confusion_costs_most_and_both_ways_alike() -> None:
    matrix = suggest(CLASSES, COUNTS, by="distance", greatest=5.0).penalty.matrix()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix[0, 1] == 1.0
    assert matrix[0, 2] == 5.0
    assert 1.0 < matrix[1, 2] < 5.0


def test_by_frequency_what_happens_most_costs_most() -> None:
    matrix = suggest(CLASSES, COUNTS, by="frequency", greatest=3.0).penalty.matrix()
    assert matrix[0, 1] == 3.0
    assert matrix[0, 2] == 1.0
    assert matrix[2, 1] == pytest.approx(1 + 2 * 0.02 / 0.1)


def test_the_cost_of_the_counted_errors_is_reported() -> None:
    found = suggest(CLASSES, COUNTS, [("a", "c", 7.0), ("c", "b", 50.0)], greatest=1.0)
    assert found.total_cost == pytest.approx(20 + 2 * 50)
    assert found.expected_cost == pytest.approx(found.total_cost / 300)
    assert (found.costliest[0].true, found.costliest[0].predicted) == ("c", "b")
    assert found.unseen == (("a", "c", 7.0),)


def test_no_errors_at_all_are_no_trouble() -> None:
    found = suggest(CLASSES, np.diag([5, 5, 5]), by="frequency")
    assert found.total_cost == 0
    assert suggest(CLASSES, np.zeros((3, 3), int)).total_cost == 0


def test_a_rule_for_a_right_answer_is_refused() -> None:
    with pytest.raises(PenaltyError, match="from 'a' to itself"):
        suggest(CLASSES, COUNTS, [("a", "a", 1.0)])


@pytest.mark.parametrize("text", ["a->b", "a=2", "->b=2", "a->b=x", ""])
def test_a_rule_must_read_as_one(text: str) -> None:
    with pytest.raises(ArgumentError, match="A rule reads"):
        parse_rule(text)


def test_a_rule_may_have_signs_in_its_names() -> None:
    assert parse_rule("x=1 -> y-2 = 3e1") == ("x=1", "y-2", 30.0)
    assert parse_rule("""'a->b' -> "c, d" = 2""") == ("a->b", "c, d", 2.0)
    assert parse_rule("""O'Neil "x"->'n roll=2""") == ('O\'Neil "x"', "'n roll", 2.0)
    with pytest.raises(ArgumentError, match="a name that holds an arrow stands in quotes"):
        parse_rule("a->b->c=2")


@pytest.mark.parametrize("n", [2, 30])
def test_a_template_is_a_penalty(n: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("new") / "costs.toml"
    names = [f'class "{i}" \\ é' for i in range(n)]
    path.write_text(template(names), encoding="utf-8")
    assert Penalty.load(path) == Penalty.from_rules(names, {}, default=1.0)
    tree = Hierarchy.from_groups({"even": names[::2], "odd": names[1::2]}, classes=names)
    path.write_text(template(None, tree), encoding="utf-8")
    assert Penalty.load(path) == Penalty.from_hierarchy(tree)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("x,a\na,1\n", "must name at least two classes"),
        ("x,a,b\na,1,2\n", "no row for class 'b'"),
        ("x,a,b\na,1,2\nc,1,2\n", "line 3: 'c' is not a class of the header"),
        ("truth,prob_a,prob_b\na,.1,.9\n", "is no confusion matrix: .* `untrue audit` makes one"),
        ("x,a,b\na,1,2\na,1,2\n", "line 3: a second row for class 'a'"),
        ("x,a,b\na,1\nb,1,2\n", "line 2: 1 counts for 2 classes"),
        ("x,a,b\na,1,-2\nb,1,2\n", "line 2, column 'b': '-2' is not a count"),
        ("x,a,b\na,1,.5\nb,1,2\n", "line 2, column 'b': '.5' is not a count"),
        ("x,a,b\na,1,inf\nb,1,2\n", "line 2, column 'b': 'inf' is not a count"),
    ],
)
def test_a_broken_confusion_file_is_reported_by_its_line(
    text: str, message: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cm") / "cm.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_confusion_csv(path)


def test_rows_may_come_in_another_order_than_the_header(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("cm") / "cm.csv"
    path.write_text("x,a,b\nb,3,4\na,1,2\n")
    classes, counts = read_confusion_csv(path)
    assert classes == ("a", "b")
    assert counts.tolist() == [[1, 2], [3, 4]]
