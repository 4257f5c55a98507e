"""The calling contract of `torch.nn.functional.cross_entropy`, for every loss of this package.

`compute` is the way into each of them: `read_batch` turns whatever shapes came in into rows, a
formula makes one loss per row, and `Batch.finish` turns these into what was asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from untrue.errors import ArgumentError, PenaltyError, counted
from untrue.penalty import ExamplePenalty, Penalty
from untrue.penalty.example_rows import ExampleRows, GivenRows
from untrue.penalty.tensors import Costs, costs_of

REDUCTIONS = ("none", "mean", "sum")


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """Logits and targets as rows, in the precision that is computed in.

    logits (N, C); one row per example
    target (N,): class indices, 0 where ignored; None if targets are probabilities
    probs (N, k): target probabilities, each times the weight of its class; None if indices
    shares (N,): weight of each example, 0 where ignored; None with probabilities, which have theirs
    ignored (N,): whether an example is left out; None with probabilities
    shape, dtype: of the unreduced result
    """

    logits: Tensor
    target: Tensor | None
    probs: Tensor | None
    shares: Tensor | None
    ignored: Tensor | None
    shape: torch.Size
    dtype: torch.dtype
    reduction: str

    def cross_entropy(self) -> Tensor:
        """(N,) Of each row, not weighed yet where targets are classes."""
        if self.target is not None:
            return F.cross_entropy(self.logits, self.target, reduction="none")
        assert self.probs is not None
        return -(self.probs * self.logits.log_softmax(-1)).sum(-1)

    def finish(self, losses: Tensor) -> Tensor:
        """Weigh, reduce and shape (N,) losses."""
        return self.cast(reduce(losses, self.shares, self.ignored, self.reduction))

    def cast(self, reduced: Tensor) -> Tensor:
        """A reduced loss in the caller's shape and precision."""
        if self.reduction == "none":
            reduced = reduced.reshape(self.shape)
        return reduced.to(self.dtype)


def compute(
    formula: Callable[[Batch], Tensor],
    logits: Tensor,
    target: Tensor,
    n_classes: int | None,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    n_outputs: int | None = None,
) -> Tensor:
    """A loss by its formula, which ends in `Batch.finish`. The arguments: see `read_batch`."""
    try:
        return formula(
            read_batch(logits, target, n_classes, weight, ignore_index, reduction, n_outputs)
        )
    except (IndexError, RuntimeError):
        # Values are looked at only now, to raise PyTorch's own error for such a target.
        check_targets(target, ignore_index, n_classes or logits.shape[class_dimension(logits)])
        raise


def read_batch(
    logits: Tensor,
    target: Tensor,
    n_classes: int | None,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    n_outputs: int | None = None,
) -> Batch:
    """Check shapes and dtypes, never values, and lay the examples out as rows.

    `n_classes` is None for a loss of any number of classes: the logits show how many there are.
    `n_outputs` is how many logits an example has, if not one per class.
    """
    check_reduction(reduction)
    soft = check_shapes(logits, target, n_classes, n_outputs)
    dtype = logits.dtype
    if dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
        if torch.is_autocast_enabled(logits.device.type):
            dtype = torch.float32
    z, shape = as_rows(logits)
    if weight is not None:
        check_weight(weight, z.shape[1] if n_classes is None else n_classes)
        weight = weight.to(z.dtype)
    if soft:
        probs = as_rows(target)[0].to(z.dtype)
        probs = probs if weight is None else probs * weight
        return Batch(z, None, probs, None, None, shape, dtype, reduction)
    flat = target.reshape(-1).long()
    ignored = flat == ignore_index
    flat = flat.masked_fill(ignored, 0)
    if weight is None:
        shares = (~ignored).to(z.dtype)
    else:  # not by indexing, which would take -1 for the last class
        shares = weight.index_select(0, flat).masked_fill(ignored, 0.0)
    return Batch(z, flat, None, shares, ignored, shape, dtype, reduction)


def check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"`reduction` must be 'none', 'mean' or 'sum'; got {reduction!r}.")


def check_weight(weight: Tensor, n_classes: int) -> None:
    if weight.shape != (n_classes,):
        raise ArgumentError(f"`weight` must have shape ({n_classes},); got {tuple(weight.shape)}.")


def check_shapes(
    logits: Tensor, target: Tensor, n_classes: int | None, n_outputs: int | None = None
) -> bool:
    """Whether targets are probabilities; shapes and dtypes alone are looked at."""
    check_tensors(logits=logits, target=target)
    class_dim = check_logits(logits, n_classes, n_outputs)
    if target.is_complex():
        raise ArgumentError(
            f"`target` must hold class indices or probabilities; got {target.dtype}."
        )
    soft = target.is_floating_point()
    expected = list(logits.shape)
    if soft:
        expected[class_dim] = expected[class_dim] if n_classes is None else n_classes
    else:
        del expected[class_dim]
    if list(target.shape) != expected:
        kind = "probabilities" if soft else "class indices"
        raise ArgumentError(
            f"`target` as {kind} must have shape {tuple(expected)} for `logits` of shape "
            f"{tuple(logits.shape)}; got {tuple(target.shape)}."
        )
    return soft


def check_tensors(**given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, Tensor):
            raise ArgumentError(
                f"`{name}` must be a tensor; got {type(value).__name__}. Use torch.as_tensor."
            )


def check_targets(target: Tensor, ignore_index: int, n_classes: int) -> None:
    """Refuse class indices that are no classes, as `cross_entropy` does."""
    if target.is_floating_point():
        return
    outside = (target < 0) | (target >= n_classes)
    wrong = target[outside & (target != ignore_index)]
    if len(wrong):
        raise IndexError(f"Target {int(wrong[0])} is out of bounds.") from None


def class_dimension(logits: Tensor) -> int:
    return 0 if logits.dim() == 1 else 1


def check_logits(logits: Tensor, n_classes: int | None, n_outputs: int | None = None) -> int:
    """The dimension of the classes, or of the `n_outputs` that stand for them."""
    if logits.dim() < 1:
        raise ArgumentError(
            "`logits` must have shape (C), (N, C) or (N, C, d1, ...); got a scalar."
        )
    class_dim = class_dimension(logits)
    found = logits.shape[class_dim]
    if n_outputs is not None and found != n_outputs:
        raise ArgumentError(
            f"This loss needs {n_outputs} logits per example, one for each class and inner node, "
            f"but `logits` of shape {tuple(logits.shape)} have {found} in dimension {class_dim}."
        )
    if n_outputs is None and n_classes is not None and found != n_classes:
        raise ArgumentError(
            f"The penalty is for {n_classes} classes, but `logits` of shape {tuple(logits.shape)} "
            f"have {found} in dimension {class_dim}."
        )
    if not logits.is_floating_point():
        raise ArgumentError(f"`logits` must be floating point; got {logits.dtype}.")
    return class_dim


def as_rows(x: Tensor) -> tuple[Tensor, torch.Size]:
    """(C), (N, C) or (N, C, d1, ...) -> (examples, C), and the shape of the examples."""
    if x.dim() == 2:
        return x, x.shape[:1]
    if x.dim() > 2:
        x = x.movedim(1, -1)
    return x.reshape(-1, x.shape[-1]), x.shape[:-1]


def reduce(losses: Tensor, shares: Tensor | None, ignored: Tensor | None, reduction: str) -> Tensor:
    """Weigh (N,) losses as `cross_entropy` does: the mean divides by the sum of the weights.

    If nothing counts, the mean is nan and its gradient 0.
    """
    weighed = weigh(losses, shares, ignored)
    if reduction == "none":
        return weighed
    if reduction == "sum":
        return weighed.sum()
    return weighed.mean() if shares is None else weighed.sum() / shares.sum()


def weigh(losses: Tensor, shares: Tensor | None, ignored: Tensor | None) -> Tensor:
    """Losses (N,), or one number for all of them, times their shares; 0 for what is ignored."""
    if shares is None or ignored is None:
        return losses
    return (losses * shares).masked_fill(ignored, 0.0)


def two_logits(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """One logit per example as two, 0 and itself, with the classes in dimension 1.

    logits of any shape, target of the same (or logits (N, 1, ...) and target (N, ...)): classes 0
    and 1, or as floating-point numbers the probability of class 1.
    """
    check_tensors(logits=logits, target=target)
    if logits.shape != target.shape and logits.shape[:1] + logits.shape[2:] == target.shape:
        logits = logits.squeeze(1)
    if logits.shape != target.shape:
        raise ArgumentError(
            f"With `binary`, `target` must have the shape of `logits`, {tuple(logits.shape)}; got "
            f"{tuple(target.shape)}."
        )
    dim = min(logits.dim(), 1)
    if target.is_floating_point():
        target = torch.stack([1.0 - target, target], dim)
    return torch.stack([torch.zeros_like(logits), logits], dim), target


def as_penalty(penalty: Penalty | Any) -> Penalty:
    """A `Penalty`, or the one that a (C, C) matrix of costs makes."""
    if isinstance(penalty, Penalty):
        return penalty
    if isinstance(penalty, ExamplePenalty):
        raise PenaltyError(
            "`penalty` must hold costs by class here; got an ExamplePenalty, costs of each "
            "example. Make the loss with `penalty.base`; BilinearLoss and LogBilinearLoss take "
            "those of a batch in the call: `loss(logits, target, costs=penalty.take(rows))`."
        )
    return Penalty.from_matrix(penalty)


def example_rows(costs: Tensor | ExamplePenalty | Any, logits: Tensor) -> Costs:
    """Costs of each example as tensors: of an `ExamplePenalty`, or in the shape of the logits.

    Logits have one number for each class.
    """
    check_tensors(logits=logits)
    if isinstance(costs, ExamplePenalty):
        n = logits.numel() // costs.n_classes
        if len(costs) != n:
            raise ArgumentError(
                f"`costs` are of {counted(len(costs), 'example')}, but `logits` of shape "
                f"{tuple(logits.shape)} are of {n:,}. `costs.take(rows)` has those of a batch."
            )
        return ExampleRows(costs).to(logits.device)
    check_tensors(costs=costs)
    if costs.shape != logits.shape or costs.is_complex():
        raise ArgumentError(
            "`costs` must be real numbers, one for each answer to each example, of shape "
            f"{tuple(logits.shape)}; got {costs.dtype} of shape {tuple(costs.shape)}."
        )
    return GivenRows(as_rows(costs)[0])


def as_costs(penalty: Penalty | ExamplePenalty | Costs | Any, logits: Tensor) -> Costs:
    """A penalty as tensors, where the logits are."""
    if isinstance(penalty, Costs):
        return penalty
    if isinstance(penalty, ExamplePenalty):
        return example_rows(penalty, logits)
    check_tensors(logits=logits)
    return costs_of(as_penalty(penalty), logits.device)
