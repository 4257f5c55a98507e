"""The losses in JAX are those in torch, in value and gradient, under jit and vmap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import untrue
from untrue import functional
from untrue.errors import ArgumentError
from untrue.jax import bilinear_loss, log1m_softmax, log_bilinear_loss

COSTS = untrue.Penalty.from_rules(["a", "b", "c", "d"], {("a", "d"): 7.0, ("c", "a"): 0.5})
PAIRS = {
    "bilinear": (bilinear_loss, functional.bilinear_loss),
    "log-bilinear": (log_bilinear_loss, functional.log_bilinear_loss),
}
DRAW = np.random.default_rng(0)
LOGITS = DRAW.normal(size=(9, 4)) * 4
CLASSES = DRAW.integers(0, 4, 9)
SOFT = DRAW.dirichlet(np.ones(4), 9)
SOME = np.where(np.arange(9) % 3 == 0, -100, CLASSES)


@pytest.fixture(autouse=True, params=["float32", "float64"])
def precision(request: pytest.FixtureRequest) -> Iterator[str]:
    with jax.enable_x64(request.param == "float64"):
        yield request.param


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("target", [CLASSES, SOFT, SOME], ids=["classes", "soft", "ignored"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"reduction": "none"},
        {"weight": [1.0, 2.0, 0.5, 3.0]},
        {"label_smoothing": 0.2},
        {"label_smoothing": 0.2, "weight": [1.0, 2.0, 0.5, 3.0], "reduction": "sum"},
    ],
    ids=str,
)
def test_value_and_gradient_are_those_in_torch(
    name: str, target: Any, options: dict[str, Any], precision: str
) -> None:
    ours, theirs = PAIRS[name]
    z = torch.tensor(LOGITS.astype(precision), requires_grad=True)
    wanted_target = torch.tensor(target.astype(precision) if target is SOFT else target)
    more = {k: torch.tensor(v, dtype=z.dtype) if k == "weight" else v for k, v in options.items()}
    wanted = theirs(z, wanted_target, COSTS, **more)
    wanted.sum().backward()

    def total(logits: Any) -> Any:
        return ours(logits, jnp.asarray(target), COSTS, **options).sum()

    logits = jnp.asarray(LOGITS.astype(precision))
    found = ours(logits, jnp.asarray(target), COSTS, **options)
    assert found.dtype == precision
    close = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(found, wanted.detach().numpy(), **close)
    assert z.grad is not None
    np.testing.assert_allclose(jax.jit(jax.grad(total))(logits), z.grad.numpy(), **close)


@pytest.mark.parametrize("name", PAIRS)
def test_jit_with_traced_costs_and_alpha_and_vmap_over_examples(name: str) -> None:
    ours, _ = PAIRS[name]
    logits, target = jnp.asarray(LOGITS), jnp.asarray(CLASSES)
    each = ours(logits, target, COSTS, alpha=0.3, reduction="none")
    traced = jax.jit(lambda z, t, costs, alpha: ours(z, t, costs, alpha=alpha, reduction="none"))(
        logits, target, jnp.asarray(COSTS.matrix()), 0.3
    )
    np.testing.assert_allclose(traced, each, rtol=1e-5)
    static = jax.jit(ours, static_argnames=("penalty",))(logits, target, penalty=COSTS)
    np.testing.assert_allclose(static, ours(logits, target, COSTS), rtol=1e-5)
    mapped = jax.vmap(lambda z, t: ours(z, t, COSTS, alpha=0.3))(logits, target)
    np.testing.assert_allclose(mapped, each, rtol=1e-5)


def test_extreme_logits_keep_value_and_gradient_finite(precision: str) -> None:
    z = np.array([[90.0, 0.0, -90.0, 1.0], [0.0, 0.0, 0.0, 0.0]], dtype=precision)
    wanted = functional.log1m_softmax(torch.tensor(z)).numpy()
    np.testing.assert_allclose(log1m_softmax(jnp.asarray(z)), wanted, rtol=1e-6, atol=1e-38)
    slope = jax.grad(lambda x: log_bilinear_loss(x, jnp.array([2, 1]), COSTS, alpha=1.0))
    assert np.isfinite(slope(jnp.asarray(z))).all()


def test_what_does_not_fit_is_refused_or_nan() -> None:
    logits = jnp.asarray(LOGITS)
    assert jnp.isnan(bilinear_loss(logits, jnp.full(9, 4), COSTS))
    assert jnp.isnan(bilinear_loss(logits, jnp.full(9, -1), COSTS))
    with pytest.raises(ArgumentError, match=r"must have shape \(9,\)"):
        bilinear_loss(logits, jnp.zeros(3, dtype=int), COSTS)
    with pytest.raises(ArgumentError, match="penalty is for 3 classes"):
        bilinear_loss(logits, jnp.asarray(CLASSES), untrue.Penalty.from_ordinal(3))
    with pytest.raises(ArgumentError, match="`alpha` must lie in"):
        bilinear_loss(logits, jnp.asarray(CLASSES), COSTS, alpha=1.5)
    with pytest.raises(ArgumentError, match="`label_smoothing` must lie in"):
        bilinear_loss(logits, jnp.asarray(CLASSES), COSTS, label_smoothing=-0.1)
    with pytest.raises(ArgumentError, match="`reduction` must be"):
        bilinear_loss(logits, jnp.asarray(CLASSES), COSTS, reduction="max")
    with pytest.raises(untrue.UntrueError, match="negative"):
        bilinear_loss(logits, jnp.asarray(CLASSES), -COSTS.matrix())
