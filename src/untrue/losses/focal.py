"""The focal loss: examples that are already right count less."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from untrue.checks import check_number
from untrue.functional.contract import Batch, compute
from untrue.functional.formula import log1m_softmax, softplus
from untrue.losses.base import ClassLoss


def focal_loss(
    logits: Tensor,
    target: Tensor,
    *,
    gamma: float = 2.0,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """`-(1 - p_y)^gamma log p_y`.

    Arguments as in `torch.nn.functional.cross_entropy`. A target of probabilities stands for the
    losses of its classes in those shares.
    """
    gamma = check_number("gamma", gamma, 0.0)

    def focal(batch: Batch) -> Tensor:
        z = batch.logits
        if gamma == 0.0 or z.shape[1] == 1:
            return batch.finish(batch.cross_entropy())
        if batch.target is None:
            assert batch.probs is not None
            focus, log_p = (gamma * log1m_softmax(z)).exp(), z.log_softmax(-1)
            # A class that is ruled out and has no share costs nothing: 0 times inf would be nan.
            log_p = log_p.masked_fill((batch.probs == 0) & (log_p == -torch.inf), 0.0)
            return batch.finish(-(batch.probs * focus * log_p).sum(-1))
        # By d, the logit of p_y, both logarithms are exact: log p_y = -softplus(-d) and
        # log(1 - p_y) = -softplus(d). Seen from the likeliest of the others, so that large logits
        # do not round their differences away.
        own = batch.target[:, None]
        others, right = z.scatter(1, own, -torch.inf), z.gather(1, own)
        top = others.detach().amax(1, keepdim=True)
        # Where all others are masked by -inf the answer is right, and nothing can be learned.
        alone = top == -torch.inf
        top = top.masked_fill(alone, 0.0)
        d = (right - top)[:, 0] - (others.masked_fill(alone, 0.0) - top).logsumexp(1)
        losses = (-gamma * softplus(d)).exp() * softplus(-d)
        nothing = (right - right).detach()  # nan where it is infinite
        return batch.finish(torch.where(alone, nothing, losses[:, None])[:, 0])

    return compute(focal, logits, target, None, weight, ignore_index, reduction)


class FocalLoss(ClassLoss):
    """`-(1 - p_y)^gamma log p_y`: hard examples count, easy ones hardly.

    paper       Lin, Goyal, Girshick, He, Dollar, ICCV 2017; theirs is of two classes
    gamma       how much less an easy example counts; 0 is cross-entropy
    the rest    as in `nn.CrossEntropyLoss`; `weight` is the paper's alpha
    when        most examples are easy and outweigh the others. It ignores costs.

    >>> loss = FocalLoss(gamma=2.0)
    >>> loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
    tensor(0.0457)
    """

    def __init__(
        self,
        gamma: float = 2.0,
        *,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(None, weight=weight, ignore_index=ignore_index, reduction=reduction)
        self.gamma = check_number("gamma", gamma, 0.0)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        own: dict[str, Any] = {"gamma": self.gamma}
        return focal_loss(logits, target, **own, **self._options())

    def extra_repr(self) -> str:
        return f"gamma={self.gamma:g}, reduction={self.reduction!r}"
