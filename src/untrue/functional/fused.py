"""Loss and gradient in one go, for everyday training.

The gradient is computed while the probabilities are at hand, in place and block by block, so that
nothing large is allocated twice and the exponential is taken once (cross-entropy takes it twice).
Loss and gradient are held divided by alpha. With b = 1 / alpha - 1, r the cost row, y the target:

    bilinear       L = t + b CE,            t = sum_j r_j p_j
                   dL/dz_m = p_m (r_m - t + b) - b [m = y]

    log-bilinear   L = sum_j r_j (-log(1 - p_j)) + b CE

`log(1 - p_j)` is exact as `log1p(-p_j)` unless j is the likeliest class *. That one is set aside:
with q the softmax over the others, d = z_* - logsumexp(others) and c = 1 - p_* = sigmoid(-d),
every other p_j = c q_j is at most 1/2, -log(1 - p_*) = softplus(d), and with v_j = r_j / (1 - p_j)
and s the mean of c v under q

                   dL/dz_m = q_m (c v_m - s + p_* (s - r_*) + b c) - b [m = y]     m not *
                   dL/dz_* = p_* (r_* - s + b) - b [* = y]

Both need `p (x - mean of x under p)`, which is softmax's own backward kernel: one pass.

Nothing here is unbounded: as p_* tends to 1 the gradient tends to the costs, while a clamped
logarithm would lose it. Costs are centred twice, as in a textbook variance: their mean carries the
rounding of every p, which large costs would magnify, and what it is off by is the sum of the above.
"""

from __future__ import annotations

import math
from itertools import repeat
from typing import Any

import torch
from torch import Tensor

from untrue.functional.contract import weigh
from untrue.functional.formula import Formula, evaluate, softplus
from untrue.penalty.tensors import transforming

# Elements of a block on the CPU: 1 MiB of float32, so that a block's buffers stay in the cache.
BLOCK = 1 << 18
# Below this, what is divided by alpha might overflow.
SMALLEST_ALPHA = 1e-9


def loss(formula: Formula, z: Tensor) -> Tensor:
    """Loss of logits z (N, k), by the fused way where it applies and the plain one elsewhere."""
    rows = formula.make_rows()
    plain = torch.compiler.is_compiling() or transforming() or rows.requires_grad
    plain = plain or formula.alpha < SMALLEST_ALPHA
    if plain or not (z.requires_grad and torch.is_grad_enabled()):
        return evaluate(formula, z, rows)
    result: Tensor = _Fused.apply(formula, z, rows)  # type: ignore[no-untyped-call]
    return result


class _Fused(torch.autograd.Function):
    """The forward pass overwrites the cost rows by the gradient; the backward pass scales it."""

    @staticmethod
    def forward(ctx: Any, formula: Formula, z: Tensor, rows: Tensor) -> Tensor:
        step = _bilinear if formula.term == "bilinear" else _log_bilinear
        alpha = 1.0 if formula.target is None else formula.alpha
        target = None if formula.target is None else formula.target.unsqueeze(1)
        b = (1.0 - alpha) / alpha
        if z.device.type != "cpu" or z.numel() <= BLOCK:
            losses = step(z, rows, target, b)
        else:
            block = max(1, BLOCK // z.shape[1])
            targets = repeat(None) if target is None else torch.split(target, block)
            blocks = zip(torch.split(z, block), torch.split(rows, block), targets, strict=False)
            losses = torch.cat([step(*part, b) for part in blocks])
        scale = _scale(formula, alpha, len(z))
        ctx.formula, ctx.scale = formula, scale
        ctx.save_for_backward(z, rows)
        weighed = weigh(losses.squeeze(1), formula.shares, formula.ignored)
        return (weighed if formula.reduction == "none" else weighed.sum()) * scale

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        z, gradient = ctx.saved_tensors
        formula: Formula = ctx.formula
        if torch.is_grad_enabled():
            # Somebody will differentiate again: give them the formula, not its value.
            again = evaluate(formula, z, formula.make_rows())
            return None, *torch.autograd.grad(again, z, upstream, create_graph=True), None
        upstream = weigh(upstream * ctx.scale, formula.shares, formula.ignored)
        return None, gradient * (upstream.unsqueeze(1) if upstream.dim() else upstream), None


def _scale(formula: Formula, alpha: float, n: int) -> Tensor | float:
    """What turns the sum of the n losses over alpha into what was asked for."""
    if formula.reduction != "mean":
        return alpha
    if formula.shares is not None:
        return alpha / formula.shares.sum()
    return alpha / n if n else math.nan


def _bilinear(z: Tensor, r: Tensor, target: Tensor | None, b: float) -> Tensor:
    """(n, 1) Losses of a block, `t + b CE`; writes their gradients over the costs r (n, k)."""
    p = z.softmax(-1)
    best = _position(z)
    p_best = p.gather(1, best)
    pulled, mean, left = _pulled(p, r, best, p_best)
    torch.addcmul(pulled, p, b - left, out=r)
    if target is None:
        return mean
    r.scatter_(1, target, -b, reduce="add")
    ce = (z.gather(1, best) - z.gather(1, target)) - p_best.log_()
    return mean.add_(ce, alpha=b)


def _pulled(p: Tensor, costs: Tensor, at: Tensor, p_at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(n, k) `p (costs - mean)`, the (n, 1) mean of the costs under p, and what it is off by.

    The mean is read off a likely class, `at`: cheaper than a sum, and as exact.
    """
    pulled = torch._softmax_backward_data(costs, p, -1, p.dtype)
    mean = costs.gather(1, at).sub_(pulled.gather(1, at).div_(p_at))
    return pulled, mean, pulled.sum(-1, keepdim=True)


def _log_bilinear(z: Tensor, r: Tensor, target: Tensor | None, b: float) -> Tensor:
    """As `_bilinear`; `best` is the likeliest class, set aside from the others."""
    best = _position(z)
    others = z.scatter(1, best, -torch.inf)
    q = others.softmax(-1)
    second = _position(others)
    q_second = q.gather(1, second)
    # Differences first: large logits would round away what matters.
    top = z.gather(1, best)
    d = (top - z.gather(1, second)).add_(q_second.log())
    p_best, c = d.sigmoid(), d.neg().sigmoid_()
    r_best = r.gather(1, best)
    minus_p = torch.mul(q, -c, out=others)
    term = r_best * softplus(d) - torch.log1p(minus_p).mul_(r).sum(-1, keepdim=True)
    # c v is taken as r / (1 / c - q): nothing is infinite where c vanishes.
    cv = r.div_(torch.sub(c.reciprocal(), q, out=others))
    pulled, mean, left = _pulled(q, cv, second, q_second)
    s = mean.add_(left)
    torch.addcmul(pulled, q, (s - r_best).mul_(p_best).add_(c, alpha=b).sub_(left), out=r)
    r.scatter_(1, best, (r_best - s).add_(b).mul_(p_best))
    if target is None:
        return term
    r.scatter_(1, target, -b, reduce="add")
    ce = (top - z.gather(1, target)).add_(softplus(d.neg_()))
    return term.add_(ce, alpha=b)


def _position(z: Tensor) -> Tensor:
    """(n, 1) Where each row has its maximum."""
    if z.device.type != "cpu":
        return z.argmax(-1, keepdim=True)
    # On the CPU torch takes longer for it than for an exponential; NumPy a tenth of that.
    return torch.from_numpy(z.detach().numpy().argmax(-1, keepdims=True))
