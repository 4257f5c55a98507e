"""What all of our plotly figures share: text, layout, axes."""

from __future__ import annotations

import html
from typing import Any

from untrue.report.document.figures import Axis
from untrue.report.document.styles import GRID, INK, number

Drawing = dict[str, Any]
# A longer label is cut on a phone: it stands in two lines.
LONG_LABEL = 30


def safe(text: str) -> str:
    """Text that plotly draws as it is."""
    return html.escape(text, quote=False)


def long(labels: tuple[str, ...]) -> bool:
    """Whether names would run into each other when side by side on a phone."""
    return sum(len(label) for label in labels) > 24


def base_layout(*, height: int) -> dict[str, Any]:
    """A layout without axes."""
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


def axis_layout(axis: Axis, ends: tuple[float, float] | None = None) -> dict[str, Any]:
    """An axis, from one end to the other where these are given."""
    label = safe(axis.label)
    if len(label) > LONG_LABEL:
        label = label.replace(": ", ":<br>")
    layout: dict[str, Any] = {
        "title": {"text": label, "standoff": 8, "font": {"size": 12}},
        "automargin": True,
        "gridcolor": GRID,
        "linecolor": GRID,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": GRID,
    }
    if ends is not None:
        layout["range"] = list(ends)
    if axis.ticks:
        layout["tickvals"] = list(axis.ticks)
        layout["ticktext"] = [number(tick) if tick >= 1 else f"{tick:g}" for tick in axis.ticks]
    return layout
