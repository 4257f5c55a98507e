"""The interval of a temperature covers the true one as often as it says, and knows no bounds where
there are none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from untrue import Temperature, calibrate
from untrue.decision import temperature_interval
from untrue.errors import ArgumentError, DataError


def drawn(rng: np.random.Generator, n: int, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    logits = 3.0 * rng.normal(size=(n, 3))
    probs = Temperature(temperature)(logits)
    return logits, (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=2)


@pytest.mark.parametrize("n", [30, 300])
def test_it_covers_the_true_temperature_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(0)
    inside, widths = 0, []
    for _ in range(300):
        low, high = temperature_interval(*drawn(rng, n, 2.0))
        inside += low <= 2.0 <= high
        widths.append(math.log(high / low))
    # Binomial with 300 trials at 0.95: 265 to 300 but once in a million.
    assert 270 <= inside <= 298
    assert np.median(widths) == pytest.approx({30: 1.2, 300: 0.36}[n], rel=0.25)


def test_it_holds_the_best_temperature_and_widens_with_confidence() -> None:
    logits, target = drawn(np.random.default_rng(1), 80, 0.7)
    found = calibrate(logits, target).temperature
    last = (found, found)
    for confidence in (0.5, 0.9, 0.99):
        low, high = temperature_interval(logits, target, confidence=confidence)
        assert low < last[0] <= found <= last[1] < high
        last = low, high
    # The logits' own scale carries over.
    np.testing.assert_allclose(
        temperature_interval(1e6 * logits, target, confidence=0.99), 1e6 * np.array(last), rtol=1e-6
    )


def test_right_answers_alone_leave_it_open_below_and_chance_above() -> None:
    logits = np.eye(3)[np.arange(30) % 3] * 4.0
    low, high = temperature_interval(logits, np.arange(30) % 3)
    assert low == 0.0
    assert 0 < high < 4
    more = temperature_interval(np.tile(logits, (9, 1)), np.tile(np.arange(30) % 3, 9))
    assert more[1] < high
    rng = np.random.default_rng(0)
    assert temperature_interval(rng.normal(size=(40, 3)), rng.integers(3, size=40))[1] == math.inf
    assert temperature_interval(np.zeros((4, 2)), [0, 1, 0, 1]) == (0.0, math.inf)


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(
        ArgumentError, match="`confidence` must lie strictly between 0 and 1; got 1"
    ):
        temperature_interval([[0.0, 1.0]], [0], confidence=1)
    with pytest.raises(DataError, match="must hold at least one example"):
        temperature_interval(np.zeros((0, 2)), np.zeros(0, dtype=int))
