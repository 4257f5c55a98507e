"""The chapter of a masked-zone sweep: the paper's figures, the frontier, before and after."""

from __future__ import annotations

import numpy as np

from untrue.losses.registry import style_of
from untrue.report.document.confusion_figure import ConfusionFigure, Panel
from untrue.report.document.figures import Axis, Curves, Point, Series
from untrue.report.document.styles import LEAST_COST_STYLE
from untrue.report.runs.arms import Arm, Arms, baseline_arm
from untrue.report.runs.chapters import (
    Block,
    Chapter,
    Item,
    against_alpha,
    as_text,
    plain,
    repetitions,
    runs,
)
from untrue.report.runs.rows import Collected
from untrue.report.sweep.alpha_slider import zone_slider
from untrue.report.sweep.evidence import confidence_table, training_table
from untrue.report.sweep.published import published_value
from untrue.report.sweep.zone_tables import (
    TOLERANCE,
    best,
    short,
    shown_size,
    table,
    within_tolerance,
)

ERRORS = Axis("test errors in the zone (images)", from_zero=True)
TOTAL = Axis("total test error (%)", positive=True)


def chapter(collected: Collected, stem: str) -> Chapter:
    """Everything about one masked-zone sweep."""
    arms = Arms(collected.rows)
    sizes = [int(size) for size in arms.values("zone_size")]
    middle = shown_size(arms)
    frontier = (Item(f"{stem}-frontier", _frontier(arms, middle)),) if arms.losses() else ()
    blocks: list[Block] = [("What it changed", frontier)]
    if len(sizes) > 1:
        for measure, axis, title, name in (
            ("zone_errors", ERRORS, "Errors in the zone", "zone-errors"),
            ("total_error_pct", TOTAL, "Total error", "total-error"),
        ):
            figures = tuple(
                Item(
                    f"{stem}-{name}-{loss}",
                    _against_size(collected, arms, loss, measure, axis, title),
                )
                for loss in arms.losses()
            )
            blocks.append((f"{title} against the size of the zone", figures))
    else:
        blocks.append(("Against alpha", _against_alpha(arms, middle, stem)))
    slider = zone_slider(collected, arms, middle)
    moved = () if slider is None else (slider,)
    blocks.append(("Where the errors went", (*moved, *_matrices(collected, arms, middle, stem))))
    tables = tuple(Item(f"{stem}-n{size}", table(collected, arms, size)) for size in sizes)
    blocks.append(("All numbers", tables))
    blocks.append(("How sure the errors are, and training time", _evidence(arms, sizes, stem)))
    return Chapter(_lead(arms, middle), tuple(blocks), short(arms, sizes))


def _evidence(arms: Arms, sizes: list[int], stem: str) -> tuple[Item, ...]:
    items = []
    for size in sizes:
        chosen = arms.select(zone_size=size, decision="argmax")
        where = f"in a zone of {size} cells"
        found = {
            "confidence": confidence_table(arms, chosen, f"those {where}"),
            "training": training_table(arms, chosen, f"zone of {size} cells", groups=False),
        }
        items += [Item(f"{stem}-{k}-n{size}", t) for k, t in found.items() if t is not None]
    return tuple(items)


def _lead(arms: Arms, size: int) -> str:
    before = baseline_arm(zone_size=size)
    after, free = best(arms, size), arms.least_cost(zone_size=size)
    sentences = [
        f"In a zone of {size} cells the baseline makes {as_text(arms.mean(before, 'zone_errors'))} "
        f"test errors at a total error of {as_text(arms.mean(before, 'total_error_pct'), '.2f')} %."
    ]
    if after is not None:
        sentences.append(
            f"Trained with the {after.loss} loss at alpha {after.alpha:g} it makes "
            f"{as_text(arms.mean(after, 'zone_errors'))} there (paired difference "
            f"{as_text(arms.change(after, 'zone_errors'), '+.1f')}) at "
            f"{as_text(arms.mean(after, 'total_error_pct'), '.2f')} %."
        )
    if free is not None:
        sentences.append(
            "Only deciding the baseline's probabilities by least expected cost "
            f"({free.costs}) leaves {as_text(arms.mean(free, 'zone_errors'))} at "
            f"{as_text(arms.mean(free, 'total_error_pct'), '.2f')} %."
        )
    return " ".join(sentences)


def _curve(arms: Arms, chosen: list[Arm], measure: str, name: str, **looks: object) -> Series:
    points = [(arm.zone_size, arms.mean(arm, measure)) for arm in chosen]
    return Series(
        name,
        tuple(Point.at(float(n or 0), value) for n, value in points if value is not None),
        **looks,  # type: ignore[arg-type]
    )


def _against_size(
    collected: Collected, arms: Arms, loss: str, measure: str, axis: Axis, title: str
) -> Curves:
    """The paper's figure: a measure against n, one curve per alpha."""
    base = arms.select(loss="cross-entropy", decision="argmax")
    free = arms.select(loss="cross-entropy", decision="least-cost")
    alphas = [alpha for alpha in arms.values("alpha") if alpha > 0]
    series = [_curve(arms, base, measure, "baseline (alpha 0)", style=0, dashed=True)]
    for style, alpha in enumerate(alphas, start=1):
        chosen = arms.select(loss=loss, decision="argmax", alpha=alpha)
        series.append(_curve(arms, chosen, measure, f"alpha {alpha:g}", style=style))
    name = "baseline, least-cost decision"
    series.append(_curve(arms, free, measure, name, style=len(alphas) + 1, dashed=True))
    sizes = arms.values("zone_size")
    if measure == "zone_errors":
        see = "The further a curve lies below the dashed baseline, the more errors left the zone."
    else:
        see = "A curve at the height of the dashed baseline moved its errors at no cost."
        theirs = published_value(
            f"masked_zone_{collected.sweep.data}", measure, loss=loss, alpha=0.0
        )
        if theirs is not None:
            see += f" The paper's baseline has about {theirs:g} %."
    counted = [*base, *arms.select(loss=loss, decision="argmax")]
    return Curves(
        title=f"{title}, {loss} loss, {collected.sweep.data}",
        see=f"{see} {repetitions(arms, counted)}",
        x=Axis("zone size n (cells)", ticks=tuple(sizes)),
        y=axis,
        series=plain(series),
        dodge=True,
    )


def _against_alpha(arms: Arms, size: int, stem: str) -> tuple[Item, ...]:
    """With one zone size only: measures against alpha, one curve per loss."""
    free = arms.least_cost(zone_size=size)
    base = baseline_arm(zone_size=size)
    alphas = arms.values("alpha")
    items = []
    for measure, axis, title, name in (
        ("zone_errors", ERRORS, f"Errors in a zone of {size} cells", "zone-errors"),
        ("total_error_pct", TOTAL, "Total error", "total-error"),
    ):
        series = against_alpha(arms, measure, base, free, zone_size=size)
        counted = [base, *arms.select(decision="argmax", zone_size=size)]
        figure = Curves(
            title=title,
            see="Alpha 0 is the baseline; the dashed line is what the least-cost decision makes "
            f"of it without training. {repetitions(arms, counted)}",
            x=Axis("alpha (weight of the penalty)", ticks=tuple(alphas)),
            y=axis,
            series=plain(series),
            dodge=True,
        )
        items.append(Item(f"{stem}-{name}", figure))
    return tuple(items)


def _frontier(arms: Arms, size: int) -> Curves:
    chosen = best(arms, size)

    def spot(arm: Arm, label: str = "") -> Point | None:
        total, zone = arms.mean(arm, "total_error_pct"), arms.mean(arm, "zone_errors")
        if total is None or zone is None:
            return None
        return Point.at(total, zone, label=label, marked=arm == chosen)

    def single(arm: Arm | None, name: str, style: int) -> Series:
        point = spot(arm) if arm else None
        return Series(name, (point,) if point else (), style=style, joined=False)

    base = baseline_arm(zone_size=size)
    series = [single(base, "baseline", 0)]
    for loss in arms.losses():
        treated = arms.select(loss=loss, decision="argmax", zone_size=size)
        points = [spot(arm, f"{arm.alpha:g}") for arm in treated]
        series.append(
            Series(loss, tuple(p for p in points if p), style=style_of(loss), joined=True)
        )
    series.append(
        single(arms.least_cost(zone_size=size), "baseline, least-cost decision", LEAST_COST_STYLE)
    )
    return Curves(
        title=f"What fewer errors in the zone cost (zone of {size} cells)",
        see="The lower left is best: few errors in the zone at a low total error. Numbers at the "
        f"points are alpha. {_ringed(arms, chosen)}"
        f"{repetitions(arms, arms.select(zone_size=size, decision='argmax'))}",
        x=TOTAL,
        y=ERRORS,
        series=plain(series),
    )


def _ringed(arms: Arms, chosen: Arm | None) -> str:
    """Which setting has a ring, and why."""
    if chosen is None:
        return ""
    price = f"at most {TOLERANCE:g} percentage point of total error"
    if not within_tolerance(arms, chosen):
        return f"No setting costs {price}; ringed is that with the least total error. "
    return (
        f"Ringed is the setting with the fewest errors in the zone among those that cost {price}. "
    )


def _matrices(collected: Collected, arms: Arms, size: int, stem: str) -> tuple[Item, ...]:
    """Confusion matrices of one repetition, before and after, for each loss."""
    items = []
    before = runs(collected, baseline_arm())
    for loss in arms.losses():
        arm = best(arms, size, loss)
        after = runs(collected, arm) if arm else {}
        seed = next((seed for seed in sorted(before) if seed in after), None)
        if arm is None or seed is None or (spec := after[seed].config.penalty) is None:
            continue
        zone = spec.mask(collected.info)
        old, new = before[seed].confusion, after[seed].confusion
        figure = ConfusionFigure(
            title=f"Confusions before and after, {loss} loss",
            see=f"Repetition {seed}: the outlined zone of {size} cells holds "
            f"{int(old[zone].sum())} errors before and {int(new[zone].sum())} after, of "
            f"{int(old.sum() - old.trace())} and {int(new.sum() - new.trace())} in all. "
            "The stronger the colour, the more errors; correct answers are grey.",
            classes=collected.info.classes,
            panels=(
                Panel("before: baseline", old.astype(np.float64)),
                Panel(f"after: {loss}, alpha {arm.alpha:g}", new.astype(np.float64)),
            ),
            zone=zone,
            unit="test images",
        )
        items.append(Item(f"{stem}-confusions-{loss}", figure))
    return tuple(items)
