"""`MultiExitLoss`: one loss for a network with several exits, and a schedule for its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from untrue.array_types import FloatArray
from untrue.errors import ArgumentError
from untrue.losses.schedule import Shape, check_schedule, progress_share
from untrue.penalty.device_buffers import DeviceBuffers

Loss = Callable[[Tensor, Tensor], Tensor]


def multi_exit_loss(
    logits: Sequence[Tensor],
    target: Tensor,
    losses: Sequence[Loss],
    *,
    weights: Sequence[float] | Tensor | None = None,
) -> Tensor:
    """`sum_l w_l L_l(z_l, y) / sum_l w_l` over the exits, the first one first.

    logits: one tensor per exit, each as its loss takes it. losses: one per exit, functions or
    modules. weights: one per exit, none negative; without them all exits count equally.
    """
    if isinstance(logits, Tensor) or len(logits) != len(losses):
        given = "one tensor" if isinstance(logits, Tensor) else f"{len(logits)} of them"
        raise ArgumentError(
            f"`logits` must be a list with one tensor for each of the {len(losses)} exits; "
            f"got {given}."
        )
    dtype = logits[0].dtype
    half = dtype in (torch.float16, torch.bfloat16)
    # Halves are added up in single precision, as each loss computes them.
    each = [loss(z.float() if half else z, target) for loss, z in zip(losses, logits, strict=True)]
    shares: list[Any]
    if isinstance(weights, Tensor):
        shares = list((weights / weights.sum()).to(each[0].dtype))
    else:
        shares = _shares(weights, len(losses)).tolist()
    found = torch.stack([value * share for value, share in zip(each, shares, strict=True)]).sum(0)
    keep = half and not torch.is_autocast_enabled(logits[0].device.type)
    return found.to(dtype) if keep else found


def _shares(weights: Sequence[float] | None, n_exits: int) -> FloatArray:
    """(n_exits,) Weights, checked and divided by their sum."""
    given = np.asarray([1.0] * n_exits if weights is None else weights, dtype=np.float64)
    if given.shape != (n_exits,):
        raise ArgumentError(
            f"`weights` must be {n_exits} numbers, one per exit; got shape {given.shape}."
        )
    if not (np.isfinite(given).all() and (given >= 0).all() and given.any()):
        raise ArgumentError(
            f"`weights` must be finite and none negative, and not all 0; got {given.tolist()}."
        )
    shares: FloatArray = given / given.sum()
    return shares


class MultiExitLoss(nn.Module):
    """`sum_l w_l L_l(z_l, y) / sum_l w_l`: a list of logits in, one loss out.

    paper       Resheff, Mandelbaum, Weinshall, the part on future work: `L_l` is a bilinear loss
                with the penalty A(l) of `Penalty.for_exit`, all weights equal
    losses      one per exit, the first exit first: any losses, `nn.CrossEntropyLoss` too. They
                share a reduction
    weights     one per exit; only their ratios count. May be set later, or moved by `ExitSchedule`
    when        a network has several exits. With one exit it is that exit's loss

    alpha       of all losses that have one; setting it sets them all

    >>> from untrue import BilinearLoss, Penalty
    >>> groups = {"fish": ["trout", "ray"], "bird": ["owl"]}
    >>> loss = MultiExitLoss([BilinearLoss(Penalty.for_exit(groups, l, 2)) for l in (1, 2)])
    >>> z = torch.tensor([[2.0, 1.0, 0.0]])
    >>> loss([z, 2 * z], torch.tensor([0]))
    tensor(0.2240)
    """

    def __init__(
        self, losses: Iterable[nn.Module], *, weights: Sequence[float] | None = None
    ) -> None:
        super().__init__()
        given = list(losses)
        if not given:
            raise ArgumentError("`losses` must hold one loss per exit; got none.")
        for loss in given:
            if not isinstance(loss, nn.Module):
                raise ArgumentError(
                    f"`losses` must hold modules, such as untrue.BilinearLoss; "
                    f"got {type(loss).__name__}."
                )
        reductions = {str(getattr(loss, "reduction", "mean")) for loss in given}
        if len(reductions) > 1:
            raise ArgumentError(
                f"`losses` must share a reduction; got {' and '.join(sorted(reductions))}."
            )
        self.losses = nn.ModuleList(given)
        self.reduction = reductions.pop()
        self.n_classes = getattr(given[0], "n_classes", None)
        self.n_outputs = getattr(given[0], "n_outputs", None)
        self.exits = DeviceBuffers()
        self.exits._hold("weights", _shares(weights, len(given)), fixed=False)

    @property
    def n_exits(self) -> int:
        return len(self.losses)

    @property
    def weights(self) -> tuple[float, ...]:
        """The exits' shares of the loss; they sum to 1. May be set at any time."""
        return tuple(self._weights().tolist())

    @weights.setter
    def weights(self, values: Sequence[float]) -> None:
        shares = torch.from_numpy(_shares(values, self.n_exits))
        with torch.no_grad():
            self._weights().copy_(shares)

    @property
    def alpha(self) -> float:
        """Share of the cost term, where all losses that have one share it."""
        found = {float(loss.alpha) for loss in self._with("alpha")}
        if len(found) != 1:
            # As where there is no such attribute: a warm-up of alpha then leaves it alone.
            raise AttributeError("The losses of the exits share no alpha.")
        return found.pop()

    @alpha.setter
    def alpha(self, value: float) -> None:
        self._set_each("alpha", value)

    @property
    def alpha_steps(self) -> int:
        """Steps of an `AlphaSchedule`, held by the losses of the exits, whose state keeps them."""
        return max((int(each.alpha_steps) for each in self._with("alpha_steps")), default=0)

    @alpha_steps.setter
    def alpha_steps(self, value: int) -> None:
        self._set_each("alpha_steps", value)

    @property
    def resumed(self) -> bool:
        return any(each.resumed for each in self._with("resumed"))

    @resumed.setter
    def resumed(self, value: bool) -> None:
        self._set_each("resumed", value)

    def _with(self, name: str) -> list[Any]:
        """The losses that have an attribute of this name."""
        return [loss for loss in self.losses if hasattr(loss, name)]

    def _set_each(self, name: str, value: float) -> None:
        for loss in self._with(name):
            setattr(loss, name, value)

    def forward(self, logits: Sequence[Tensor], target: Tensor) -> Tensor:
        losses: Any = list(self.losses)
        return multi_exit_loss(logits, target, losses, weights=self._weights())

    def extra_repr(self) -> str:
        return f"weights=[{', '.join(f'{share:.3g}' for share in self.weights)}]"

    def _weights(self) -> Tensor:
        return self.exits.get_buffer("weights")


class ExitSchedule:
    """Move the weights of a `MultiExitLoss` from `start` to `final` over `steps` calls of `step()`.

    start   where they begin; without it all weight is on the first exit, so that the coarse
            question is learned before the fine one
    final   where they end and stay; without it the weights that the loss has
    shape   "linear" or "cosine"

    >>> loss = MultiExitLoss([nn.CrossEntropyLoss(), nn.CrossEntropyLoss()])
    >>> schedule = ExitSchedule(loss, steps=4)
    >>> schedule.step()
    >>> loss.weights
    (0.875, 0.125)
    """

    def __init__(
        self,
        loss: MultiExitLoss,
        *,
        steps: int,
        start: Sequence[float] | None = None,
        final: Sequence[float] | None = None,
        shape: Shape = "linear",
    ) -> None:
        if not isinstance(loss, MultiExitLoss):
            raise ArgumentError(f"`loss` must be a MultiExitLoss; got {type(loss).__name__}.")
        check_schedule(steps, shape)
        n = loss.n_exits
        self.loss, self.steps, self.shape = loss, steps, shape
        self.start = _shares([1.0] + [0.0] * (n - 1) if start is None else start, n)
        self.final = _shares(loss.weights if final is None else final, n)
        self.done = 0
        self._set()

    def weights_at(self, step: int) -> tuple[float, ...]:
        """The weights after `step` steps."""
        share = progress_share(step, self.steps, self.shape)
        return tuple((self.start * (1.0 - share) + self.final * share).tolist())

    def step(self) -> None:
        """Call after each batch or epoch, whichever `steps` counts."""
        self.done += 1
        self._set()

    def state_dict(self) -> dict[str, int]:
        return {"done": self.done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.done = int(state["done"])
        self._set()

    def _set(self) -> None:
        self.loss.weights = self.weights_at(self.done)
