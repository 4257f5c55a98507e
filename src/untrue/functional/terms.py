"""Loss of each example and its gradient, from logits z (N, k) and cost rows r (N, k).

Two forms of the same mathematics. `compose` is written with plain operations and serves
`torch.compile`, `torch.func` and second derivatives. `_Fused` computes the gradient while it has
the probabilities at hand and works in place, block by block, so that nothing large is allocated
twice and the exponential is taken once. With b = 1 - alpha, a = alpha, y the target:

    bilinear       L = b CE + a t,            t = sum_j r_j p_j
                   dL/dz_m = p_m (b + a (r_m - t)) - b [m = y]

    log-bilinear   L = b CE + a sum_j r_j (-log(1 - p_j))

`log(1 - p_j)` is exact as `log1p(-p_j)` unless j is the likeliest class *. That one is set aside:
with q the softmax over the others, d = z_* - logsumexp(others) and c = 1 - p_* = sigmoid(-d),
every p_j = c q_j is at most 1/2, -log(1 - p_*) = softplus(d), and

                   dL/dz_m = a (r_m u_m - p_m s - r_* p_* q_m) + b p_m - b [m = y]     m other
                   dL/dz_* = p_* (a (r_* - s) + b) - b [* = y]

with u_m = p_m / (1 - p_m) and s the sum of r_m u_m over the others. Nothing here is unbounded: as
p_* tends to 1 the gradient tends to the costs, while a clamped logarithm would lose it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

Term = Literal["bilinear", "log-bilinear"]
BILINEAR: Term = "bilinear"
LOG_BILINEAR: Term = "log-bilinear"

# Elements of a block on the CPU: 1 MiB of float32, so that a block's buffers stay in the cache.
BLOCK = 1 << 18


def rowwise(
    term: Term,
    z: Tensor,
    make_rows: Callable[[], Tensor],
    *,
    target: Tensor | None = None,
    alpha: float = 1.0,
) -> Tensor:
    """(N,) `(1 - alpha) CE + alpha term` of each example; without a target the term alone.

    `make_rows` gives the cost rows r as a fresh tensor, which is overwritten.
    """
    if z.shape[1] == 1:  # one class: nothing to confuse, and no others to set aside
        return z.sum(-1) * 0.0
    rows = make_rows()
    plain = torch.compiler.is_compiling() or _transforming() or rows.requires_grad
    if plain or not (z.requires_grad and torch.is_grad_enabled()):
        return compose(term, z, rows, target, alpha)
    loss: Tensor = _Fused.apply(term, z, rows, make_rows, target, alpha)  # type: ignore[no-untyped-call]
    return loss


def compose(term: Term, z: Tensor, rows: Tensor, target: Tensor | None, alpha: float) -> Tensor:
    """The formulas in plain operations, differentiable as often as one likes."""
    if term == BILINEAR:
        loss = (rows * z.softmax(-1)).sum(-1)
    else:
        loss = -(rows * log1m_softmax(z)).sum(-1)
    if target is None:
        return loss
    return (1.0 - alpha) * F.cross_entropy(z, target, reduction="none") + alpha * loss


def log1m_softmax(logits: Tensor, dim: int = -1) -> Tensor:
    """`log(1 - softmax(logits))`, exact where a probability rounds to 0 and where it rounds to 1.

    The likeliest class gets the log-sum-exp of the others; all other probabilities are at most
    1/2, where `log1p(-p)` is exact. The gradient is bounded. One class alone gives -inf.

    >>> log1m_softmax(torch.tensor([100.0, 0.0]))
    tensor([-100.,    0.])
    """
    if logits.dtype in (torch.float16, torch.bfloat16):
        return log1m_softmax(logits.float(), dim).to(logits.dtype)
    largest = logits.detach().argmax(dim, keepdim=True)
    mask = torch.zeros_like(logits, dtype=torch.bool).scatter(dim, largest, True)
    others = torch.logsumexp(logits.masked_fill(mask, -torch.inf), dim, keepdim=True)
    top = logits.gather(dim, largest)
    log_rest = -_softplus(top - others)
    # log(1 - p) of the likeliest is `log_rest`; its own column gets a harmless 0 below.
    log_q = (logits - others).masked_fill(mask, -torch.inf)
    return torch.where(mask, log_rest, torch.log1p(-torch.exp(log_q + log_rest)))


def _softplus(x: Tensor) -> Tensor:
    # log(1 + e^x) to full relative precision on both sides (F.softplus cuts off at 20).
    return torch.logaddexp(x, torch.zeros_like(x))


def _transforming() -> bool:
    """Whether a `torch.func` transform is active: those want plain operations."""
    active = getattr(torch._C, "_are_functorch_transforms_active", None)
    return bool(active and active())


class _Fused(torch.autograd.Function):
    """Loss and gradient in one go; the backward pass only scales."""

    @staticmethod
    def forward(
        ctx: Any,
        term: Term,
        z: Tensor,
        rows: Tensor,
        make_rows: Callable[[], Tensor],
        target: Tensor | None,
        alpha: float,
    ) -> Tensor:
        step = _bilinear if term == BILINEAR else _log_bilinear
        n, k = z.shape
        block = max(1, BLOCK // k) if z.device.type == "cpu" else max(1, n)
        loss = z.new_empty(n, 1)
        for i in range(0, n, block):
            part = slice(i, i + block)
            own = None if target is None else target[part, None]
            step(z[part], rows[part], own, alpha, loss[part])
        ctx.formula = term, make_rows, target, alpha
        ctx.save_for_backward(z, rows)
        return loss[:, 0]

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        z, gradient = ctx.saved_tensors
        if not torch.is_grad_enabled():
            return None, gradient * upstream[:, None], None, None, None, None
        # Somebody will differentiate again: give them the formula, not its value.
        term, make_rows, target, alpha = ctx.formula
        loss = compose(term, z, make_rows(), target, alpha)
        (again,) = torch.autograd.grad(loss, z, upstream, create_graph=True)
        return None, again, None, None, None, None


def _bilinear(z: Tensor, r: Tensor, target: Tensor | None, alpha: float, loss: Tensor) -> None:
    """Write the loss of each row to `loss` (n, 1), and its gradient over the costs `r` (n, k)."""
    a, b = (1.0, 0.0) if target is None else (alpha, 1.0 - alpha)
    p = z.softmax(-1)
    term = (r * p).sum(-1, keepdim=True)
    torch.mul(term, a, out=loss)
    torch.add(z.new_tensor(b), r.sub_(term), alpha=a, out=r).mul_(p)
    if target is not None:
        top = z.amax(-1, keepdim=True)
        ce = (top - z.gather(1, target)) - p.amax(-1, keepdim=True).log_()
        loss.add_(ce, alpha=b)
        r.scatter_add_(1, target, z.new_full(target.shape, -b))


def _log_bilinear(z: Tensor, r: Tensor, target: Tensor | None, alpha: float, loss: Tensor) -> None:
    """As `_bilinear`; `best` is the likeliest class, set aside from the others."""
    a, b = (1.0, 0.0) if target is None else (alpha, 1.0 - alpha)
    top = z.amax(-1, keepdim=True)
    best = _position(z, top)
    others = z.scatter(1, best, -torch.inf)
    q = others.softmax(-1)
    rest = others.amax(-1, keepdim=True) - q.amax(-1, keepdim=True).log_()
    d = top - rest
    p_best, c = d.sigmoid(), (-d).sigmoid()
    r_best = r.gather(1, best)
    minus_p = torch.mul(q, -c, out=others)
    term = r_best * _softplus(d) - torch.log1p(minus_p).mul_(r).sum(-1, keepdim=True)
    torch.mul(term, a, out=loss)
    v = r.mul_(q).div_(minus_p.add_(1.0))
    s = c * v.sum(-1, keepdim=True)
    v.mul_(a * c).addcmul_(q, c * (b - a * s) - a * r_best * p_best)
    v.scatter_(1, best, p_best * (a * (r_best - s) + b))
    if target is not None:
        loss.add_((top - z.gather(1, target)) + _softplus(-d), alpha=b)
        v.scatter_add_(1, target, z.new_full(target.shape, -b))


def _position(z: Tensor, top: Tensor) -> Tensor:
    """(n, 1) Where each row has its maximum `top`."""
    if z.device.type != "cpu":
        return z.argmax(-1, keepdim=True)
    # On the CPU `argmax` takes longer than an exponential; these three passes take a quarter of it.
    places = torch.arange(z.shape[1], dtype=torch.int32)
    return torch.where(z == top, places, 0).amax(-1, keepdim=True).long()
