"""Hierarchical precision, recall and F: how much of the way from the root is right.

(Kiritchenko, Matwin, Nock, Famili, 2006.) A class, or a node that is answered, stands for itself
and its ancestors, the root excepted. `cm` is a confusion matrix, with the `Hierarchy` of its
classes, or a table of classes by nodes (`answer_table`), with the `Actions` that are its nodes.
"""

from __future__ import annotations

from typing import Any

from untrue.checks import check_number
from untrue.hierarchy import Hierarchy
from untrue.metrics import weights
from untrue.metrics.answers import AnswersLike, answer_nodes, read_answers
from untrue.metrics.confusion import ConfusionLike, read_confusion
from untrue.metrics.inputs import check_hierarchy
from untrue.penalty import Actions


def hierarchical_precision(
    cm: ConfusionLike | AnswersLike, hierarchy: Hierarchy | Actions
) -> float:
    """Of the nodes above and at the answers, the share that is right.

    `sum of n[i, j] |above i and above j| / sum of n[i, j] |above j|`. A coarse answer that is right
    is precise.

    >>> tree = Hierarchy.from_groups({"pet": ["cat", "dog"], "fish": ["pike"]})
    >>> hierarchical_precision([[8, 2, 0], [0, 10, 0], [0, 0, 10]], tree)  # 2 cats called dogs
    0.9666666666666667
    """
    return _share(cm, hierarchy, precision=1.0, recall=0.0)


def hierarchical_recall(cm: ConfusionLike | AnswersLike, hierarchy: Hierarchy | Actions) -> float:
    """Of the nodes above and at the true classes, the share that is answered."""
    return _share(cm, hierarchy, precision=0.0, recall=1.0)


def hierarchical_f(
    cm: ConfusionLike | AnswersLike, hierarchy: Hierarchy | Actions, beta: float = 1.0
) -> float:
    """`(1 + beta^2) P R / (beta^2 P + R)` of hierarchical precision P and recall R."""
    number = check_number("beta", beta, 0.0)
    share = 1.0 / (1.0 + number * number)
    return _share(cm, hierarchy, precision=share, recall=1.0 - share)


def _share(cm: Any, hierarchy: Hierarchy | Actions, *, precision: float, recall: float) -> float:
    if isinstance(hierarchy, Actions):
        answers = read_answers(cm, hierarchy)
        true, answer = answer_nodes(answers, hierarchy)
        count, nodes = answers.count, hierarchy.hierarchy  # type: ignore[attr-defined]
    else:
        cells = read_confusion(cm)
        check_hierarchy(hierarchy, cells.n_classes)
        true, answer = hierarchy.class_nodes[cells.true], hierarchy.class_nodes[cells.predicted]
        count, nodes = cells.count, hierarchy
    top, bottom = weights.hierarchical(true, answer, nodes, precision=precision, recall=recall)
    return float(weights.ratio(count @ top, count @ bottom))
