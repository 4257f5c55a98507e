"""Plotly's side of a figure: valid, escaped, and with the numbers of the description."""

from __future__ import annotations

import json
import math

import numpy as np
import plotly.graph_objects
import pytest

from untrue.metrics import Interval
from untrue.report.document import plotly_figures
from untrue.report.document.confusion_figure import ConfusionFigure, Panel
from untrue.report.document.figures import Axis, Change, ChangeRow, Curves, Figure, Point, Series

NASTY = "<script>alert(1)</script> & %{z}"
SAFE = "&lt;script&gt;alert(1)&lt;/script&gt; &amp; %{z}"
ZONE = np.array([[False, True], [False, False]])
FIGURES: dict[str, Figure] = {
    "curves": Curves(
        "t",
        "see",
        Axis("n", ticks=(10.0, 20.0)),
        Axis("errors", from_zero=True),
        (
            Series("base", (Point(10.0, 5.0, 4.0, 7.0), Point(20.0, 8.0)), style=0, dashed=True),
            Series(NASTY, (Point(10.0, 2.0, 1.0, math.nan, label=NASTY, marked=True),)),
        ),
        dodge=True,
    ),
    "change": Change(
        "t", "see", Axis("cost"), (ChangeRow(NASTY, 3.0, Interval(1.0, 0.5, 1.5, 0.95)),)
    ),
    "confusion": ConfusionFigure(
        "t",
        "see",
        ("cat", NASTY),
        (
            Panel("before", np.array([[9.0, 4.0], [1.0, 8.0]])),
            Panel("after", np.array([[9.0, 0.0], [3.0, 8.0]])),
        ),
        ZONE,
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_accepts_it_and_json_holds_it(name: str) -> None:
    for drawing in plotly_figures.draw(FIGURES[name]):
        assert json.loads(json.dumps(drawing, allow_nan=False)) == drawing
        plotly.graph_objects.Figure(data=drawing["data"], layout=drawing["layout"])


@pytest.mark.parametrize("name", FIGURES)
def test_names_are_escaped_in_every_text(name: str) -> None:
    text = json.dumps(plotly_figures.draw(FIGURES[name]))
    assert "<script" not in text
    assert SAFE in text
    # A template would read the name's own '%{z}'.
    assert "hovertemplate" not in text
    assert "texttemplate" not in text


@pytest.mark.parametrize("name", ["curves", "change"])
def test_no_marker_is_cut_at_the_edge(name: str) -> None:
    for trace in plotly_figures.draw(FIGURES[name])[0]["data"]:
        assert trace.get("cliponaxis") is False or "markers" not in trace["mode"]


def test_hovering_a_cell_says_names_count_and_zone() -> None:
    before, after = plotly_figures.draw(FIGURES["confusion"])
    errors, right = before["data"][0], before["data"][1]
    assert errors["hovertext"][0][1] == (
        f"truth: <b>cat</b><br>predicted: <b>{SAFE}</b><br>4 images (in the zone)"
    )
    assert errors["hovertext"][0][0] == ""
    assert (
        right["hovertext"][0][0] == "truth: <b>cat</b><br>predicted: <b>cat</b><br>9 images (right)"
    )
    assert after["data"][0]["hovertext"][0][1].endswith("0 images (in the zone)")


def test_before_and_after_share_one_colour_scale_that_leaves_out_the_right_answers() -> None:
    for panel in plotly_figures.draw(FIGURES["confusion"]):
        errors = panel["data"][0]
        assert (errors["zmin"], errors["zmax"]) == (0, 4)
        assert errors["z"][0][0] is None


def test_empty_cells_of_many_classes_cost_nothing() -> None:
    k = 100
    values = np.diag(np.full(k, 100.0))
    values[3, 4] = 2
    names = tuple(f"c{i}" for i in range(k))
    (panel,) = plotly_figures.draw(ConfusionFigure("t", "see", names, (Panel("", values),)))
    assert len(json.dumps(panel)) < 200_000
    assert "predicted: <b>c4</b><br>2 images" in panel["data"][0]["hovertext"][3][4]


def test_intervals_reach_from_low_to_high_and_hover_gives_the_true_place() -> None:
    (drawing,) = plotly_figures.draw(FIGURES["curves"])
    base, other = drawing["data"][:2]
    assert base["error_y"]["array"] == [2.0, 0.0]
    assert base["error_y"]["arrayminus"] == [1.0, 0.0]
    assert "error_y" not in other
    assert base["x"] != [10.0, 20.0]
    assert base["hovertext"][0] == "<b>base</b><br>n: 10<br>errors: 5 [4, 7]"
    assert drawing["data"][2]["name"] == "chosen"


@pytest.mark.parametrize("panels", [1, 2])
@pytest.mark.parametrize("k", [17, 40, 100])
def test_cells_without_numbers_are_square_and_high_enough_to_see(k: int, panels: int) -> None:
    classes = tuple(f"class {i}" for i in range(k))
    figure = ConfusionFigure("t", "See.", classes, (Panel("", np.ones((k, k))),) * panels)
    drawn = plotly_figures.draw(figure)[0]
    # Titles, names and the scale of colours take 200 at most.
    assert drawn["layout"]["height"] - 200 >= 3.5 * k
    assert abs(drawn["layout"]["height"] - drawn["width"]) < 60
