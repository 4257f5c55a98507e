"""Cross-entropy plus the squared earth mover's distance, in its form for any ground cost."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from untrue.checks import check_number
from untrue.functional.contract import Batch, as_costs, compute
from untrue.losses.base import PenaltyLoss
from untrue.penalty import Penalty
from untrue.penalty.tensors import Costs


def squared_emd_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    *,
    strength: float = 1.0,
    mu: float = 0.0,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """`CE + strength sum_j p_j^2 (A[y, j] - mu)`.

    Arguments as in `functional.bilinear_loss`.
    """
    check_number("strength", strength, 0.0)
    check_number("mu", mu)
    costs = as_costs(penalty, logits)

    def squared(batch: Batch) -> Tensor:
        if strength == 0.0:
            return batch.finish(batch.cross_entropy())
        z = batch.logits
        if batch.target is not None:
            rows = costs.rows(batch.target, z.dtype) - mu
        else:
            assert batch.probs is not None
            rows = costs.mix(batch.probs) - mu * batch.probs.sum(-1, keepdim=True)
        term = (rows * z.softmax(-1).square()).sum(-1)
        return batch.finish(batch.cross_entropy() + strength * term)

    return compute(squared, logits, target, costs.n_classes, weight, ignore_index, reduction)


class SquaredEMDLoss(PenaltyLoss):
    """`CE + strength sum_j p_j^2 (A[y, j] - mu)`: like the bilinear term, with squared weights.

    paper       Hou, Yu, Samaras, 2016 (squared earth mover's distance)
    penalty     a `Penalty`, or a (C, C) matrix of costs, true class first
    strength    factor of the term (lambda in the paper); 0 is cross-entropy
    mu          cost below which weight is rewarded, the true class's own included
    the rest    as in `nn.CrossEntropyLoss`
    when        ordered classes: squares charge wrong weight more if it is in one place

    >>> import torch
    >>> loss = SquaredEMDLoss(Penalty.from_ordinal(3), strength=0.5)
    >>> loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
    tensor(0.4457)
    """

    def __init__(
        self,
        penalty: Penalty | Any,
        *,
        strength: float = 1.0,
        mu: float = 0.0,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(penalty, weight=weight, ignore_index=ignore_index, reduction=reduction)
        self.strength = check_number("strength", strength, 0.0)
        self.mu = check_number("mu", mu)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        own: dict[str, Any] = {"strength": self.strength, "mu": self.mu}
        return squared_emd_loss(logits, target, self.costs, **own, **self._options())

    def extra_repr(self) -> str:
        return (
            f"{self.penalty!r}, strength={self.strength:g}, mu={self.mu:g}, "
            f"reduction={self.reduction!r}"
        )
