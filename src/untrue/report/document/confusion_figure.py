"""Confusion matrices as a figure, as frozen data; see `figures`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from untrue.array_types import BoolArray, FloatArray
from untrue.errors import ArgumentError
from untrue.report.document.styles import NAMES_UP_TO, NUMBERS_UP_TO, check_see, shortened
from untrue.tools.auditing.examples import CellExamples


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One confusion matrix (k, k) by [true, predicted]: counts, means of counts, or costs."""

    title: str
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionFigure:
    """Confusion matrices of the same classes in one colour scale; correct answers stay grey.

    zone: Boolean (k, k), outlined; hovering over it shows `zone_name`. unit: of the values,
    "images". blocks: (name, first, last + 1) of runs of neighbouring classes, which label the
    axes when there are too many classes. examples: names of examples by cell (true, predicted),
    which a click on the cell lists.
    """

    title: str
    see: str
    classes: tuple[str, ...]
    panels: tuple[Panel, ...]
    zone: BoolArray | None = None
    zone_name: str = "in the zone"
    unit: str = "images"
    blocks: tuple[tuple[str, int, int], ...] = ()
    examples: tuple[CellExamples, ...] = ()

    def __post_init__(self) -> None:
        check_see(self.title, self.see)
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

    def dark(self, panel: Panel) -> BoolArray:
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


def busiest(figure: ConfusionFigure, limit: int = NAMES_UP_TO) -> ConfusionFigure:
    """The figure with only the `limit` classes most involved in errors, in their old order.

    As many have their names beside them.
    """
    k = len(figure.classes)
    if k <= limit:
        return figure
    total = np.sum([np.abs(panel.values) for panel in figure.panels], axis=0)
    total = np.where(np.eye(k, dtype=bool), 0.0, total)
    involved = total.sum(axis=0) + total.sum(axis=1)
    kept = np.sort(np.argsort(-involved, kind="stable")[:limit])
    square = np.ix_(kept, kept)
    which = "whose errors cost the most" if figure.unit == "cost" else "with the most errors"
    place = {old: new for new, old in enumerate(kept.tolist())}
    return replace(
        figure,
        see=f"{figure.see} Shown are the {limit} of {k} classes {which}.",
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


def _edges(mask: BoolArray) -> list[tuple[float, float, float]]:
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
