"""Measures and posteriors under costs of each example: those of each example, taken together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from untrue import Penalty, metrics, posterior
from untrue.decision.posteriors import FEW_CLASSES
from untrue.errors import ArgumentError
from untrue.metrics.pairing import paired_change


def drawn(n: int = 400, k: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(k, size=n), rng.integers(k, size=n), rng.exponential(10.0, n)


def test_a_summary_counts_what_each_example_paid() -> None:
    true, predicted, amounts = drawn()
    each = Penalty.from_ordinal(["a", "b", "c"]).per_example({("a", "b"): amounts})
    found = metrics.summary(
        metrics.example_cells(true, predicted, 3), penalty=each, resamples=2000, seed=1
    )
    paid = each.costs(true, predicted)
    assert found.expected_cost == pytest.approx(paid.mean())
    assert found.total_error == pytest.approx((true != predicted).mean())
    costliest = {(row.true, row.predicted): row for row in found.costliest or ()}
    inside = (true == 0) & (predicted == 1)
    assert costliest["a", "b"].count == inside.sum()
    assert costliest["a", "b"].cost == pytest.approx(amounts[inside].sum())
    constant = min(each.rows(true)[:, j].mean() for j in range(3))
    assert found.adjusted_expected_cost == pytest.approx(paid.mean() / constant)
    # The interval knows how costs spread inside a cell: that of the mean costs is narrower.
    interval = found.intervals["expected_cost"]
    spread = paid.std() / np.sqrt(len(paid))
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_a_summary_refuses_counts_under_costs_of_each_example() -> None:
    true, predicted, amounts = drawn()
    each = Penalty.from_ordinal(3).per_example({(0, 1): amounts})
    with pytest.raises(ArgumentError, match="example_cells"):
        metrics.summary(metrics.confusion_cells(true, predicted, 3), penalty=each)


def test_a_paired_change_counts_what_each_example_paid() -> None:
    true, before, amounts = drawn()
    after = np.random.default_rng(1).integers(3, size=len(true))
    each = Penalty.from_ordinal(3).per_example({(0, 1): amounts})
    change = paired_change(true, before, after, each, above=1.0, resamples=2000)
    paid = each.costs(true, after) - each.costs(true, before)
    assert change.expected_cost.value == pytest.approx(paid.mean())
    width = change.expected_cost.high - change.expected_cost.low
    assert width == pytest.approx(2 * 1.96 * paid.std() / np.sqrt(len(paid)), rel=0.1)


def test_the_costliest_kinds_of_error_are_named_once() -> None:
    cells = metrics.example_cells([0, 0, 1, 0], [1, 1, 0, 2], 3)
    each = Penalty.equal(3).per_example({(0, 1): [7.0, 8.0, 9.0, 9.0]})
    rows = [tuple(row) for row in metrics.costliest_confusions(cells, each)]
    assert rows == [("0", "1", 2, 15.0), ("0", "2", 1, 1.0), ("1", "0", 1, 1.0)]
    rows = [tuple(row) for row in metrics.costliest_confusions(cells, Penalty.equal(3))]
    assert rows == [("0", "1", 2, 2.0), ("0", "2", 1, 1.0), ("1", "0", 1, 1.0)]


@pytest.mark.parametrize("k", [3, FEW_CLASSES + 2])
@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
def test_a_posterior_goes_by_the_costs_of_its_own_row(k: int, loss: str) -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(k), 5)
    amounts = rng.uniform(0, 1.5, 5)
    each = Penalty.from_rules(list(map(str, range(k))), {}, default=0.5).per_example(
        {(0, "*"): amounts}
    )
    together = posterior(probs, each, 0.3, loss)  # type: ignore[arg-type, call-overload]
    for n in range(5):
        alone = posterior(probs[n : n + 1], each.penalty(n), 0.3, loss)  # type: ignore[arg-type, call-overload]
        np.testing.assert_allclose(together[n], alone[0], atol=1e-8)
    with pytest.raises(ArgumentError, match="5 examples"):
        posterior(probs[:3], each, 0.3)


@pytest.mark.parametrize("price", [-1.0, math.nan, math.inf, "much", [1.0, 2.0]])
def test_the_price_of_no_answer_is_a_number(price: Any) -> None:
    costs = Penalty.equal(["fraud", "fine"])
    with pytest.raises(ArgumentError, match="`abstain_cost` must be"):
        metrics.example_costs([0, 1], [0, -1], costs, abstain_cost=price)
