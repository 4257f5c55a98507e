"""A loss as data, and its plain evaluation: differentiable any number of times.

This is the form that `torch.compile`, `torch.func` and second derivatives see; `fused` is the
same mathematics for everyday training.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from untrue.functional.contract import reduce
from untrue.losses.registry import MixedName


@dataclasses.dataclass(frozen=True, slots=True)
class LossFormula:
    """Everything about a loss but the logits: `(1 - alpha) CE + alpha term`, weighed and reduced.

    make_rows: gives the cost rows r (N, k) as a fresh tensor, which may be overwritten
    target (N,): class indices for the cross-entropy; None leaves the term alone
    shares (N,): weight of each example; None: all equal
    ignored (N,): examples that do not count; None if all do
    """

    term: MixedName
    make_rows: Callable[[], Tensor]
    target: Tensor | None
    alpha: float
    shares: Tensor | None
    ignored: Tensor | None
    reduction: str


def evaluate(formula: LossFormula, z: Tensor, rows: Tensor) -> Tensor:
    """Loss of logits z (N, k): a scalar, or (N,) unreduced."""
    if formula.term == "bilinear":
        # Costs are centred first: their mean carries the rounding of every p into the gradient.
        p = z.softmax(-1)
        mean = (rows * p).sum(-1, keepdim=True).detach()
        loss = mean[:, 0] + ((rows - mean) * p).sum(-1)
    else:
        # A class that costs nothing adds nothing, not even where it has all the weight.
        logs = log1m_softmax(z)
        loss = -(rows * logs.masked_fill((rows == 0.0) & (logs == -torch.inf), 0.0)).sum(-1)
    if formula.target is not None:
        ce = F.cross_entropy(z, formula.target, reduction="none")
        loss = (1.0 - formula.alpha) * ce + formula.alpha * loss
    return reduce(loss, formula.shares, formula.ignored, formula.reduction)


def log1m_softmax(logits: Tensor, dim: int = -1) -> Tensor:
    """`log(1 - softmax(logits))`, exact where a probability rounds to 0 and where it rounds to 1.

    The likeliest class gets the log-sum-exp of the others; all other probabilities are at most
    1/2, where `log1p(-p)` is exact. The gradient is bounded. One class alone gives -inf.

    >>> log1m_softmax(torch.tensor([20.0, 0.0]))
    tensor([-2.0000e+01, -2.0612e-09])
    """
    if logits.dtype in (torch.float16, torch.bfloat16):
        return log1m_softmax(logits.float(), dim).to(logits.dtype)
    if logits.shape[dim] == 1:
        return torch.full_like(logits, -torch.inf)
    largest = logits.detach().argmax(dim, keepdim=True)
    mask = torch.zeros_like(logits, dtype=torch.bool).scatter(dim, largest, 1)
    others = logits.masked_fill(mask, -torch.inf)
    # Seen from the second likeliest, so that large logits do not round their differences away.
    second = others.detach().amax(dim, keepdim=True)
    # Where all others are masked by -inf nothing is left to them, and nothing can be learned.
    alone = second == -torch.inf
    second = second.masked_fill(alone, 0.0)
    others = others.masked_fill(alone, 0.0) - second
    rest = torch.logsumexp(others, dim, keepdim=True)
    top = logits.gather(dim, largest)
    log_rest = (-softplus(top - second - rest)).masked_fill(alone, -torch.inf)
    log_rest = log_rest + (top - top).detach()  # nan where the largest is infinite
    # The likeliest class's own column has a harmless log(1 - 0), which is replaced.
    return torch.where(mask, log_rest, torch.log1p(-(others - rest + log_rest).exp()))


def softplus(x: Tensor) -> Tensor:
    """`log(1 + e^x)` to full relative precision on both sides (`F.softplus` cuts off at 20)."""
    return torch.logaddexp(x, torch.zeros_like(x))
