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

from itertools import repeat
from typing import Any

import torch
from torch import Tensor

from untrue.functional.formula import LossFormula, evaluate, softplus
from untrue.penalty.tensors import transforming

# Elements of a block on the CPU: 2 MiB of float32, so that a block's buffers stay in the cache.
BLOCK = 1 << 19
_keeps_graph = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", None)
_is_many = getattr(torch._C._functorch, "is_legacy_batchedtensor", None)
# Below this, what is divided by alpha might overflow.
SMALLEST_ALPHA = 1e-9


def loss(formula: LossFormula, z: Tensor) -> Tensor:
    """Loss of logits z (N, k), by the fused way where it applies and the plain one elsewhere."""
    rows = formula.make_rows()
    plain = torch.compiler.is_compiling() or transforming() or rows.requires_grad
    plain = plain or (formula.shares is not None and formula.shares.requires_grad)
    plain = plain or formula.alpha < SMALLEST_ALPHA or len(z) == 0
    if plain or not (z.requires_grad and torch.is_grad_enabled()):
        return evaluate(formula, z, rows)
    result: Tensor = _Fused.apply(formula, z, rows)  # type: ignore[no-untyped-call]
    return result


class _Fused(torch.autograd.Function):
    """The forward pass overwrites the cost rows by the gradient; the backward pass scales it."""

    @staticmethod
    def forward(ctx: Any, formula: LossFormula, z: Tensor, rows: Tensor) -> Tensor:
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
        factor = _factor(formula, alpha, len(z))
        ctx.formula, ctx.factor = formula, factor
        ctx.save_for_backward(z, rows)
        if formula.ignored is not None:
            losses.masked_fill_(formula.ignored.unsqueeze(1), 0.0)
        losses.mul_(factor)
        return losses.squeeze(1) if formula.reduction == "none" else losses.sum()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        z, gradient = ctx.saved_tensors
        formula: LossFormula = ctx.formula
        if torch.is_grad_enabled():
            # A second derivative will be taken: it needs the formula, not its value.
            again = evaluate(formula, z, formula.make_rows())
            return None, *torch.autograd.grad(again, z, upstream, create_graph=True), None
        factor = (upstream.unsqueeze(1) if upstream.dim() else upstream) * ctx.factor
        if formula.ignored is not None:
            factor.masked_fill_(formula.ignored.unsqueeze(1), 0.0)
        return None, gradient.mul_(factor) if is_last_use(factor) else gradient * factor, None


def is_last_use(factor: Tensor) -> bool:
    """Whether the saved gradient is used for the last time: for one factor, graph not kept.

    By PyTorch's own checks; False where its version has none.
    """
    if _keeps_graph is None or _is_many is None:
        return False
    return not (_keeps_graph() or _is_many(factor) or transforming())


def _factor(formula: LossFormula, alpha: float, n: int) -> Tensor | float:
    """(n, 1) What each loss over alpha counts in the result; nan if all is ignored in a mean."""
    if formula.shares is None:
        return alpha / n if formula.reduction == "mean" else alpha
    factor = formula.shares.unsqueeze(1) * alpha
    return factor.div_(formula.shares.sum()) if formula.reduction == "mean" else factor


def _bilinear(z: Tensor, r: Tensor, target: Tensor | None, b: float) -> Tensor:
    """(n, 1) Losses of a block, `t + b CE`; writes their gradients over the costs r (n, k)."""
    p = z.softmax(-1)
    best = _position(z)
    p_best = p.gather(1, best)
    mean, left = _pull(r, p, best, p_best)
    r.addcmul_(p, left.sub_(b), value=-1.0)
    if target is None:
        return mean
    r.scatter_(1, target, -b, reduce="add")
    ce = (z.gather(1, best) - z.gather(1, target)).sub_(p_best.log_())
    return mean.add_(ce, alpha=b)


def _pull(costs: Tensor, p: Tensor, at: Tensor, p_at: Tensor) -> tuple[Tensor, Tensor]:
    """Make costs (n, k) into `p (costs - mean)`; give the (n, 1) mean and what it is off by.

    The mean is read off a likely class, `at`: cheaper than a sum, and as exact.
    """
    mean = costs.gather(1, at)
    torch._softmax_backward_data(costs, p, -1, p.dtype, grad_input=costs)
    mean.addcdiv_(costs.gather(1, at), p_at, value=-1.0)
    return mean, costs.sum(-1, keepdim=True)


def _log_bilinear(z: Tensor, r: Tensor, target: Tensor | None, b: float) -> Tensor:
    """As `_bilinear`; `best` is the likeliest class, set aside from the others."""
    best = _position(z)
    others = z.scatter(1, best, -torch.inf)
    q = others.softmax(-1)
    second = _position(others)
    z_second, q_second = others.gather(1, second), q.gather(1, second)
    alone = z_second == -torch.inf  # all others are masked: they share nothing
    if z.device.type != "cpu" or type(z) is not Tensor or alone.any():
        q.masked_fill_(alone, 0.0)
        q_second.masked_fill_(alone, 1.0)
    # Differences first: large logits would round away what matters.
    top = z.gather(1, best)
    d = (top - z_second).add_(q_second.log()).add_(top - top)  # nan if the largest is infinite
    p_best, c = d.sigmoid(), d.neg().sigmoid_()
    r_best = r.gather(1, best)
    logs = torch.mul(q, -c, out=others).log1p_()
    own = (r_best * softplus(d)).masked_fill_(r_best == 0.0, 0.0)
    term = own - logs.mul_(r).sum(-1, keepdim=True)
    # c v is taken as r / (1 / c - q): nothing is infinite where c vanishes.
    r.div_(torch.sub(c.reciprocal(), q, out=others))
    mean, left = _pull(r, q, second, q_second)
    s = mean.add_(left)
    r.addcmul_(q, (s - r_best).mul_(p_best).add_(c, alpha=b).sub_(left))
    r.scatter_(1, best, (r_best - s).add_(b).mul_(p_best))
    if target is None:
        return term
    r.scatter_(1, target, -b, reduce="add")
    ce = (top - z.gather(1, target)).add_(softplus(d.neg_()))
    return term.add_(ce, alpha=b)


def _position(z: Tensor) -> Tensor:
    """(n, 1) Where each row has its maximum."""
    if z.device.type != "cpu" or type(z) is not Tensor:
        return z.argmax(-1, keepdim=True)
    # On the CPU torch takes longer for it than for an exponential; NumPy a tenth of that.
    return torch.from_numpy(z.detach().numpy().argmax(-1, keepdims=True))
