"""A penalty to read: tables for the terminal and a page with the whole matrix."""

from __future__ import annotations

import numpy as np

from untrue.errors import listed
from untrue.penalty import Penalty
from untrue.penalty.dense import off_diagonal
from untrue.report.document.confusion_figure import ConfusionFigure, Panel
from untrue.report.document.page import Page, Section, render
from untrue.report.document.styles import number, shortened
from untrue.report.document.tables import Cell, Column, Table
from untrue.tools.penalty_diagnosis import Diagnosis, diagnose
from untrue.tools.penalty_templates import Suggestion

# A page with more cells than this takes a browser long to draw.
MOST_CLASSES = 200
LISTED = 20
# How a cost is shown in a column.
COST = ".3g"


def cost_tables(penalty: Penalty, *, width: int = 10**6) -> tuple[Table, ...]:
    """The matrix when it fits into `width` characters, else the costliest mistakes."""
    k = penalty.n_classes
    if k <= MOST_CLASSES:
        names = [shortened(name) for name in penalty.classes]
        costs = [[number(cost) for cost in row] for row in penalty.matrix().tolist()]
        sizes = [max(len(name), *(len(row[j]) for row in costs)) for j, name in enumerate(names)]
        # Each column has a border and a space to either side.
        if sum(sizes) + max(map(len, names)) + 3 * (k + 1) + 10 <= width and k <= 30:
            return (_matrix_table(penalty, names),)
    return (_costliest_table(penalty),)


def _matrix_table(penalty: Penalty, names: list[str]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for i, row in enumerate(penalty.matrix().tolist()):
        rows.append((penalty.classes[i], *(None if i == j else c for j, c in enumerate(row))))
    return Table(
        "Cost of predicting the column when the truth is the row",
        "A right answer is free.",
        (Column("truth"), *(Column(name, COST) for name in names)),
        tuple(rows),
    )


def _costliest_table(penalty: Penalty) -> Table:
    k = penalty.n_classes
    if k > 5000:
        shown = f"The {k:,} classes make a matrix too large to look through."
        return Table("The penalty", shown, (Column("classes", ",d"),), ((k,),))
    matrix = penalty.matrix()
    order = np.argsort(-matrix, axis=None, kind="stable")[:LISTED]
    rows: list[tuple[Cell, ...]] = [
        (penalty.classes[i], penalty.classes[j], float(matrix[i, j]))
        for i, j in zip(*(part.tolist() for part in np.unravel_index(order, (k, k))), strict=True)
        if matrix[i, j] > 0
    ]
    off = off_diagonal(matrix)
    least = float(off.min()) if off.size else 0.0
    at_least = f"{int((off == least).sum()):,} kinds cost the least, {number(least)}"
    return Table(
        f"The {len(rows)} costliest of {k * (k - 1):,} kinds of mistake",
        f"{at_least}{'; --html shows the whole matrix' if k <= MOST_CLASSES else ''}.",
        (Column("true"), Column("predicted"), Column("cost", COST)),
        tuple(rows),
    )


def diagnosis_tables(found: Diagnosis, *, name: str) -> tuple[Table, ...]:
    """What `untrue penalty check` prints."""
    kinds = found.n_classes * (found.n_classes - 1)
    free = "not counted" if found.free_mistakes is None else f"{found.free_mistakes:,} of {kinds:,}"
    asymmetric = "not counted" if found.n_asymmetric is None else f"{found.n_asymmetric:,}"
    ratio = found.greatest / found.least if found.least else float("nan")
    facts: list[tuple[Cell, ...]] = [
        ("classes", f"{found.n_classes:,} (kept as {found.form})"),
        ("costliest mistake", number(found.greatest)),
        ("cheapest that costs anything", number(found.least)),
        ("costliest over cheapest", number(ratio)),
        ("mean over all kinds of mistake", number(found.mean)),
        ("mistakes that cost nothing", free),
        ("classes that cost nothing to predict", listed(found.free_classes) or "none"),
        ("pairs that cost differently each way", asymmetric),
    ]
    tables = [Table(f"Check of {name}", "", (Column("what"), Column("found")), tuple(facts))]
    if found.asymmetric:
        tables.append(
            Table.of(
                "Asymmetric pairs, most first",
                "Correct if one direction is the worse mistake; else an error in the costs.",
                found.asymmetric,
                {
                    Column("true"): lambda pair: pair.true,
                    Column("predicted"): lambda pair: pair.predicted,
                    Column("cost", COST): lambda pair: pair.there,
                    Column("the other way round", COST): lambda pair: pair.back,
                },
            )
        )
    tables.append(
        Table(
            "What a constant answer would cost",
            "Mean cost of always predicting one class, when all classes are equally frequent. A "
            "useful model costs less than the first.",
            (Column("always predicting"), Column("costs", COST)),
            found.constant[:5],
        )
    )
    return tuple(tables)


def suggestion_table(found: Suggestion) -> Table:
    """Where the cost of the counted errors lies under a suggested penalty."""
    return Table.of(
        "What the errors you counted would cost",
        f"In all {number(found.total_cost)}, {number(found.expected_cost)} an answer.",
        found.costliest,
        {
            Column("true"): lambda row: row.true,
            Column("predicted"): lambda row: row.predicted,
            Column("times", ",d"): lambda row: row.count,
            Column("cost", COST): lambda row: row.cost,
            Column("of all cost (%)", ".0f"): lambda row: 100 * row.cost / found.total_cost,
        },
    )


def penalty_page(penalty: Penalty, *, name: str) -> str:
    """The whole matrix as a heat map, and the check, as HTML."""
    found = diagnose(penalty)
    tables = diagnosis_tables(found, name=name)
    parts: list[ConfusionFigure | Table | str] = []
    if penalty.n_classes <= MOST_CLASSES:
        parts.append(
            ConfusionFigure(
                "The cost of each mistake",
                "Rows are the truth, columns the predicted class; a stronger colour costs more.",
                penalty.classes,
                (Panel("", penalty.matrix()),),
                unit="cost",
            )
        )
    else:
        parts.append(_costliest_table(penalty))
    return render(
        Page(
            f"Costs in {name}",
            found.remarks[0]
            if found.remarks
            else f"{found.n_classes} classes; a mistake costs from {number(found.least)} to "
            f"{number(found.greatest)}.",
            (
                Section("What each mistake costs", tuple(parts)),
                Section("Checks", (*found.remarks[1:], *tables)),
            ),
        )
    )
