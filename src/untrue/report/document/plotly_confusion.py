"""Confusion matrices as plotly's heat maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from untrue.report.document.confusion_figure import ConfusionFigure, Panel
from untrue.report.document.figures import Axis
from untrue.report.document.plotly_layout import Drawing, axis_layout, base_layout, long, safe
from untrue.report.document.styles import DIAGONAL, INK, NAMES_UP_TO, SCALE, ZONE_COLOUR, number

# In pixels: the most that a cell takes; what all cells together take at least, and at most when
# other panels stand beside them or none does; a row with a name beside it. Then the titles of the
# axes, a letter of a name, and the scale of colours.
CELL, LEAST_SIDE, MOST_BESIDE, MOST_ALONE, ROW = 120, 360, 420, 560, 14
TITLES, LETTER, BAR = 55, 6, 45
# Up to so many classes the numbers are as large as the text.
LARGE_UP_TO = 6


def draw_confusion(figure: ConfusionFigure, panel: Panel) -> Drawing:
    """A heat map, with the zone outlined."""
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
                "title": {"text": safe(figure.unit), "side": "right", "font": {"size": 12}},
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
    turned = long(labels)
    most = MOST_ALONE if len(figure.panels) == 1 else MOST_BESIDE
    side = min(CELL * k, max(LEAST_SIDE, min(ROW * k, most)))
    names_take = LETTER * max(map(len, labels))
    height = side + TITLES + (names_take if turned else 0)
    # Numbers lie flat, so their cells may be wider than high; all others are square.
    width = TITLES + names_take + (side * 3 // 2 if figure.shows_numbers else side)
    layout = base_layout(height=height if figure.shows_numbers else height + BAR)
    layout["margin"]["t"] = 10
    layout["xaxis"] = {
        **axis_layout(Axis(figure.predicted_label)),
        **ticks,
        "tickangle": -90 if turned else 0,
    }
    layout["yaxis"] = {**axis_layout(Axis("truth")), **ticks, "range": [k - 0.5, -0.5]}
    return {"title": panel.title, "width": width, "data": data, "layout": layout}


def _numbers(figure: ConfusionFigure, panel: Panel, *, on_dark: bool) -> dict[str, Any]:
    """The counts in the cells, as a trace of their own: plotly's contrast fails mid-scale."""
    cells = np.argwhere((panel.values != 0) & (figure.dark(panel) == on_dark)).tolist()
    texts = [number(float(panel.values[i, j])) for i, j in cells]
    few = len(figure.classes) <= LARGE_UP_TO
    return {
        "type": "scatter",
        "mode": "text",
        "x": [j for _, j in cells],
        "y": [i for i, _ in cells],
        "text": texts,
        "textfont": {
            "size": 14 if few else [10 if len(text) < 4 else 8 for text in texts],
            "color": "#ffffff" if on_dark else INK,
        },
        "hoverinfo": "skip",
        "showlegend": False,
        "meta": {"text": "on dark" if on_dark else "on light"},
    }


def _cell_hover(
    figure: ConfusionFigure, true: str, predicted: str, value: float, i: int, j: int
) -> str:
    inside = figure.zone is not None and bool(figure.zone[i, j])
    verdict = "right" if i == j else safe(figure.zone_name) if inside else ""
    lines = [f"truth: <b>{true}</b>", f"predicted: <b>{predicted}</b>"]
    return "<br>".join(
        [*lines, f"{number(value)} {safe(figure.unit)}{f' ({verdict})' if verdict else ''}"]
    )


def _rows(values: Any) -> list[list[float | None]]:
    """A matrix for JSON, which knows no nan."""
    return [[None if np.isnan(v) else float(v) for v in row] for row in values]
