"""Figures as data: what both drawing rooms read must be right once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from untrue.errors import ArgumentError
from untrue.metrics import Interval
from untrue.report.document.confusion_figure import ConfusionFigure, Panel, busiest
from untrue.report.document.figures import (
    Axis,
    Change,
    ChangeRow,
    Curves,
    Point,
    Series,
    ends,
    span,
)


def curves(*series: Series, **options: bool) -> Curves:
    return Curves("t", "see", Axis("x"), Axis("y"), series, **options)


def confusion(k: int, zone: np.ndarray | None = None) -> ConfusionFigure:
    values = np.arange(k * k, dtype=float).reshape(k, k)
    return ConfusionFigure(
        "t", "see", tuple(f"c{i}" for i in range(k)), (Panel("p", values),), zone
    )


def test_every_figure_says_what_to_see() -> None:
    for make in (
        lambda: Curves("Title", " ", Axis("x"), Axis("y"), ()),
        lambda: Change("Title", "", Axis("x"), ()),
        lambda: ConfusionFigure("Title", "", ("a",), (Panel("", np.zeros((1, 1))),)),
    ):
        with pytest.raises(ArgumentError, match="`see` must say what to look at in figure 'Title'"):
            make()


def test_points_take_numbers_and_intervals() -> None:
    point = Point.at(3, Interval(2.0, 1.5, 2.5, 0.95), label="0.9")
    assert (point.x, point.y, point.y_low, point.y_high, point.x_low) == (3.0, 2.0, 1.5, 2.5, None)


def test_one_repetition_has_no_interval() -> None:
    assert span(math.nan, math.nan) is None
    assert span(None, 1.0) is None
    assert span(0.0, 1.0) == (0.0, 1.0)


def test_dodged_series_stand_apart_and_stay_in_order_around_their_place() -> None:
    points = tuple(Point(x, 1.0) for x in (10.0, 20.0, 50.0))
    figure = curves(*(Series(f"s{i}", points) for i in range(3)), dodge=True)
    places = np.array([figure.placed(i) for i in range(3)])
    assert (np.diff(places, axis=0) > 0).all()
    np.testing.assert_allclose(places.mean(axis=0), [10, 20, 50])
    # Far less than half the smallest gap: no doubt which n a point belongs to.
    assert np.abs(places - [10, 20, 50]).max() < 2.5
    assert curves(Series("one", points), dodge=True).placed(0) == (10, 20, 50)


def test_an_axis_of_counts_starts_at_zero_and_holds_every_interval() -> None:
    series = [Series("s", (Point(1.0, 2.0, -3.0, 9.0), Point(2.0, 4.0, math.nan, math.nan)))]
    low, high = ends(Axis("y", from_zero=True), series, "y") or (math.nan, math.nan)
    assert low == 0
    assert 9 < high < 10
    assert ends(Axis("y"), series, "y") is None
    assert ends(Axis("y", positive=True), series, "y") == (low, high)
    above = [Series("s", (Point(1.0, 2.0, 1.0, 3.0),))]
    assert ends(Axis("y", positive=True), above, "y") is None


@pytest.mark.parametrize("seed", range(5))
def test_the_outline_is_the_border_of_the_zone(seed: int) -> None:
    zone = np.random.default_rng(seed).random((7, 7)) < 0.4
    length = 0.0
    for (x0, y0), (x1, y1) in confusion(7, zone).outline():
        assert (x0 == x1) != (y0 == y1)
        length += abs(x1 - x0) + abs(y1 - y0)
        # A border has the zone on one side and not on the other, all along.
        for step in np.arange(0.5, abs(x1 - x0) + abs(y1 - y0)):
            x, y = (x0 + step, y0) if y0 == y1 else (x0, y0 + step)
            sides = ((x, y - 0.5), (x, y + 0.5)) if y0 == y1 else ((x - 0.5, y), (x + 0.5, y))
            inside = [
                0 <= b < 7 and 0 <= a < 7 and bool(zone[int(b), int(a)])
                for a, b in ((round(p), round(q)) for p, q in sides)
            ]
            assert inside[0] != inside[1]
    padded = np.pad(zone, 1)
    border = (padded[1:] != padded[:-1]).sum() + (padded[:, 1:] != padded[:, :-1]).sum()
    assert length == border


def test_shapes_must_fit_the_classes() -> None:
    with pytest.raises(ArgumentError, match=r"must have shape \(2, 2\).*got \(2, 2\), \(3, 3\)"):
        confusion(2, np.zeros((3, 3), dtype=bool))
    with pytest.raises(ArgumentError, match="got no panel"):
        ConfusionFigure("t", "see", ("a", "b"), ())


def test_the_colour_scale_ends_at_the_largest_error_not_at_the_right_answers() -> None:
    values = np.array([[900.0, 3.0], [7.0, 800.0]])
    assert ConfusionFigure("t", "s", ("a", "b"), (Panel("", values),)).largest == 7
    assert ConfusionFigure("t", "s", ("a", "b"), (Panel("", np.diag([9.0, 9.0])),)).largest == 1


def test_many_classes_are_named_by_their_blocks() -> None:
    many = confusion(60)
    assert len(many.ticks()[0]) <= 25
    blocks = (("low", 0, 30), ("a very long name of a super-class", 30, 60))
    named = ConfusionFigure("t", "s", many.classes, many.panels, blocks=blocks)
    assert named.ticks() == ((14.5, 44.5), ("low", "a very long nam…"))
    assert confusion(3).ticks() == ((0.0, 1.0, 2.0), ("c0", "c1", "c2"))


def test_busiest_keeps_the_classes_with_the_most_errors_in_their_order() -> None:
    values = np.diag(np.full(5, 1000.0))
    values[1, 3] = 5
    values[4, 0] = 1
    zone = np.zeros((5, 5), dtype=bool)
    zone[1, 3] = True
    figure = ConfusionFigure("t", "See.", tuple("abcde"), (Panel("", values),), zone)
    small = busiest(figure, 2)
    assert small.classes == ("b", "d")
    assert small.panels[0].values.tolist() == [[1000, 5], [0, 1000]]
    assert small.zone is not None
    assert small.zone.tolist() == [[False, True], [False, False]]
    assert small.see == "See. Shown are the 2 of 5 classes with the most errors."
    assert busiest(figure, 5) is figure


def test_change_rows_are_points_on_one_line_each() -> None:
    rows = (ChangeRow("a", 3.0, 1.0), ChangeRow("b", 2.0, Interval(2.5, 2.0, 3.0, 0.95)))
    before, after = Change("t", "see", Axis("x"), rows).series()
    assert [(p.x, p.y) for p in before.points] == [(3.0, 0.0), (2.0, 1.0)]
    assert [(p.x, p.y, p.x_high) for p in after.points] == [(1.0, 0.0, None), (2.5, 1.0, 3.0)]
