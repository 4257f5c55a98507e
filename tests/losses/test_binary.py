"""One logit for two classes: the same loss as two logits, 0 and that."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from untrue import BilinearLoss, BudgetedLoss, LogBilinearLoss, Penalty, functional
from untrue.errors import ArgumentError

TWO = Penalty.from_rules(["no", "yes"], {("yes", "no"): 4.0})
KINDS: dict[str, Any] = {
    "bilinear": BilinearLoss,
    "log-bilinear": LogBilinearLoss,
    "budgeted": lambda p, **o: BudgetedLoss(p, ["yes->no <= 1%"], **o),
}
each = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@each
@pytest.mark.parametrize("shape", [(6,), (2, 3), (2, 3, 4), ()])
def test_it_is_the_loss_of_two_logits(make: Any, shape: tuple[int, ...]) -> None:
    z = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    y = torch.randint(0, 2, shape)
    weight = torch.tensor([1.0, 3.0], dtype=torch.float64)
    one = make(TWO, alpha=0.4, weight=weight, reduction="none", binary=True)
    two = make(TWO, alpha=0.4, weight=weight, reduction="none")
    pair = torch.stack([torch.zeros_like(z), z], min(len(shape), 1))
    torch.testing.assert_close(one(z, y), two(pair, y))
    assert one(z, y).shape == shape
    (slope,) = torch.autograd.grad(one(z, y).sum(), z)
    assert slope.isfinite().all()


@each
def test_at_alpha_0_it_is_the_binary_cross_entropy(make: Any) -> None:
    z, y = torch.randn(8), torch.randint(0, 2, (8,))
    loss = make(TWO, alpha=0.0, binary=True)
    expected = F.binary_cross_entropy_with_logits(z, y.float())
    torch.testing.assert_close(loss(z, y), expected)
    torch.testing.assert_close(loss(z, y.float()), expected)
    torch.testing.assert_close(loss(z[:, None], y), expected)


def test_targets_may_be_probabilities_and_may_be_ignored() -> None:
    z, y = torch.randn(4, dtype=torch.float64), torch.tensor([0.0, 1.0, 0.3, 0.5]).double()
    found = functional.bilinear_loss(z, y, TWO, binary=True)
    pair = torch.stack([torch.zeros_like(z), z], 1)
    expected = functional.bilinear_loss(pair, torch.stack([1 - y, y], 1), TWO)
    torch.testing.assert_close(found, expected)
    marked = torch.tensor([0, 1, -100, -100])
    torch.testing.assert_close(
        functional.log_bilinear_loss(z, marked, TWO, binary=True),
        functional.log_bilinear_loss(z[:2], marked[:2], TWO, binary=True),
    )


def test_what_is_not_binary_is_refused() -> None:
    with pytest.raises(ArgumentError, match="`binary` is about two classes, but the penalty is fo"):
        BilinearLoss(Penalty.from_ordinal(3), binary=True)
    z, y = torch.randn(4), torch.zeros(4, dtype=torch.long)
    with pytest.raises(ArgumentError, match="the penalty is for 3: give each class a logit"):
        functional.bilinear_loss(z, y, Penalty.from_ordinal(3), binary=True)
    with pytest.raises(ArgumentError, match=r"`target` must have the shape of `logits`, \(4,\)"):
        functional.bilinear_loss(z, y[:3], TWO, binary=True)
    with pytest.raises(ArgumentError, match="`logits` must be a tensor; got list"):
        functional.bilinear_loss([0.0], y, TWO, binary=True)  # type: ignore[arg-type]
