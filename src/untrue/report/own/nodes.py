"""The page and the tables of an audit of answers at the nodes of a hierarchy."""

from __future__ import annotations

import numpy as np

from untrue.report.document.page import Page, Section
from untrue.report.document.tables import Column, Table
from untrue.report.own.measures import Measure, counts_csv, with_interval
from untrue.tools.auditing.nodes import NodeAudit

# A table of more cells than this is for no reader.
FULL_TABLE = 4_000_000
SHOWN = 20
MEASURES = (
    Measure("exact", "the true class (%)", 100.0, ".1f"),
    Measure("coarse", "a node above the true class (%)", 100.0, ".1f"),
    Measure("wrong", "wrong (%)", 100.0, ".1f"),
    Measure("cost", "cost of an answer, by the hierarchy", digits=".3g"),
    Measure("hierarchical_precision", "hierarchical precision (%)", 100.0, ".1f"),
    Measure("hierarchical_recall", "hierarchical recall (%)", 100.0, ".1f"),
    Measure("hierarchical_f", "hierarchical F (%)", 100.0, ".1f"),
)


def summary_table(found: NodeAudit) -> Table:
    """Every measure with its interval."""
    silent = f" {found.abstained:,} more abstained." if found.abstained else ""
    return Table(
        f"{found.n:,} answer{'s' * (found.n != 1)} at nodes of a hierarchy",
        "In brackets: 95 % bootstrap intervals. Precision: of the nodes at and above the answers, "
        f"those that are right; recall: of those at and above the true classes.{silent}",
        (Column("measure"), Column("answers given")),
        tuple(
            (measure.name, with_interval(measure, found.measures[measure.field]))
            for measure in MEASURES
        ),
        strong=frozenset({0, 3}),
    )


def answers_table(found: NodeAudit) -> Table:
    """The commonest answers that are not the true class."""
    actions, cells = found.actions, found.cells
    other = actions.hierarchy.class_nodes[cells.true] != actions.nodes[cells.action]
    order = np.argsort(-cells.count * other, kind="stable")[: min(SHOWN, int(other.sum()))]
    costs = np.asarray(actions.cost(cells.true, cells.action), dtype=np.float64)
    return Table.of(
        "The commonest answers that are not the true class",
        "An answer costs the edges between it and the true class, or what `cost` gives in Python.",
        order.tolist(),
        {
            Column("true"): lambda c: actions.classes[cells.true[c]],
            Column("answer"): lambda c: actions.actions[cells.action[c]],
            Column("times", ",d"): lambda c: int(cells.count[c]),
            Column("cost each", ",.3g"): lambda c: float(costs[c]),
        },
    )


def nodes_page(found: NodeAudit) -> Page:
    """The whole audit as a page."""
    exact, coarse = found.measures["exact"], found.measures["coarse"]
    return Page(
        f"Audit of {found.source}",
        f"{100 * exact.value:.1f} % of {found.n:,} answers are the true class, "
        f"{100 * coarse.value:.1f} % a node above it.",
        (Section("Summary", (summary_table(found), answers_table(found))),),
        (
            ("predictions", found.source),
            ("truth in", found.columns[0]),
            ("answers in", found.columns[1]),
        ),
    )


def answers_csv(found: NodeAudit) -> str | None:
    """Counts of true classes by answers, those given; None where that is too large."""
    cells, actions = found.cells, found.actions
    used = np.unique(cells.action)
    if len(used) * actions.n_classes > FULL_TABLE:
        return None
    counts = np.zeros((actions.n_classes, len(used)), dtype=np.int64)
    counts[cells.true, np.searchsorted(used, cells.action)] = cells.count
    answers = [actions.actions[j] for j in used.tolist()]
    return counts_csv("answer", actions.classes, answers, counts)
