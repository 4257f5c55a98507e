"""True and False are classes of that name, or the first two."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import Penalty, metrics


def test_true_and_false_are_the_classes_that_are_called_so() -> None:
    costs = Penalty.from_rules(["True", "False"], {("True", "False"): 30.0})
    true, answers = np.array([True, True, False]), np.array([False, True, True])
    assert metrics.expected_cost((true, answers), costs) == pytest.approx(31 / 3)
    assert metrics.example_costs(true, answers, costs).tolist() == [30.0, 0.0, 1.0]
    # Of classes with other names they are the first and the second.
    other = Penalty.from_rules(["fine", "fraud"], {("fraud", "fine"): 30.0})
    assert metrics.example_costs(true, answers, other).tolist() == [30.0, 0.0, 1.0]
