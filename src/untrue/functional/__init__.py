"""The formulas, from logits.

    bilinear      L = (1 - alpha) CE + alpha  y' A p
    log-bilinear  L = (1 - alpha) CE - alpha  y' A log(1 - p)

`y` is the target (one class, or any probability vector), `p = softmax(logits)`, and `A[i, j]` what
it costs to predict j when the truth is i (Resheff, Mandelbaum and Weinshall, *Every Untrue Label is
Untrue in its Own Way*). Arguments and reductions are those of `torch.nn.functional.cross_entropy`.

The rivals' formulas are in `untrue.losses`, each next to its module; they are found here too, by
the list of losses (`untrue.losses.registry`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from torch import Tensor

from untrue.checks import check_number
from untrue.errors import ArgumentError
from untrue.functional.contract import as_costs, example_rows, two_logits
from untrue.functional.formula import log1m_softmax as log1m_softmax
from untrue.functional.linear_head import linear_bilinear_loss as linear_bilinear_loss
from untrue.functional.linear_head import linear_log_bilinear_loss as linear_log_bilinear_loss
from untrue.functional.mixed import Options, by_formula
from untrue.functional.native import backend as backend
from untrue.functional.native.loss import loss as native_loss
from untrue.losses import registry
from untrue.penalty import ExamplePenalty, Penalty
from untrue.penalty.tensors import Costs

if TYPE_CHECKING:
    from untrue.losses.registry import *  # noqa: F403

OTHERS = ("backend", "linear_bilinear_loss", "linear_log_bilinear_loss", "log1m_softmax")

__all__ = sorted({*OTHERS, *registry.FUNCTIONS})


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
    is one logit per example, that of class 1 of two, and `target`, of the same shape, is 0 or 1, or
    the probability of class 1.

    Costs may differ by example: `costs` is then the `ExamplePenalty` of these examples, or what
    each answer would cost each of them, in the shape of logits ((N, 2) for (N,) with `binary`). It
    takes the place of the penalty; the right answer is free, whatever is given there.

    >>> import torch
    >>> logits, target = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0])
    >>> costs = Penalty.from_ordinal(3)
    >>> bilinear_loss(logits, target, costs, alpha=1.0)
    tensor(0.4248)
    """
    options = Options("bilinear", alpha, weight, ignore_index, reduction, label_smoothing)
    return mixed_loss(logits, target, penalty, options, costs=costs, binary=binary)


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
    """`(1 - alpha) CE - alpha y'A log(1 - p)`: charges mainly confidence in a costly class.

    Arguments as in `bilinear_loss`.
    """
    options = Options("log-bilinear", alpha, weight, ignore_index, reduction, label_smoothing)
    return mixed_loss(logits, target, penalty, options, costs=costs, binary=binary)


def mixed_loss(
    logits: Tensor,
    target: Tensor,
    penalty: Penalty | ExamplePenalty | Costs | Any,
    options: Options,
    *,
    costs: Tensor | ExamplePenalty | None = None,
    binary: bool = False,
) -> Tensor:
    """Either loss, by the C kernel where it applies, by the formulas elsewhere."""
    if not 0.0 <= options.alpha <= 1.0:  # torch.compile can trace this comparison
        check_number("alpha", options.alpha, 0.0, 1.0)
    if binary:
        logits, target = two_logits(logits, target)
    stated = as_costs(penalty, logits) if costs is None else example_rows(costs, logits)
    if binary and stated.n_classes != 2:
        raise ArgumentError(
            f"`binary` is about two classes, but the penalty is for {stated.n_classes}: give each "
            "class a logit."
        )
    found = native_loss(options, stated, logits, target)
    return by_formula(options, stated, logits, target) if found is None else found
