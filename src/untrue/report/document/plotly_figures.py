"""Figures as plotly's data and layout, plain dicts ready for JSON. plotly itself is not imported.

Names go in escaped: plotly reads a little HTML in every text it draws. Hover texts are whole
strings, never templates, so a class called '%{z}' is shown as that.
"""

from __future__ import annotations

from typing import Any

from untrue.report.document.figures import (
    Axis,
    Change,
    Curves,
    Differences,
    Facets,
    Figure,
    Point,
    Series,
    ends,
    span,
)
from untrue.report.document.plotly_confusion import draw_confusion
from untrue.report.document.plotly_layout import Drawing, axis_layout, base_layout, safe
from untrue.report.document.styles import (
    CROSS,
    INK,
    LEGEND_UP_TO,
    STAIRS,
    number,
    shortened,
)


def draw(figure: Figure) -> tuple[Drawing, ...]:
    """One plotly figure for each panel: {"title", "data", "layout"}."""
    if isinstance(figure, Curves):
        return (_curves(figure),)
    if isinstance(figure, Facets):
        return tuple(
            {**_curves(panel, height=330, legend=False), "title": panel.title}
            for panel in figure.panels
        )
    if isinstance(figure, Differences):
        return (_differences(figure),)
    if isinstance(figure, Change):
        return (_change(figure),)
    return tuple(draw_confusion(figure, panel) for panel in figure.panels)


def _curves(figure: Curves, *, height: int = 430, legend: bool = True) -> Drawing:
    data = [
        _trace(
            series,
            figure.placed(i),
            figure.x,
            figure.y,
            bars="" if figure.crowded else series.colour,
        )
        for i, series in enumerate(figure.series)
    ]
    rings = [(p.x, p.y) for s in figure.series for p in s.points if p.marked]
    if rings:
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "chosen",
                "x": [x for x, _ in rings],
                "y": [y for _, y in rings],
                "hoverinfo": "skip",
                "cliponaxis": False,
                "marker": {
                    "symbol": "circle-open",
                    "size": 19,
                    "color": INK,
                    "line": {"width": 2.5, "color": INK},
                },
                "meta": {"ink": True},
            }
        )
    layout = base_layout(height=600 if figure.crowded else height)
    if not legend:
        layout["showlegend"] = False
    if figure.cross is not None:
        x, y = figure.cross
        layout["shapes"] = [
            _line(ends)
            for ends in (
                {"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"},
                {"y0": y, "y1": y, "x0": 0, "x1": 1, "xref": "paper"},
            )
        ]
    layout["xaxis"] = axis_layout(figure.x, ends(figure.x, figure.series, "x"))
    layout["yaxis"] = axis_layout(figure.y, ends(figure.y, figure.series, "y"))
    return {"title": "", "data": data, "layout": layout}


def _trace(
    series: Series, places: tuple[float, ...], x: Axis, y: Axis | None = None, *, bars: str
) -> dict[str, Any]:
    """Markers and lines; y: None where that is the position of a row: hovering leaves it out."""
    points = series.points
    labelled = any(point.label for point in points)
    parts = [*([] if series.stairs else ["markers"]), *(["lines"] if series.joined else [])]
    parts += ["text"] if labelled else []
    trace: dict[str, Any] = {
        "type": "scatter",
        "name": safe(shortened(series.name, LEGEND_UP_TO)),
        "mode": "+".join(parts),
        "x": list(places),
        "y": [point.y for point in points],
        "hoverinfo": "text",
        "hovertext": [_hover(series, point, x, y) for point in points],
        "line": {
            "color": series.colour,
            "width": 2,
            "dash": "dash" if series.dashed else "solid",
        },
        "marker": {
            "color": series.colour,
            "symbol": series.marker[0] + ("-open" if series.hollow else ""),
            "size": 8,
        },
        "meta": {"ink": series.colour == INK},
        "cliponaxis": False,  # no marker is cut in half at the edge, where 0 often is
    }
    # A name that several series share is one thing: a click on it hides them all.
    trace["legendgroup"] = trace["name"]
    if not series.listed:
        trace["showlegend"] = False
    if series.stairs:
        trace["line"] |= {"shape": "hv", "width": 5, "color": STAIRS}
        trace["hoverinfo"] = "skip"
        trace["meta"] = {}
    if labelled:
        trace["text"] = [safe(point.label) for point in points]
        trace["textposition"] = "top right"
        trace["textfont"] = {"size": 11}
        if series.colour != INK:
            trace["textfont"]["color"] = series.colour
    for side, reach in (
        ("error_y", [(p.y, span(p.y_low, p.y_high)) for p in points]),
        ("error_x", [(p.x, span(p.x_low, p.x_high)) for p in points]),
    ):
        if bars and any(found for _, found in reach):
            trace[side] = {
                "type": "data",
                "symmetric": False,
                "array": [found[1] - value if found else 0.0 for value, found in reach],
                "arrayminus": [value - found[0] if found else 0.0 for value, found in reach],
                "color": bars,
                "thickness": 1.2,
                "width": 3,
            }
    return trace


def _hover(series: Series, point: Point, x: Axis, y: Axis | None) -> str:
    lines = [f"<b>{safe(series.name)}</b>"]
    if point.label:
        lines.append(safe(point.label))
    for axis, value, reach in (
        (x, point.x, span(point.x_low, point.x_high)),
        (y, point.y, span(point.y_low, point.y_high)),
    ):
        interval = f" [{number(reach[0])}, {number(reach[1])}]" if reach else ""
        if axis is not None:
            lines.append(f"{safe(axis.label)}: {number(value)}{interval}")
    return "<br>".join(lines)


def _differences(figure: Differences) -> Drawing:
    data = []
    for row, series in zip(figure.rows, figure.series(), strict=True):
        trace = _trace(series, (row.change.value,), figure.x, bars=series.colour)
        trace["marker"]["size"] = 11
        trace["hovertext"] = ["<br>".join(filter(None, (*trace["hovertext"], safe(row.note))))]
        trace["error_x"] = {**trace.get("error_x", {}), "thickness": 2.2, "width": 0}
        data.append(trace)
    names = [row.name for row in figure.rows]
    layout = base_layout(height=90 + 34 * max(2, len(names)))
    layout["showlegend"] = False
    layout["shapes"] = [_line({"x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper"})]
    layout["xaxis"] = axis_layout(figure.x, ends(figure.x, figure.series(), "x"))
    layout["yaxis"] = _row_names(names)
    return {"title": "", "data": data, "layout": layout}


def _line(ends: dict[str, Any]) -> dict[str, Any]:
    """A straight line behind the data."""
    return {"type": "line", "layer": "below", "line": {"color": CROSS, "width": 1.5}, **ends}


def _row_names(names: list[str]) -> dict[str, Any]:
    """The y axis of rows from the top, each with its name."""
    return {
        **axis_layout(Axis("")),
        "tickvals": list(range(len(names))),
        "ticktext": [safe(shortened(name, 24)) for name in names],
        "range": [len(names) - 0.5, -0.5],
        "fixedrange": True,
    }


def _change(figure: Change) -> Drawing:
    names = [row.name for row in figure.rows]
    before, after = figure.series()
    joined: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "showlegend": False,
        "hoverinfo": "skip",
        "x": [],
        "y": [],
        "line": {"color": "#999999", "width": 3},
    }
    for old, new in zip(before.points, after.points, strict=True):
        joined["x"] += [old.x, new.x, None]
        joined["y"] += [old.y, new.y, None]
    data = [joined]
    for series in (before, after):
        places = tuple(point.x for point in series.points)
        trace = _trace(series, places, figure.x, bars=series.colour)
        trace["marker"]["size"] = 12
        trace["hovertext"] = [
            f"<b>{safe(name)}</b><br>{text}"
            for name, text in zip(names, trace["hovertext"], strict=True)
        ]
        data.append(trace)
    layout = base_layout(height=130 + 34 * max(2, len(names)))
    layout["xaxis"] = axis_layout(figure.x, ends(figure.x, (before, after), "x"))
    layout["yaxis"] = _row_names(names)
    return {"title": "", "data": data, "layout": layout}
