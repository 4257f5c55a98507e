"""Answers that are nodes of a hierarchy ("some bird"), in a file of predictions. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.checks import MOST_RESAMPLES, check_count, check_seed
from untrue.errors import ArgumentError, DataError
from untrue.hierarchy import Hierarchy
from untrue.metrics import Cells, answer_cells, weights
from untrue.metrics.answers import AnswerCells
from untrue.metrics.intervals import Interval, percentile_interval
from untrue.metrics.record import HIERARCHICAL
from untrue.metrics.resampling import resampled_ratios
from untrue.penalty import Actions
from untrue.penalty.actions import NodeCost
from untrue.penalty.node_actions import NodeActions
from untrue.tools.reading.columns import choose
from untrue.tools.reading.labels import abstained_text, positions
from untrue.tools.reading.tables import codes, open_table, read_table

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class NodeAudit:
    """What answers at the nodes of a hierarchy are worth.

    measures   "exact" (the true class), "coarse" (a node above it), "wrong": shares of the answers;
               "cost": mean cost by `actions`; hierarchical precision, recall and F; with intervals
    cells      a table of true classes by answers, the cells that are not 0
    columns    of the truth and of the answers
    """

    source: str
    columns: tuple[str, str]
    actions: NodeActions
    cells: AnswerCells
    measures: dict[str, Interval]
    abstained: int

    @property
    def n(self) -> int:
        return self.cells.total

    def as_dict(self) -> dict[str, Any]:
        """The numbers for other programs."""
        classes, actions = self.actions.classes, self.actions.actions
        found = zip(
            self.cells.true.tolist(),
            self.cells.action.tolist(),
            self.cells.count.tolist(),
            strict=True,
        )
        return {
            "source": self.source,
            "truth": self.columns[0],
            "predicted": self.columns[1],
            "n": self.n,
            "abstained": self.abstained,
            "measures": {name: part.as_dict() for name, part in self.measures.items()},
            "answers": [[classes[i], actions[j], count] for i, j, count in found],
        }

    def __str__(self) -> str:
        parts = [f"{name} {part.value:.4g}" for name, part in self.measures.items()]
        return f"{self.n:,} answers at nodes: {', '.join(parts)}"


def has_node_answers(
    path: Path,
    hierarchy: Hierarchy,
    *,
    truth: str | None = None,
    predicted: str | None = None,
    delimiter: str | None = None,
) -> bool:
    """Whether some answer in a file is an inner node, that is, no class."""
    file = open_table(path, delimiter=delimiter)
    columns = choose(file, hierarchy.classes, truth=truth, predicted=predicted)
    if columns.predicted is None:
        return False
    _, names = codes(read_table(file, {columns.predicted: "label"}), columns.predicted, file)
    return bool(set(names) & set(hierarchy.names) - set(hierarchy.classes))


def audit_nodes(
    path: str | Path,
    hierarchy: Hierarchy,
    *,
    cost: NodeCost = "distance",
    truth: str | None = None,
    predicted: str | None = None,
    delimiter: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> NodeAudit:
    """What the answers of a file are worth, where they are nodes of a hierarchy.

    hierarchy  of the classes; an answer is a class or an inner node, by name
    cost       of an answer under a true class, as in `Actions.from_hierarchy`
    """
    check_count("resamples", resamples, most=MOST_RESAMPLES)
    check_seed(seed)
    actions = Actions.from_hierarchy(hierarchy, cost)
    assert isinstance(actions, NodeActions)
    file = open_table(Path(path), delimiter=delimiter)
    columns = choose(file, hierarchy.classes, truth=truth, predicted=predicted)
    if columns.predicted is None:
        raise ArgumentError(
            f"{path} has no column of answers; name it with `predicted` (--predicted)."
        )
    table = read_table(file, {columns.truth: "label", columns.predicted: "label"})
    true = positions(
        *codes(table, columns.truth, file),
        hierarchy.classes,
        column=columns.truth,
        source=str(path),
    )
    given, names = codes(table, columns.predicted, file)
    # The text that means no answer is no class's name, and must be no node's either.
    silent = abstained_text(hierarchy.classes)
    answers = positions(
        given,
        [abstained_text(actions.actions) if name == silent else name for name in names],
        actions.actions,
        column=columns.predicted,
        source=str(path),
        may_abstain=True,
    )
    answered = np.flatnonzero(answers >= 0)
    if not len(answered):
        raise DataError(f"{path}: every prediction abstains; there is nothing to audit.")
    cells = answer_cells(true[answered], answers[answered], actions)
    return NodeAudit(
        str(path),
        (columns.truth, columns.predicted),
        actions,
        cells,
        _measures(cells, actions, resamples, seed),
        len(answers) - len(answered),
    )


def _measures(
    cells: AnswerCells, actions: NodeActions, resamples: int, seed: int
) -> dict[str, Interval]:
    hierarchy = actions.hierarchy
    true, answers = hierarchy.class_nodes[cells.true], actions.nodes[cells.action]
    above = hierarchy.common_ancestors(true, answers) == answers
    ones = np.ones(len(true))
    pairs: dict[str, tuple[FloatArray, FloatArray]] = {
        "exact": (_floats(true == answers), ones),
        "coarse": (_floats(above & (true != answers)), ones),
        "wrong": (_floats(~above), ones),
        "cost": (_floats(actions.cost(cells.true, cells.action)), ones),
    }
    for name, (precision, recall) in HIERARCHICAL.items():
        pairs[name] = weights.hierarchical(
            true, answers, hierarchy, precision=precision, recall=recall
        )
    counted = Cells(cells.n_classes, cells.true, cells.action, cells.count)
    drawn, _ = resampled_ratios(counted, pairs, resamples, np.random.default_rng(seed))
    return {
        name: percentile_interval(
            float(weights.ratio(cells.count @ top, cells.count @ bottom)), drawn[name], CONFIDENCE
        )
        for name, (top, bottom) in pairs.items()
    }


def _floats(values: IntArray | Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
