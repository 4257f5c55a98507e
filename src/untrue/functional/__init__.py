"""The formulas, from logits.

    bilinear      L = (1 - alpha) CE + alpha  y' A p
    log-bilinear  L = (1 - alpha) CE - alpha  y' A log(1 - p)

`y` is the target (one class, or any probability vector), `p = softmax(logits)`, and `A[i, j]` what
it costs to say j when the truth is i (Resheff, Mandelbaum and Weinshall, *Every Untrue Label is
Untrue in its Own Way*). Arguments and reductions are those of `torch.nn.functional.cross_entropy`.

The rivals' formulas stand in `untrue.losses`, each beside its module; they are found here too, by
the list of losses (`untrue.losses.registry`).
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.nn import functional as F

from untrue.checks import check_number
from untrue.functional import fused
from untrue.functional.contract import Batch, as_costs, as_rows, compute, example_rows, two_logits
from untrue.functional.formula import Formula, Term
from untrue.functional.formula import log1m_softmax as log1m_softmax
from untrue.losses import registry
from untrue.penalty import ExamplePenalty, Penalty
from untrue.penalty.tensors import Costs

if TYPE_CHECKING:
    from untrue.losses.registry import *  # noqa: F403

__all__ = sorted({"log1m_softmax", *registry.FUNCTIONS})


def __getattr__(name: str) -> Any:
    if name not in registry.FUNCTIONS:
        raise AttributeError(f"module 'untrue.functional' has no attribute {name!r}")
    value = getattr(importlib.import_module(registry.FUNCTIONS[name]), name)
    globals()[name] = value
    return value


def bilinear_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | ExamplePenalty | Costs | Any,
    *,
    costs: Tensor | ExamplePenalty | None = None,
    alpha: float = 0.5,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    binary: bool = False,
) -> Tensor:
    """`(1 - alpha) CE + alpha y'Ap`: charges the weight put on each wrong class by what it costs.

    logits (C), (N, C) or (N, C, d1, ...); target class indices without the C, or probabilities of
    the shape of logits. `penalty` is a `Penalty`, or a (C, C) matrix of costs. With `binary` there
    is one logit an example, that of class 1 of two, and `target`, of the same shape, is 0 or 1, or
    the probability of class 1.

    Costs may differ by example: `costs` is then the `ExamplePenalty` of these examples, or what
    each answer would cost each of them, in the shape of logits. It takes the place of the penalty;
    the right answer is free, whatever stands there.

    >>> import torch
    >>> logits, target = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0])
    >>> costs = Penalty.from_ordinal(3)
    >>> bilinear_loss(logits, target, costs, alpha=1.0)
    tensor(0.4248)
    """
    return _mixed_loss(
        "bilinear",
        logits,
        target,
        penalty if costs is None else example_rows(costs, logits),
        alpha=alpha,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
        binary=binary,
    )


def log_bilinear_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | ExamplePenalty | Costs | Any,
    *,
    costs: Tensor | ExamplePenalty | None = None,
    alpha: float = 0.5,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    binary: bool = False,
) -> Tensor:
    """`(1 - alpha) CE - alpha y'A log(1 - p)`: charges above all confidence in a costly class.

    Arguments as in `bilinear_loss`.
    """
    return _mixed_loss(
        "log-bilinear",
        logits,
        target,
        penalty if costs is None else example_rows(costs, logits),
        alpha=alpha,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
        binary=binary,
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
    binary: bool,
) -> Tensor:
    if not 0.0 <= alpha <= 1.0:  # compiled code can follow this much, and an alpha that changes
        check_number("alpha", alpha, 0.0, 1.0)
    costs = as_costs(penalty, logits)
    if binary:
        logits, target = two_logits(logits, target, costs.n_classes)
    cross_entropy = partial(
        F.cross_entropy,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )

    def mixed(batch: Batch) -> Tensor:
        if alpha == 0.0:
            return cross_entropy(logits, target, weight=weight)
        z, soft = batch.logits, batch.probs is not None

        def plain() -> Tensor:
            """In rows and in the precision that is computed in, like the rest of the loss."""
            rows = as_rows(target)[0].to(z.dtype) if soft else target.reshape(-1)
            return cross_entropy(z, rows, weight=None if weight is None else weight.to(z.dtype))

        if costs.n_classes == 1:  # nothing to confuse: the term is zero
            return batch.cast((1.0 - alpha) * plain())
        if batch.target is not None:
            make_rows = partial(costs.rows, batch.target, z.dtype)
        else:
            assert batch.probs is not None
            make_rows = partial(costs.mix, batch.probs)
        # Smoothing and soft targets belong to the cross-entropy alone: leave those to PyTorch.
        apart = soft or label_smoothing > 0.0
        ce_target = None if apart else batch.target
        formula = Formula(term, make_rows, ce_target, alpha, batch.shares, batch.ignored, reduction)
        loss = fused.loss(formula, z)
        if apart and alpha < 1.0:
            loss = alpha * loss + (1.0 - alpha) * plain()
        return batch.cast(loss)

    return compute(
        mixed,
        logits,
        target,
        costs.n_classes,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
    )
