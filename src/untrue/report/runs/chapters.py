"""The part of a report about one sweep, and the words all chapters share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from untrue.array_types import IntArray
from untrue.lab.records import RunResult
from untrue.losses.registry import style_of
from untrue.metrics import Interval
from untrue.report.document.figures import Figure, Point, Series
from untrue.report.document.page import Folded, Part, Section
from untrue.report.document.steps import ConfusionSteps
from untrue.report.document.styles import LEAST_COST_STYLE
from untrue.report.document.tables import Cell, Column, Table
from untrue.report.runs.arms import Arm, Arms
from untrue.report.runs.rows import Collected


@dataclass(frozen=True, slots=True)
class Item:
    """A figure or table with the name its files get."""

    stem: str
    part: Figure | Table


def file_stem(stem: str, measure: str) -> str:
    """The name of the files of a measure's figure."""
    return f"{stem}-{measure.removesuffix('_pct').replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class FoldedItems:
    """Items behind a heading that opens by a click."""

    title: str
    items: tuple[Item | str, ...]


# A field of `Row`, what it is called, and what to see in its figure.
Measure: TypeAlias = tuple[str, str, str]
Block: TypeAlias = tuple[str, tuple[Item | str | FoldedItems | ConfusionSteps, ...]]


@dataclass(frozen=True, slots=True)
class Chapter:
    """lead: the finding. blocks: headings with what stands under them. short: for a terminal."""

    lead: str
    blocks: tuple[Block, ...]
    short: Table

    def items(self) -> tuple[Item, ...]:
        every = [item for _, items in self.blocks for item in items]
        every += [i for item in every if isinstance(item, FoldedItems) for i in item.items]
        return tuple(item for item in every if isinstance(item, Item))

    def sections(self, prefix: str = "") -> tuple[Section, ...]:
        """For the page; without headings that have nothing under them."""
        return tuple(
            Section(f"{prefix}{title}", tuple(part for item in items for part in _parts(item)))
            for title, items in self.blocks
            if items
        )


def _parts(item: Item | str | FoldedItems | ConfusionSteps) -> tuple[Part, ...]:
    if isinstance(item, FoldedItems):
        inner = tuple(i.part if isinstance(i, Item) else i for i in item.items)
        return (Folded(item.title, inner),) if inner else ()
    return (item.part if isinstance(item, Item) else item,)


def as_text(value: Interval | None, form: str = ".1f") -> str:
    """An estimate in a sentence: '24.0 ± 0.3'."""
    return Column("", form).shown(value)


def repetitions(arms: Arms, chosen: Iterable[Arm]) -> str:
    """How many repetitions stand behind the points of a figure."""
    counts = sorted({arms.repetitions(arm) for arm in chosen} - {0})
    if counts == [1]:
        return "One repetition, so no intervals."
    if len(counts) == 1:
        return f"Means over {counts[0]} repetitions; bars are 95 % intervals (Student t)."
    few, many = (counts or [0])[0], (counts or [0])[-1]
    return f"Means over {few} to {many} repetitions; bars are 95 % intervals (Student t)."


def published_table(
    title: str,
    see: str,
    arms: Arms,
    chosen: Sequence[Arm],
    measures: Iterable[Measure],
    *,
    first: Mapping[Column, Callable[[Arm], Cell]],
    published: Callable[[Arm, str], float | None],
) -> Table:
    """Of each measure in percent: ours, its difference to the baseline, and the paper's.

    first: the columns before. published: the paper's value of an arm and a measure; it decides by
    the most probable label only.
    """

    def theirs(arm: Arm, measure: str) -> float | None:
        return published(arm, measure) if arm.decision == "argmax" else None

    columns = dict(first)
    for measure, called, _ in measures:
        columns[Column(f"{called} (%)", ".2f")] = partial(arms.mean, measure=measure)
        change = partial(arms.change, measure=measure)
        columns[Column(f"{called}: difference (points)", "+.2f")] = change
        columns[Column(f"{called}: published (%)", ".2f")] = partial(theirs, measure=measure)
    columns[Column("repetitions")] = arms.repetitions
    return Table.of(title, see, chosen, columns, strong=lambda arm: arm.is_baseline)


def means_table(
    title: str,
    arms: Arms,
    measures: Iterable[Measure],
    *,
    first: Mapping[Column, Callable[[Arm], Cell]],
) -> Table:
    """Each measure in percent, of the baselines and of all that was trained, for a terminal."""
    means = {
        Column(f"{called} (%)", ".2f"): partial(arms.mean, measure=measure)
        for measure, called, _ in measures
    }
    return Table.of(
        f"{title} (means with 95 % intervals)",
        "",
        [arm for arm in arms.select() if arm.is_baseline or arm.decision == "argmax"],
        {**first, **means},
    )


def sentence_case(text: str) -> str:
    """The first letter as at the start of a title; `capitalize` would make all others small."""
    return f"{text[:1].upper()}{text[1:]}"


def plain(series: Iterable[Series | None]) -> tuple[Series, ...]:
    """The series that have points."""
    return tuple(s for s in series if s is not None and s.points)


def against_alpha(
    arms: Arms, measure: str, base: Arm, free: Arm | None, **wanted: object
) -> list[Series]:
    """A curve of each loss over alpha, from the baseline on; dashed, the least-cost decision."""
    series = []
    for loss in arms.losses():
        chosen = [base, *arms.select(loss=loss, decision="argmax", **wanted)]
        found = [(arm.alpha, arms.mean(arm, measure)) for arm in chosen]
        points = tuple(Point.at(alpha, value) for alpha, value in found if value is not None)
        series.append(Series(loss, points, style=style_of(loss)))
    mean = arms.mean(free, measure) if free else None
    if mean is not None:
        flat = tuple(Point.at(alpha, mean.value) for alpha in arms.values("alpha"))
        name = "baseline, least-cost decision"
        series.append(Series(name, flat, style=LEAST_COST_STYLE, dashed=True))
    return series


def runs(collected: Collected, arm: Arm) -> dict[int, RunResult]:
    """The finished runs of an arm by seed."""
    found = {}
    for result in collected.results:
        config = result.config
        size = config.penalty.zone_size if config.penalty else 0
        if (
            (config.loss, config.alpha) == (arm.loss, arm.alpha)
            and config.small_count is None
            and (config.is_baseline or (arm.zone_size or 0) == size)
        ):
            found[config.seed] = result
    return found


def summed(by_seed: dict[int, RunResult], seeds: Iterable[int]) -> IntArray:
    """The confusion matrix (k, k) of several repetitions together."""
    total: IntArray = np.sum([by_seed[seed].confusion for seed in seeds], axis=0)
    return total
