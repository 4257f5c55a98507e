"""The last linear layer and the loss together, a few rows at a time.

    L = loss(features W' + bias, target)

Neither the logits (N, k) nor their gradient is ever whole in memory: a block of rows has its logits
computed, its loss, their gradient (written over the logits), and what that gives to features,
weight and bias, before the next block. A mean or a sum is done in one go, forward; of unreduced
losses the backward pass computes the blocks again, for only then it is known how much each counts.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from untrue.functional.contract import check_targets
from untrue.functional.fused import is_last_use
from untrue.functional.mixed import Options, by_formula
from untrue.functional.native import backend
from untrue.functional.native.loss import HALVES, loss_in_place
from untrue.penalty.tensors import Costs

# Logits of a block: 128 MiB in float32. The torch formulas hold several numbers for each logit.
BLOCK, FORMULA_BLOCK = 1 << 25, 1 << 23
MOST_ROWS = 1024  # what a matrix product can use


class Head(NamedTuple):
    """All but the tensors that have a gradient.

    target (N,) or (N, k); scale: what the sum of the losses is multiplied by, nan if nothing counts
    """

    options: Options
    costs: Costs
    target: Tensor
    scale: float | Tensor


class Gradients(NamedTuple):
    """Of features (N, d), weight (k, d) and bias (k,), to be filled; None where not wanted."""

    features: Tensor | None
    weight: Tensor | None
    bias: Tensor | None


def head_loss(
    options: Options,
    costs: Costs,
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
) -> Tensor:
    """The loss of features (N, d), weight (k, d) and bias (k,); a scalar, or (N,) unreduced."""
    device, dtype = features.device.type, features.dtype
    if torch.is_autocast_enabled(device):
        # As autocast does for a linear layer, whose loss is then in single precision.
        low, dtype = torch.get_autocast_dtype(device), torch.float32
        features, weight = features.to(low), weight.to(low)
        bias = None if bias is None else bias.to(low)
    head = Head(options, costs, target, _scale(options, target))
    given = (features, weight, bias)
    with torch.autocast(device, enabled=False):
        if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in given):
            value: Tensor = _Head.apply(head, *given)  # type: ignore[no-untyped-call]
        else:
            value = _run(head, *given, None, None)
    return value.to(dtype)


class _Head(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, head: Head, features: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        ctx.head, ctx.at_once = head, head.options.reduction != "none"
        gradients = _places(ctx, features, weight, bias) if ctx.at_once else None
        value = _run(head, features, weight, bias, gradients, None)
        found = () if gradients is None else _as_given(gradients, features, weight, bias)
        ctx.save_for_backward(features, weight, bias, *found)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        head: Head = ctx.head
        features, weight, bias, *found = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, *_again(head, (features, weight, bias), ctx.needs_input_grad[1:], upstream)
        if not ctx.at_once:
            gradients = _places(ctx, features, weight, bias)
            _run(head, features, weight, bias, gradients, upstream)
            return None, *_as_given(gradients, features, weight, bias)
        # Gradients that are handed out may be written to: a graph that is kept needs its own.
        last = is_last_use(upstream)
        if last and upstream.device.type == "cpu" and upstream.item() == 1.0:
            return None, *found
        return None, *(
            None if x is None else x.mul_(upstream) if last else x * upstream for x in found
        )


def _again(
    head: Head, given: tuple[Tensor | None, ...], wanted: tuple[bool, ...], upstream: Tensor
) -> list[Tensor | None]:
    """A second derivative will be taken: by the formula, with all the logits at once."""
    value = by_formula(head.options, head.costs, F.linear(*given), head.target)  # type: ignore[arg-type]
    inputs = [x for x, is_wanted in zip(given, wanted, strict=True) if is_wanted and x is not None]
    slopes = iter(torch.autograd.grad(value, inputs, upstream, create_graph=True))
    return [next(slopes) if is_wanted else None for is_wanted in wanted]


def _places(ctx: Any, features: Tensor, weight: Tensor, bias: Tensor | None) -> Gradients:
    """Where the wanted gradients go; those that are sums over the blocks start at 0."""
    _, of_features, of_weight, of_bias = ctx.needs_input_grad
    return Gradients(
        features.new_empty(features.shape) if of_features else None,
        _zeros(weight) if of_weight else None,
        _zeros(bias) if of_bias and bias is not None else None,
    )


def _zeros(x: Tensor) -> Tensor:
    """In single precision for halves, which would lose what is added to them."""
    return x.new_zeros(x.shape, dtype=torch.float32 if x.dtype in HALVES else x.dtype)


def _as_given(gradients: Gradients, *given: Tensor | None) -> tuple[Tensor | None, ...]:
    """In the types of what they are the gradients of."""
    pairs = zip(gradients, given, strict=True)
    return tuple(g if g is None or x is None else g.to(x.dtype) for g, x in pairs)


def _run(
    head: Head,
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gradients: Gradients | None,
    upstream: Tensor | None,
) -> Tensor:
    """The value; gradients are filled where there is a place, times (N,) `upstream` if given."""
    n, k = len(features), len(weight)
    unreduced = head.options.reduction == "none"
    single = torch.float32 if features.dtype in HALVES else features.dtype
    values = features.new_zeros(n if unreduced else (), dtype=single)
    space = None
    begin = 0
    while begin < n:
        if space is None:
            space = features.new_empty(_n_rows(n, k, features), k)
        end = min(n, begin + len(space))
        part, target = features[begin:end], head.target[begin:end]
        logits = space[: end - begin]
        if bias is None:
            torch.mm(part, weight.t(), out=logits)
        else:
            torch.addmm(bias, part, weight.t(), out=logits)
        value, slope = _block(head, logits.to(single), target, gradients is not None)
        if unreduced:
            values[begin:end] = value
        else:
            values += value
        if gradients is not None and slope is not None:
            if upstream is not None:
                slope = _scaled(slope, upstream[begin:end], target, head.options.ignore_index)
            _add(gradients, slope.to(features.dtype), part, weight, begin, end)
        begin = end
    # Of no examples: 0, or nan for a mean.
    return values if n or unreduced else values * head.scale


def _n_rows(n: int, k: int, features: Tensor) -> int:
    block = BLOCK if features.is_cpu and backend() == "native" else FORMULA_BLOCK
    return min(n, max(1, min(block // k, MOST_ROWS)))


def _block(
    head: Head, logits: Tensor, target: Tensor, with_gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Value and gradient of a block of logits, which are overwritten."""
    unreduced = head.options.reduction == "none"
    options = head.options if unreduced else head.options._replace(reduction="sum")
    found = loss_in_place(options, head.costs, logits, target, head.scale, with_gradient)
    if found is not None:
        return found, logits
    if options.weight is not None:
        options = options._replace(weight=options.weight.to(logits.dtype))
    logits.requires_grad_(with_gradient)
    with torch.set_grad_enabled(with_gradient):
        value = by_formula(options, head.costs, logits, target)
    if not with_gradient:
        return value * head.scale, None
    (slope,) = torch.autograd.grad(value, logits, torch.ones_like(value))
    logits.requires_grad_(False)
    if isinstance(head.scale, Tensor) or head.scale != 1.0:
        slope = _scaled(slope, head.scale, target, options.ignore_index)
    return value.detach() * head.scale, slope


def _scaled(slope: Tensor, by: Tensor | float, target: Tensor, ignore_index: int) -> Tensor:
    """(n, k) times a number or (n,) numbers; what is ignored stays 0, even times nan."""
    slope = slope.mul_(by.unsqueeze(1) if isinstance(by, Tensor) and by.dim() else by)
    if target.is_floating_point():
        return slope
    return slope.masked_fill_((target == ignore_index).unsqueeze(1), 0.0)


def _add(
    gradients: Gradients, slope: Tensor, part: Tensor, weight: Tensor, begin: int, end: int
) -> None:
    """What the gradient (n, k) of a block of logits gives to features, weight and bias."""
    if gradients.features is not None:
        torch.mm(slope, weight, out=gradients.features[begin:end])
    if gradients.weight is not None:
        if gradients.weight.dtype == slope.dtype:
            gradients.weight.addmm_(slope.t(), part)
        else:
            gradients.weight.add_(slope.t() @ part)
    if gradients.bias is not None:
        gradients.bias.add_(slope.sum(0, dtype=gradients.bias.dtype))


def _scale(options: Options, target: Tensor) -> float | Tensor:
    """What turns a sum into what was asked for: a number, or a tensor on other devices."""
    if options.reduction != "mean":
        return 1.0
    if target.is_floating_point():
        return 1.0 / len(target) if len(target) else math.nan
    counted = target[target != options.ignore_index]
    if options.weight is None:
        return 1.0 / len(counted) if len(counted) else math.nan
    if target.device.type == "cpu":
        check_targets(target, options.ignore_index, len(options.weight))
    total = options.weight.index_select(0, counted.long()).double().sum()
    if target.device.type != "cpu":
        return total.reciprocal().float()
    return 1.0 / total.item() if total else math.nan
