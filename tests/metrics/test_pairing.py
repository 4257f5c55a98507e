"""Paired changes agree with plain loops and with resampling the examples themselves."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import Penalty
from untrue.metrics.pairing import STEPS, paired_change


def example(k: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = rng.integers(k, size=n)
    before = np.where(rng.random(n) < 0.7, true, rng.integers(k, size=n))
    after = np.where(rng.random(n) < 0.7, before, rng.integers(k, size=n))
    return true, before, after


def test_the_values_are_those_of_a_loop() -> None:
    true, before, after = example(4, 300)
    penalty = Penalty.from_ordinal(4, power=2.0)
    found = paired_change(true, before, after, penalty, above=1.0)
    right = cost = costly = changed = 0.0
    for t, b, a in zip(true.tolist(), before.tolist(), after.tolist(), strict=True):
        changed += b != a
        right += (a == t) - (b == t)
        cost += penalty.cost(t, a) - penalty.cost(t, b)
        costly += (penalty.cost(t, a) > 1.0) - (penalty.cost(t, b) > 1.0)
    assert (found.n, found.changed) == (300, changed)
    assert found.accuracy.value == pytest.approx(right / 300)
    assert found.expected_cost.value == pytest.approx(cost / 300)
    assert found.zone_errors.value == pytest.approx(costly)


@pytest.mark.parametrize("real_valued", [False, True])
def test_the_intervals_are_those_of_resampled_examples(real_valued: bool) -> None:
    k, n = (60, 4000) if real_valued else (4, 300)
    true, before, after = example(k, n)
    rng = np.random.default_rng(5)
    matrix = rng.gamma(2.0, size=(k, k)) if real_valued else np.ones((k, k)) + np.eye(k)[::-1]
    np.fill_diagonal(matrix, 0.0)
    penalty = Penalty.from_matrix(matrix)
    found = paired_change(true, before, after, penalty, above=1.0, resamples=4000)
    difference = matrix[true, after] - matrix[true, before]
    if real_valued:
        assert len(np.unique(difference)) > STEPS
    drawn = [difference[rng.integers(n, size=n)].mean() for _ in range(4000)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    width = high - low
    assert found.expected_cost.value == pytest.approx(difference.mean())
    assert found.expected_cost.low == pytest.approx(low, abs=0.06 * width)
    assert found.expected_cost.high == pytest.approx(high, abs=0.06 * width)


def test_abstentions_are_left_out() -> None:
    true, before, after = example(3, 100)
    before[:10], after[10:30] = -1, -1
    penalty = Penalty.from_rules(3, {})
    found = paired_change(true, before, after, penalty, above=0.0)
    kept = paired_change(true[30:], before[30:], after[30:], penalty, above=0.0)
    assert found == kept
    assert found.n == 70


def test_nothing_changed_is_no_change() -> None:
    true, before, _ = example(3, 50)
    found = paired_change(true, before, before, Penalty.from_rules(3, {}), above=0.0)
    assert found.changed == 0
    assert (found.accuracy.low, found.accuracy.high) == (0.0, 0.0)
