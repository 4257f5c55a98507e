"""Means, intervals and paired differences against textbook numbers and scipy's own."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from untrue.metrics.intervals import mean_interval, paired_interval


def test_the_textbook_case() -> None:
    found = mean_interval([1.0, 2.0, 3.0])
    assert found is not None
    assert found.value == 2.0
    # t(2) at 97.5 % is 4.303; s = 1.
    assert found.high - 2.0 == pytest.approx(4.303 / math.sqrt(3), abs=1e-3)
    assert found.low == pytest.approx(4.0 - found.high)


@pytest.mark.parametrize("n", [2, 3, 10, 50])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_as_scipy_computes_it(n: int, confidence: float) -> None:
    values = [math.sin(i) * 5 + i for i in range(n)]
    found = mean_interval(values, confidence)
    low, high = stats.t.interval(confidence, n - 1, loc=sum(values) / n, scale=stats.sem(values))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    one = mean_interval([4.0])
    assert one is not None
    assert one.value == 4.0
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    assert mean_interval([]) is None
    assert mean_interval([math.nan]) is None


def test_a_share_of_no_errors_is_left_out() -> None:
    found = mean_interval([1.0, math.nan, 3.0])
    assert found is not None
    assert found.value == 2.0


def test_differences_are_taken_within_a_repetition() -> None:
    before = {0: 10.0, 1: 100.0, 2: 1000.0}
    after = {1: 98.0, 0: 8.0, 7: 0.0}
    found = paired_interval(after, before)
    assert found is not None
    # Repetitions differ wildly, the effect does not: pairing takes the spread away.
    assert (found.value, found.low, found.high) == (-2.0, -2.0, -2.0)
    assert paired_interval({5: 1.0}, before) is None
