"""A matrix of costs is checked cell by cell on the way in."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from untrue.errors import PenaltyError
from untrue.penalty import DensePenalty

NAMES = ("cat", "dog", "owl")
GOOD = [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]]


def spoilt(i: int, j: int, cost: float) -> Any:
    matrix = np.array(GOOD)
    matrix[i, j] = cost
    return matrix


@pytest.mark.parametrize(
    "matrix",
    [
        GOOD,
        tuple(map(tuple, GOOD)),
        np.array(GOOD),
        np.array(GOOD, dtype=np.float32, order="F"),
        np.array(GOOD, dtype=np.uint8),
        np.array(GOOD, dtype=object),
        [[Decimal(cost) for cost in row] for row in GOOD],
        torch.tensor(GOOD),
        torch.tensor(GOOD, dtype=torch.bfloat16, requires_grad=True),
    ],
    ids=["lists", "tuples", "array", "float32", "uint8", "objects", "decimals", "tensor", "half"],
)
def test_numbers_of_any_type_are_taken(matrix: Any) -> None:
    p = DensePenalty(NAMES, matrix)
    assert p.matrix().tolist() == GOOD
    assert p.matrix().dtype == np.float64
    assert p == DensePenalty(NAMES, np.array(GOOD))


def test_booleans_are_a_zone() -> None:
    mask = np.array(GOOD) > 2
    assert DensePenalty(NAMES, mask).matrix().tolist() == mask.astype(float).tolist()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            spoilt(1, 2, -0.5),
            r"Cost of predicting 'owl' for 'dog' \(row 1, column 2\) is -0\.5: .* not be negative",
        ),
        (spoilt(2, 0, np.nan), r"predicting 'cat' for 'owl' \(row 2, column 0\) is nan: .* finite"),
        (spoilt(0, 1, np.inf), r"predicting 'dog' for 'cat' \(row 0, column 1\) is inf: .* finite"),
        (spoilt(0, 1, -np.inf), r"\(row 0, column 1\) is -inf: .* finite"),
        (
            spoilt(1, 1, 2.0),
            r"predicting 'dog' for 'dog' \(row 1, column 1\) is 2\.0: the diagonal",
        ),
        (GOOD[:2], r"matrix has shape \(2, 3\), but 3 classes are named"),
        ([[0.0, 1.0], [1.0, 0.0]], r"matrix has shape \(2, 2\), but 3 classes are named"),
        ([0.0, 1.0, 2.0], r"matrix has shape \(3,\), but 3 classes are named"),
        ([[0, 1, 2], [3, 0], [5, 6, 0]], "table of numbers: its rows differ in length"),
        (pd.DataFrame(GOOD, dtype="Int64").replace(6, pd.NA), "real numbers; row 2 holds <NA>"),
        ([["0", "1", "2"]] * 3, "must hold real numbers; got <U1"),
        (np.array([["0", 1, 2]] * 3, dtype=object), "must hold real numbers; got object"),
        ([[0, 1j, 2]] * 3, "must hold real numbers; got complex128"),
        (np.zeros((3, 3), dtype="m8[s]"), r"must hold real numbers; got timedelta64\[s\]"),
        ([[0, 10**400, 2]] * 3, "table of numbers: .* too large"),
        ([[0, {}, 2]] * 3, "must hold real numbers; row 0 holds {}"),
        ([[0, None, 2], [3, 0, 4], [5, 6, 0]], r"predicting 'dog' for 'cat' .* is nan"),
    ],
)
def test_what_is_no_penalty_is_refused(matrix: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        DensePenalty(NAMES, matrix)


def test_its_matrix_is_itself_and_read_only() -> None:
    p = DensePenalty(NAMES, np.array(GOOD))
    assert p.matrix() is p.matrix()
    with pytest.raises(ValueError, match="read-only"):
        p.matrix()[0, 1] = 9.0


def test_the_greatest_cost_becomes_exactly_one() -> None:
    for greatest in (49.0, 1e30, 1e-300, 0.1, 3.0):
        p = DensePenalty(NAMES, np.array(GOOD) / 6.0 * greatest)
        assert p.normalized("max").greatest == 1.0
