"""What is masked in a NumPy array is missing; the numbers below the mask are never read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untrue import Hierarchy, Penalty, calibrate, control, decide, metrics
from untrue.errors import UntrueError

COSTS = Penalty.equal(2)
PROBS = np.ma.masked_array([[0.5, 0.5], [0.2, 0.8]], mask=[[0, 0], [0, 1]])
LABELS = np.ma.masked_array([0, 1], mask=[0, 1])
TREE = Hierarchy.from_groups({"pet": ["cat", "dog"]})


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: Penalty.from_matrix(PROBS), r"row 1, column 1\) is nan: costs must be finite"),
        (lambda: COSTS.per_example({(0, 1): LABELS}), "in row 1 is nan: it is missing"),
        (lambda: COSTS.cost(LABELS, 0), "Unknown class None: entry 1 is missing"),
        (lambda: TREE.height(LABELS, 0), "Unknown class None: entry 1 is missing"),
        (lambda: COSTS.expected(PROBS), "row 1 holds"),
        (lambda: decide(PROBS, COSTS), "row 1 holds"),
        (lambda: calibrate(PROBS, [0, 1]), "row 1 holds"),
        (lambda: control(PROBS, [0, 1], ["1->0 <= 5%"]), "row 1 holds"),
        (lambda: metrics.confusion_matrix(LABELS, [0, 1], 2), "row 1 is missing"),
        (lambda: metrics.ece(PROBS, [0, 1]), "row 1 holds"),
    ],
)
def test_a_masked_value_is_refused_as_missing(use: Any, message: str) -> None:
    with pytest.raises(UntrueError, match=message):
        use()


def test_an_array_without_a_mask_is_read_as_it_is() -> None:
    assert Penalty.from_matrix(np.ma.array([[0.0, 2.0], [1.0, 0.0]])).cost(0, 1) == 2.0
    assert metrics.confusion_matrix(np.ma.array([0, 1]), [0, 1], 2).trace() == 2
