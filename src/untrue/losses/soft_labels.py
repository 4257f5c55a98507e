"""Cross-entropy to labels that share some of their weight with the classes cheap to confuse."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from untrue.checks import check_number
from untrue.functional.contract import Batch, as_costs, compute
from untrue.hierarchy import Hierarchy
from untrue.losses.base import PenaltyLoss
from untrue.losses.subtrees import as_hierarchy
from untrue.penalty import Penalty
from untrue.penalty.tensors import Costs, product

# Cells of the table of labels that are held at once when targets are probabilities.
BLOCK = 1 << 22


def cost_smoothed_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    *,
    epsilon: float = 0.1,
    gamma: float = 1.0,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """CE to the labels `(1 - epsilon) onehot_y + epsilon softmax_j(-gamma A[y, j])`.

    Arguments as in `functional.bilinear_loss`. A target of probabilities stands for the labels of
    its classes in those shares.
    """
    check_number("epsilon", epsilon, 0.0, 1.0)
    check_number("gamma", gamma, 0.0)
    costs = as_costs(penalty, logits)

    def smoothed(batch: Batch) -> Tensor:
        if epsilon == 0.0:
            return batch.finish(batch.cross_entropy())
        labels = _labels(batch, costs, epsilon, gamma)
        return batch.finish(-(labels * batch.logits.log_softmax(-1)).sum(-1))

    return compute(smoothed, logits, target, costs.n_classes, weight, ignore_index, reduction)


def _labels(batch: Batch, costs: Costs, epsilon: float, gamma: float) -> Tensor:
    """(N, k) What the softmax is to match, each row times its weight where probabilities came."""
    dtype = batch.logits.dtype
    if batch.target is not None:
        smooth = epsilon * (-gamma * costs.rows(batch.target, dtype)).softmax(-1)
        own = torch.full_like(batch.target, 1, dtype=dtype) * (1.0 - epsilon)
        return smooth.scatter_add(1, batch.target[:, None], own[:, None])
    assert batch.probs is not None
    labels = (1.0 - epsilon) * batch.probs
    k = costs.n_classes
    step = max(1, BLOCK // k)
    # The table of labels is k x k: a few of its rows at a time.
    for i in range(0, k, step):
        some = torch.arange(i, min(i + step, k), device=labels.device)
        table = (-gamma * costs.rows(some, dtype)).softmax(-1)
        labels = labels + epsilon * product(batch.probs[:, i : i + step], table)
    return labels


def soft_label_loss(
    logits: Tensor,
    target: Tensor,
    hierarchy: Hierarchy | Penalty | Costs,
    *,
    beta: float = 10.0,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """CE to the labels `softmax_j(-beta h(y, j) / h_max)`, h the height in `hierarchy`.

    Arguments as in `functional.bilinear_loss`; targets of probabilities as in `cost_smoothed_loss`.
    """
    check_number("beta", beta, 0.0)
    heights = (
        hierarchy if isinstance(hierarchy, Costs) else _relative_heights(as_hierarchy(hierarchy))
    )
    return cost_smoothed_loss(
        logits,
        target,
        heights,
        epsilon=1.0,
        gamma=beta,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
    )


@lru_cache(maxsize=4)
def _relative_heights(hierarchy: Hierarchy) -> Penalty:
    """`h(i, j) / h_max` as costs."""
    tallest = max(hierarchy.max_height, 1)
    return Penalty.from_hierarchy(hierarchy, lambda height: height / tallest)


class CostSmoothedLoss(PenaltyLoss):
    """CE to `(1 - epsilon) onehot_y + epsilon softmax_j(-gamma A[y, j])`.

    paper       label smoothing, with the smoothing placed by cost
    penalty     a `Penalty`, or a (C, C) matrix of costs, true class first
    epsilon     share of the smoothed part, 0 (cross-entropy) to 1
    gamma       how sharply it prefers cheap mistakes; 0 spreads evenly, as plain smoothing does
    the rest    as in `nn.CrossEntropyLoss`
    when        a mild preference among mistakes is enough; epsilon distorts the probabilities

    >>> loss = CostSmoothedLoss(Penalty.from_ordinal(3), epsilon=0.2)
    >>> loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
    tensor(0.4926)
    """

    def __init__(
        self,
        penalty: Penalty | Any,
        *,
        epsilon: float = 0.1,
        gamma: float = 1.0,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(penalty, weight=weight, ignore_index=ignore_index, reduction=reduction)
        self.epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        self.gamma = check_number("gamma", gamma, 0.0)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        own: dict[str, Any] = {"epsilon": self.epsilon, "gamma": self.gamma}
        return cost_smoothed_loss(logits, target, self.costs, **own, **self._options())

    def extra_repr(self) -> str:
        return (
            f"{self.penalty!r}, epsilon={self.epsilon:g}, gamma={self.gamma:g}, "
            f"reduction={self.reduction!r}"
        )


class SoftLabelLoss(PenaltyLoss):
    """CE to `softmax_j(-beta h(y, j) / h_max)`, h the height of the lowest common ancestor.

    paper       Bertinetto et al., CVPR 2020 (soft labels)
    hierarchy   a `Hierarchy`, or a penalty made from one; classes may be inner nodes
    beta        how close the labels are to one class: infinite is cross-entropy, 0 is uniform
    the rest    as in `nn.CrossEntropyLoss`
    when        ranking: near classes come next. It ruins calibration, so recalibrate before
                deciding by cost.

    >>> tree = Hierarchy.from_groups({"fish": ["trout", "ray"], "bird": ["owl"]})
    >>> loss = SoftLabelLoss(tree, beta=4.0)
    >>> loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
    tensor(0.5567)
    """

    def __init__(
        self,
        hierarchy: Hierarchy | Penalty,
        *,
        beta: float = 10.0,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        hierarchy = as_hierarchy(hierarchy)
        penalty = _relative_heights(hierarchy)
        super().__init__(penalty, weight=weight, ignore_index=ignore_index, reduction=reduction)
        self.hierarchy, self.beta = hierarchy, check_number("beta", beta, 0.0)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        own: dict[str, Any] = {"beta": self.beta}
        return soft_label_loss(logits, target, self.costs, **own, **self._options())

    def extra_repr(self) -> str:
        return f"{self.hierarchy!r}, beta={self.beta:g}, reduction={self.reduction!r}"
