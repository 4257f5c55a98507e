"""The chapter of an exits sweep: what each exit learned, what stopping early costs and saves."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from untrue.metrics import Interval
from untrue.metrics.intervals import mean_interval
from untrue.report.document.figures import Axis, Curves, Point, Series
from untrue.report.document.tables import Cell, Column, Table
from untrue.report.runs.arms import Arm, Arms
from untrue.report.runs.chapters import (
    Chapter,
    Item,
    Measure,
    as_text,
    file_stem,
    plain,
    repetitions,
    sentence_case,
)
from untrue.report.runs.rows import Collected

MEASURES: tuple[Measure, ...] = (
    ("total_error_pct", "total error", "Lower is better."),
    ("coarse_error_pct", "coarse error", "Lower is better: the error when super-classes count."),
    (
        "errors_in_superclass_pct",
        "errors inside the super-class",
        "Of the errors, the share that stays in the right super-class.",
    ),
)
NAMES = {
    "same": "final penalty at every exit",
    "text": "A(l): inside costs l/k",
    "printed": "A(l) as printed: k/l",
    "soft": "soft labels, softer at early exits",
}
PLAIN, ONE = "cross-entropy at every exit", "one exit, cross-entropy"
# Of the table of early stopping; the figures have all thresholds.
SHOWN = (0.0, 0.2, 0.4, 0.8, 1.6, 2.4, 3.2, 5.0)


@dataclasses.dataclass(frozen=True, slots=True)
class ExitVariant:
    """How the exits were trained. arm: of the last exit, by its most probable label."""

    name: str
    style: int
    arm: Arm

    def at(self, number: int) -> Arm:
        return dataclasses.replace(self.arm, exit=number)


def chapter(collected: Collected, stem: str) -> Chapter:
    """Everything about one sweep of networks with exits."""
    arms = Arms(collected.rows)
    found = variants(arms)
    several = [each for each in found if each.arm.exits > 1]
    n_exits = max((each.arm.exits for each in several), default=1)
    by_exit = _by_exit(collected, arms, found, n_exits)
    return Chapter(
        lead=_lead(arms, found, n_exits),
        blocks=(
            (
                "What each exit learned",
                (*_exit_figures(arms, found, n_exits, stem), Item(f"{stem}-by-exit", by_exit)),
            ),
            ("Stopping early", _stopping(arms, found, stem)),
        ),
        short=by_exit,
    )


def variants(arms: Arms) -> list[ExitVariant]:
    """One exit first, then the others from the plainest on; named with alpha where several are."""
    chosen = [a for a in arms.select(decision="argmax") if a.exit is None]
    alphas = {(a.loss, a.alpha) for a in chosen if a.alpha}
    order = ["one", "plain", *NAMES]

    def kind(arm: Arm) -> str:
        if arm.is_baseline:
            return "one" if arm.exits == 1 else "plain"
        return "soft" if arm.loss == "soft-labels" else arm.exit_costs

    made = []
    for style, arm in enumerate(sorted(chosen, key=lambda a: (order.index(kind(a)), a.alpha))):
        name = {"one": ONE, "plain": PLAIN}.get(kind(arm)) or NAMES[kind(arm)]
        if len(alphas) > 1 and arm.alpha:
            name += f" ({arm.loss}, alpha {arm.alpha:g})"
        made.append(ExitVariant(name, style, arm))
    return made


def _lead(arms: Arms, found: list[ExitVariant], n_exits: int) -> str:
    by_name = {each.name: each for each in found}
    base = by_name.get(PLAIN)
    ours = next((each for each in found if each.name.startswith(NAMES["text"])), None)
    if base is None or ours is None:
        return "Not every variant is there yet."
    sentences = []
    for number, where in ((1, "At the first exit"), (n_exits, "At the last")):
        parts = []
        for measure, called, _ in MEASURES[:2]:
            before, after = (arms.mean(each.at(number), measure) for each in (base, ours))
            change = arms.change(ours.at(number), measure, to=base.at(number))
            parts.append(
                f"{called} {as_text(after)} % with A(l), {as_text(before)} % with cross-entropy "
                f"(difference {as_text(change, '+.2f')}: {_judged(change)})"
            )
        sentences.append(f"{where}: {'; '.join(parts)}.")
    sentences.append(_saving(arms, base))
    return " ".join(sentences)


def _judged(change: Interval | None) -> str:
    """Whether a difference is more than chance, lower being better."""
    if change is None or not change.low < change.high:
        return "one repetition, so nothing is established"
    if change.high < 0:
        return "better"
    return "worse" if change.low > 0 else "may be chance"


def _saving(arms: Arms, variant: ExitVariant) -> str:
    """How much can be saved before an answer costs 1 % more, in work and in seconds."""
    stops = _stops(arms, variant)
    whole = next((stop for stop in stops if stop.threshold == 0.0), None)
    at_first = arms.mean(whole, "expected_cost") if whole else None
    if whole is None or at_first is None:
        return ""
    kept = []
    for stop in stops:
        cost = arms.mean(stop, "expected_cost")
        if cost is not None and cost.value <= 1.01 * at_first.value:
            kept.append(stop)
    most = max(kept, key=lambda stop: arms.value(stop, "saved_pct", absent=-math.inf))
    seconds = _seconds_saved(arms, most)
    return (
        f"Stopping early ({variant.name}) saves {as_text(arms.mean(most, 'saved_pct'))} % of the "
        f"multiplications and {as_text(seconds)} % of the seconds (threshold "
        f"{most.threshold:g}) before an answer costs 1 % more than by the last exit alone, "
        f"{as_text(at_first, '.3f')}."
    )


def _exit_figures(
    arms: Arms, found: list[ExitVariant], n_exits: int, stem: str
) -> tuple[Item, ...]:
    items = []
    for measure, called, see in MEASURES:
        series = []
        for each in found:
            several = each.arm.exits > 1
            places = range(1, n_exits + 1)
            values = [arms.mean(each.at(x) if several else each.arm, measure) for x in places]
            points = [Point.at(x, v) for x, v in zip(places, values, strict=True) if v is not None]
            if not several:
                points = [Point.at(point.x, point.y) for point in points]
            series.append(Series(each.name, tuple(points), style=each.style, dashed=not several))
        figure = Curves(
            title=f"{sentence_case(called)} by exit",
            see=f"{see} Exit {n_exits} is the last. Dashed: the network with one exit, for "
            f"comparison. {repetitions(arms, [each.arm for each in found])}",
            x=Axis("exit", ticks=tuple(float(x) for x in range(1, n_exits + 1))),
            y=Axis(f"{called} (%)", positive=True),
            series=plain(series),
            dodge=True,
        )
        items.append(Item(file_stem(stem, measure), figure))
    return tuple(items)


def _by_exit(collected: Collected, arms: Arms, found: list[ExitVariant], n_exits: int) -> Table:
    base = next((each for each in found if each.name == PLAIN), None)
    rows: list[tuple[Cell, ...]] = []
    for each in found:
        for number in range(1, each.arm.exits + 1):
            arm = each.at(number) if each.arm.exits > 1 else each.arm
            against = base.at(number if each.arm.exits > 1 else n_exits) if base else None
            work = arms.mean(arm, "work")
            cells: list[Cell] = [each.name, number, None if work is None else work.value / 1e6]
            for measure, _, _ in MEASURES:
                change = None if against is None else arms.change(arm, measure, to=against)
                cells += [arms.mean(arm, measure), change]
            rows.append((*cells, arms.repetitions(arm)))
    columns = [Column("trained by"), Column("exit"), Column("multiplications (millions)", ".1f")]
    for _, called, _ in MEASURES:
        columns += [Column(f"{called} (%)", ".2f"), Column(f"{called}: difference", "+.2f")]
    return Table(
        title=f"By exit, {collected.sweep.data}",
        see=f"By the most probable label. Differences, in points, are to {PLAIN}, at the same exit "
        "of the same repetition (of the network with one exit: to the last). Multiplications for "
        "one image up to the exit, heads included.",
        columns=(*columns, Column("repetitions")),
        rows=tuple(rows),
        strong=frozenset(i for i, row in enumerate(rows) if row[1] == n_exits),
    )


def _stopping(arms: Arms, found: Iterable[ExitVariant], stem: str) -> tuple[Item, ...]:
    alone = next((each for each in found if each.name == ONE), None)
    found = [each for each in found if _stops(arms, each)]
    if not found:
        return ()
    items = []
    for measure, called, form in (
        ("expected_cost", "cost of an answer", ""),
        ("total_error_pct", "total error", " (%)"),
    ):
        series = []
        for each in found:
            pairs = [
                (arms.mean(stop, "saved_pct"), arms.mean(stop, measure))
                for stop in _stops(arms, each)
            ]
            points = [Point.at(x, y) for x, y in pairs if x is not None and y is not None]
            series.append(Series(each.name, tuple(points), style=each.style))
        whole = _by_least_cost(arms, alone, measure)
        if alone is not None and whole is not None:
            ends = (0.0, max(point.x for each in series for point in each.points))
            points = [Point(x, whole.value) for x in ends]
            series.insert(0, Series(alone.name, tuple(points), style=alone.style, dashed=True))
        figure = Curves(
            title=f"{sentence_case(called)} against multiplications saved",
            see="The further right and down, the better. On the left the last exit answers "
            "everything, on the right the first. Answers are those of least expected cost (1 "
            "inside the super-class, 5 across), at the first exit where that is below a threshold. "
            "Dashed: the network with one exit, which saves nothing. "
            f"{repetitions(arms, [each.arm for each in found])}",
            x=Axis("multiplications saved (%)"),
            y=Axis(f"{called}{form}", positive=True),
            series=plain(series),
        )
        items.append(Item(file_stem(f"{stem}-early", measure), figure))
    return (*items, Item(f"{stem}-early", _stop_table(arms, found)))


def _stop_table(arms: Arms, found: Iterable[ExitVariant]) -> Table:
    stops = ((each.name, stop) for each in found for stop in _stops(arms, each))
    return Table.of(
        "Stopping early",
        "Each test image is answered at the first exit where the expected cost of the answer "
        "is below the threshold. Seconds are for all test images, on the machine of the runs, with "
        "later stages run on the images that remained; saved against threshold 0, where all go to "
        "the last exit.",
        [(name, stop) for name, stop in stops if stop.threshold in SHOWN],
        {
            Column("trained by"): lambda row: row[0],
            Column("threshold", "g"): lambda row: row[1].threshold,
            Column("multiplications saved (%)", ".1f"): lambda row: arms.mean(row[1], "saved_pct"),
            Column("seconds saved (%)", ".1f"): lambda row: _seconds_saved(arms, row[1]),
            Column("seconds", ".2f"): lambda row: arms.mean(row[1], "answer_seconds"),
            Column("cost of an answer", ".3f"): lambda row: arms.mean(row[1], "expected_cost"),
            Column("total error (%)", ".2f"): lambda row: arms.mean(row[1], "total_error_pct"),
            Column("coarse error (%)", ".2f"): lambda row: arms.mean(row[1], "coarse_error_pct"),
        },
        strong=lambda row: row[1].threshold == 0.0,
    )


def _stops(arms: Arms, variant: ExitVariant) -> list[Arm]:
    arm = variant.arm
    return [
        stop
        for stop in arms.select(
            decision="early-exit",
            loss=arm.loss,
            alpha=arm.alpha,
            exits=arm.exits,
            exit_costs=arm.exit_costs,
        )
        if stop.threshold is not None
    ]


def _by_least_cost(arms: Arms, alone: ExitVariant | None, measure: str) -> Interval | None:
    """Of the network with one exit, its answers those of least expected cost."""
    if alone is None:
        return None
    decided = arms.select(decision="least-cost", loss=alone.arm.loss, exits=1)
    return arms.mean(decided[0], measure) if decided else None


def _seconds_saved(arms: Arms, stop: Arm) -> Interval | None:
    """In percent of those without stopping, paired by repetition: a machine may be slower on
    another day."""
    whole = dataclasses.replace(stop, threshold=0.0)
    before, after = (arms.by_seed(each, "answer_seconds") for each in (whole, stop))
    return mean_interval(
        [100.0 * (1.0 - after[seed] / before[seed]) for seed in after if before.get(seed)]
    )
