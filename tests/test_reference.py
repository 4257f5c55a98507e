"""The reference is right: against 60-digit arithmetic at the extremes, and against itself."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from untrue import reference
from untrue.errors import ArgumentError

LOSSES = ["bilinear", "log-bilinear"]
COSTS = np.array(
    [[0.0, 1.0, 5.0, 0.0], [2.0, 0.0, 0.5, 3.0], [0.0, 7.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0]]
)
# Ordinary, saturated one way and another, ties, and gaps beyond what exp can hold.
LOGITS = np.array(
    [
        [0.3, -1.2, 2.0, 0.7],
        [0.0, 0.0, 0.0, 0.0],
        [40.0, 0.0, -1.0, 2.0],
        [40.0, 38.0, -300.0, 2.0],
        [1e4, -1e4, 0.0, 1.0],
        [-1e4, -1e4, -1e4, 1e4],
        [500.0, 500.0, -500.0, 0.0],
        [80.0, 40.0, 0.0, -40.0],
        [-3.0, 36.0, 36.5, -3.0],
    ]
)
SOFT = np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 0.9, 0.1, 0.0]])


def exact(z: Any, y: Any, r: Any, loss: str, alpha: float) -> Any:
    """The loss of one example as the formula says, in 60 digits (more where exp needs them)."""
    e = [mpmath.exp(x) for x in z]
    p = [x / sum(e) for x in e]
    value = mpmath.mpf(0)
    for j in range(len(p)):
        value -= (1 - mpmath.mpf(alpha)) * y[j] * mpmath.log(p[j])
        if r[j] != 0:
            rest = sum(e[i] for i in range(len(e)) if i != j) / sum(e)
            term = p[j] if loss == "bilinear" else -mpmath.log(rest)
            value += mpmath.mpf(alpha) * r[j] * term
    return value


def partial(z: Any, y: Any, r: Any, loss: str, alpha: float, *by: int) -> Any:
    """A mixed partial derivative by central differences, in enough digits to be exact."""
    step = mpmath.mpf(10) ** -40
    if not by:
        return exact(z, y, r, loss, alpha)
    up, down = list(z), list(z)
    up[by[0]] += step
    down[by[0]] -= step
    difference = partial(up, y, r, loss, alpha, *by[1:]) - partial(down, y, r, loss, alpha, *by[1:])
    return difference / (2 * step)


def close(found: Any, wanted: Any) -> None:
    wanted = np.array([float(x) for x in wanted])
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_everything_is_exact_at_both_ends(loss: Any, alpha: float) -> None:
    with mpmath.workdps(200):
        for row, z in enumerate(LOGITS):
            for y in (np.eye(4)[row % 4], SOFT[row % 2]):
                r = y @ COSTS
                args = ([z], [y], [r])
                exactly = ([mpmath.mpf(x) for x in z], y, r, loss, alpha)
                options = {"loss": loss, "alpha": alpha}
                close(reference.losses(*args, **options), [exact(*exactly)])
                close(
                    reference.gradients(*args, **options), [partial(*exactly, m) for m in range(4)]
                )
                half = {(m, n): partial(*exactly, m, n) for n in range(4) for m in range(n + 1)}
                second = [[half[min(m, n), max(m, n)] for n in range(4)] for m in range(4)]
                close(reference.hessians(*args, **options), [x for line in second for x in line])
                close(
                    reference.hessian_diagonals(*args, **options), [second[m][m] for m in range(4)]
                )


@pytest.mark.parametrize("loss", LOSSES)
def test_nearly_nothing_keeps_its_digits(loss: Any) -> None:
    """A confident right answer: loss and slopes of 1e-30 are still right to 12 digits."""
    z, rows = np.array([[70.0, 0.0, -1.0, 1.0]]), COSTS[:1]
    found = {
        "loss": reference.losses(z, [0], rows, loss=loss)[0],
        "slope": reference.gradients(z, [0], rows, loss=loss)[0, 0],
        "bend": reference.hessian_diagonals(z, [0], rows, loss=loss)[0, 2],
    }
    with mpmath.workdps(200):
        exactly = ([mpmath.mpf(x) for x in z[0]], np.eye(4)[0], rows[0], loss, 0.5)
        assert found["loss"] == pytest.approx(float(exact(*exactly)), rel=1e-12, abs=0)
        assert found["slope"] == pytest.approx(float(partial(*exactly, 0)), rel=1e-12, abs=0)
        assert found["bend"] == pytest.approx(float(partial(*exactly, 2, 2)), rel=1e-12, abs=0)
    assert 0 < found["loss"] < 1e-29


@pytest.mark.parametrize("loss", LOSSES)
def test_many_classes_agree_with_finite_differences(loss: Any) -> None:
    rng = np.random.default_rng(3)
    k, n, h = 30, 5, 1e-6
    z, matrix = rng.normal(size=(n, k)) * 3, rng.exponential(size=(k, k)) * (1 - np.eye(k))
    target = rng.integers(k, size=n)
    rows = reference.cost_rows(matrix, target)
    options: Any = {"loss": loss, "alpha": 0.7}
    slope, bend = np.empty((n, k)), np.empty((n, k, k))
    for m in range(k):
        up, down = z + h * np.eye(k)[m], z - h * np.eye(k)[m]
        slope[:, m] = reference.losses(up, target, rows, **options)
        slope[:, m] -= reference.losses(down, target, rows, **options)
        bend[:, m] = reference.gradients(up, target, rows, **options)
        bend[:, m] -= reference.gradients(down, target, rows, **options)
    np.testing.assert_allclose(
        reference.gradients(z, target, rows, **options), slope / (2 * h), atol=1e-8
    )
    np.testing.assert_allclose(
        reference.hessians(z, target, rows, **options), bend / (2 * h), atol=1e-8
    )


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_bound_lies_above_the_diagonal_and_is_tight_at_alpha_0(loss: Any, alpha: float) -> None:
    rng = np.random.default_rng(0)
    z = np.concatenate([LOGITS, rng.normal(size=(500, 4)) * rng.exponential(10, size=(500, 1))])
    target = rng.integers(4, size=len(z))
    rows = reference.cost_rows(COSTS, target)
    bound = reference.hessian_bounds(z, target, rows, loss=loss, alpha=alpha)
    diagonal = reference.hessian_diagonals(z, target, rows, loss=loss, alpha=alpha)
    assert (bound >= 0).all()
    assert (bound >= diagonal - 1e-15).all()
    assert np.isfinite(bound).all()
    if alpha == 0:
        np.testing.assert_array_equal(bound, diagonal)


def test_the_terms_of_both_losses_bend_downwards_somewhere() -> None:
    for loss in LOSSES:
        diagonal = reference.hessian_diagonals(LOGITS[:1], [0], COSTS[:1], loss=loss, alpha=1.0)  # type: ignore[arg-type]
        assert diagonal.min() < -0.01


@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_alone_costs_nothing(loss: Any) -> None:
    for function in (reference.losses, reference.gradients, reference.hessians):
        assert not np.any(function([[3.0]], [0], [[0.0]], loss=loss))


def test_soft_rows_mix_hard_ones() -> None:
    np.testing.assert_allclose(reference.cost_rows(COSTS, SOFT), SOFT @ COSTS)
    np.testing.assert_array_equal(reference.cost_rows(COSTS, [2, 0]), COSTS[[2, 0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "hinge"}, "`loss` must be 'bilinear' or 'log-bilinear'; got 'hinge'"),
        ({"alpha": 1.5}, r"`alpha` must lie in \[0, 1\]; got 1.5"),
        ({"logits": [1.0]}, r"`logits` must have shape \(N, k\); got \(1,\)"),
        ({"rows": [[0.0, 1.0]]}, r"`rows` must have the shape \(1, 3\) of `logits`; got \(1, 2\)"),
        ({"target": [0, 1]}, r"class indices of shape \(1,\) or weights of shape \(1, 3\)"),
        ({"target": [3]}, "`target` names class 3, but `logits` have 3 classes"),
        ({"target": [0.5]}, "must hold class indices from 0 on"),
    ],
)
def test_errors_say_what_was_given(change: dict[str, Any], message: str) -> None:
    arguments = {"logits": [[1.0, 2.0, 3.0]], "target": [0], "rows": [[0.0, 1.0, 2.0]]} | change
    with pytest.raises(ArgumentError, match=message):
        reference.losses(**arguments)  # type: ignore[arg-type]
