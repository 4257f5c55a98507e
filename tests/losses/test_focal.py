"""The focal loss is its formula, exact where a class is sure or ruled out."""

from __future__ import annotations

import mpmath
import pytest
import torch
import torch.nn.functional as F

from untrue import FocalLoss
from untrue.errors import ArgumentError

K = 7


@pytest.mark.parametrize("gamma", [0.5, 2.0, 5.0])
def test_the_formula(gamma, draw, softmax, mean_of) -> None:
    z, y = draw(6, K)
    p = [softmax(row)[true] for row, true in zip(z.tolist(), y.tolist(), strict=True)]
    expected = [-float((1 - q) ** gamma * mpmath.log(q)) for q in p]
    assert FocalLoss(gamma)(z, y).item() == mean_of(expected)


def test_without_gamma_it_is_cross_entropy(draw) -> None:
    z, y = draw(6, K, dtype=torch.float32)
    weight = torch.linspace(0.5, 2, K)
    y[2] = -100
    for reduction in ("none", "mean", "sum"):
        ours = FocalLoss(0.0, weight=weight, reduction=reduction)(z, y)
        torch.testing.assert_close(
            ours, F.cross_entropy(z, y, weight=weight, reduction=reduction), rtol=1e-6, atol=0
        )


@pytest.mark.parametrize("gamma", [0.5, 2.0])
@pytest.mark.parametrize("d", [-200.0, -30.0, -1.0, 1.0, 10.0, 16.0])
def test_saturated_probabilities_lose_no_digits(gamma, d) -> None:
    """In float32, where 1 - p rounds to 0 from d = 17 on."""
    z = torch.tensor([[d, 0.0]], requires_grad=True)
    loss = FocalLoss(gamma)(z, torch.tensor([0]))
    loss.backward()
    with mpmath.workdps(60):

        def exact(x):
            p = 1 / (1 + mpmath.exp(-x))
            return -((1 - p) ** gamma) * mpmath.log(p)

        assert loss.item() == pytest.approx(float(exact(d)), rel=1e-5)
        assert z.grad[0, 0].item() == pytest.approx(float(mpmath.diff(exact, d)), rel=1e-5)


@pytest.mark.parametrize("gamma", [0.5, 2.0])
@pytest.mark.parametrize("soft", [False, True])
def test_a_class_that_all_others_are_masked_for_costs_nothing(gamma, soft) -> None:
    inf = torch.inf
    z = torch.tensor([[2.0, -inf, -inf], [1.0, 0.0, -inf]], requires_grad=True)
    y = torch.tensor([0, 0])
    losses = FocalLoss(gamma, reduction="none")(z, F.one_hot(y, 3).float() if soft else y)
    losses.sum().backward()
    assert losses[0] == 0
    two = z.detach()[1:, :2].requires_grad_()
    plain = FocalLoss(gamma)(two, y[1:])
    plain.backward()
    torch.testing.assert_close(losses[1], plain)
    wanted = torch.zeros(2, 3)
    wanted[1, :2] = two.grad
    torch.testing.assert_close(z.grad, wanted)


def test_one_class_cannot_be_wrong() -> None:
    z = torch.randn(3, 1, requires_grad=True)
    loss = FocalLoss()(z, torch.zeros(3, dtype=torch.long))
    loss.backward()
    assert loss == 0
    assert (z.grad == 0).all()


def test_a_negative_gamma_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"`gamma` must be at least 0; got -1"):
        FocalLoss(-1)
