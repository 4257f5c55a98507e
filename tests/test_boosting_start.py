"""The scores that boosting starts from: those of least loss by the class frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import untrue
from untrue import Penalty, boosting
from untrue.errors import ArgumentError, DataError

LOSSES = ["bilinear", "log-bilinear"]
ZONE = Penalty.random_zone(10, 20, seed=1)


@pytest.mark.parametrize("loss", LOSSES)
def test_before_the_first_tree_the_posterior_is_the_class_frequencies(loss: Any) -> None:
    labels = np.repeat([0, 1, 2], [5, 3, 2])
    costs = np.array([[0.0, 1.0, 1.0], [20.0, 0.0, 2.0], [1.0, 5.0, 0.0]])
    start = boosting.start_scores(costs, labels, loss, 0.5)
    behind = untrue.posterior(boosting.probs([start]), Penalty.from_matrix(costs), 0.5, loss)
    np.testing.assert_allclose(behind, [[0.5, 0.3, 0.2]], atol=1e-6)
    plain = boosting.start_scores(costs, labels, loss, 0.0)
    np.testing.assert_allclose(np.exp(plain), [0.5, 0.3, 0.2])


@pytest.mark.parametrize("loss", LOSSES)
def test_an_example_of_weight_two_starts_boosting_as_two_examples(loss: Any) -> None:
    labels, weight = np.array([0, 1, 1, 2]), np.array([1, 2, 1, 3])
    amounts = np.array([4.0, 2.0, 9.0, 5.0])
    costs = Penalty.from_ordinal(3)
    each = costs.per_example({(1, 2): amounts, (2, 0): amounts})
    rows = np.repeat(np.arange(4), weight)
    for penalty, repeated in ((costs, costs), (each, each.take(rows))):
        weighted = boosting.start_scores(penalty, labels, loss, weight=weight)
        twice = boosting.start_scores(repeated, labels[rows], loss)
        np.testing.assert_allclose(weighted, twice, atol=1e-6)
        # Only how much the weights differ counts.
        halved = boosting.start_scores(penalty, labels, loss, weight=weight / 2)
        np.testing.assert_allclose(halved, weighted, atol=1e-6)


def test_start_scores_of_what_is_no_class_are_refused() -> None:
    with pytest.raises(DataError, match=r"Labels must be the integers 0..9.* row 1 has 12"):
        boosting.start_scores(ZONE, [3, 12])
    with pytest.raises(DataError, match=r"Labels must be the integers 0..9.* row 1 has nan"):
        boosting.start_scores(ZONE, [3, np.nan])
    with pytest.raises(ArgumentError, match=r"integers 0..9.* got dtype <U1. Give each label"):
        boosting.start_scores(ZONE, ["a", "b"])


@pytest.mark.parametrize(
    ("target", "weight", "error", "message"),
    [
        ([0, 1], [1.0], ArgumentError, "equally many rows; got 2 in `target`, 1 in `weight`"),
        (
            [0, 1],
            [1.0, -0.5],
            DataError,
            "finite and not negative; row 1 has -0.5",
        ),
        ([0, 1], [0.0, 0.0], DataError, "one of a `weight` above 0"),
        ([], None, DataError, "There must be at least one example"),
    ],
)
def test_weights_that_start_nothing_are_refused(
    target: Any, weight: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        boosting.start_scores(ZONE, target, weight=weight)
