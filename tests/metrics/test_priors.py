"""Costs and decisions where classes are not as frequent as in the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from untrue import Penalty, decide, metrics
from untrue.errors import ArgumentError, DataError

NAMES = ["healthy", "mild", "severe"]
COSTS = Penalty.from_rules(NAMES, {("severe", "healthy"): 20.0, ("mild", "healthy"): 3.0})
CM = np.array([[80, 15, 5], [4, 30, 6], [1, 2, 7]])


def test_expected_cost_under_priors_is_that_of_data_with_these_shares() -> None:
    shares = np.array([0.7, 0.2, 0.1])
    rates = CM / CM.sum(axis=1, keepdims=True)
    expected = (shares[:, None] * rates * COSTS.matrix()).sum()
    assert metrics.expected_cost(CM, COSTS, priors=shares) == pytest.approx(expected)
    by_name = dict(zip(NAMES[::-1], (shares * 1000)[::-1].tolist(), strict=True))
    assert metrics.expected_cost(CM, COSTS, priors=by_name) == pytest.approx(expected)
    constant = (shares @ COSTS.matrix()).min()
    found = metrics.adjusted_expected_cost(CM, COSTS, priors=shares)
    assert found == pytest.approx(expected / constant)


def test_the_datas_own_priors_change_nothing() -> None:
    own = CM.sum(axis=1)
    assert metrics.expected_cost(CM, COSTS, priors=own) == pytest.approx(
        metrics.expected_cost(CM, COSTS)
    )
    assert metrics.adjusted_expected_cost(CM, COSTS, priors=own) == pytest.approx(
        metrics.adjusted_expected_cost(CM, COSTS)
    )


def test_a_class_that_is_expected_but_was_not_seen_gives_nan() -> None:
    unseen = np.array([[8, 2, 0], [1, 9, 0], [0, 0, 0]])
    assert np.isnan(metrics.expected_cost(unseen, COSTS, priors=[1, 1, 1]))
    assert np.isfinite(metrics.expected_cost(unseen, COSTS, priors=[1, 1, 0]))


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_decisions_under_priors_are_those_of_a_model_of_such_data(kind: Any) -> None:
    """Two Gaussian classes: the posterior under each prior is known."""
    x = np.linspace(-3, 3, 41)
    costs = Penalty.from_rules(2, {(0, 1): 4.0})

    def posterior(prior: float) -> Any:
        odds = prior / (1 - prior) * np.exp(2 * x)  # means -1 and 1
        return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)

    found = decide(kind(posterior(0.5)), costs, priors=[0.9, 0.1], data_priors=[0.5, 0.5])
    expected = decide(posterior(0.1), costs)
    assert found.tolist() == expected.tolist()
    assert expected.tolist() != decide(posterior(0.5), costs).tolist()
    abstained = decide(
        kind(posterior(0.5)), costs, 0.05, priors={"0": 9, "1": 1}, data_priors=[1, 1]
    )
    assert abstained.tolist() == decide(posterior(0.1), costs, 0.05).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priors": [1, 1]}, r"`priors`, the shares .* go together; got only one"),
        ({"data_priors": [1, 1]}, "go together; got only one"),
        ({"priors": [1, 1], "data_priors": [0, 1]}, "gives class '0' no share, so nothing was"),
        ({"priors": [1, -1], "data_priors": [1, 1]}, "not negative; class '1' has -1"),
        ({"priors": [0, 0], "data_priors": [1, 1]}, "`priors` must not all be 0"),
        ({"priors": [1, 1, 1], "data_priors": [1, 1]}, "`priors` must be 2 numbers, the share"),
        ({"priors": {"0": 1}, "data_priors": [1, 1]}, "must name every class; it has no '1'"),
        ({"priors": {"0": 1, "2": 1}, "data_priors": [1, 1]}, "names an unknown class '2'"),
    ],
)
def test_bad_priors_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        decide([[0.5, 0.5]], Penalty.from_rules(2, {}), **options)


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_a_row_that_the_priors_rule_out_is_named(kind: Any) -> None:
    probs = kind([[0.5, 0.5], [0.0, 1.0]])
    with pytest.raises(DataError, match="gives no share to any class that is possible in row 1 of"):
        decide(probs, Penalty.from_rules(2, {}), priors=[1, 0], data_priors=[1, 1])
