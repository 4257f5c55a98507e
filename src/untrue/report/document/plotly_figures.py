"""Figures as plotly's data and layout, plain dicts ready for JSON. plotly itself is not imported.

Names go in escaped: plotly reads a little HTML in every text it draws. Hover texts are whole
strings, never templates, so a class called '%{z}' is shown as that.
"""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from untrue.report.document.figures import (
    INK,
    LEGEND_UP_TO,
    NAMES_UP_TO,
    ZONE_COLOUR,
    Axis,
    Change,
    Confusion,
    Curves,
    Differences,
    Facets,
    Figure,
    Panel,
    Point,
    Series,
    ends,
    number,
    shortened,
    span,
)

Drawing = dict[str, Any]
# Kept in step with the dark ones in page.js, which swaps them.
GRID = "#d9d9d9"
SCALE = [[0.0, "#ffffff"], [0.15, "#d6e6f4"], [0.5, "#6aaed6"], [1.0, "#08306b"]]
DIAGONAL = "#e4e4e4"
# Lines behind the data; dark enough on white and light enough on black.
CROSS = "#8a8a8a"
STAIRS = "#8a8a8a66"


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
    return tuple(_confusion(figure, panel) for panel in figure.panels)


def safe(text: str) -> str:
    """Text that plotly draws as it is."""
    return html.escape(text, quote=False)


def _curves(figure: Curves, *, height: int = 430, legend: bool = True) -> Drawing:
    data = [
        _trace(
            series,
            figure.placed(i),
            f"{figure.x.label}: ",
            f"{figure.y.label}: ",
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
                "marker": {
                    "symbol": "circle-open",
                    "size": 19,
                    "color": INK,
                    "line": {"width": 2.5, "color": INK},
                },
                "meta": {"ink": True},
            }
        )
    layout = _layout(height=600 if figure.crowded else height)
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
    layout["xaxis"] = _axis(figure.x, ends(figure.x, figure.series, "x"))
    layout["yaxis"] = _axis(figure.y, ends(figure.y, figure.series, "y"))
    return {"title": "", "data": data, "layout": layout}


def _trace(
    series: Series, places: tuple[float, ...], x_hover: str, y_hover: str, *, bars: str
) -> dict[str, Any]:
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
        "hovertext": [_hover(series, point, x_hover, y_hover) for point in points],
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


def _hover(series: Series, point: Point, x_hover: str, y_hover: str) -> str:
    lines = [f"<b>{safe(series.name)}</b>"]
    if point.label:
        lines.append(safe(point.label))
    for text, value, reach in (
        (x_hover, point.x, span(point.x_low, point.x_high)),
        (y_hover, point.y, span(point.y_low, point.y_high)),
    ):
        interval = f" [{number(reach[0])}, {number(reach[1])}]" if reach else ""
        lines.append(f"{safe(text)}{number(value)}{interval}")
    return "<br>".join(lines)


def _differences(figure: Differences) -> Drawing:
    data = []
    for row, series in zip(figure.rows, figure.series(), strict=True):
        trace = _trace(series, (row.change.value,), f"{figure.x.label}: ", "", bars=series.colour)
        trace["marker"]["size"] = 11
        trace["hovertext"] = [
            "<br>".join(filter(None, (trace["hovertext"][0].rsplit("<br>", 1)[0], safe(row.note))))
        ]
        trace["error_x"] = {**trace.get("error_x", {}), "thickness": 2.2, "width": 0}
        data.append(trace)
    names = [row.name for row in figure.rows]
    layout = _layout(height=90 + 34 * max(2, len(names)))
    layout["showlegend"] = False
    layout["shapes"] = [_line({"x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper"})]
    layout["xaxis"] = _axis(figure.x, ends(figure.x, figure.series(), "x"))
    layout["yaxis"] = _row_names(names)
    return {"title": "", "data": data, "layout": layout}


def _line(ends: dict[str, Any]) -> dict[str, Any]:
    """A straight line behind the data."""
    return {"type": "line", "layer": "below", "line": {"color": CROSS, "width": 1.5}, **ends}


def _row_names(names: list[str]) -> dict[str, Any]:
    """The y axis of rows from the top, each with its name."""
    return {
        **_axis(Axis("")),
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
        trace = _trace(
            series,
            tuple(point.x for point in series.points),
            f"{figure.x.label}: ",
            "",
            bars=series.colour,
        )
        trace["marker"]["size"] = 12
        trace["hovertext"] = [
            f"<b>{safe(name)}</b><br>{text.rsplit('<br>', 1)[0]}"
            for name, text in zip(names, trace["hovertext"], strict=True)
        ]
        data.append(trace)
    layout = _layout(height=130 + 34 * max(2, len(names)))
    layout["xaxis"] = _axis(figure.x, ends(figure.x, (before, after), "x"))
    layout["yaxis"] = _row_names(names)
    return {"title": "", "data": data, "layout": layout}


def _confusion(figure: Confusion, panel: Panel) -> Drawing:
    k = len(figure.classes)
    same = np.eye(k, dtype=bool)
    errors = np.where(same, np.nan, panel.values)
    names = [safe(name) for name in figure.classes]
    # One hover text per cell would be most of the page for 100 classes: empty cells keep quiet.
    labelled = (panel.values != 0) | (k <= NAMES_UP_TO)
    hover = np.full((k, k), "", dtype=object)
    for i, j in np.argwhere(labelled).tolist():
        hover[i, j] = _cell_hover(figure, names[i], names[j], float(panel.values[i, j]), i, j)
    common: dict[str, Any] = {
        "type": "heatmap",
        "hoverinfo": "text",
        "hoverongaps": False,
        "xgap": 1 if k <= NAMES_UP_TO else 0,
        "ygap": 1 if k <= NAMES_UP_TO else 0,
    }
    data: list[dict[str, Any]] = [
        {
            **common,
            "z": _rows(errors),
            "hovertext": np.where(same, "", hover).tolist(),
            "zmin": 0,
            "zmax": figure.largest,
            "colorscale": SCALE,
            "showscale": not figure.shows_numbers,
            # Above the cells, where it takes no width from them on a phone.
            "colorbar": {
                "title": {"text": safe(figure.unit), "side": "top"},
                "orientation": "h",
                "thickness": 8,
                "y": 1.0,
                "ypad": 4,
                "yanchor": "bottom",
                "outlinewidth": 0,
            },
            "meta": {"scale": "errors"},
        },
        {
            **common,
            "z": _rows(np.where(same, 0.0, np.nan)),
            "hovertext": np.where(same, hover, "").tolist(),
            "zmin": 0,
            "zmax": 1,
            "colorscale": [[0.0, DIAGONAL], [1.0, DIAGONAL]],
            "showscale": False,
            "meta": {"scale": "diagonal"},
        },
    ]
    if figure.shows_numbers:
        data += [_numbers(figure, panel, on_dark=False), _numbers(figure, panel, on_dark=True)]
    if figure.zone is not None:
        xs: list[float | None] = []
        ys: list[float | None] = []
        for (x0, y0), (x1, y1) in figure.outline():
            xs += [x0, x1, None]
            ys += [y0, y1, None]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": xs,
                "y": ys,
                "hoverinfo": "skip",
                "showlegend": False,
                "line": {"color": ZONE_COLOUR, "width": 2.5 if k <= NAMES_UP_TO else 1.2},
            }
        )
    places, labels = figure.ticks()
    ticks = {
        "tickvals": list(places),
        "ticktext": [safe(label) for label in labels],
        "showgrid": False,
        "tickfont": {"size": 11 if len(places) <= 16 else 9},
        "range": [-0.5, k - 0.5],
    }
    layout = _layout(height=470)
    layout["margin"]["t"] = 10
    layout["xaxis"] = {
        **_axis(Axis(figure.predicted_label)),
        **ticks,
        "tickangle": -90 if _long(labels) else 0,
    }
    layout["yaxis"] = {**_axis(Axis("truth")), **ticks, "range": [k - 0.5, -0.5]}
    return {"title": panel.title, "data": data, "layout": layout}


def _numbers(figure: Confusion, panel: Panel, *, on_dark: bool) -> dict[str, Any]:
    """The counts in the cells, as a trace of their own: plotly's contrast fails mid-scale."""
    cells = np.argwhere((panel.values != 0) & (figure.dark(panel) == on_dark)).tolist()
    texts = [number(float(panel.values[i, j])) for i, j in cells]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [j for _, j in cells],
        "y": [i for i, _ in cells],
        "text": texts,
        "textfont": {
            "size": [10 if len(text) < 4 else 8 for text in texts],
            "color": "#ffffff" if on_dark else INK,
        },
        "hoverinfo": "skip",
        "showlegend": False,
        "meta": {"text": "on dark" if on_dark else "on light"},
    }


def _cell_hover(figure: Confusion, true: str, predicted: str, value: float, i: int, j: int) -> str:
    inside = figure.zone is not None and bool(figure.zone[i, j])
    verdict = "right" if i == j else safe(figure.zone_name) if inside else ""
    lines = [f"truth: <b>{true}</b>", f"predicted: <b>{predicted}</b>"]
    return "<br>".join(
        [*lines, f"{number(value)} {safe(figure.unit)}{f' ({verdict})' if verdict else ''}"]
    )


def _long(labels: tuple[str, ...]) -> bool:
    """Whether names would run into each other when side by side on a phone."""
    return sum(len(label) for label in labels) > 24


def _rows(values: Any) -> list[list[float | None]]:
    """A matrix for JSON, which knows no nan."""
    return [[None if np.isnan(v) else float(v) for v in row] for row in values]


def _layout(*, height: int) -> dict[str, Any]:
    return {
        "height": height,
        "autosize": True,
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"align": "left"},
        "dragmode": False,
    }


def _axis(axis: Axis, ends: tuple[float, float] | None = None) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "title": {"text": safe(axis.label), "standoff": 8, "font": {"size": 12}},
        "automargin": True,
        "gridcolor": GRID,
        "linecolor": GRID,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": GRID,
    }
    if axis.log:
        layout["type"] = "log"
    if ends is not None:
        layout["range"] = list(ends)
    if axis.ticks:
        layout["tickvals"] = list(axis.ticks)
        layout["ticktext"] = [number(tick) if tick >= 1 else f"{tick:g}" for tick in axis.ticks]
    return layout
