"""Loss and gradient in one go, for everyday training.

The gradient is computed while the probabilities are at hand, in place and block by block, so that
nothing large is allocated twice and the exponential is taken once (cross-entropy takes it twice).
With a = alpha, b = 1 - alpha, r the cost row and y the target:

    bilinear       L = b CE + a t,            t = sum_j r_j p_j
                   dL/dz_m = p_m (a (r_m - t) + b) - b [m = y]

    log-bilinear   L = b CE + a sum_j r_j (-log(1 - p_j))

`log(1 - p_j)` is exact as `log1p(-p_j)` unless j is the likeliest class *. That one is set aside:
with q the softmax over the others, d = z_* - logsumexp(others) and c = 1 - p_* = sigmoid(-d),
every other p_j = c q_j is at most 1/2, -log(1 - p_*) = softplus(d), and with v_j = r_j / (1 - p_j),
v their mean under q and s = c v

                   dL/dz_m = q_m (a c (v_m - v) + a p_* (s - r_*) + b c) - b [m = y]     m not *
                   dL/dz_* = p_* (a (r_* - s) + b) - b [* = y]

Nothing here is unbounded: as p_* tends to 1 the gradient tends to the costs, while a clamped
logarithm would lose it. Costs are centred in two passes, as in a textbook variance: their mean
carries the rounding of every p, which large costs would magnify.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import torch
from torch import Tensor

from untrue.functional.contract import reduce, total, weigh
from untrue.functional.formula import Formula, evaluate, softplus
from untrue.penalty.tensors import transforming

# Elements of a block on the CPU: 1 MiB of float32, so that a block's buffers stay in the cache.
BLOCK = 1 << 18


def loss(formula: Formula, z: Tensor) -> Tensor:
    """Loss of logits z (N, k), by the fused way where it applies and the plain one elsewhere."""
    rows = formula.make_rows()
    plain = torch.compiler.is_compiling() or transforming() or rows.requires_grad
    if plain or not (z.requires_grad and torch.is_grad_enabled()):
        return evaluate(formula, z, rows)
    result: Tensor = _Fused.apply(formula, z, rows)  # type: ignore[no-untyped-call]
    return result


class _Fused(torch.autograd.Function):
    """The forward pass overwrites the cost rows by the gradient; the backward pass scales it."""

    @staticmethod
    def forward(ctx: Any, formula: Formula, z: Tensor, rows: Tensor) -> Tensor:
        step = _bilinear if formula.term == "bilinear" else _log_bilinear
        a, b = (1.0, 0.0) if formula.target is None else (formula.alpha, 1.0 - formula.alpha)
        target = None if formula.target is None else formula.target[:, None]
        if z.device.type != "cpu" or z.numel() <= BLOCK:
            losses = step(z, rows, target, a, b)
        else:
            block = max(1, BLOCK // z.shape[1])
            targets = repeat(None) if target is None else torch.split(target, block)
            blocks = zip(torch.split(z, block), torch.split(rows, block), targets, strict=False)
            losses = torch.cat([step(*part, a, b) for part in blocks])
        ctx.formula = formula
        ctx.save_for_backward(z, rows)
        return reduce(losses[:, 0], formula.shares, formula.reduction)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        z, gradient = ctx.saved_tensors
        formula: Formula = ctx.formula
        if torch.is_grad_enabled():
            # Somebody will differentiate again: give them the formula, not its value.
            again = evaluate(formula, z, formula.make_rows())
            return None, *torch.autograd.grad(again, z, upstream, create_graph=True), None
        if formula.reduction == "mean":
            upstream = upstream / total(gradient, formula.shares)
        upstream = weigh(upstream, formula.shares)
        return None, gradient * (upstream[:, None] if upstream.dim() else upstream), None


def _bilinear(z: Tensor, r: Tensor, target: Tensor | None, a: float, b: float) -> Tensor:
    """(n, 1) Losses of a block; writes their gradients over the costs r (n, k)."""
    p = z.softmax(-1)
    term, left = _centre(r, p)
    if target is None:
        r.sub_(left).mul_(p)
        return term
    r.mul_(a).add_(left.mul_(-a).add_(b)).mul_(p)
    r.scatter_add_(1, target, z.new_full(target.shape, -b))
    top = z.amax(-1, keepdim=True)
    ce = (top - z.gather(1, target)) - p.amax(-1, keepdim=True).log_()
    return term.mul_(a).add_(ce, alpha=b)


def _centre(costs: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """(n, 1) Mean of the costs under p, and what of it is left after it was taken off them."""
    mean = (costs * p).sum(-1, keepdim=True)
    left = costs.sub_(mean).mul(p).sum(-1, keepdim=True)
    return mean.add_(left), left


def _log_bilinear(z: Tensor, r: Tensor, target: Tensor | None, a: float, b: float) -> Tensor:
    """As `_bilinear`; `best` is the likeliest class, set aside from the others."""
    top = z.amax(-1, keepdim=True)
    best = _position(z, top)
    others = z.scatter(1, best, -torch.inf)
    q = others.softmax(-1)
    # Differences first: large logits would round away what matters.
    d = (top - others.amax(-1, keepdim=True)) + q.amax(-1, keepdim=True).log_()
    p_best, c = d.sigmoid(), (-d).sigmoid()
    r_best = r.gather(1, best)
    minus_p = torch.mul(q, -c, out=others)
    term = r_best * softplus(d) - torch.log1p(minus_p).mul_(r).sum(-1, keepdim=True)
    v = r.div_(minus_p.add_(1.0))
    mean, left = _centre(v, q)
    s, ac = c * mean, a * c
    v.mul_(ac).add_(a * p_best * (s - r_best) + b * c - ac * left).mul_(q)
    v.scatter_(1, best, p_best * (a * (r_best - s) + b))
    if target is None:
        return term
    v.scatter_add_(1, target, z.new_full(target.shape, -b))
    ce = (top - z.gather(1, target)) + softplus(-d)
    return term.mul_(a).add_(ce, alpha=b)


def _position(z: Tensor, top: Tensor) -> Tensor:
    """(n, 1) Where each row has its maximum `top`."""
    if z.device.type != "cpu":
        return z.argmax(-1, keepdim=True)
    # On the CPU `argmax` takes longer than an exponential; these passes take less than half of it.
    places = torch.arange(z.shape[1], dtype=z.dtype)
    found = (z - top).sign_().add_(1.0).mul_(places).amax(-1, keepdim=True)
    return found.long().clamp_(0, z.shape[1] - 1)  # a row with nan finds nothing
