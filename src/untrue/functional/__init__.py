"""The formulas, from logits.

    bilinear      L = (1 - alpha) CE + alpha  y' A p
    log-bilinear  L = (1 - alpha) CE - alpha  y' A log(1 - p)

`y` is the target (one class, or any probability vector), `p = softmax(logits)`, and `A[i, j]` what
it costs to say j when the truth is i (Resheff, Mandelbaum and Weinshall, *Every Untrue Label is
Untrue in its Own Way*). Arguments and reductions are those of `torch.nn.functional.cross_entropy`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from untrue.errors import ArgumentError
from untrue.functional import fused
from untrue.functional.formula import Formula, Term, log1m_softmax
from untrue.penalty import Penalty
from untrue.penalty.tensors import Costs, costs_of

__all__ = ["bilinear_loss", "log1m_softmax", "log_bilinear_loss"]


def bilinear_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    *,
    alpha: float = 0.5,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`(1 - alpha) CE + alpha y'Ap`: charges the weight put on each wrong class by what it costs.

    logits (C), (N, C) or (N, C, d1, ...); target class indices without the C, or probabilities of
    the shape of logits. `penalty` is a `Penalty`, or a (C, C) matrix of costs.

    >>> logits, target = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0])
    >>> costs = Penalty.from_ordinal(3)
    >>> bilinear_loss(logits, target, costs, alpha=1.0)
    tensor(0.4248)
    """
    return _mixed_loss(
        "bilinear",
        logits,
        target,
        penalty,
        alpha=alpha,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def log_bilinear_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    *,
    alpha: float = 0.5,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`(1 - alpha) CE - alpha y'A log(1 - p)`: charges above all confidence in a costly class.

    Arguments as in `bilinear_loss`.
    """
    return _mixed_loss(
        "log-bilinear",
        logits,
        target,
        penalty,
        alpha=alpha,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _mixed_loss(
    term: Term,
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    *,
    alpha: float,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    if not 0.0 <= alpha <= 1.0:
        raise ArgumentError(f"`alpha` must lie in [0, 1]; got {alpha}.")
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentError(f"`reduction` must be 'none', 'mean' or 'sum'; got {reduction!r}.")
    costs = _costs(penalty, logits)
    soft = _check_shapes(logits, target, costs.n_classes)
    options: dict[str, Any] = {
        "weight": weight,
        "ignore_index": ignore_index,
        "reduction": reduction,
        "label_smoothing": label_smoothing,
    }
    if alpha == 0.0:
        return F.cross_entropy(logits, target, **options)
    result_dtype = logits.dtype
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits, target = logits.float(), target.float() if soft else target
        options["weight"] = weight = None if weight is None else weight.float()
        if torch.is_autocast_enabled(logits.device.type):
            result_dtype = torch.float32
    if costs.n_classes == 1:  # nothing to confuse: the term is zero
        return ((1.0 - alpha) * F.cross_entropy(logits, target, **options)).to(result_dtype)
    z, batch_shape = _as_rows(logits)
    flat = shares = None
    if soft:
        y = _as_rows(target)[0].to(z.dtype)
        make_rows = partial(costs.mix, y if weight is None else y * weight.to(z.dtype))
    else:
        flat = target.reshape(-1)
        counted = flat != ignore_index
        flat = flat.masked_fill(~counted, 0).long()
        shares = counted.to(z.dtype)
        if weight is not None:
            shares = shares * weight.to(z.dtype)[flat]
        make_rows = partial(costs.rows, flat, z.dtype)
    # Smoothing and soft targets belong to the cross-entropy alone: leave those to PyTorch.
    apart = soft or label_smoothing > 0.0
    formula = Formula(term, make_rows, None if apart else flat, alpha, shares, reduction)
    loss = fused.loss(formula, z)
    if reduction == "none":
        loss = loss.reshape(batch_shape)
    if apart and alpha < 1.0:
        loss = alpha * loss + (1.0 - alpha) * F.cross_entropy(logits, target, **options)
    return loss.to(result_dtype)


def _costs(penalty: Penalty | Costs | Any, logits: Tensor) -> Costs:
    if isinstance(penalty, Costs):
        return penalty
    if not isinstance(penalty, Penalty):
        matrix = penalty.detach().cpu() if isinstance(penalty, Tensor) else penalty
        penalty = Penalty.from_matrix(matrix)
    return costs_of(penalty, logits.device)


def _check_shapes(logits: Tensor, target: Tensor, n_classes: int) -> bool:
    """Whether targets are probabilities; shapes and dtypes alone are looked at."""
    if logits.dim() < 1:
        raise ArgumentError(
            "`logits` must have shape (C), (N, C) or (N, C, d1, ...); got a scalar."
        )
    class_dim = 0 if logits.dim() == 1 else 1
    if logits.shape[class_dim] != n_classes:
        raise ArgumentError(
            f"The penalty is for {n_classes} classes, but `logits` of shape {tuple(logits.shape)} "
            f"have {logits.shape[class_dim]} in dimension {class_dim}."
        )
    if not logits.is_floating_point():
        raise ArgumentError(f"`logits` must be floating point; got {logits.dtype}.")
    soft = target.is_floating_point()
    expected = list(logits.shape)
    if not soft:
        del expected[class_dim]
    if list(target.shape) != expected:
        kind = "probabilities" if soft else "class indices"
        raise ArgumentError(
            f"`target` as {kind} must have shape {tuple(expected)} for `logits` of shape "
            f"{tuple(logits.shape)}; got {tuple(target.shape)}."
        )
    return soft


def _as_rows(x: Tensor) -> tuple[Tensor, torch.Size]:
    """(C), (N, C) or (N, C, d1, ...) -> (examples, C), and the shape of the examples."""
    if x.dim() > 2:
        x = x.movedim(1, -1)
    return x.reshape(-1, x.shape[-1]), x.shape[:-1]
