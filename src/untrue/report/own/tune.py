"""The page and the tables of `untrue tune`: the budgets, the frontier, and what was tried."""

from __future__ import annotations

from typing import Any

import numpy as np

from untrue.budgets import Verdict
from untrue.losses import registry
from untrue.losses.registry import style_of
from untrue.report.document.confusion_figure import ConfusionFigure, Panel, busiest
from untrue.report.document.figures import Axis, Curves, Point, Series
from untrue.report.document.page import Page, Part, Section
from untrue.report.document.styles import LEAST_COST_STYLE, number
from untrue.report.document.tables import Cell, Column, Table
from untrue.report.own.control import tested_path
from untrue.report.own.measures import FULL_MATRIX, by_columns, dense_counts, outlined, signed
from untrue.tools.fitting.setup import PLAIN
from untrue.tools.tuning.judging import Trial
from untrue.tools.tuning.result import BudgetVerdict, TuneResult
from untrue.tools.tuning.setting import Setting, described
from untrue.tools.tuning.trainer import Recipe

# Settings that lose many times more than is allowed would squeeze the others into a corner.
FAR_POINTS = 8.0
# As in the other reports: the least-cost decision has a style of its own, each loss the registry's.
STYLES = {PLAIN: LEAST_COST_STYLE} | {loss: style_of(loss) for loss in registry.MIXED}


def lead(found: TuneResult) -> str:
    """The finding; where nothing is kept, why, and what it would take."""
    how = described(found.setting, found.budgets)
    several = len(found.verdicts) > 1
    if found.why is not None:
        return (
            f"{found.why} The closest {price(found)}. It is {how}. The model in the folder is that "
            "one, and is marked as not keeping its budgets. The search ended because "
            f"{found.stopped}."
        )
    if found.setting == Setting(Recipe()):
        which = "every budget" if several else "the budget"
        start = f"The plain model keeps {which} already: nothing needs to change."
    else:
        many = "Every budget is" if several else "The budget is"
        start = f"{many} kept by what {price(found)}: {how}."
    hold = "they all hold" if several else "it holds"
    return (
        f"{start} With {100 * found.confidence:g} % confidence {hold} for new cases like these, as "
        f"tested on {found.sizes[1]:,} held-out examples."
    )


def price(found: TuneResult) -> str:
    """What a setting costs in right answers: "loses 0.4 points of accuracy (97.1 % to 96.7 %)"."""
    before, after = 100 * (found.accuracy - found.change.value), 100 * found.accuracy
    lost = round(round(before, 1) - round(after, 1), 1)
    if not lost:
        return f"loses no accuracy ({after:.1f} %, as before)"
    how = "gains" if lost < 0 else "loses"
    return f"{how} {abs(lost):.1f} points of accuracy ({before:.1f} % to {after:.1f} %)"


def budgets_table(found: TuneResult) -> Table:
    """Each budget and the accuracy: before, on validation, held out, and the verdict."""
    rows: list[tuple[Cell, ...]] = [
        (
            str(verdict.budget),
            _verdict(verdict, found.kept),
            _short(verdict.held_out),
            _short(verdict.validation),
            _short(verdict.plain),
        )
        for verdict in found.verdicts
    ]
    limit = found.max_accuracy_drop
    within = limit is None or found.drop <= limit + 1e-9
    rows.append(
        (
            "accuracy" if limit is None else f"accuracy drop <= {limit:g} points",
            "no limit" if limit is None else "kept" if within else "over",
            f"{100 * found.accuracy:.1f} % ({signed(found.change, 100.0, '+.1f')})",
            f"{100 * found.trial.accuracy:.1f} % ({-found.trial.drop + 0.0:+.1f})",
            f"{100 * (found.accuracy - found.change.value):.1f} %",
        )
    )
    return Table(
        "The budgets",
        f"The {found.sizes[1]:,} held-out examples tested the rules, and were used for nothing "
        "else. 'Kept' means that the true rates are within their limits, all together, with "
        f"{100 * found.confidence:g} % confidence. In brackets upper bounds of that confidence, "
        f"each by itself. On validation ({found.sizes[0]:,} examples, each answered by a model "
        "that has not learned from it) they are estimates.",
        (
            Column("budget"),
            Column("verdict"),
            Column("held out"),
            Column("validation"),
            Column("plain model, held out"),
        ),
        tuple(rows),
    )


def _short(verdict: Verdict) -> str:
    """A rate with its count and bound."""
    if not verdict.of:
        return "no example"
    if verdict.budget.kind == "cost":
        return f"{number(verdict.rate)} (≤ {number(verdict.upper)})"
    return (
        f"{verdict.errors:,} of {verdict.of:,}, {100 * verdict.rate:.2f} % "
        f"(≤ {100 * verdict.upper:.2f} %)"
    )


def _verdict(verdict: BudgetVerdict, kept: bool) -> str:
    ruling = verdict.held_out.ruling
    return "kept" if kept else "within, by itself" if ruling == "kept" else ruling


def steps(found: TuneResult) -> tuple[str, ...]:
    """What was tried, in order, and why the search continued, one sentence per step."""
    parts = []
    for place, step in enumerate(found.steps, start=1):
        many = (
            f" ({len(step.trials)} settings, the closest of them)" if len(step.trials) > 1 else ""
        )
        here = place - 1 == found.step
        end = " The held-out part tested the rules of this model." if here else ""
        parts.append(f"{place}. {step.title}{many}: {step.finding}.{end}")
    return (*parts, f"It ended because {found.stopped}.")


def tune_page(found: TuneResult) -> Page:
    """Budgets, frontier and search as a page."""
    first: list[Part] = [budgets_table(found), *found.notes]
    return Page(
        f"Tuning on {found.source}",
        lead(found),
        (
            Section("Are the budgets kept?", tuple(first)),
            Section("The path that was tested", tested_path(found.guarantee)),
            Section(
                "What was looked at",
                tuple(_frontier(found, b) for b in range(len(found.verdicts))),
            ),
            Section("Steps of the search", steps(found)),
            Section("Confusion matrix", (_confusion(found),)),
        ),
        facts(found),
    )


def facts(found: TuneResult) -> tuple[tuple[str, str], ...]:
    """Where the numbers come from."""
    model, training = found.model, found.model.training
    return (
        ("data", found.source),
        (
            "examples",
            f"{found.sizes[0]:,} to tune on, in {found.repetitions} repetitions; "
            f"{found.sizes[1]:,} held out, {training['tuned']['held_out']}",
        ),
        ("chosen" if found.kept else "closest", found.setting.name),
        ("settings trained", f"{found.trained} beyond the plain one"),
        ("confidence", f"{100 * found.confidence:g} %, of all budgets together"),
        ("penalty", repr(model.penalty)),
        *by_columns(model.costs),
        ("model", model.predictor.words()),
        ("seed", str(training["seed"])),
        ("seconds", f"{found.seconds:.1f}"),
    )


def metrics(found: TuneResult) -> dict[str, Any]:
    """The numbers for other programs."""
    return {
        "source": found.source,
        "kept": found.kept,
        "why": found.why,
        "setting": found.setting.name,
        "max_accuracy_drop": found.max_accuracy_drop,
        "confidence": found.confidence,
        "tuned_on": found.sizes[0],
        "held_out": found.sizes[1],
        "held_out_drawn": found.model.training["tuned"]["held_out"],
        "seed": found.guarantee.seed,
        "accuracy": found.accuracy,
        "accuracy_change": found.change.as_dict(),
        "budgets": [
            {
                "budget": str(verdict.budget),
                "validation": verdict.validation.as_dict(),
                "held_out": verdict.held_out.as_dict(),
                "plain": verdict.plain.as_dict(),
            }
            for verdict in found.verdicts
        ],
        "tested": len(found.guarantee.tested),
        "passed": sum(rule.passed for rule in found.guarantee.tested),
        "notes": list(found.notes),
        "stopped": found.stopped,
        "seconds": round(found.seconds, 3),
        "trials": [
            {
                "setting": trial.setting.name,
                "chance_to_fail": min(trial.failing, 1.0),
                "accuracy": trial.accuracy,
                "expected_cost": trial.expected_cost,
                "budgets": [verdict.as_dict() for verdict in trial.verdicts],
            }
            for trial in found.trials
        ],
    }


def _frontier(found: TuneResult, b: int) -> Curves:
    """The upper bound of one budget against accuracy, one point a setting."""
    budget = found.verdicts[b].budget
    unit = 1.0 if budget.kind == "cost" else 100.0
    allowed = found.max_accuracy_drop
    far = max(FAR_POINTS, 3 * (allowed or 0.0), found.trial.drop)
    every = [*found.trials, *([] if found.trial in found.trials else [found.trial])]
    shown = [trial for trial in every if trial.drop <= far]
    left_out = len(every) - len(shown)

    def at(trial: Trial) -> Point:
        verdict, chosen = trial.verdicts[b], trial == found.trial
        stressed = chosen or trial is found.trials[0]
        return Point(
            100 * trial.accuracy,
            unit * verdict.upper,
            unit * verdict.rate if stressed else None,
            unit * verdict.upper if stressed else None,
            label="closest" if chosen and not found.kept else "",
            marked=chosen,
        )

    series = [Series("plain model", (at(found.trials[0]),), style=0, joined=False)]
    for loss, style in STYLES.items():
        own = [t for t in shown[1:] if t.setting.recipe.loss == loss]
        name = "plain model, other decisions" if loss == PLAIN else f"trained by {loss}"
        if own:
            series.append(Series(name, tuple(map(at, own)), style=style, joined=False))
    limit = unit * found.trial.verdicts[b].limit
    rights = [100 * trial.accuracy for trial in shown]
    plain = 100 * found.trials[0].accuracy
    left = min([*rights, plain - (allowed or 0.0)]) - 0.2
    right = max(rights) + 0.2
    lines = [Series("limit", (Point(left, limit), Point(right, limit)), style=4, dashed=True)]
    if allowed is not None:
        top = unit * max(trial.verdicts[b].upper for trial in shown)
        edge = plain - allowed
        ends = (Point(edge, 0.0), Point(edge, max(top, limit)))
        lines.append(Series("least accuracy", ends, style=6, dashed=True))
    rate = "cost of an answer" if budget.kind == "cost" else "share of errors (%)"
    outside = (
        f" {left_out} settings that lose more than {far:.3g} points are left out."
        if left_out
        else ""
    )
    return Curves(
        f"{budget}",
        "Each point is one rule on the examples tuned on, which chose the model whose rules were "
        "tested. Rules below the limit"
        + (" and right of the least accuracy" if allowed is not None else "")
        + " are what is wanted; the ringed one was chosen. The bars of the plain and the ringed "
        f"one reach from what was seen up to its upper bound.{outside}",
        Axis("accuracy (%)"),
        Axis(f"upper bound of the {rate}", from_zero=True),
        (*series, *lines),
    )


def _confusion(found: TuneResult) -> ConfusionFigure:
    k = found.model.penalty.n_classes
    plain = found.setting == Setting(Recipe())
    panels = [Panel("the plain model", dense_counts(found.plain_confusion))]
    if not plain:
        panels.append(Panel("the kept model", dense_counts(found.confusion)))
    zone = None
    if k <= FULL_MATRIX:
        masks = [budget.mask() for budget in found.budgets if budget.budget.kind != "cost"]
        every = np.logical_or.reduce([np.zeros((k, k), dtype=bool), *masks])
        zone = outlined(every)
    figure = ConfusionFigure(
        "Errors on the held-out part",
        "The stronger the colour, the more errors"
        + (", and the mistakes of the budgets are outlined." if zone is not None else "."),
        found.model.penalty.classes,
        tuple(panels),
        zone=zone,
        zone_name="in a budget",
        unit="examples",
    )
    return busiest(figure)
