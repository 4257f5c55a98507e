"""Class-weighted cross-entropy, its weights taken from a penalty."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from untrue.array_types import FloatArray
from untrue.checks import check_number
from untrue.errors import ArgumentError, UntrueWarning, listed
from untrue.functional.contract import as_penalty, check_weight, compute
from untrue.losses.base import ClassLoss
from untrue.penalty import Penalty
from untrue.penalty.device_buffers import DeviceBuffers


def class_weights(penalty: Penalty | Any, *, power: float = 1.0) -> FloatArray:
    """(k,) `(row sum of A / mean row sum) ** power`: costly classes count more.

    With power 1 the mean over the classes is 1.

    >>> class_weights(Penalty.from_rules(["tumour", "benign"], {("tumour", "benign"): 3.0}))
    array([1.5, 0.5])
    """
    power = check_number("power", power, 0.0)
    penalty = as_penalty(penalty)
    sums = penalty.row_sums()
    if power == 0.0 or penalty.n_classes == 1:
        return np.ones(penalty.n_classes)
    if not sums.any():
        raise ArgumentError(
            "`penalty` charges nothing for any mistake, so no class can be weighed by it; "
            "give some mistake a cost, or use nn.CrossEntropyLoss."
        )
    weights: FloatArray = (sums / sums.mean()) ** power
    return weights


class ClassWeights(DeviceBuffers):
    """The weights of the classes on a device."""

    weights: Tensor

    def __init__(self, penalty: Penalty, power: float) -> None:
        super().__init__()
        self._hold("weights", class_weights(penalty, power=power))


@lru_cache(maxsize=4)
def _weights_of(penalty: Penalty, power: float, device: torch.device) -> ClassWeights:
    with torch.inference_mode(False):  # else training could not use what is kept
        return ClassWeights(penalty, power).to(device)


def class_weighted_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | ClassWeights | Any,
    *,
    power: float = 1.0,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """`w_y CE`, `w = class_weights(penalty, power=power)`; the mean divides by the weights' sum.

    Arguments as in `functional.bilinear_loss`; `weight` multiplies the weights of the penalty.
    """
    held = penalty
    if not isinstance(held, ClassWeights):
        held = _weights_of(as_penalty(penalty), check_number("power", power, 0.0), logits.device)
    both = held.weights
    if weight is not None:
        check_weight(weight, len(both))
        both = both * weight.to(both.dtype)
    return compute(
        lambda batch: batch.finish(batch.cross_entropy()),
        logits,
        target,
        len(held.weights),
        both,
        ignore_index,
        reduction,
    )


class ClassWeightedLoss(ClassLoss):
    """`w_y CE`, the weight `w_y` of a true class from the row sums of the penalty.

    paper       none: common practice
    penalty     a `Penalty`, or a (C, C) matrix of costs, true class first
    power       how strongly costs weigh: 0 is cross-entropy, 1 takes the row sums as they are
    the rest    as in `nn.CrossEntropyLoss`; `weight` multiplies the weights of the penalty
    when        what a mistake costs depends on the true class alone. It ignores
                which wrong class is predicted: all costs of a row become one number.

    >>> import torch
    >>> loss = ClassWeightedLoss(Penalty.from_rules(3, {(0, 1): 20.0}))
    >>> loss(torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]), torch.tensor([0, 1]))
    tensor(0.4946)
    """

    def __init__(
        self,
        penalty: Penalty | Any,
        *,
        power: float = 1.0,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        penalty = as_penalty(penalty)
        super().__init__(
            penalty.n_classes, weight=weight, ignore_index=ignore_index, reduction=reduction
        )
        self.penalty, self.power = penalty, check_number("power", power, 0.0)
        self.costs = ClassWeights(penalty, self.power)
        weights = self.costs.weights.tolist()
        unseen = [name for name, w in zip(penalty.classes, weights, strict=True) if w == 0]
        if unseen:
            warnings.warn(
                f"Mistakes about {listed(unseen)} cost nothing under this penalty, so nothing "
                "will be learned from their examples. Give every mistake some cost.",
                UntrueWarning,
                stacklevel=2,
            )

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        own: dict[str, Any] = {"power": self.power}
        return class_weighted_loss(logits, target, self.costs, **own, **self._options())

    def extra_repr(self) -> str:
        return f"{self.penalty!r}, power={self.power:g}, reduction={self.reduction!r}"
