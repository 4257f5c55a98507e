"""What a figure shows, as frozen data.

`plotly_figures` draws it for the page, `matplotlib_figures` as SVG and PNG.

Both read the same description and the same styles from here, so the page and the files never
differ. Five kinds cover everything:

    Curves      lines or clouds of points with intervals: errors against zone size, a frontier
    Facets      several Curves side by side, when one plot would be too crowded
    Differences one row per method: its difference to a reference, with an interval and a zero line
    Change      one row per measure or confusion: where it was before, where it is after
    Confusion   heat maps of confusion matrices side by side, with the zone outlined

Every figure carries `see`, the sentence that says what to look at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError
from untrue.metrics import Interval

# Okabe and Ito's colours, which stay apart for colour-blind eyes. The first is for the reference
# (a baseline): the page swaps it for a light grey on a dark background. Their yellow is left out:
# it vanishes on white. The next four are Paul Tol's, for the rare figure with so many curves; the
# last are there so that a new loss finds a colour.
INK = "#222222"
PALETTE = (
    *(INK, "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#AA3377", "#999933", "#44AA99", "#7A68D0"),
    *("#8B5A2B", "#5F6B7A", "#117733"),
)
# Of the least-cost decision, in every figure of every report; losses have theirs by the registry.
LEAST_COST_STYLE = 3
ZONE_COLOUR = "#D55E00"
# (plotly, matplotlib) by style: no figure relies on colour alone.
MARKERS = (
    ("circle", "o"),
    ("square", "s"),
    ("diamond", "D"),
    ("triangle-up", "^"),
    ("triangle-down", "v"),
    ("cross", "P"),
    ("star", "*"),
    ("pentagon", "p"),
    ("triangle-left", "<"),
    ("triangle-right", ">"),
    ("hexagon", "h"),
    ("x", "X"),
    ("diamond-tall", "d"),
    ("hexagon2", "H"),
)
# Beyond this many classes the cells are too small to print their counts in.
NUMBERS_UP_TO = 16
NAMES_UP_TO = 40
# Signs of a name in a legend; hovering shows it whole.
LEGEND_UP_TO = 40


@dataclass(frozen=True, slots=True)
class Axis:
    """label: with its unit, "total error (%)". ticks: label these values and no others.

    from_zero: start there. positive: nothing is below zero, so intervals are cut there.
    frame: start and end; what lies beyond is cut off.
    """

    label: str
    log: bool = False
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
        _check_see(self.title, self.see)

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
        _check_see(self.title, self.see)


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
        _check_see(self.title, self.see)

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
        _check_see(self.title, self.see)

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


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One confusion matrix (k, k) by [true, predicted]: counts, means of counts, or costs."""

    title: str
    values: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CellExamples:
    """Names of examples in one cell of a confusion matrix, by positions of the classes."""

    true: int
    predicted: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Confusion matrices of the same classes in one colour scale; correct answers stay grey.

    zone: Boolean (k, k), outlined; hovering over it says `zone_name`. unit: of the values,
    "images". blocks: (name, first, last + 1) of runs of neighbouring classes, which label the
    axes when there are too many classes. examples: names of examples by cell (true, predicted),
    which a click on the cell lists.
    """

    title: str
    see: str
    classes: tuple[str, ...]
    panels: tuple[Panel, ...]
    zone: npt.NDArray[np.bool_] | None = None
    zone_name: str = "in the zone"
    unit: str = "images"
    blocks: tuple[tuple[str, int, int], ...] = ()
    examples: tuple[CellExamples, ...] = ()

    def __post_init__(self) -> None:
        _check_see(self.title, self.see)
        k = len(self.classes)
        shapes = {panel.values.shape for panel in self.panels}
        shapes |= set() if self.zone is None else {self.zone.shape}
        if not self.panels or shapes != {(k, k)}:
            raise ArgumentError(
                f"`panels` and `zone` must have shape ({k}, {k}), one row and column for each of "
                f"`classes`; got {', '.join(map(str, sorted(shapes))) or 'no panel'}."
            )

    @property
    def largest(self) -> float:
        """The largest value off the diagonal over all panels: the top of the colour scale."""
        off = ~np.eye(len(self.classes), dtype=bool)
        top = max(float(np.max(p.values, where=off, initial=0.0)) for p in self.panels)
        return top or 1.0

    @property
    def shows_numbers(self) -> bool:
        return len(self.classes) <= NUMBERS_UP_TO

    @property
    def predicted_label(self) -> str:
        return f"predicted (numbers: {self.unit})" if self.shows_numbers else "predicted"

    def dark(self, panel: Panel) -> npt.NDArray[np.bool_]:
        """Which cells (k, k) are so full that ink on them cannot be read."""
        same = np.eye(len(self.classes), dtype=bool)
        return np.asarray((panel.values > 0.45 * self.largest) & ~same)

    def ticks(self) -> tuple[tuple[float, ...], tuple[str, ...]]:
        """Where on the axes names stand, and the names, shortened to fit."""
        k = len(self.classes)
        if k > NAMES_UP_TO and self.blocks:
            middle = tuple((first + last - 1) / 2 for _, first, last in self.blocks)
            return middle, tuple(shortened(name) for name, _, _ in self.blocks)
        step = 1 if k <= NAMES_UP_TO else math.ceil(k / 25)
        chosen = range(0, k, step)
        return tuple(map(float, chosen)), tuple(shortened(self.classes[i]) for i in chosen)

    def outline(self) -> tuple[tuple[tuple[float, float], tuple[float, float]], ...]:
        """Line segments ((x, y), (x, y)) around the zone, in cell units: cell i is i +- 1/2."""
        if self.zone is None:
            return ()
        down = [((a, s), (b, s)) for s, a, b in _edges(self.zone)]
        across = [((s, a), (s, b)) for s, a, b in _edges(self.zone.T)]
        return tuple(down + across)


Figure: TypeAlias = Curves | Facets | Differences | Change | Confusion


def busiest(figure: Confusion, limit: int = 30) -> Confusion:
    """The figure with only the `limit` classes most involved in errors, in their old order."""
    k = len(figure.classes)
    if k <= limit:
        return figure
    total = np.sum([np.abs(panel.values) for panel in figure.panels], axis=0)
    total = np.where(np.eye(k, dtype=bool), 0.0, total)
    involved = total.sum(axis=0) + total.sum(axis=1)
    kept = np.sort(np.argsort(-involved, kind="stable")[:limit])
    square = np.ix_(kept, kept)
    place = {old: new for new, old in enumerate(kept.tolist())}
    return replace(
        figure,
        see=f"{figure.see} Shown are the {limit} of {k} classes with the most errors.",
        classes=tuple(figure.classes[i] for i in kept),
        panels=tuple(replace(p, values=p.values[square]) for p in figure.panels),
        zone=None if figure.zone is None else figure.zone[square],
        blocks=(),
        examples=tuple(
            replace(cell, true=place[cell.true], predicted=place[cell.predicted])
            for cell in figure.examples
            if cell.true in place and cell.predicted in place
        ),
    )


def shortened(name: str, length: int = 16) -> str:
    """The name on one line, cut with an ellipsis when it is long.

    >>> shortened("a name that goes on and on")
    'a name that goe…'
    """
    name = " ".join(name.split())
    return name if len(name) <= length else name[: length - 1] + "…"


def number(value: float) -> str:
    """A count or a measure for reading: '12', '1,234', '0.83', '12.4'.

    >>> [number(v) for v in (12.0, 1234.5, 0.8333, 12.41, 0.00012, float("nan"))]
    ['12', '1,234', '0.833', '12.4', '0.00012', '-']
    """
    if not math.isfinite(value):
        return "-"
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def ends(
    axis: Axis, series: Iterable[Series], side: Literal["x", "y"]
) -> tuple[float, float] | None:
    """Where an axis starts and ends, or None for as the drawing library likes it."""
    if axis.frame is not None:
        return axis.frame
    if axis.log or not (axis.from_zero or axis.positive):
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


def _check_see(title: str, see: str) -> None:
    if not see.strip():
        raise ArgumentError(f"`see` must say what to look at in figure {title!r}; it is empty.")


def _edges(mask: npt.NDArray[np.bool_]) -> list[tuple[float, float, float]]:
    """Horizontal edges of a mask as (y, x from, x to), neighbours joined into one."""
    rows, columns = mask.shape
    padded = np.zeros((rows + 2, columns), dtype=bool)
    padded[1:-1] = mask
    found = []
    for line, differs in enumerate(padded[1:] != padded[:-1]):
        steps = np.flatnonzero(np.diff(np.concatenate([[False], differs, [False]]).astype(np.int8)))
        for start, stop in steps.reshape(-1, 2).tolist():
            found.append((line - 0.5, start - 0.5, stop - 0.5))
    return found
