"""`BilinearLoss` and `LogBilinearLoss`: drop-in replacements for `nn.CrossEntropyLoss`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from untrue import functional
from untrue.checks import check_number
from untrue.errors import ArgumentError, UntrueWarning, listed
from untrue.functional.mixed import Options
from untrue.losses.base import PenaltyLoss
from untrue.losses.registry import MixedName
from untrue.penalty import ExamplePenalty, Penalty

# From here on the cross-entropy is too weak to keep training away from a class that costs nothing.
COLLAPSE_ALPHA = 0.9


class MixedLoss(PenaltyLoss):
    """What both losses share: the penalty on its device, alpha, and the options.

    alpha_steps  steps that an `AlphaSchedule` has taken; saved and loaded with alpha
    resumed      whether a state was loaded since the last of them
    """

    def __init__(
        self,
        penalty: Penalty | Any,
        alpha: float = 0.5,
        *,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        binary: bool = False,
    ) -> None:
        super().__init__(penalty, weight=weight, ignore_index=ignore_index, reduction=reduction)
        self.label_smoothing = check_number("label_smoothing", label_smoothing, 0.0, 1.0)
        self.binary = binary
        if binary and self.penalty.n_classes != 2:
            raise ArgumentError(
                f"`binary` is about two classes, but the penalty is for {self.penalty.n_classes}."
            )
        self._warned = False
        self.alpha = alpha
        self.alpha_steps, self.resumed = 0, False

    @property
    def alpha(self) -> float:
        """Share of the cost term; may be set at any time."""
        return self._alpha

    @alpha.setter
    def alpha(self, value: float) -> None:
        self._alpha = value = check_number("alpha", value, 0.0, 1.0)
        if value >= COLLAPSE_ALPHA and not self._warned:
            self._warn_of_collapse()

    def _warn_of_collapse(self) -> None:
        free = self.penalty.free_classes()
        if free:
            self._warned = True
            warnings.warn(
                f"Predicting {listed(free)} never costs anything under this penalty, and with "
                f"alpha = {self._alpha:g} training may end up predicting nothing else. Use a "
                "smaller alpha, start small (untrue.AlphaSchedule), or give each mistake a cost.",
                UntrueWarning,
                stacklevel=4,
            )

    def _mixed(
        self, term: MixedName, logits: Tensor, target: Tensor, costs: Tensor | ExamplePenalty | None
    ) -> Tensor:
        """The loss by one of the terms; costs of each example take the place of the penalty."""
        stated = self._modules["costs"]
        return functional.mixed_loss(
            logits, target, stated, self.term_options(term), costs=costs, binary=self.binary
        )

    def term_options(self, term: MixedName) -> Options:
        """The options of the function behind the loss."""
        # By position, and not by the module's slow look-up: for small batches this matters.
        return Options(
            term,
            self._alpha,
            self._buffers["weight"],
            self.ignore_index,
            self.reduction,
            self.label_smoothing,
        )

    def get_extra_state(self) -> Tensor:
        """What training moves beside the costs: alpha, and how far its schedule has come.

        A tensor, so that every format that keeps a state keeps it.
        """
        return torch.tensor([self._alpha, self.alpha_steps], dtype=torch.float64)

    def set_extra_state(self, state: Any) -> None:
        given = state.tolist() if isinstance(state, Tensor) and state.shape == (2,) else None
        if given is None or not 0 <= given[1] < 2**53:
            raise ArgumentError(
                f"The state of a {type(self).__name__} holds alpha and a number of steps; "
                f"got {state!r}."
            )
        self.alpha = given[0]
        self.alpha_steps, self.resumed = int(given[1]), True

    def _options(self) -> dict[str, Any]:
        own = {"alpha": self._alpha, "label_smoothing": self.label_smoothing, "binary": self.binary}
        return super()._options() | own

    def extra_repr(self) -> str:
        return f"{self.penalty!r}, alpha={self._alpha:g}, reduction={self.reduction!r}"


class BilinearLoss(MixedLoss):
    """`(1 - alpha) CE + alpha y'Ap`: controls where wrong weight goes.

    paper       Resheff, Mandelbaum, Weinshall, eq. 3 (`CE + lambda y'Ap` elsewhere, with
                lambda = alpha / (1 - alpha); Galdran et al., MICCAI 2020)
    penalty     a `Penalty`, or a (C, C) matrix of costs, true class first
    alpha       share of the cost term, 0 (cross-entropy, to the last bit) to 1; may be set later
    binary      one logit per example, that of class 1 of two, as in `nn.BCEWithLogitsLoss`
    costs       when it is called: what each answer would cost each example, (N, C), or the
                `ExamplePenalty` of the batch; in place of the penalty
    the rest    as in `nn.CrossEntropyLoss`
    when        the first choice: keeps the accuracy at moderate alpha, also with many classes

    >>> import torch
    >>> loss = BilinearLoss(Penalty.from_zone([(0, 1)], classes=3), alpha=0.5)
    >>> loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
    tensor(0.3262)
    """

    def forward(
        self, logits: Tensor, target: Tensor, costs: Tensor | ExamplePenalty | None = None
    ) -> Tensor:
        return self._mixed("bilinear", logits, target, costs)


class LogBilinearLoss(MixedLoss):
    """`(1 - alpha) CE - alpha y'A log(1 - p)`: controls which errors the model is confident about.

    paper       Resheff, Mandelbaum, Weinshall, eq. 4
    parameters  as in `BilinearLoss`
    when        a confident costly mistake is what hurts; few classes. It charges a class little
                until its probability is large, then steeply, and costs more accuracy.
    """

    def forward(
        self, logits: Tensor, target: Tensor, costs: Tensor | ExamplePenalty | None = None
    ) -> Tensor:
        return self._mixed("log-bilinear", logits, target, costs)
