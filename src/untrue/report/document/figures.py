"""What a figure shows, as frozen data.

`plotly_figures` draws it for the page, `matplotlib_figures` as SVG and PNG.

Both read the same description and the same styles from here, so the page and the files never
differ. Five kinds cover everything:

    Curves      lines or clouds of points with intervals: errors against zone size, a frontier
    Facets      several Curves side by side, when one plot would be too crowded
    Differences one row per method: its difference to a reference, with an interval and a zero line
    Change      one row per measure or confusion: where it was before, where it is after
    Confusion   heat maps of confusion matrices side by side, with the zone outlined

Every figure carries `see`, the sentence on what to look at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from untrue.metrics import Interval
from untrue.report.document.confusion_figure import ConfusionFigure
from untrue.report.document.styles import MARKERS, PALETTE, check_see


@dataclass(frozen=True, slots=True)
class Axis:
    """label: with its unit, "total error (%)". ticks: label these values and no others.

    from_zero: start there. positive: nothing is below zero, so intervals are cut there.
    frame: start and end; what lies beyond is cut off.
    """

    label: str
    from_zero: bool = False
    positive: bool = False
    ticks: tuple[float, ...] = ()
    frame: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A place with intervals (None or nan: none). label is printed beside it; marked: ringed."""

    x: float
    y: float
    y_low: float | None = None
    y_high: float | None = None
    x_low: float | None = None
    x_high: float | None = None
    label: str = ""
    marked: bool = False

    @classmethod
    def at(
        cls, x: float | Interval, y: float | Interval, *, label: str = "", marked: bool = False
    ) -> Point:
        """A point from numbers or intervals."""
        x_value, x_low, x_high = _parts(x)
        y_value, y_low, y_high = _parts(y)
        return cls(x_value, y_value, y_low, y_high, x_low, x_high, label, marked)


@dataclass(frozen=True, slots=True)
class Series:
    """Points under one name. style 0 is the reference; 1 and on are the palette's colours.

    hollow: empty markers. stairs: a thin line of steps without markers, the edge of what is
    reached. listed: in the legend; on the page a click on a name hides every series of it.
    """

    name: str
    points: tuple[Point, ...]
    style: int = 1
    joined: bool = True
    dashed: bool = False
    hollow: bool = False
    stairs: bool = False
    listed: bool = True

    @property
    def colour(self) -> str:
        return PALETTE[self.style % len(PALETTE)]

    @property
    def marker(self) -> tuple[str, str]:
        return MARKERS[self.style % len(MARKERS)]


@dataclass(frozen=True, slots=True)
class Curves:
    """Series over two axes. dodge: move the series a little apart so that intervals show.

    cross: a place (x, y) marked by thin lines through it. crowded: so many series that intervals
    are not drawn; hovering over a point shows them.
    """

    title: str
    see: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    dodge: bool = False
    cross: tuple[float, float] | None = None
    crowded: bool = False

    def __post_init__(self) -> None:
        check_see(self.title, self.see)

    def placed(self, index: int) -> tuple[float, ...]:
        """Where the points of a series stand on the x axis."""
        xs = [point.x for point in self.series[index].points]
        every = sorted({point.x for series in self.series for point in series.points})
        if not self.dodge or len(self.series) < 2:
            return tuple(xs)
        gap = min((b - a for a, b in itertools.pairwise(every)), default=1.0)
        step = 0.35 * gap / len(self.series)
        return tuple(x + step * (index - (len(self.series) - 1) / 2) for x in xs)


@dataclass(frozen=True, slots=True)
class Facets:
    """Curves side by side, each under its own title, with the same two axes."""

    title: str
    see: str
    panels: tuple[Curves, ...]

    def __post_init__(self) -> None:
        check_see(self.title, self.see)


@dataclass(frozen=True, slots=True)
class Difference:
    """A row of `Differences`. style: the colour and sign of its method. note: shown on hover."""

    name: str
    change: Interval
    style: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences to a reference, which is the line at zero; rows from the top."""

    title: str
    see: str
    x: Axis
    rows: tuple[Difference, ...]

    def __post_init__(self) -> None:
        check_see(self.title, self.see)

    def series(self) -> tuple[Series, ...]:
        """One series a row; y is the row's position from the top."""
        return tuple(
            Series(
                row.name,
                (Point.at(row.change, float(i)),),
                style=row.style,
                joined=False,
                listed=False,
            )
            for i, row in enumerate(self.rows)
        )


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One thing before and after, in the unit of the figure's axis."""

    name: str
    before: float | Interval
    after: float | Interval


@dataclass(frozen=True, slots=True)
class Change:
    """Rows of before and after on one axis, joined by a line."""

    title: str
    see: str
    x: Axis
    rows: tuple[ChangeRow, ...]
    before: str = "before"
    after: str = "after"

    def __post_init__(self) -> None:
        check_see(self.title, self.see)

    def series(self) -> tuple[Series, Series]:
        """The two sets of points; y is the row's position from the top."""
        spots = [
            (Point.at(row.before, float(i)), Point.at(row.after, float(i)))
            for i, row in enumerate(self.rows)
        ]
        return (
            Series(self.before, tuple(b for b, _ in spots), style=0, joined=False),
            Series(self.after, tuple(a for _, a in spots), style=1, joined=False),
        )


Figure: TypeAlias = Curves | Facets | Differences | Change | ConfusionFigure


def ends(
    axis: Axis, series: Iterable[Series], side: Literal["x", "y"]
) -> tuple[float, float] | None:
    """Where an axis starts and ends, or None for as the drawing library likes it."""
    if axis.frame is not None:
        return axis.frame
    if not (axis.from_zero or axis.positive):
        return None
    points = [point for one in series for point in one.points]

    def finite(*names: str) -> list[float]:
        values = (getattr(point, name) for point in points for name in names)
        return [value for value in values if value is not None and math.isfinite(value)]

    if not axis.from_zero and min(finite(f"{side}_low"), default=0.0) >= 0:
        return None
    return 0.0, 1.06 * max(finite(side, f"{side}_high"), default=1.0) or 1.0


def span(low: float | None, high: float | None) -> tuple[float, float] | None:
    """Both ends of an interval, or None when there is none."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    return low, high


def _parts(value: float | Interval) -> tuple[float, float | None, float | None]:
    if isinstance(value, Interval):
        return value.value, value.low, value.high
    return float(value), None, None
