"""Temperatures: found on held-out data, finite whatever the data are."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import Penalty, Temperature, calibrate, decide, metrics
from untrue.decision import calibration
from untrue.errors import ArgumentError, DataError, UntrueWarning
from untrue.metrics import inputs


def sample(n: int, k: int, temperature: float, seed: int = 0) -> tuple[Any, Any]:
    """Logits that are right when divided by `temperature`, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((n, k))
    noise = rng.gumbel(size=(n, k))
    return temperature * logits, (logits + noise).argmax(axis=1)


def loss(logits: Any, target: Any, temperature: float) -> float:
    return float(
        torch.nn.functional.cross_entropy(
            torch.as_tensor(logits, dtype=torch.float64) / temperature, torch.as_tensor(target)
        )
    )


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e6, 1e300])
@pytest.mark.parametrize("truth", [0.2, 1.0, 8.0])
def test_it_finds_the_temperature_that_made_the_data_at_any_scale(
    scale: float, truth: float
) -> None:
    logits, target = sample(4000, 7, truth)
    found = calibrate(logits * scale, target).temperature
    assert found / scale == pytest.approx(truth, rel=0.05)


def test_no_other_temperature_makes_the_data_likelier() -> None:
    logits, target = sample(300, 5, 3.0)
    best = calibrate(logits, target).temperature
    for factor in (0.9, 0.999, 1.001, 1.1):
        assert loss(logits, target, best * factor) > loss(logits, target, best)
    t = torch.tensor(best, dtype=torch.float64, requires_grad=True)
    torch.nn.functional.cross_entropy(torch.tensor(logits) / t, torch.tensor(target)).backward()  # type: ignore[no-untyped-call]
    assert abs(float(t.grad or 0)) < 1e-9


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::untrue.errors.UntrueWarning")
def test_any_data_give_a_finite_temperature_no_worse_than_none(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.integers(-3, 4, size=(n, k)).astype(float)
    target = rng.integers(k, size=n)
    found = calibrate(logits, target).temperature
    assert 0 < found < 1e5
    right = logits.max(axis=1) == logits[np.arange(n), target]
    if not right.all():
        assert loss(logits, target, found) <= loss(logits, target, 1.0) + 1e-6


def test_calibration_mends_the_calibration_error() -> None:
    logits, target = sample(5000, 10, 5.0)
    raw = Temperature(1.0)(logits)
    assert metrics.ece(raw, target) > 0.2
    assert metrics.ece(calibrate(logits[:2500], target[:2500])(logits), target) < 0.03


def test_data_without_errors_leave_room_for_some() -> None:
    n = 98
    logits = np.tile([3.0, 0.0, -1.0], (n, 1))
    found = calibrate(logits, np.zeros(n, int))
    assert found(logits)[0, 0] == pytest.approx(99 / 100)
    assert calibrate(1000 * logits, np.zeros(n, int)).temperature == pytest.approx(
        1000 * found.temperature
    )
    tied = np.tile([3.0, 3.0, 0.0], (n, 1))
    assert 0.1 < calibrate(tied, np.zeros(n, int)).temperature < 10
    assert 0.1 < calibrate([[3.0, 0.0]], [0]).temperature < 10
    assert 0.1 < calibrate([[3.0, 3.0, 0.0]], [0]).temperature < 10


@pytest.mark.parametrize("root", [1e-9, 0.3, 1.0, 7e5])
@pytest.mark.parametrize(
    "shape", [lambda x: x**6 - 1, lambda x: 1 - x**-6, lambda x: -math.expm1(1 - x**3)]
)
def test_a_root_is_found_in_few_looks(root: float, shape: Any) -> None:
    looks = []

    def increasing(b: float) -> float:
        looks.append(b)
        return float(shape(b / root))

    assert calibration._root(increasing, root * 3000) == pytest.approx(root, rel=1e-12)
    assert len(looks) < 40


def test_data_that_contradict_the_logits_become_all_but_uniform_with_a_warning() -> None:
    logits = np.array([[2.0, 0.0], [0.0, 2.0]])
    with pytest.warns(UntrueWarning, match="say no more about the true classes than chance"):
        found = calibrate(logits, [1, 0])
    assert found.temperature == 2000
    assert found(logits) == pytest.approx(0.5, abs=1e-3)


def test_constant_logits_have_temperature_one() -> None:
    assert calibrate([[2.0, 2.0], [0.0, 0.0]], [0, 1]) == Temperature(1.0)
    assert calibrate([[2.0]], [0]) == Temperature(1.0)


def test_a_class_masked_by_a_huge_negative_logit_does_no_harm() -> None:
    logits, target = sample(2000, 4, 2.0)
    masked = np.concatenate([logits, np.full((2000, 1), -1e9)], axis=1)
    assert calibrate(masked, target).temperature == pytest.approx(
        calibrate(logits, target).temperature, rel=1e-6
    )


def test_arrays_and_tensors_are_calibrated_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, target = sample(500, 6, 2.0)
    expected = calibrate(logits, target)
    tensor = torch.tensor(logits, requires_grad=True)
    assert calibrate(tensor, torch.tensor(target)) == expected
    half = calibrate(tensor.bfloat16(), torch.tensor(target)).temperature
    assert half == pytest.approx(expected.temperature, rel=0.01)
    assert calibrate(logits.astype("float16"), target).temperature == pytest.approx(half, rel=0.01)
    monkeypatch.setattr(inputs, "BLOCK_VALUES", 100)
    assert calibrate(logits, target).temperature == pytest.approx(expected.temperature, rel=1e-9)


def test_a_temperature_turns_logits_of_either_kind_into_probabilities() -> None:
    logits, _ = sample(20, 6, 1.0)
    warm = Temperature(2.5)
    array = warm(logits)
    assert array == pytest.approx(torch.softmax(torch.tensor(logits) / 2.5, -1).numpy())
    tensor = warm(torch.tensor(logits, requires_grad=True))
    assert tensor.detach().numpy() == pytest.approx(array)
    assert tensor.requires_grad
    assert warm(logits[0]) == pytest.approx(array[0])
    assert warm(logits.reshape(4, 5, 6)) == pytest.approx(array.reshape(4, 5, 6))
    assert warm(logits.astype("float32")).dtype == np.float32
    assert warm(logits.astype("float16")).dtype == np.float32
    assert warm(torch.tensor(logits).bfloat16()).dtype == torch.float32
    assert decide(array, Penalty.from_rules(6, {})).tolist() == logits.argmax(axis=1).tolist()


def test_extreme_logits_give_no_nan() -> None:
    logits = np.array([[1e308, 0.0, 1e308], [-1e4, 1e4, 0.0]])
    expected = [[0.5, 0, 0.5], [0, 1, 0]]
    assert Temperature(1e-3)(logits).tolist() == expected
    assert Temperature(1e-3)(torch.tensor(logits)).tolist() == expected
    narrow = torch.tensor([[3e38, 0.0, 3e38]])
    assert Temperature(1e-3)(narrow).tolist() == [[0.5, 0, 0.5]]


def test_a_temperature_is_a_frozen_number_above_zero() -> None:
    warm = Temperature(np.float64(2))
    assert type(warm.temperature) is float
    assert pickle.loads(pickle.dumps(warm)) == warm
    with pytest.raises(FrozenInstanceError):
        warm.temperature = 3.0  # type: ignore[misc]
    for bad in (0, -1.0, math.nan, math.inf, "2"):
        with pytest.raises(ArgumentError, match="`temperature` must be positive and finite; got"):
            Temperature(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("logits", "target", "message"),
    [
        ([[1.0, 2.0], [math.nan, 1.0]], [0, 1], "`logits` must be finite; row 1 holds NaN or inf"),
        ([[1.0, 2.0], [math.inf, 1.0]], [0, 1], "`logits` must be finite; row 1 holds NaN or inf"),
        ([[1.0, 2.0]], [2], r"`target` must lie in \[0, 2\) for 2 classes; got 2 at position 0"),
        ([[1.0, 2.0]], [0, 1], "equally many rows; got 1 in `logits`, 2 in `target`"),
        ([1.0, 2.0], [0], r"`logits` must have shape \(N, k\)"),
        (np.empty((0, 3)), [], "`logits` must hold at least one example to calibrate on; got none"),
        ([[1.0, 2.0]], [0.5], r"`target` must hold class indices \(integers\)"),
    ],
)
def test_what_cannot_be_calibrated_is_named(logits: Any, target: Any, message: str) -> None:
    with pytest.raises((ArgumentError, DataError), match=message):
        calibrate(logits, target)
    with pytest.raises(ArgumentError, match=r"`logits` must be numbers of shape \(..., k\)"):
        Temperature(1.0)(3.0)


def test_probabilities_are_no_logits() -> None:
    with pytest.raises(ArgumentError, match=r"`logits` are probabilities: .* np\.log\(probs\)"):
        calibrate(np.array([[0.2, 0.8], [0.6, 0.4]]), [1, 0])


@pytest.mark.parametrize("ignore_index", [None, -100])
@pytest.mark.parametrize("kind", [str, object, bytes])
def test_names_are_refused_as_targets_of_a_calibration(
    kind: type, ignore_index: int | None
) -> None:
    names = np.array(["a", "b", "a"]).astype(kind)
    message = r"`target` must hold class indices \(integers\).* by the position of each name"
    with pytest.raises(ArgumentError, match=message):
        calibrate(np.zeros((3, 2)), names, ignore_index=ignore_index)
