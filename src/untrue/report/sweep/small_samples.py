"""The chapter of a small-sample sweep: classes with few images, helped by their super-class."""

from __future__ import annotations

from untrue.report.document.figures import Axis, Curves, Point, Series
from untrue.report.document.tables import Column, Table
from untrue.report.runs.arms import Arm, Arms, baseline_arm
from untrue.report.runs.chapters import (
    Chapter,
    Item,
    Measure,
    as_text,
    file_stem,
    means_table,
    plain,
    published_table,
    repetitions,
    sentence_case,
)
from untrue.report.runs.rows import Collected
from untrue.report.sweep.hierarchies import paper_name
from untrue.report.sweep.published import SOURCE, published_value

MEASURES: tuple[Measure, ...] = (
    ("accuracy_pct", "accuracy", "the accuracy of the model on all classes"),
    ("small_class_accuracy_pct", "small-class accuracy", "the accuracy on the small classes"),
    (
        "small_class_superclass_accuracy_pct",
        "small classes put in the right super-class",
        "the share of the small classes' test images put in the right super-class",
    ),
)


def chapter(collected: Collected, stem: str) -> Chapter:
    """Everything about one small-sample sweep."""
    arms = Arms(collected.rows)
    table = _table(collected, arms)
    cut = next((c.small_classes for c in collected.sweep.configs if c.small_classes), ())
    names = ", ".join(collected.info.classes[index] for index in cut)
    chosen = (
        f"The classes cut down, the most typical of each super-class by the baselines' errors: "
        f"{names}."
        if cut
        else "The classes to cut down are chosen when the baselines are finished."
    )
    figures = tuple(
        Item(file_stem(stem, measure), _figure(collected, arms, measure, called, see))
        for measure, called, see in MEASURES
        if arms.values("small_count")
    )
    return Chapter(
        lead=_lead(arms),
        blocks=(
            ("The paper's table", (Item(stem, table), chosen)),
            ("Against the number of images left", figures),
        ),
        short=means_table(
            "Small classes",
            arms,
            MEASURES,
            first={Column("N"): _left, Column("model"): lambda arm: arm.name},
        ),
    )


def _lead(arms: Arms) -> str:
    counts = [int(count) for count in arms.values("small_count")]
    if not counts:
        return "Only the baselines on all images are finished."
    sentences = []
    for count in counts:
        base = baseline_arm(small_count=count)
        treated = [
            a for a in arms.select(small_count=count, decision="argmax") if not a.is_baseline
        ]
        if not treated:
            continue
        arm, measure = treated[-1], "small_class_superclass_accuracy_pct"
        sentences.append(
            f"With {count} images of each small class, {as_text(arms.mean(arm, measure))} % of "
            f"their test images are put in the right super-class by the {arm.loss} loss at alpha "
            f"{arm.alpha:g}, {as_text(arms.mean(base, measure))} % by the baseline (paired "
            f"difference {as_text(arms.change(arm, measure), '+.2f')} points)."
        )
    return " ".join(sentences) or "No trained loss is finished yet; the baselines are below."


def _figure(collected: Collected, arms: Arms, measure: str, called: str, see: str) -> Curves:
    counts = [int(count) for count in arms.values("small_count")]
    series: list[Series] = []
    shown: list[Arm] = []
    settings = [("cross-entropy", 0.0, "argmax"), ("cross-entropy", 0.0, "least-cost")]
    settings += [(loss, a, "argmax") for loss in arms.losses() for a in arms.values("alpha") if a]
    for style, (loss, alpha, rule) in enumerate(settings):
        chosen = [
            arm
            for arm in arms.select(loss=loss, alpha=alpha, decision=rule)
            if arm.small_count is not None
        ]
        shown += chosen
        points = [(arm.small_count, arms.mean(arm, measure)) for arm in chosen]
        name = chosen[0].name if chosen else ""
        places = tuple(Point.at(float(n or 0), value) for n, value in points if value is not None)
        series.append(Series(name, places, style=style))
        if rule == "argmax":
            theirs = [
                (n, _published(collected, measure, loss=loss, alpha=alpha, count=n)) for n in counts
            ]
            known = tuple(Point.at(float(n), value) for n, value in theirs if value is not None)
            series.append(Series(f"{name}, published", known, style=style, dashed=True))
    return Curves(
        title=f"{sentence_case(called)}, {collected.sweep.data}",
        see=f"Higher is better: {see}. Dashed are the paper's numbers. {repetitions(arms, shown)}",
        x=Axis("training images per small class", ticks=tuple(map(float, counts))),
        y=Axis("share of the test images (%)", from_zero=True),
        series=plain(series),
        dodge=True,
    )


def _published(
    collected: Collected, measure: str, *, loss: str, alpha: float, count: int | None
) -> float | None:
    if count is None:
        return None
    # The paper's baseline stands in its table of the bilinear loss.
    name = "bilinear" if loss == "cross-entropy" else loss
    return published_value(
        paper_name(collected, "small_sample"), measure, loss=name, alpha=alpha, small_count=count
    )


def _left(arm: Arm) -> str:
    return "all" if arm.small_count is None else f"{arm.small_count}"


def _table(collected: Collected, arms: Arms) -> Table:
    return published_table(
        f"Small sample, {collected.sweep.data}",
        "N: training images left of each small class. Means with 95 % intervals; differences are "
        f"to the baseline of the same repetition and N. Published: {SOURCE}.",
        arms,
        arms.select(),
        MEASURES,
        first={
            Column("N"): _left,
            Column("loss"): lambda arm: arm.trained_by,
            Column("alpha", "g"): lambda arm: arm.alpha,
            Column("decision"): lambda arm: arm.decided,
        },
        published=lambda arm, measure: _published(
            collected, measure, loss=arm.loss, alpha=arm.alpha, count=arm.small_count
        ),
    )
