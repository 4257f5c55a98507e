"""What all losses share: the options of `nn.CrossEntropyLoss`, checked once and held."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from untrue.errors import ArgumentError
from untrue.functional.contract import as_penalty, check_reduction, check_weight
from untrue.penalty import Penalty
from untrue.penalty.tensors import make_costs


class ClassLoss(nn.Module):
    """A loss of logits and class targets.

    n_classes   classes that a target may be; None: as many as there are logits
    n_outputs   logits that an example must have: one per class, unless a loss says otherwise
    """

    weight: Tensor | None

    def __init__(
        self,
        n_classes: int | None,
        *,
        weight: Tensor | None,
        ignore_index: int,
        reduction: str,
    ) -> None:
        super().__init__()
        if weight is not None and not isinstance(weight, Tensor):
            raise ArgumentError(
                f"`weight` must be a tensor; got {type(weight).__name__}. "
                "torch.as_tensor(weight) makes one."
            )
        if weight is not None and n_classes is not None:
            check_weight(weight, n_classes)
        check_reduction(reduction)
        self.n_classes = self.n_outputs = n_classes
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction

    def _options(self) -> dict[str, Any]:
        return {
            "weight": self.weight,
            "ignore_index": self.ignore_index,
            "reduction": self.reduction,
        }


class PenaltyLoss(ClassLoss):
    """A loss by a `Penalty`, or by the one that a (C, C) matrix of costs makes."""

    def __init__(
        self,
        penalty: Penalty | Any,
        *,
        weight: Tensor | None,
        ignore_index: int,
        reduction: str,
    ) -> None:
        penalty = as_penalty(penalty)
        super().__init__(
            penalty.n_classes, weight=weight, ignore_index=ignore_index, reduction=reduction
        )
        self.penalty, self.costs = penalty, make_costs(penalty)
