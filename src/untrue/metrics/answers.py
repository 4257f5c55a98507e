"""Counting answers that need not be classes: classes by actions, as a table or as its cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from untrue.array_types import ArrayOrTensor, FloatArray, IntArray
from untrue.errors import ArgumentError
from untrue.metrics.confusion import Abstained, read_answered, read_counts
from untrue.metrics.inputs import to_numpy
from untrue.penalty import Actions
from untrue.penalty.node_actions import NodeActions

AnswersLike: TypeAlias = "ArrayOrTensor | AnswerCells"


@dataclass(frozen=True, slots=True, eq=False)
class AnswerCells:
    """The cells of a table of classes by actions that are not zero.

    `count[i]` examples of class `true[i]` were answered by action `action[i]`. A table of 10,000
    classes and their hierarchy's nodes would take 900 MB.
    """

    n_classes: int
    n_actions: int
    true: IntArray
    action: IntArray
    count: IntArray

    @property
    def total(self) -> int:
        """The number of examples."""
        return int(self.count.sum())


def answer_table(
    true: ArrayOrTensor,
    answers: ArrayOrTensor,
    actions: Actions,
    *,
    abstained: Abstained = "error",
) -> IntArray:
    """Counts of shape (k, m): `table[i, j]` examples of class i were answered by action j.

    `answers` are indices of actions (N,), as `untrue.decide(probs, actions)` gives them; -1 as in
    `confusion_matrix`.

    >>> table = [[0.0, 20.0, 2.0], [1.0, 0.0, 2.0]]
    >>> scan = Actions.from_matrix(table, ["tumour", "benign"], ["tumour", "benign", "scan"])
    >>> answer_table([0, 0, 1], [0, 2, 1], scan).tolist()
    [[1, 0, 1], [0, 1, 0]]
    """
    cells = answer_cells(true, answers, actions, abstained=abstained)
    table = np.zeros((cells.n_classes, cells.n_actions), dtype=np.int64)
    table[cells.true, cells.action] = cells.count
    return table


def answer_cells(
    true: ArrayOrTensor,
    answers: ArrayOrTensor,
    actions: Actions,
    *,
    abstained: Abstained = "error",
) -> AnswerCells:
    """The same counts as `answer_table`, as `AnswerCells`: for when k x m is too much."""
    check_actions(actions)
    k, m = actions.n_classes, actions.n_actions
    labels, given = read_answered(true, answers, k, m, abstained, None, "answers")
    code, count = np.unique(labels.astype(np.int64) * m + given, return_counts=True)
    return AnswerCells(k, m, code // m, code % m, count.astype(np.int64))


def read_answers(table: AnswersLike, actions: Actions) -> AnswerCells:
    """The cells of a table of classes by actions, checked against the actions."""
    check_actions(actions)
    wanted = (actions.n_classes, actions.n_actions)
    if isinstance(table, AnswerCells):
        if (table.n_classes, table.n_actions) == wanted:
            return table
        shape: tuple[int, ...] = (table.n_classes, table.n_actions)
    else:
        counts = to_numpy(table, "table")
        if counts.shape == wanted:
            return AnswerCells(*wanted, *read_counts(counts, "table"))
        shape = counts.shape
    raise ArgumentError(
        f"The table must have shape {wanted}, classes by actions; got {shape}. "
        "`metrics.answer_table(true, answers, actions)` makes it."
    )


def check_actions(actions: Any) -> None:
    if not isinstance(actions, Actions):
        raise ArgumentError(
            f"`actions` must be untrue.Actions; got {type(actions).__name__}. "
            "Actions.from_matrix and Actions.from_hierarchy make them."
        )


def answer_costs(cells: AnswerCells, actions: Actions) -> FloatArray:
    """What one example of each cell costs."""
    return np.asarray(actions.cost(cells.true, cells.action), dtype=np.float64)


def answer_nodes(cells: AnswerCells, actions: Actions) -> tuple[IntArray, IntArray]:
    """The nodes of the true classes and of the answers, where actions are nodes of a hierarchy."""
    if not isinstance(actions, NodeActions):
        raise ArgumentError(
            "Hierarchical measures are about answers that are nodes of a hierarchy "
            "(Actions.from_hierarchy); these actions are a table."
        )
    return actions.hierarchy.class_nodes[cells.true], actions.nodes[cells.action]
