"""The squared EMD against loops, and what is left of it without its strength or its squares."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from untrue import BilinearLoss, SquaredEMDLoss

K = 7


@pytest.mark.parametrize(("strength", "mu"), [(1.0, 0.0), (0.3, 0.5), (2.0, -0.2)])
def test_squared_emd_term(penalties, draw, softmax, mean_of, strength, mu) -> None:
    z, y = draw(5, K)
    for penalty in penalties.values():
        matrix, losses = penalty.matrix(), []
        for n in range(5):
            p = softmax(z[n].tolist())
            term = sum(p[j] ** 2 * (matrix[y[n], j] - mu) for j in range(K))
            losses.append(-math.log(p[y[n]]) + strength * term)
        assert SquaredEMDLoss(penalty, strength=strength, mu=mu)(z, y).item() == mean_of(losses)


def test_without_strength_the_squared_emd_loss_is_cross_entropy(penalties, draw) -> None:
    for soft in (False, True):
        z, y = draw(5, K, soft=soft)
        loss = SquaredEMDLoss(penalties["tree"], strength=0.0, mu=0.4)
        torch.testing.assert_close(loss(z, y), F.cross_entropy(z, y))


def test_the_wasserstein_term_without_squares_is_the_bilinear_loss(penalties, draw) -> None:
    """Why there is no Wasserstein rival: from one class, all weight has one way to go."""
    z, y = draw(4, K)
    plan = z.softmax(1) * torch.tensor(penalties["dense"].matrix())[y]
    torch.testing.assert_close(BilinearLoss(penalties["dense"], 1.0)(z, y), plan.sum(1).mean())
