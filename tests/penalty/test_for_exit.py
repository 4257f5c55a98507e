"""A(l): mistakes inside the coarse class cost more at each exit, up to parity at the last."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import Hierarchy, Penalty
from untrue.errors import ArgumentError, HierarchyError, PenaltyError

GROUPS = {"fish": ["trout", "ray"], "bird": ["wren", "owl"]}
TREE = Hierarchy.from_dict(
    {"any": {"fish": {"bony": ["trout", "eel"], "flat": ["ray"]}, "bird": ["owl"]}},
    classes=["owl", "ray", "eel", "trout"],
)


def test_the_cells_by_hand() -> None:
    first = Penalty.for_exit(GROUPS, 1, 4)
    assert first.classes == ("trout", "ray", "wren", "owl")
    assert first.matrix().tolist() == [
        [0.0, 0.25, 1.0, 1.0],
        [0.25, 0.0, 1.0, 1.0],
        [1.0, 1.0, 0.0, 0.25],
        [1.0, 1.0, 0.25, 0.0],
    ]
    third = Penalty.for_exit(GROUPS, 3, 4, cost=8.0)
    assert third.cost("wren", "owl") == 6.0
    assert third.cost("wren", "ray") == 8.0


@pytest.mark.parametrize("reading", ["text", "printed"])
@pytest.mark.parametrize("n_exits", [1, 3, 4])
def test_at_the_last_exit_all_mistakes_are_alike(reading: str, n_exits: int) -> None:
    last = Penalty.for_exit(GROUPS, n_exits, n_exits, reading=reading)
    assert np.array_equal(last.matrix(), 1 - np.eye(4))


def test_what_is_inside_grows_with_the_exit_by_the_text_and_falls_as_printed() -> None:
    for reading, expected in (("text", [1 / 3, 2 / 3, 1.0]), ("printed", [3.0, 1.5, 1.0])):
        made = [Penalty.for_exit(GROUPS, number, 3, reading=reading) for number in (1, 2, 3)]
        assert [p.cost("trout", "ray") for p in made] == expected
        assert {p.cost("trout", "owl") for p in made} == {1.0}
        assert all((np.diag(p.matrix()) == 0).all() for p in made)


def test_a_tree_says_which_of_its_levels_is_coarse() -> None:
    wide = Penalty.for_exit(TREE, 1, 2)
    assert wide.classes == TREE.classes
    assert (wide.cost("ray", "eel"), wide.cost("trout", "eel"), wide.cost("ray", "owl")) == (
        *(0.5, 0.5),
        1.0,
    )
    narrow = Penalty.for_exit(TREE, 1, 2, level=2)
    assert (narrow.cost("ray", "eel"), narrow.cost("trout", "eel")) == (1.0, 0.5)


def test_classes_may_be_given_in_another_order() -> None:
    order = ["owl", "trout", "wren", "ray"]
    made = Penalty.for_exit(GROUPS, 1, 2, classes=order)
    assert made.classes == tuple(order)
    assert made.cost("owl", "wren") == 0.5


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((GROUPS, 0, 3), {}, ArgumentError, "`exit` must be at least 1; got 0"),
        ((GROUPS, 4, 3), {}, ArgumentError, r"`exit` must lie in 1\.\.3, from the first; got 4"),
        ((GROUPS, 1, 0), {}, ArgumentError, "`n_exits` must be at least 1; got 0"),
        ((GROUPS, 1.5, 3), {}, ArgumentError, "`exit` must be a whole number"),
        ((GROUPS, 1, 3), {"reading": "print"}, ArgumentError, "`reading` must be 'text' or"),
        ((GROUPS, 1, 3), {"cost": -1.0}, PenaltyError, "-"),
        ((["trout"], 1, 3), {}, PenaltyError, "must be a Hierarchy or {coarse class: classes}"),
        ((TREE, 1, 3), {"level": 9}, HierarchyError, "`level` must be a whole number in 0..3"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, options, error, message) -> None:
    with pytest.raises(error, match=message):
        Penalty.for_exit(*arguments, **options)
