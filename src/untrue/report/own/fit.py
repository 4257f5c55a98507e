"""The page and the tables of `untrue fit`: before and after."""

from __future__ import annotations

from typing import Any

from untrue.metrics import Interval
from untrue.report.document.confusion_figure import ConfusionFigure, Panel, busiest
from untrue.report.document.figures import Axis, Change, ChangeRow, Curves, Point, Series
from untrue.report.document.page import Page, Part, Section
from untrue.report.document.styles import number
from untrue.report.document.tables import Column, Table
from untrue.report.own.measures import (
    FULL_MATRIX,
    MEASURES,
    by_columns,
    costliest,
    dense_counts,
    outlined,
    shown,
    signed,
    zone_words,
)
from untrue.tools.fitting.result import LEAST_COST, FitResult, Variant
from untrue.training.progress import History

SHOWN = ("accuracy", "expected_cost", "zone_errors")
FEW_EPOCHS = 10


def variants_table(found: FitResult) -> Table:
    """Each variant to answer, measured on the test part."""
    measures = [m for m in MEASURES if m.field in SHOWN]
    measures = [m for m in measures if getattr(found.variants[0].summary, m.field) is not None]
    return Table(
        f"On {found.sizes[2]:,} examples that no model has seen",
        f"In brackets: 95 % bootstrap intervals. {zone_words(found.zone_above)} "
        "* is the model in the folder.",
        (Column("model and decision"), *(Column(m.name) for m in measures)),
        tuple(
            (_marked(found, variant), *(shown(m, variant.summary) for m in measures))
            for variant in found.variants
        ),
        strong=frozenset({found.chosen}),
    )


def changes_table(found: FitResult) -> Table | None:
    """What each variant changes beside the plain model; None without one."""
    changes = [(each, each.change) for each in found.variants if each.change is not None]
    if not changes:
        return None
    return Table.of(
        f"What changes beside {found.variants[0].name}",
        "Paired: both answer the same examples. An interval across 0 is no clear change.",
        changes,
        {
            Column("model and decision"): lambda row: _marked(found, row[0]),
            Column("accuracy (points)"): lambda row: signed(row[1].accuracy, 100.0, "+.1f"),
            Column("cost of an answer"): lambda row: signed(row[1].expected_cost, digits="+.2g"),
            Column("errors in the zone"): lambda row: signed(row[1].zone_errors, digits="+,.0f"),
        },
        strong=lambda row: row[0] is found.variant,
    )


def _marked(found: FitResult, variant: Variant) -> str:
    """The name of a row, with a star if it is the model in the folder: bold is lost in a log."""
    return f"{variant.name} *" if variant is found.variant else variant.name


def lead(found: FitResult) -> str:
    """The finding in a sentence or two, also when it is that training gained nothing."""
    variant = found.variant
    cost = number(_cost(variant))
    start = f"{100 * variant.summary.accuracy:.1f} % right, at a cost of {cost} an answer."
    if variant.change is not None:
        before = number(_cost(found.variants[0]))
        start += f" Plain training costs {before}: {_effect(variant.change.expected_cost)}."
    return start + _cheapest(found)


def _cost(variant: Variant) -> float:
    return variant.summary.expected_cost or 0.0


def _effect(change: Interval) -> str:
    if change.high < 0:
        return "the new loss lowers the cost"
    if change.low > 0:
        return "the new loss raises the cost here"
    return "these examples show no clear difference"


def _cheapest(found: FitResult) -> str:
    """The cheapest row and the options that make it; nothing where that is the model in the folder.

    Of rows that cost the same it is the first, and so the simplest.
    """
    kept, best = found.variant, min(found.variants, key=_cost)
    if best is kept:
        return ""
    same = _cost(best) == _cost(kept)
    words = "costs as little" if same else f"is the cheapest here, at {number(_cost(best))}"
    steps = []
    if best.name.removesuffix(LEAST_COST) != kept.name:
        steps.append("fit with `--loss cross-entropy`")
    if best.by_cost:
        steps.append("predict with `--decide cost`")
    return f" {best.name.capitalize()} {words}: {', then '.join(steps)}."


def fit_page(found: FitResult) -> Page:
    """Before and after as a page."""
    kept, plain = found.variant, found.variants[0]
    first: list[Part] = [variants_table(found), *(f"Note: {note}." for note in found.notes)]
    changes = changes_table(found)
    if changes is not None:
        first.append(changes)
    compared = kept is not plain and kept.change is not None
    if compared:
        first.append(_change_figure(found, plain, kept))
    shown_variants = [plain, kept] if compared else [kept]
    where: list[Part] = [_confusion(found, shown_variants), costliest(kept.summary)]
    return Page(
        f"A model of {found.source}",
        lead(found),
        (
            Section("Before and after" if compared else "The model", tuple(first)),
            Section("Confusion matrix", tuple(where)),
            Section("Training", (_losses(found),)),
        ),
        facts(found),
    )


def facts(found: FitResult) -> tuple[tuple[str, str], ...]:
    """Where the numbers come from."""
    training, model = found.model.training, found.model
    train, validation, test = found.sizes
    return (
        ("data", found.source),
        ("examples", f"{train:,} to train, {validation:,} to stop and calibrate, {test:,} to test"),
        ("loss", f"{training['loss']}, alpha {training['alpha']:g}"),
        ("penalty", repr(model.penalty)),
        *by_columns(model.costs),
        ("model", model.predictor.words()),
        ("seed", str(training["seed"])),
        ("temperature", f"{model.temperature:.3g}"),
        ("seconds", f"{found.seconds:.1f}"),
    )


def metrics(found: FitResult) -> dict[str, Any]:
    """The numbers for other programs."""
    return {
        "source": found.source,
        "train": found.sizes[0],
        "validation": found.sizes[1],
        "test": found.sizes[2],
        "zone_above": found.zone_above,
        "seconds": round(found.seconds, 3),
        "notes": list(found.notes),
        "variants": [_variant_numbers(variant) for variant in found.variants],
    }


def _variant_numbers(variant: Variant) -> dict[str, Any]:
    numbers: dict[str, Any] = {"name": variant.name, "summary": variant.summary.as_dict()}
    if variant.change is not None:
        numbers["change"] = variant.change.as_dict()
    return numbers


def _change_figure(found: FitResult, plain: Variant, kept: Variant) -> Change:
    """The costliest kinds of error of the plain model, and how often each variant makes them."""
    names = found.model.classes
    cells = kept.confusion
    after = {
        (names[true], names[predicted]): count
        for true, predicted, count in zip(
            cells.true.tolist(), cells.predicted.tolist(), cells.count.tolist(), strict=True
        )
    }
    rows = tuple(
        ChangeRow(
            f"{row.true} → {row.predicted}",
            float(row.count),
            float(after.get((row.true, row.predicted), 0)),
        )
        for row in plain.summary.costliest or ()
    )
    return Change(
        "The plain model's costliest errors, before and after",
        "Each line is one kind of error (true → predicted), the costliest first: further "
        "left means fewer errors.",
        Axis("errors on the test part", from_zero=True),
        rows,
        before=plain.name,
        after=kept.name,
    )


def _confusion(found: FitResult, variants: list[Variant]) -> ConfusionFigure:
    penalty = found.model.penalty
    k = penalty.n_classes
    zone = outlined(penalty.matrix() > found.zone_above) if k <= FULL_MATRIX else None
    figure = ConfusionFigure(
        "Errors on the test part",
        "The stronger the colour, the more errors"
        + (", and the zone is outlined." if zone is not None else "."),
        penalty.classes,
        tuple(Panel(variant.name, dense_counts(variant.confusion)) for variant in variants),
        zone=zone,
        unit="examples",
    )
    return busiest(figure)


def _losses(found: FitResult) -> Curves:
    def points(values: tuple[float, ...]) -> tuple[Point, ...]:
        return tuple(Point(float(i), value) for i, value in enumerate(values, start=1))

    def both(name: str, history: History, style: int) -> tuple[Series, ...]:
        validation = Series(f"{name}: validation", points(history.validation), style=style)
        if not history.train:
            return (validation,)
        train = Series(f"{name}: training", points(history.train), style=style, dashed=True)
        return train, validation

    series = both(found.variant.name, found.history, 1)
    if found.baseline_history is not None:
        series = both(found.variants[0].name, found.baseline_history, 0) + series
    best = found.history.best_epoch
    title, unit, kept = "Loss by epoch", "epoch", f"The weights of epoch {best}"
    if not found.history.train:
        title, unit = "Validation loss by round", "round"
        kept = f"Of {len(found.history.validation)} rounds of trees the first {best}"
    longest = max(len(line.points) for line in series)
    # Few epochs would be counted in halves.
    ticks = tuple(float(i) for i in range(1, longest + 1)) if longest <= FEW_EPOCHS else ()
    return Curves(
        title,
        f"{kept} were kept: there the validation loss is least. Losses of different kinds do not "
        "compare.",
        Axis(unit, ticks=ticks),
        Axis("mean loss", from_zero=True),
        series,
    )
