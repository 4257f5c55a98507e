"""Summaries of answers as rows of a table: the same words and units on every page of the tools."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.metrics import Cells, Interval, Summary
from untrue.penalty import FormulaPenalty
from untrue.report.document.page import Section
from untrue.report.document.styles import number, written
from untrue.report.document.tables import Column, Table
from untrue.tools.reading.row_costs import formulas_in_words


@dataclass(frozen=True, slots=True)
class Measure:
    """A field of `Summary` to show: what it is called, and the factor to its unit."""

    field: str
    name: str
    factor: float = 1.0
    digits: str = ".2f"


# A penalty of more classes is not shown as a matrix.
FULL_MATRIX = 2000
MEASURES = (
    Measure("accuracy", "accuracy (%)", 100.0),
    Measure("expected_cost", "cost of an answer", digits=".3g"),
    Measure("adjusted_expected_cost", "cost as % of the best constant answer", 100.0, ".1f"),
    Measure("zone_errors", "errors in the zone", digits=",.0f"),
    Measure("zone_share", "share of errors in the zone (%)", 100.0, ".1f"),
    Measure("coarse_error", "in the wrong super-class (%)", 100.0),
    Measure("in_group_share", "share of errors in the right super-class (%)", 100.0, ".1f"),
    Measure("mistake_severity", "severity: mean height of an error", digits=".3f"),
    Measure("ece", "calibration error (%)", 100.0),
)


def column_range(columns: Sequence[str]) -> str:
    """Columns of probabilities, by the first and the last.

    >>> column_range(["prob_a", "prob_b", "prob_c"]), column_range(["score"])
    ("'prob_a' to 'prob_c'", "'score'")
    """
    return repr(columns[0]) if len(columns) == 1 else f"{columns[0]!r} to {columns[-1]!r}"


def zone_words(above: float | None) -> str:
    """What the zone is; nothing where mistakes have no costs."""
    if above is None:
        return ""
    least = "anything" if above == 0 else f"more than {number(above)}"
    return f"The zone: the mistakes that cost {least}."


def outlined(zone: BoolArray | None) -> BoolArray | None:
    """The zone to outline; None where that would be around nearly everything, or nothing."""
    if zone is None or not 0 < zone.sum() <= 0.5 * len(zone) * (len(zone) - 1):
        return None
    return zone


def shown(measure: Measure, summary: Summary) -> str | None:
    """The value with its interval, '9.30 [8.81, 9.82]'; None where the measure does not apply."""
    value = getattr(summary, measure.field)
    if value is None:
        return None
    found = summary.intervals.get(measure.field)
    wrong = summary.intervals.get("total_error")
    if measure.field == "accuracy" and wrong is not None:
        found = Interval(value, 1 - wrong.high, 1 - wrong.low, wrong.confidence)
    return with_interval(measure, found or float(value))


def with_interval(measure: Measure, value: float | Interval) -> str:
    """A value in the measure's unit, with its interval when it has one."""
    column = Column(measure.name, measure.digits)
    if not isinstance(value, Interval):
        return column.shown(value * measure.factor)
    middle, low, high = (
        column.shown(part * measure.factor) for part in (value.value, value.low, value.high)
    )
    return f"{middle} [{low}, {high}]"


def signed(value: Interval, factor: float = 1.0, digits: str = "+.3g") -> str:
    """A difference with its sign: '-0.41 [-0.52, -0.30]'."""
    middle, low, high = (
        written(part * factor, digits) for part in (value.value, value.low, value.high)
    )
    return f"{middle} [{low}, {high}]"


def costliest(summary: Summary, title: str = "The costliest confusions") -> Table:
    """The costliest kinds of error, what they cost, and how much of all cost they are."""
    rows = summary.costliest or ()
    whole = (summary.expected_cost or 0.0) * summary.n
    together = 100 * sum(row.cost for row in rows) / (whole or 1.0)
    digits = ",.0f" if all((row.cost / row.count).is_integer() for row in rows) else ",.2f"
    return Table.of(
        title,
        f"Together {together:.{0 if together >= 10 else 1}f} % of all cost."
        if rows
        else "No error costs anything.",
        rows,
        {
            Column("true"): lambda row: row.true,
            Column("predicted"): lambda row: row.predicted,
            Column("times", ",d"): lambda row: row.count,
            Column("cost each", digits): lambda row: row.cost / row.count,
            Column("total cost", digits): lambda row: row.cost,
            Column("of all cost (%)", ".1f"): lambda row: 100 * row.cost / whole,
        },
    )


def dense_counts(cells: Cells) -> FloatArray:
    """The whole confusion matrix (k, k)."""
    counts = np.zeros((cells.n_classes, cells.n_classes))
    counts[cells.true, cells.predicted] = cells.count
    return counts


def counts_csv(what: str, classes: Sequence[str], answers: Sequence[str], counts: IntArray) -> str:
    """Counts as CSV: a row for each true class, a column for each answer."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([f"true \\ {what}", *answers])
    writer.writerows([name, *row] for name, row in zip(classes, counts.tolist(), strict=True))
    return text.getvalue()


def reading_section(notes: Sequence[str]) -> Section:
    """What a reader should know about how a file was read."""
    sentences = tuple(f"{note[:1].upper()}{note[1:]}." for note in notes)
    return Section("How the file was read", sentences)


def by_columns(costs: FormulaPenalty | None) -> tuple[tuple[str, str], ...]:
    """What costs by columns are, if there are any."""
    if costs is None:
        return ()
    means = "costs by class are the means of the true class"
    return (("costs of each row", f"{formulas_in_words(costs)}; {means}"),)
