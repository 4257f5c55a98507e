"""The losses of a last linear layer, from its features: for so many classes that logits are large.

They are those of `bilinear_loss(F.linear(features, weight, bias), target, ...)`, without ever
holding the logits: see `head_blocks`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter
from torch.nn import functional as F

from untrue.checks import check_number
from untrue.errors import ArgumentError
from untrue.functional.contract import as_costs, check_reduction, check_tensors, check_weight
from untrue.functional.head_blocks import head_loss
from untrue.functional.mixed import Options, by_formula
from untrue.penalty import ExamplePenalty, Penalty
from untrue.penalty.tensors import Costs, transforming

ORDINARY = (Tensor, Parameter)


def linear_bilinear_loss(
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    *,
    alpha: float = 0.5,
    class_weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`bilinear_loss` of the logits `F.linear(features, weight, bias)`, which are never held whole.

    features (d), (N, d) or (..., d), weight (k, d), bias (k) or None; target class indices without
    the d, or probabilities with k in its place. `class_weight` is the `weight` of `bilinear_loss`;
    the rest is as there. Second derivatives, `torch.func` and `torch.compile` hold the logits.

    >>> features, target = torch.tensor([[1.0, 2.0]]), torch.tensor([0])
    >>> weight = torch.tensor([[1.0, 0.5], [1.0, 0.0], [0.0, 0.0]])
    >>> linear_bilinear_loss(features, weight, None, target, Penalty.from_ordinal(3), alpha=1.0)
    tensor(0.4248)
    """
    options = Options("bilinear", alpha, class_weight, ignore_index, reduction, label_smoothing)
    return linear_loss(features, weight, bias, target, penalty, options)


def linear_log_bilinear_loss(
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    *,
    alpha: float = 0.5,
    class_weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`log_bilinear_loss` of the logits of a linear layer, as in `linear_bilinear_loss`."""
    options = Options("log-bilinear", alpha, class_weight, ignore_index, reduction, label_smoothing)
    return linear_loss(features, weight, bias, target, penalty, options)


def linear_loss(
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    target: Tensor,
    penalty: Penalty | Costs | Any,
    options: Options,
) -> Tensor:
    """Either loss of the logits of a linear layer."""
    if not 0.0 <= options.alpha <= 1.0:
        check_number("alpha", options.alpha, 0.0, 1.0)
    if isinstance(penalty, ExamplePenalty):
        raise ArgumentError(
            "`penalty` must have costs of classes; those of each example are as large as the "
            "logits. Use bilinear_loss(F.linear(features, weight, bias), target, penalty)."
        )
    check_tensors(features=features, weight=weight, target=target)
    costs = as_costs(penalty, features)
    shape = _check_shapes(features, weight, bias, target, costs.n_classes)
    check_reduction(options.reduction)
    if options.weight is not None:
        check_weight(options.weight, costs.n_classes)
    rows = features.reshape(-1, features.shape[-1])
    soft = target.is_floating_point()
    flat = target.reshape(-1, costs.n_classes) if soft else target.reshape(-1)
    given = [x for x in (features, weight, bias, target) if x is not None]
    learned = target.requires_grad or (options.weight is not None and options.weight.requires_grad)
    if learned or _is_recorded() or not all(type(x) in ORDINARY for x in given):
        value = by_formula(options, costs, F.linear(rows, weight, bias), flat)
    else:
        value = head_loss(options, costs, rows, weight, bias, flat)
    return value.reshape(shape) if options.reduction == "none" else value


def _check_shapes(
    features: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor, n_classes: int
) -> torch.Size:
    """The shape of the examples; shapes and dtypes alone are looked at."""
    if features.dim() < 1 or not features.is_floating_point():
        raise ArgumentError(
            "`features` must be floating point, of shape (d), (N, d) or (..., d); got "
            f"{features.dtype} of shape {tuple(features.shape)}."
        )
    shape, d = features.shape[:-1], features.shape[-1]
    if weight.shape != (n_classes, d):
        raise ArgumentError(
            f"`weight` must have shape ({n_classes}, {d}), classes of the penalty by features, for "
            f"`features` of shape {tuple(features.shape)}; got {tuple(weight.shape)}."
        )
    if bias is not None and (not isinstance(bias, Tensor) or bias.shape != (n_classes,)):
        found = tuple(bias.shape) if isinstance(bias, Tensor) else type(bias).__name__
        raise ArgumentError(f"`bias` must be None or have shape ({n_classes},); got {found}.")
    soft = target.is_floating_point()
    expected = (*shape, n_classes) if soft else tuple(shape)
    if target.is_complex() or tuple(target.shape) != expected:
        kind = "probabilities" if soft else "class indices"
        raise ArgumentError(
            f"`target` as {kind} must have shape {expected} for `features` of shape "
            f"{tuple(features.shape)}; got {target.dtype} of shape {tuple(target.shape)}."
        )
    return shape


def _is_recorded() -> bool:
    """Whether operations are recorded or transformed: these must be plain ones."""
    return (
        torch.compiler.is_compiling()
        or transforming()
        or torch._C._get_tracing_state() is not None
        or forward_ad._current_level >= 0
        or torch.utils._python_dispatch._get_current_dispatch_mode() is not None
    )
