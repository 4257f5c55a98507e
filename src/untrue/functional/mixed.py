"""The mix of cross-entropy and a cost term, by torch's own operations: these cover everything."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from torch import Tensor
from torch.nn import functional as F

from untrue.functional import fused
from untrue.functional.contract import Batch, as_rows, compute
from untrue.functional.formula import LossFormula
from untrue.losses.registry import MixedName
from untrue.penalty.tensors import Costs


class Options(NamedTuple):
    """What a loss is beside its logits, targets and costs; all but `alpha` as in cross-entropy."""

    term: MixedName
    alpha: float
    weight: Tensor | None
    ignore_index: int
    reduction: str
    label_smoothing: float


def by_formula(options: Options, costs: Costs, logits: Tensor, target: Tensor) -> Tensor:
    """`(1 - alpha) CE + alpha term`."""
    term, alpha, weight, ignore_index, reduction, label_smoothing = options
    cross_entropy = partial(
        F.cross_entropy,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )

    def mixed(batch: Batch) -> Tensor:
        z, soft = batch.logits, batch.probs is not None
        # `F.cross_entropy` takes whole numbers of few types, and weights in the logits' own.
        labels = target if soft else target.long()
        if alpha == 0.0:
            own = None if weight is None else weight.to(batch.dtype)
            return cross_entropy(logits, labels, weight=own)

        def plain() -> Tensor:
            """In rows and in the precision that is computed in, like the rest of the loss."""
            rows = as_rows(target)[0].to(z.dtype) if soft else labels.reshape(-1)
            return cross_entropy(z, rows, weight=None if weight is None else weight.to(z.dtype))

        if costs.n_classes == 1:  # nothing to confuse: the term is zero
            return batch.cast((1.0 - alpha) * plain())
        if batch.target is not None:
            make_rows = partial(costs.rows, batch.target, z.dtype)
        else:
            assert batch.probs is not None
            make_rows = partial(costs.mix, batch.probs)
        # Smoothing and soft targets belong to the cross-entropy alone: leave those to PyTorch. And
        # at alpha 1 there is none: it may be infinite, which times 0 would be nan.
        apart = soft or label_smoothing > 0.0
        ce_target = None if apart or alpha == 1.0 else batch.target
        formula = LossFormula(
            term, make_rows, ce_target, alpha, batch.shares, batch.ignored, reduction
        )
        loss = fused.loss(formula, z)
        if apart and alpha < 1.0:
            loss = alpha * loss + (1.0 - alpha) * plain()
        return batch.cast(loss)

    return compute(mixed, logits, target, costs.n_classes, weight, ignore_index, reduction)
