"""The page and the tables of `untrue audit`."""

from __future__ import annotations

import numpy as np

from untrue.budgets.verdict import Verdict
from untrue.errors import counted
from untrue.report.document.confusion_figure import ConfusionFigure, Panel, busiest
from untrue.report.document.figures import Axis, Curves, Point, Series
from untrue.report.document.page import Page, Part, Section
from untrue.report.document.styles import number
from untrue.report.document.tables import Cell, Column, Table
from untrue.report.own.measures import (
    FULL_MATRIX,
    MEASURES,
    column_range,
    costliest,
    counts_csv,
    dense_counts,
    outlined,
    reading_section,
    shown,
    signed,
    zone_words,
)
from untrue.tools.auditing.audit import AuditResult
from untrue.tools.auditing.examples import CellExamples

MOST_CONFUSIONS = 10
# A calibration error of so many points is shown as 0.0.
EVEN = 0.05


def summary_table(found: AuditResult) -> Table:
    """Every measure, of the answers given and of those of least expected cost."""
    decided = found.decision.summary if found.decision else None
    rows: list[tuple[Cell, ...]] = []
    for measure in MEASURES:
        value = shown(measure, found.summary)
        if value is None:
            continue
        after = shown(measure, decided) if decided else None
        rows.append((measure.name, value) if decided is None else (measure.name, value, after))
    columns = [Column("measure"), Column("answers given")]
    if decided is not None:
        columns.append(Column("least expected cost"))
    return Table(
        f"{found.summary.n:,} prediction{'s' * (found.summary.n != 1)} of "
        f"{found.penalty.n_classes} classes",
        f"In brackets: 95 % bootstrap intervals. {zone_words(found.zone_above)}".strip(),
        tuple(columns),
        tuple(rows),
        strong=frozenset({0, 1}),
    )


def decision_table(found: AuditResult) -> Table | None:
    """What deciding by least expected cost would change."""
    if found.decision is None:
        return None
    change = found.decision.change
    rows: list[tuple[Cell, ...]] = [
        ("answers that change", f"{change.changed:,} of {change.n:,}"),
        ("right answers (points)", signed(change.accuracy, 100.0)),
        ("cost of an answer", signed(change.expected_cost)),
        ("errors in the zone", signed(change.zone_errors, digits="+,.0f")),
    ]
    return Table(
        "What the least-expected-cost decision would change",
        decision_sentence(found),
        (Column("what"), Column("change")),
        tuple(rows),
    )


def decision_sentence(found: AuditResult) -> str:
    """Whether deciding by cost pays, and the reasons to doubt it."""
    assert found.decision is not None
    cost, ece = found.decision.change.expected_cost, found.summary.ece or 0.0
    if found.decision.change.changed == 0:
        text = "The answers of least expected cost are the answers given."
    elif cost.high < 0:
        text = "Deciding by cost lowers the cost, with no training at all."
    elif cost.low > 0:
        text = "Deciding by cost raises the cost: the probabilities are misleading."
    else:
        text = "These predictions do not show whether deciding by cost lowers the cost."
    if ece > 0.1:
        text += (
            f" The probabilities are off by {100 * ece:.0f} points on average: calibrate them "
            "first, on data the model has not seen (`untrue calibrate FILE --out calibrated.csv`)."
        )
    return text


def lead(found: AuditResult) -> str:
    """The finding in a sentence."""
    s = found.summary
    start = f"{100 * s.accuracy:.1f} % of {s.n:,} answers are right"
    if not found.by_cost:
        return f"{start}. No costs were stated, so every mistake counts 1."
    start += f"; an answer costs {number(s.expected_cost or 0.0)} on average."
    if s.costliest:
        row = s.costliest[0]
        share = 100 * row.cost / ((s.expected_cost or 1.0) * s.n)
        # One kind of error among thousands is no finding.
        if share >= 5:
            start += f" {share:.0f} % of all cost is {row.true} taken for {row.predicted}."
    return start


def audit_page(found: AuditResult) -> Page:
    """The whole audit as a page."""
    tables: list[Part] = [summary_table(found), confusions(found)]
    sides = (True, False) if found.by_cost else (False,)
    matrices = [confusion_figure(found, cost=cost) for cost in sides]
    sections = [
        Section("Summary", tuple(tables)),
        Section("Confusion matrix", tuple(figure for figure in matrices if figure)),
    ]
    if found.verdicts:
        sections.insert(1, Section("Budgets", tuple(map(_ruling, found.verdicts))))
    changed = decision_table(found)
    if found.calibration is not None:
        figure = reliability_figure(found)
        sections.append(
            Section("Calibration", (figure,))
            if changed is None
            else Section("Deciding by least expected cost", (changed, figure))
        )
    if found.notes:
        sections.append(reading_section(found.notes))
    return Page(f"Audit of {found.source}", lead(found), tuple(sections), facts(found))


def facts(found: AuditResult) -> tuple[tuple[str, str], ...]:
    """Where the numbers come from."""
    columns = found.columns
    named = [("truth", columns.truth)]
    if columns.predicted:
        named.append(("predictions", columns.predicted))
    if columns.probs:
        named.append(("probabilities", column_range(columns.probs)))
    s = found.summary
    if s.abstained:
        named.append(("abstained", f"{s.abstained:,} ({100 * s.coverage:.1f} % answered)"))
    costs = [
        ("penalty", repr(found.penalty)),
        ("fingerprint of the penalty", found.penalty.fingerprint[:16]),
    ]
    return (
        ("file", found.source),
        *named,
        *(costs if found.by_cost else [("penalty", "none: every mistake counts 1")]),
    )


def confusion_figure(found: AuditResult, *, cost: bool) -> ConfusionFigure | None:
    """The confusion matrix by cost or by count, super-classes side by side."""
    k = found.penalty.n_classes
    if k > FULL_MATRIX:
        return None
    values = dense_counts(found.confusion)
    costs = found.penalty.matrix()
    zone = None if cost or found.zone_above is None else costs > found.zone_above
    names = found.penalty.classes
    place = list(range(k))
    if cost:
        values = values * costs
    if found.groups is not None:
        order = np.argsort(found.groups, kind="stable")
        square = np.ix_(order, order)
        place = np.argsort(order).tolist()
        values, names = values[square], tuple(names[i] for i in order.tolist())
        zone = None if zone is None else zone[square]
    title = "By cost" if cost else "By count"
    zone = outlined(zone)
    see = (
        "Each cell is the total cost of its errors: start with the strongest colours."
        if cost
        else "Each cell is how often it happened"
        + (", with the zone outlined." if zone is not None else "; right answers stay grey.")
    )
    figure = ConfusionFigure(
        title,
        see,
        names,
        (Panel("", values),),
        zone=zone,
        unit="cost" if cost else "predictions",
        examples=tuple(
            CellExamples(place[cell.true], place[cell.predicted], cell.names)
            for cell in found.examples
        ),
    )
    return busiest(figure)


def confusions(found: AuditResult) -> Table:
    """The costliest kinds of error; without costs the most frequent ones."""
    if found.by_cost:
        return costliest(found.summary)
    cells, names = found.confusion, found.penalty.classes
    wrong = np.flatnonzero(cells.true != cells.predicted)
    first = wrong[np.argsort(-cells.count[wrong], kind="stable")][:MOST_CONFUSIONS]
    errors = found.summary.errors
    return Table.of(
        "The most frequent confusions",
        f"Of {counted(errors, 'error')}." if errors else "There are no errors.",
        first.tolist(),
        {
            Column("true"): lambda i: names[cells.true[i]],
            Column("predicted"): lambda i: names[cells.predicted[i]],
            Column("times", ",d"): lambda i: int(cells.count[i]),
            Column("of all errors (%)", ".1f"): lambda i: 100 * float(cells.count[i]) / errors,
        },
    )


def confusion_csv(found: AuditResult) -> str:
    """The counts as CSV, header row and first column the class names: rows are the truth."""
    names = found.penalty.classes
    return counts_csv("predicted", names, names, dense_counts(found.confusion).astype(np.int64))


def _ruling(verdict: Verdict) -> str:
    budget = str(verdict.budget)
    return str(verdict).replace(budget, f"`{budget}`", 1)


def reliability_figure(found: AuditResult) -> Curves:
    """How often the model is right against how sure it is."""
    bins = found.calibration or ()
    ece = 100 * (found.summary.ece or 0.0)
    sure = sum(b.count * (b.confidence - b.accuracy) for b in bins)
    which = "is too sure of itself" if sure > 0 else "is less sure than it could be"
    if ece < EVEN:
        which = "is on it"
    return Curves(
        "Calibration: confidence against accuracy",
        f"On the dashed line confidence equals accuracy. This model {which}; the mean gap (the "
        f"calibration error) is {ece:.1f} points.",
        Axis("greatest probability (%)", from_zero=True),
        Axis("right answers (%)", from_zero=True),
        (
            Series("perfect", (Point(0, 0), Point(100, 100)), style=0, dashed=True),
            Series(
                "this model",
                tuple(Point(100 * b.confidence, 100 * b.accuracy) for b in bins),
            ),
        ),
    )
