"""The kernel behind an `autograd.Function`: where it applies, and how its gradient is handed on.

The forward pass has the kernel write the whole gradient beside the loss; the backward pass scales
it, or hands it on as it is if there is nothing to scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from untrue.functional.contract import REDUCTIONS, as_rows
from untrue.functional.fused import is_last_use
from untrue.functional.mixed import Options, by_formula
from untrue.functional.native import ASKED, KERNELS
from untrue.functional.native.costs import Described, describe
from untrue.penalty.tensors import Costs

ORDINARY = (Tensor, Parameter)  # a subclass may change what operations do
HALVES = (torch.float16, torch.bfloat16)
FLOATS = frozenset((torch.float32, torch.float64, *HALVES))
INTEGERS = frozenset((torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool))
# Single numbers: a new one is made faster from these than from its shape and dtype.
SCALARS = {dtype: torch.empty((), dtype=dtype) for dtype in (torch.float32, torch.float64)}
STRIDED = torch.strided
# Bound once: these run at each call, which for small batches takes as long as the kernel.
_asked: list[Callable[[], Any]] = [getattr(torch._C, name, None) or int for name in ASKED]
_dispatchers, _tracing, _transforms = _asked
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_is_compiling = torch.compiler.is_compiling
_n_threads, _is_grad_enabled = torch.get_num_threads, torch.is_grad_enabled


class Call(NamedTuple):
    """All of a loss but its logits."""

    options: Options
    costs: Costs
    target: Tensor
    described: Described


def loss(options: Options, costs: Costs, logits: Tensor, target: Tensor) -> Tensor | None:
    """The loss by the kernel; None if that is for the formulas, which also name what is wrong."""
    # First of all, so that the compiler never sees the rest.
    if _is_compiling() or not _are_ordinary(logits, target):
        return None
    _, alpha, weight, ignore_index, reduction, smoothing = options
    if isinstance(alpha, Tensor) or alpha == 0.0 or not 0.0 <= smoothing <= 1.0:
        return None
    rows, flat, shape, dtype = logits, target, target.shape, logits.dtype
    if logits.dim() != 2:
        rows, expected = as_rows(logits)
        if shape != expected:
            return None
        flat = target.reshape(-1)
    elif len(shape) != 1:
        return None
    n, k = rows.shape
    if len(flat) != n or k != costs.n_classes or k < 2 or not n or reduction not in REDUCTIONS:
        return None
    if weight is not None and not _is_weight(weight, k):
        return None
    if dtype in HALVES:
        rows = rows.float()
        dtype = torch.float32 if torch.is_autocast_enabled("cpu") else dtype
    if flat.dtype is not torch.int64 or not flat.is_contiguous():
        flat = flat.to(torch.int64).contiguous()
    described = describe(costs, flat, ignore_index, rows.dtype)
    if described is None:
        return None
    if rows.requires_grad and _is_grad_enabled():
        value: Tensor = _apply(rows, Call(options, costs, flat, described))  # type: ignore[no-untyped-call]
    else:
        value = run(rows, options, flat, described, None)
    if reduction == "none" and len(shape) != 1:
        value = value.reshape(shape)
    return value if value.dtype is dtype else value.to(dtype)


def loss_in_place(
    options: Options,
    costs: Costs,
    logits: Tensor,
    target: Tensor,
    scale: float | Tensor,
    with_gradient: bool,
) -> Tensor | None:
    """`scale` times the loss of logits (N, k); their gradient is written over them.

    None if that is for the formulas; the logits are then as they were.
    """
    _, alpha, weight, ignore_index, _, smoothing = options
    if not _are_ordinary(logits, target) or isinstance(alpha, Tensor) or isinstance(scale, Tensor):
        return None
    k = costs.n_classes
    if alpha == 0.0 or not 0.0 <= smoothing <= 1.0 or k < 2 or logits.dtype in HALVES:
        return None
    if weight is not None and not _is_weight(weight, k):
        return None
    flat = target.to(torch.int64).contiguous()
    described = describe(costs, flat, ignore_index, logits.dtype)
    if described is None:
        return None
    return run(logits, options, flat, described, logits if with_gradient else None, scale)


def run(
    rows: Tensor,
    options: Options,
    target: Tensor,
    costs: Described,
    gradient: Tensor | None,
    scale: float = 1.0,
) -> Tensor:
    """The value of a loss of logits (N, k); its gradient is written where there is a place for it.

    target (N,) of int64, without gaps; `scale` multiplies the gradient and a reduced value.
    """
    assert KERNELS is not None
    n, k = rows.shape
    term, alpha, weight, ignore_index, reduction, smoothing = options
    dtype = rows.dtype
    value = rows.new_empty(n) if reduction == "none" else torch.empty_like(SCALARS[dtype])
    held = rows if rows.is_contiguous() else rows.contiguous()
    if weight is not None:
        weight = weight.to(torch.float64).contiguous()
    KERNELS.loss(
        held.data_ptr(),
        target.data_ptr(),
        0 if gradient is None else gradient.data_ptr(),
        0 if weight is None else weight.data_ptr(),
        value.data_ptr(),
        n,
        k,
        ignore_index,
        _n_threads(),
        dtype is torch.float64,
        costs.is_double,
        term == "log-bilinear",
        alpha,
        smoothing,
        scale,
        reduction[0],
        costs.form,
        costs.arguments,
    )
    return value


class _Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, call: Call) -> Tensor:
        gradient = torch.empty_like(rows) if rows.is_contiguous() else rows.new_empty(rows.shape)
        ctx.call = call
        ctx.save_for_backward(rows, gradient)
        return run(rows, call.options, call.target, call.described, gradient)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        rows, gradient = ctx.saved_tensors
        if _is_grad_enabled():
            # A second derivative will be taken: it needs the formula, not its value.
            options, costs, target, _ = ctx.call
            again = by_formula(options, costs, rows, target)
            return *torch.autograd.grad(again, rows, upstream, create_graph=True), None
        last = is_last_use(upstream)
        if last and not upstream.dim():
            factor = _number(upstream)
            if factor == 1.0:
                return gradient, None
            if math.isfinite(factor):
                return gradient.mul_(factor), None
        factors = upstream.unsqueeze(1) if upstream.dim() else upstream
        scaled = gradient.mul_(factors) if last else gradient * factors
        # What is ignored has no gradient, even where the rest is nan or infinite.
        ignored = (ctx.call.target == ctx.call.options.ignore_index).unsqueeze(1)
        return scaled.masked_fill(ignored, 0.0), None


def _number(scalar: Tensor) -> float:
    """`scalar.item()`, in a fifth of its time."""
    address = 0 if type(scalar) is not Tensor or scalar.is_neg() else scalar.data_ptr()
    if KERNELS is None or not address or scalar.dtype not in SCALARS:
        return float(scalar.item())
    found: float = KERNELS.number(address, scalar.dtype is torch.float64)
    return found


# Without the part of `Function.apply` that looks after `torch.func`, which is not active here.
_apply = super(torch.autograd.Function, _Kernel).apply


def _are_ordinary(logits: Tensor, target: Tensor) -> bool:
    """Whether they are tensors in main memory, and no operation is recorded or transformed."""
    return (
        KERNELS is not None
        and type(logits) in ORDINARY
        and type(target) is Tensor
        and logits.is_cpu
        and target.is_cpu
        and logits.dtype in FLOATS
        and target.dtype in INTEGERS
        and logits.layout is STRIDED
        and target.layout is STRIDED
        and logits.dim() > 0
        and _dispatchers() == 0
        and _tracing() is None
        and not _transforms()
        and not _is_wrapped(logits)
        and forward_ad._current_level < 0
        and not logits.is_neg()
    )


def _is_weight(weight: Tensor, k: int) -> bool:
    """Whether these are class weights that are not learned."""
    return (
        type(weight) in ORDINARY
        and weight.is_cpu
        and weight.shape == (k,)
        and weight.is_floating_point()
        and not weight.requires_grad
        and not weight.is_neg()
    )
