"""Cost regression: the network predicts what each answer would cost, and the cheapest is taken."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from untrue.checks import check_number
from untrue.errors import ArgumentError
from untrue.functional.contract import Batch, as_costs, compute
from untrue.functional.formula import softplus
from untrue.losses.base import PenaltyLoss
from untrue.penalty import Penalty
from untrue.penalty.tensors import Costs


def cost_regression_loss(
    outputs: Tensor,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    *,
    scale: float = 1.0,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """`sum_j softplus(s_j (r_j - scale A[y, j]))`, `s_j` = 1 for j = y and -1 elsewhere.

    r are the outputs, of the shapes that logits have; targets are class indices.
    """
    scale = check_number("scale", scale, 0.0)
    costs = as_costs(penalty, outputs)

    def one_sided(batch: Batch) -> Tensor:
        if batch.target is None:
            raise ArgumentError(
                "`target` must be class indices: cost regression is one-sided about the true "
                "class, which probabilities do not name; got "
                f"{target.dtype} of shape {tuple(target.shape)}."
            )
        r = batch.logits
        own = torch.zeros_like(r, dtype=torch.bool).scatter(1, batch.target[:, None], True)
        above = r - scale * costs.rows(batch.target, r.dtype)
        return batch.finish(softplus(torch.where(own, above, -above)).sum(-1))

    return compute(one_sided, outputs, target, costs.n_classes, weight, ignore_index, reduction)


class CostRegressionLoss(PenaltyLoss):
    """`sum_j softplus(s_j (r_j - scale A[y, j]))`: outputs r are costs, `decide` takes the least.

    paper       Chung, Lin, Yang, IJCAI 2016 (smooth one-sided regression, SOSR)
    penalty     a `Penalty`, or a (C, C) matrix of costs, true class first
    scale       factor on the costs. The paper has none, but softplus is not free of scale: at 0
                the loss is a logistic regression of each class against the rest.
    the rest    as in `nn.CrossEntropyLoss`; targets are class indices
    when        costs have a scale that matters and no probabilities are wanted: outputs are not
                logits, so softmax, argmax and calibration do not apply to them

    >>> loss = CostRegressionLoss(Penalty.from_ordinal(3))
    >>> outputs = torch.tensor([[0.1, 0.9, 2.2]])
    >>> loss(outputs, torch.tensor([0]))
    tensor(2.0869)
    >>> loss.decide(outputs)
    tensor([0])
    """

    def __init__(
        self,
        penalty: Penalty | Any,
        *,
        scale: float = 1.0,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(penalty, weight=weight, ignore_index=ignore_index, reduction=reduction)
        self.scale = check_number("scale", scale, 0.0)

    def forward(self, outputs: Tensor, target: Tensor) -> Tensor:
        own: dict[str, Any] = {"scale": self.scale}
        return cost_regression_loss(outputs, target, self.costs, **own, **self._options())

    def decide(self, outputs: Tensor) -> Tensor:
        """The class of least regressed cost: (C) -> (), (N, C, d1, ...) -> (N, d1, ...)."""
        return outputs.argmin(0 if outputs.dim() == 1 else 1)

    def extra_repr(self) -> str:
        return f"{self.penalty!r}, scale={self.scale:g}, reduction={self.reduction!r}"
