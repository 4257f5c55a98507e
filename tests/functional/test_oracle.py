"""The torch losses against the float64 NumPy reference: values, gradients, Hessians."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import Penalty, functional, reference

LOSSES = {"bilinear": functional.bilinear_loss, "log-bilinear": functional.log_bilinear_loss}


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=50)
@given(
    k=st.integers(2, 6),
    alpha=st.sampled_from([0.2, 0.9, 1.0]),
    scale=st.sampled_from([0.1, 1.0, 10.0, 1000.0]),
    seed=st.integers(0, 2**16),
    soft=st.booleans(),
)
def test_losses_gradients_and_hessians_agree(name, k, alpha, scale, seed, soft) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=scale, size=(3, k))
    costs = rng.uniform(0, 5, (k, k)) * (1 - np.eye(k))
    target = rng.dirichlet(np.ones(k), 3) if soft else rng.integers(0, k, 3)
    rows = reference.cost_rows(costs, target)
    options = {"loss": name, "alpha": alpha}
    z, y = torch.tensor(logits, requires_grad=True), torch.tensor(target)
    penalty = Penalty.from_matrix(costs)

    def loss(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return LOSSES[name](x, t, penalty, alpha=alpha, reduction="none")

    values = loss(z, y)
    values.sum().backward()
    exact = {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(
        values.detach(), reference.losses(logits, target, rows, **options), **exact
    )
    np.testing.assert_allclose(
        z.grad, reference.gradients(logits, target, rows, **options), **exact
    )
    hessians = torch.func.vmap(torch.func.jacrev(torch.func.jacrev(loss)))(z.detach(), y)
    np.testing.assert_allclose(
        hessians, reference.hessians(logits, target, rows, **options), rtol=1e-8, atol=1e-8
    )
