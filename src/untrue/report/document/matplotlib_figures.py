"""Figures as SVG and PNG files, drawn by matplotlib from the same descriptions as the page.

No global state of matplotlib is touched: no pyplot, no window, no style of the user's. Names are
drawn as they are ('$5' is no formula), and the same figure gives the same bytes.
"""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from untrue.atomic_files import place_bytes
from untrue.optional import need
from untrue.report.document.confusion_figure import ConfusionFigure
from untrue.report.document.figures import (
    Axis,
    Change,
    Curves,
    Differences,
    Facets,
    Figure,
    Series,
    ends,
    span,
)
from untrue.report.document.styles import (
    CROSS,
    DIAGONAL,
    GRID,
    INK,
    LEGEND_UP_TO,
    NAMES_UP_TO,
    SCALE,
    STAIRS,
    ZONE_COLOUR,
    number,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot
    from matplotlib.figure import Figure as Sheet

STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.edgecolor": "#888888",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "untrue",
    "legend.frameon": False,
}


DOTS_PER_INCH = 150


def save(figure: Figure, stem: str | Path) -> tuple[Path, Path]:
    """Write `stem`.svg and `stem`.png; their folder is made when absent."""
    matplotlib = need("matplotlib", "Drawing figures as files")
    agg = need("matplotlib.backends.backend_agg", "Drawing figures as files")
    svg = need("matplotlib.backends.backend_svg", "Drawing figures as files")
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(), warnings.catch_warnings():
        # The user's own style must not change the figures; the fonts of a machine lack some
        # signs, which then are boxes in the PNG and as they should be in the SVG.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        sheet = _sheet(figure)
        canvas = agg.FigureCanvasAgg(sheet)
        # Placing everything takes most of the time, and is the same for both files.
        placing = sheet.get_layout_engine()
        assert placing is not None
        placing.execute(sheet)
        if isinstance(figure, ConfusionFigure) and not figure.shows_numbers:
            # The first placing does not know yet how much the colour bar takes.
            placing.execute(sheet)
        sheet.set_layout_engine("none")
        if isinstance(figure, ConfusionFigure) and figure.shows_numbers:
            _numbers(sheet, figure)
        # `savefig` would draw everything twice more.
        picture, drawing = io.BytesIO(), io.BytesIO()
        canvas.print_png(picture)
        svg.FigureCanvasSVG(sheet).print_svg(drawing, metadata={"Date": None})
    return (
        place_bytes(stem.with_name(f"{stem.name}.svg"), drawing.getvalue()),
        place_bytes(stem.with_name(f"{stem.name}.png"), picture.getvalue()),
    )


def _sheet(figure: Figure) -> Sheet:
    width, height = _size(figure)
    sheet: Sheet = need("matplotlib.figure", "Drawing figures as files").Figure(
        figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained"
    )
    sheet.suptitle(figure.title, fontsize=12, fontweight="bold")
    if isinstance(figure, Curves):
        _curves(sheet, figure)
    elif isinstance(figure, Facets):
        _facets(sheet, figure)
    elif isinstance(figure, Differences):
        _differences(sheet, figure)
    elif isinstance(figure, Change):
        _change(sheet, figure)
    else:
        _confusion(sheet, figure)
    return sheet


def _size(figure: Figure) -> tuple[float, float]:
    if isinstance(figure, Curves):
        return (8.0, 6.6) if figure.crowded else (8.0, 5.2)
    if isinstance(figure, Facets):
        return 3.4 * _across(figure), 1.0 + 2.9 * math.ceil(len(figure.panels) / _across(figure))
    if isinstance(figure, Differences | Change):
        return 8.0, 1.9 + 0.36 * max(2, len(figure.rows))
    return 1.0 + 5.2 * len(figure.panels), 5.4


def _curves(sheet: Sheet, figure: Curves) -> None:
    _draw_curves(sheet.add_subplot(), figure)
    ringed = any(p.marked for s in figure.series for p in s.points)
    if len(figure.series) > 1 or ringed:
        _legend(sheet, [series.name for series in figure.series if series.listed])


def _across(figure: Facets) -> int:
    """Panels beside each other: three, or fewer when there are no more."""
    return min(3, len(figure.panels))


def _facets(sheet: Sheet, figure: Facets) -> None:
    across = _across(figure)
    down = math.ceil(len(figure.panels) / across)
    plots = sheet.subplots(down, across, squeeze=False).flatten()
    for position, plot in enumerate(plots):
        if position >= len(figure.panels):
            plot.set_axis_off()
            continue
        panel = figure.panels[position]
        _draw_curves(plot, panel)
        plot.set_title(panel.title, fontsize=10)
        # The axes are the same, so only the outer plots name them. (matplotlib's own sharing of
        # axes takes longer than all the drawing.)
        last = position + across >= len(figure.panels)
        plot.xaxis.set_label_text(panel.x.label if last else "", fontsize=8)
        plot.yaxis.set_label_text("" if position % across else panel.y.label, fontsize=8)
        plot.tick_params(labelbottom=last, labelleft=position % across == 0)


def _draw_curves(plot: Plot, figure: Curves) -> None:
    plot.grid(visible=True)
    plot.set_axisbelow(True)
    if figure.cross is not None:
        plot.axvline(figure.cross[0], color=CROSS, linewidth=0.8, zorder=1)
        plot.axhline(figure.cross[1], color=CROSS, linewidth=0.8, zorder=1)
    for index, series in enumerate(figure.series):
        _points(plot, series, figure.placed(index), bars="" if figure.crowded else series.colour)
        for point in series.points:
            if point.label:
                plot.annotate(
                    point.label,
                    (point.x, point.y),
                    textcoords="offset points",
                    xytext=(4, 4),
                    ha="left",
                    fontsize=8,
                    color=series.colour,
                )
    rings = [(p.x, p.y) for s in figure.series for p in s.points if p.marked]
    if rings:
        xs, ys = zip(*rings, strict=True)
        plot.plot(xs, ys, "o", ms=15, mfc="none", mec=INK, mew=2, ls="none", label="chosen")
    _axis(plot.xaxis, plot, figure.x, ends(figure.x, figure.series, "x"))
    _axis(plot.yaxis, plot, figure.y, ends(figure.y, figure.series, "y"))


def _legend(sheet: Sheet, names: list[str]) -> None:
    """Below the plot, where it has the whole width and no title to run into."""
    # A sheet 8 inches wide holds about 95 signs; the key before a name takes about eight.
    longest = max(len(shortened(name, LEGEND_UP_TO)) for name in names) + 8
    sheet.legend(loc="outside lower center", ncols=max(1, min(4, 95 // longest)))


def _points(
    plot: Plot, series: Series, places: tuple[float, ...], *, bars: str, size: float = 6
) -> None:
    """Markers with intervals in the colour `bars`; an interval that is not there has no length."""
    points = series.points
    ys = [point.y for point in points]
    if series.stairs:
        name = shortened(series.name, LEGEND_UP_TO) if series.listed else None
        plot.step(list(places), ys, where="post", label=name, color=STAIRS, lw=4, zorder=1)
        return

    def reach(values: list[float], spans: list[tuple[float, float] | None]) -> Any:
        if not bars or not any(spans):
            return None
        pairs = [e or (v, v) for v, e in zip(values, spans, strict=True)]
        low = [v - p[0] for v, p in zip(values, pairs, strict=True)]
        high = [p[1] - v for v, p in zip(values, pairs, strict=True)]
        return np.array([low, high])

    plot.errorbar(
        list(places),
        ys,
        xerr=reach([p.x for p in points], [span(p.x_low, p.x_high) for p in points]),
        yerr=reach(ys, [span(p.y_low, p.y_high) for p in points]),
        label=shortened(series.name, LEGEND_UP_TO) if series.listed else None,
        color=series.colour,
        marker=series.marker[1],
        markerfacecolor="white" if series.hollow else series.colour,
        markersize=size,
        linestyle=("--" if series.dashed else "-") if series.joined else "none",
        linewidth=1.6,
        ecolor=bars or None,
        elinewidth=1.0,
        capsize=2.5,
    )


def _axis(axis: Any, plot: Plot, described: Axis, limits: tuple[float, float] | None) -> None:
    side = "x" if axis is plot.xaxis else "y"
    axis.set_label_text(described.label)
    if limits is not None:
        getattr(plot, f"set_{side}lim")(*limits)
    if described.ticks:
        labels = [number(tick) if tick >= 1 else f"{tick:g}" for tick in described.ticks]
        axis.set_ticks(list(described.ticks), labels=labels)


def _change(sheet: Sheet, figure: Change) -> None:
    plot = sheet.add_subplot()
    plot.grid(visible=True, axis="x")
    plot.set_axisbelow(True)
    before, after = figure.series()
    for old, new in zip(before.points, after.points, strict=True):
        plot.plot([old.x, new.x], [old.y, new.y], color="#999999", linewidth=2.5, zorder=1)
    for series in (before, after):
        _points(plot, series, tuple(point.x for point in series.points), bars=series.colour, size=9)
    _row_names(plot, [row.name for row in figure.rows])
    _axis(plot.xaxis, plot, figure.x, ends(figure.x, (before, after), "x"))
    _legend(sheet, [before.name, after.name])


def _differences(sheet: Sheet, figure: Differences) -> None:
    plot = sheet.add_subplot()
    plot.grid(visible=True, axis="x")
    plot.set_axisbelow(True)
    plot.axvline(0.0, color=CROSS, linewidth=1.2, zorder=1)
    for series in figure.series():
        _points(plot, series, (series.points[0].x,), bars=series.colour, size=8)
    _row_names(plot, [row.name for row in figure.rows])
    _axis(plot.xaxis, plot, figure.x, ends(figure.x, figure.series(), "x"))


def _row_names(plot: Plot, names: list[str]) -> None:
    """Rows from the top, each with its name."""
    plot.set_yticks(range(len(names)), labels=[shortened(name, 32) for name in names])
    plot.set_ylim(len(names) - 0.5, -0.5)


def _confusion(sheet: Sheet, figure: ConfusionFigure) -> None:
    colors = need("matplotlib.colors", "Drawing figures as files")
    collections = need("matplotlib.collections", "Drawing figures as files")
    scale = colors.LinearSegmentedColormap.from_list("errors", SCALE)
    grey = colors.ListedColormap([DIAGONAL])
    k = len(figure.classes)
    same = np.eye(k, dtype=bool)
    plots = sheet.subplots(1, len(figure.panels), squeeze=False)[0]
    places, labels = figure.ticks()
    for plot, panel in zip(plots, figure.panels, strict=True):
        errors = np.ma.masked_array(panel.values, mask=same)
        image = plot.imshow(errors, cmap=scale, vmin=0, vmax=figure.largest)
        plot.imshow(np.ma.masked_array(np.zeros((k, k)), mask=~same), cmap=grey)
        width = 2.0 if k <= NAMES_UP_TO else 0.7
        plot.add_collection(
            collections.LineCollection(
                figure.outline(), colors=ZONE_COLOUR, linewidths=width, clip_on=False
            ),
            autolim=False,
        )
        small = 8 if len(places) <= 16 else 6.5
        short = sum(map(len, labels)) <= 24
        plot.set_xticks(places, labels=labels, rotation=0 if short else 90, fontsize=small)
        plot.set_yticks(places, labels=labels, fontsize=small)
        plot.tick_params(length=2)
        plot.set_title(panel.title, fontsize=10)
        plot.set_xlabel(figure.predicted_label)
        plot.set_ylabel("truth")
    if not figure.shows_numbers:
        sheet.colorbar(image, ax=list(plots), label=figure.unit, shrink=0.8, pad=0.02)


def _numbers(sheet: Sheet, figure: ConfusionFigure) -> None:
    """The counts in the cells. They take no room, so they come after the placing."""
    for plot, panel in zip(sheet.axes, figure.panels, strict=True):
        dark = figure.dark(panel)
        for i, j in np.argwhere(panel.values != 0).tolist():
            colour = "white" if dark[i, j] else INK
            text = number(float(panel.values[i, j]))
            plot.text(j, i, text, ha="center", va="center", fontsize=7, color=colour)
