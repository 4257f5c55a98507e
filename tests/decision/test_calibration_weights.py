"""Weights of examples in a temperature calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import untrue


def test_calibration_counts_an_example_of_weight_2_as_two() -> None:
    rng = np.random.default_rng(7)
    logits, target = rng.normal(size=(60, 4)) * 3, rng.integers(4, size=60)
    target[:40] = logits[:40].argmax(1)
    times = rng.integers(0, 4, size=60)
    repeated = untrue.calibrate(logits.repeat(times, axis=0), target.repeat(times))
    assert untrue.calibrate(logits, target, times).temperature == pytest.approx(
        repeated.temperature
    )
    assert untrue.calibrate(logits, target).temperature != pytest.approx(repeated.temperature)
    # All right: how sure to be follows from how many there are.
    sure = untrue.calibrate(logits[:40].repeat(3, axis=0), target[:40].repeat(3))
    weighted = untrue.calibrate(logits[:40], target[:40], np.full(40, 3.0))
    assert weighted.temperature == pytest.approx(sure.temperature)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], "equally many rows; got 2 in `logits`, 1 in `weight`"),
        ([[1.0, 1.0]], r"`weight` must have one entry for each example, in shape \(2,\); got"),
        ([1.0, -1.0], "not negative; row 1 has -1.0"),
        ([0.0, 0.0], "all weights are 0"),
    ],
)
def test_weights_of_a_calibration_are_checked(weight: list[Any], message: str) -> None:
    with pytest.raises(untrue.UntrueError, match=message):
        untrue.calibrate([[1.0, 0.0], [0.0, 1.0]], [0, 1], weight)
