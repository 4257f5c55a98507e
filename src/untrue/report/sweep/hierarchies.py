"""The chapter of a hierarchy sweep: do the errors stay in the right super-class?"""

from __future__ import annotations

import numpy as np

from untrue.report.document.confusion_figure import Panel
from untrue.report.document.figures import Axis, Curves, Point, Series
from untrue.report.document.tables import Column, Table
from untrue.report.runs.arms import Arm, Arms, baseline_arm
from untrue.report.runs.chapters import (
    Chapter,
    Item,
    Measure,
    against_alpha,
    as_text,
    file_stem,
    means_table,
    plain,
    published_table,
    repetitions,
    runs,
    sentence_case,
    summed,
)
from untrue.report.runs.rows import Collected
from untrue.report.sweep.alpha_slider import hierarchy_slider
from untrue.report.sweep.evidence import confidence_table, training_table
from untrue.report.sweep.published import SOURCE, published_value
from untrue.report.sweep.super_class_figure import super_class_figure

MEASURES: tuple[Measure, ...] = (
    ("total_error_pct", "total error", "Lower is better."),
    ("coarse_error_pct", "coarse error", "Lower is better: the error when super-classes count."),
    (
        "errors_in_superclass_pct",
        "errors inside the super-class",
        "Higher is better: of the errors, the share that stays in the right super-class.",
    ),
)
BASE = baseline_arm()


def chapter(collected: Collected, stem: str) -> Chapter:
    """Everything about one hierarchy sweep."""
    arms = Arms(collected.rows)
    slider = hierarchy_slider(collected, arms)
    moved = () if slider is None else (slider,)
    return Chapter(
        lead=_lead(arms),
        blocks=(
            ("Against alpha, beside the paper", _figures(collected, arms, stem)),
            (
                "The paper's tables",
                tuple(
                    Item(f"{stem}-{loss}", _table(collected, arms, loss)) for loss in arms.losses()
                ),
            ),
            ("Where the errors went", (*moved, *_matrices(collected, arms, stem))),
            ("How sure the errors are, and training time", _evidence(arms, stem)),
        ),
        short=means_table(
            "Errors and where they stay",
            arms,
            MEASURES,
            first={Column("model"): lambda arm: arm.name},
        ),
    )


def _evidence(arms: Arms, stem: str) -> tuple[Item, ...]:
    chosen = arms.select(decision="argmax")
    found = {
        "confidence": confidence_table(arms, chosen, "those in the wrong super-class"),
        "training": training_table(arms, chosen, "super-classes", groups=True),
    }
    return tuple(Item(f"{stem}-{k}", table) for k, table in found.items() if table is not None)


def paper_name(collected: Collected, experiment: str = "hierarchy") -> str:
    """What the published numbers are filed under; they exist for CIFAR-100 only."""
    return f"{collected.sweep.data}_{experiment}"


def best(arms: Arms, loss: str | None = None) -> Arm | None:
    """The trained arm with the lowest coarse error."""
    treated = [
        (found.value, arm)
        for arm in arms.select(decision="argmax")
        if not arm.is_baseline
        and loss in (None, arm.loss)
        and (found := arms.mean(arm, "coarse_error_pct")) is not None
    ]
    return min(treated, key=lambda pair: pair[0])[1] if treated else None


def _lead(arms: Arms) -> str:
    def place(arm: Arm) -> str:
        total, coarse, inside = (as_text(arms.mean(arm, name)) for name, _, _ in MEASURES)
        return f"{total} % total error, {coarse} % coarse error, {inside} % of the errors inside"

    sentences = [f"The baseline has {place(BASE)} the right super-class."]
    after, free = best(arms), arms.least_cost(small_count=None)
    if after is not None:
        sentences.append(
            f"The lowest coarse error of the trained losses, {after.loss} at alpha "
            f"{after.alpha:g}: {place(after)} (paired difference in coarse error "
            f"{as_text(arms.change(after, 'coarse_error_pct'), '+.2f')} points)."
        )
    if free is not None:
        sentences.append(f"The baseline with least-expected-cost decision: {place(free)}.")
    return " ".join(sentences)


def _figures(collected: Collected, arms: Arms, stem: str) -> tuple[Item, ...]:
    name_of_paper = paper_name(collected)
    alphas = arms.values("alpha")
    free = arms.least_cost(small_count=None)
    items = []
    for measure, called, see in MEASURES:
        series = against_alpha(arms, measure, BASE, free)
        for style, loss in enumerate(arms.losses(), start=4):
            theirs = [
                (a, published_value(name_of_paper, measure, loss=loss, alpha=a)) for a in alphas
            ]
            points = tuple(Point.at(a, value) for a, value in theirs if value is not None)
            series.append(Series(f"{loss}, published", points, style=style, dashed=True))
        counted = [BASE, *arms.select(decision="argmax")]
        figure = Curves(
            title=f"{sentence_case(called)} against alpha, {collected.sweep.data}",
            see=f"{see} Alpha 0 is the baseline; dashed are the paper's numbers, where it has any, "
            f"and what the least-cost decision makes of the baseline without training. "
            f"{repetitions(arms, counted)}",
            x=Axis("alpha (weight of the penalty)", ticks=tuple(alphas)),
            y=Axis(f"{called} (%)", positive=True),
            series=plain(series),
            dodge=True,
        )
        items.append(Item(file_stem(stem, measure), figure))
    return tuple(items)


def _table(collected: Collected, arms: Arms, loss: str) -> Table:
    return published_table(
        f"Hierarchy, {loss} loss, {collected.sweep.data}",
        "Means with 95 % intervals; differences are to the baseline of the same repetition. "
        f"Alpha 0 is the baseline. Published: {SOURCE}.",
        arms,
        [*arms.select(loss="cross-entropy"), *arms.select(loss=loss)],
        MEASURES,
        first={Column("alpha", "g"): lambda a: a.alpha, Column("decision"): lambda a: a.decided},
        published=lambda arm, measure: published_value(
            paper_name(collected), measure, loss=loss, alpha=arm.alpha
        ),
    )


def _matrices(collected: Collected, arms: Arms, stem: str) -> tuple[Item, ...]:
    """All repetitions together, the classes of a super-class beside each other."""
    before = runs(collected, BASE)
    items = []
    for loss in arms.losses():
        arm = best(arms, loss)
        after = runs(collected, arm) if arm else {}
        seeds = sorted(before.keys() & after.keys())
        if arm is None or not seeds:
            continue
        n = len(seeds)
        together = "One repetition." if n == 1 else f"The errors of {n} repetitions together."
        old, new = (summed(found, seeds).astype(np.float64) for found in (before, after))
        figure = super_class_figure(
            collected.info,
            f"Confusions before and after, {loss} loss",
            "The blocks on the diagonal are the super-classes: errors inside them are the mild "
            f"ones. {together} The stronger the colour, the more errors; "
            "correct answers are grey.",
            (
                Panel("before: baseline", old),
                Panel(f"after: {loss}, alpha {arm.alpha:g}", new),
            ),
        )
        items.append(Item(f"{stem}-confusions-{loss}", figure))
    return tuple(items)
