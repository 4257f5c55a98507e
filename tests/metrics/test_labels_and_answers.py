"""`expected_cost` of a pair of labels and answers, beside that of a table of counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from untrue import Actions, Penalty, metrics
from untrue.errors import ArgumentError, DataError


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor, tuple])
def test_a_pair_of_labels_and_answers_is_counted_and_is_no_table(kind: Any) -> None:
    table = [[0.0, 20.0, 2.0], [1.0, 0.0, 2.0]]
    actions = Actions.from_matrix(table, ["tumour", "benign"], ["tumour", "benign", "scan"])
    paid = metrics.expected_cost((kind([0, 1, 0]), kind([0, 1, 2])), actions)
    assert paid == pytest.approx(2 / 3)
    assert metrics.expected_cost((kind([0, 1]), kind([1, 1])), actions) == 10.0
    penalty = Penalty.from_matrix([[0, 7], [1, 0]])
    assert metrics.expected_cost((kind([0, 1]), kind([1, 1])), penalty) == 3.5
    assert metrics.expected_cost((kind([0, 1, 1]), kind([1, 1, 0])), penalty) == pytest.approx(
        8 / 3
    )
    each = penalty.per_example({(0, 1): [7.0, 7.0]})
    assert metrics.expected_cost((kind([0, 1]), kind([1, 1])), each) == 3.5
    assert metrics.expected_cost([[0, 1], [1, 1]], penalty) == pytest.approx(8 / 3)


def test_a_table_as_a_tuple_of_two_is_told_from_a_pair() -> None:
    penalty = Penalty.from_matrix([[0, 7], [1, 0]])
    with pytest.raises(DataError, match=r"got 8 at .* \(true, answers\); give a table .* array"):
        metrics.expected_cost(((8, 2), (1, 9)), penalty)
    with pytest.raises(ArgumentError, match=r"equally many rows.* is \(true, answers\)"):
        metrics.expected_cost(([0, 1], [1]), penalty)
    with pytest.raises(ArgumentError, match=r"untrue\.Penalty"):
        metrics.expected_cost(([0, 1], [1, 1]), np.eye(2))  # type: ignore[arg-type]
