"""`LinearHeadLoss`: the last linear layer and its loss in one module, without the logits."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from untrue.checks import check_choice, check_count
from untrue.errors import ArgumentError
from untrue.functional.linear_head import linear_loss
from untrue.losses.bilinear import BilinearLoss, LogBilinearLoss, MixedLoss
from untrue.losses.registry import MIXED, MixedName
from untrue.penalty import Penalty

LOSSES: dict[str, type[MixedLoss]] = {"bilinear": BilinearLoss, "log-bilinear": LogBilinearLoss}


class LinearHeadLoss(nn.Module):
    """A linear layer of one logit per class, and `BilinearLoss` or `LogBilinearLoss` of these.

    in_features  numbers an example comes with
    penalty      a `Penalty`, or a (C, C) matrix of costs: the layer has C outputs
    alpha        as in the loss, and the same; may be set later, also by an `AlphaSchedule`
    loss         "bilinear" or "log-bilinear"
    bias         whether the layer has one
    options      `weight` (of the classes), `ignore_index`, `reduction`, `label_smoothing`, as there
    linear, mixed  the layer and the loss, as modules of their own

    In training the logits (N, C) are never whole in memory, nor is their gradient.
    `logits(features)` has them, for predicting.

    >>> import torch
    >>> head = LinearHeadLoss(16, Penalty.from_ordinal(5), alpha=0.5)
    >>> loss = head(torch.randn(8, 16), torch.arange(8) % 5)
    >>> loss.backward()
    >>> head.linear.weight.grad.shape, head.logits(torch.randn(2, 16)).shape
    (torch.Size([5, 16]), torch.Size([2, 5]))
    """

    def __init__(
        self,
        in_features: int,
        penalty: Penalty | Any,
        alpha: float = 0.5,
        *,
        loss: MixedName = "bilinear",
        bias: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        check_choice("loss", loss, MIXED)
        if options.get("binary"):
            raise ArgumentError("`binary` is about one logit for two classes; a head has two.")
        check_count("in_features", in_features)
        self.loss = loss
        self.mixed = LOSSES[loss](penalty, alpha, **options)
        self.linear = nn.Linear(in_features, self.mixed.penalty.n_classes, bias=bias)

    @property
    def penalty(self) -> Penalty:
        return self.mixed.penalty

    @property
    def alpha(self) -> float:
        return self.mixed.alpha

    @alpha.setter
    def alpha(self, value: float) -> None:
        self.mixed.alpha = value

    @property
    def alpha_steps(self) -> int:
        """Steps of an `AlphaSchedule`, held by the loss inside, whose state keeps them."""
        return self.mixed.alpha_steps

    @alpha_steps.setter
    def alpha_steps(self, value: int) -> None:
        self.mixed.alpha_steps = value

    @property
    def resumed(self) -> bool:
        return self.mixed.resumed

    @resumed.setter
    def resumed(self, value: bool) -> None:
        self.mixed.resumed = value

    def forward(self, features: Tensor, target: Tensor) -> Tensor:
        """The loss of features (N, d) or (..., d) and targets without the d."""
        layer, mixed = self.linear, self.mixed
        options = mixed.term_options(self.loss)
        return linear_loss(features, layer.weight, layer.bias, target, mixed.costs, options)

    def logits(self, features: Tensor) -> Tensor:
        """(N, d) -> (N, C)."""
        found: Tensor = self.linear(features)
        return found

    def extra_repr(self) -> str:
        return f"loss={self.loss!r}"
