"""The bilinear losses as pure functions of `jax.numpy`: under `jit`, `vmap` and `grad`.

    bilinear      L = (1 - alpha) CE + alpha  y' A p
    log-bilinear  L = (1 - alpha) CE - alpha  y' A log(1 - p)

As in `untrue.functional`, but with the classes in the last dimension, as is usual in JAX. Shapes
and the penalty are checked; a target that is no class gives nan, since traced code cannot raise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from untrue.checks import check_choice, check_number
from untrue.errors import ArgumentError, PenaltyError
from untrue.optional import missing
from untrue.penalty import ExamplePenalty, Penalty

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise missing("untrue.jax", "jax", "frameworks") from error

__all__ = ["bilinear_loss", "log1m_softmax", "log_bilinear_loss"]


def bilinear_loss(
    logits: Any,
    target: Any,
    penalty: Penalty | Any,
    *,
    alpha: Any = 0.5,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`(1 - alpha) CE + alpha y'Ap`: charges the weight put on each wrong class by what it costs.

    logits (..., C); target class indices (...), or probabilities (..., C). `penalty` is a
    `Penalty`, or a (C, C) matrix of costs, true class first, which may be traced, as alpha may. The
    rest as in `torch.nn.functional.cross_entropy`.
    """

    def term(rows: Any, z: Any) -> Any:
        return (rows * jax.nn.softmax(z, -1)).sum(-1)

    options = weight, ignore_index, reduction, label_smoothing
    return _mixed(term, logits, target, penalty, alpha, *options)


def log_bilinear_loss(
    logits: Any,
    target: Any,
    penalty: Penalty | Any,
    *,
    alpha: Any = 0.5,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`(1 - alpha) CE - alpha y'A log(1 - p)`: charges above all confidence in a costly class.

    Arguments as in `bilinear_loss`.
    """

    def term(rows: Any, z: Any) -> Any:
        return -_charged(rows, log1m_softmax(z))

    options = weight, ignore_index, reduction, label_smoothing
    return _mixed(term, logits, target, penalty, alpha, *options)


def log1m_softmax(logits: Any) -> Any:
    """`log(1 - softmax(logits))` over the last dimension, exact where a probability rounds to 1.

    The likeliest class gets the log-sum-exp of the others; all other probabilities are at most
    1/2, where `log1p(-p)` is exact. One class alone gives -inf.
    """
    given = jnp.asarray(logits)
    _check_logits(given)
    z = given.astype(_computed_in(given))
    if z.shape[-1] == 1:
        return jnp.full_like(given, -jnp.inf)
    largest = jax.lax.stop_gradient(z).argmax(-1, keepdims=True)
    mask = jnp.arange(z.shape[-1]) == largest
    others = jnp.where(mask, -jnp.inf, z)
    # Seen from the second likeliest, so that large logits do not round their differences away.
    second = jax.lax.stop_gradient(others).max(-1, keepdims=True)
    # Where all others are masked by -inf nothing is left to them, and nothing can be learned.
    alone = second == -jnp.inf
    second = jnp.where(alone, 0.0, second)
    others = jnp.where(alone, 0.0, others) - second
    rest = jax.nn.logsumexp(others, -1, keepdims=True)
    top = jnp.take_along_axis(z, largest, -1)
    log_rest = jnp.where(alone, -jnp.inf, -jnp.logaddexp(top - second - rest, 0.0))
    log_rest += jax.lax.stop_gradient(top - top)  # nan where the largest is infinite
    # In the likeliest class's own column stands a harmless log(1 - 0), which is replaced.
    found = jnp.where(mask, log_rest, jnp.log1p(-jnp.exp(others - rest + log_rest)))
    return found.astype(given.dtype)


def _mixed(
    term: Any,
    logits: Any,
    target: Any,
    penalty: Penalty | Any,
    alpha: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Any:
    check_choice("reduction", reduction, ("mean", "sum", "none"))
    smoothing = check_number("label_smoothing", label_smoothing, 0.0, 1.0)
    if not isinstance(alpha, jax.core.Tracer):
        check_number("alpha", alpha, 0.0, 1.0)
    logits, target = jnp.asarray(logits), jnp.asarray(target)
    soft = bool(jnp.issubdtype(target.dtype, jnp.floating))
    _check_shapes(logits, target, soft)
    dtype, k = logits.dtype, logits.shape[-1]
    z = logits.astype(_computed_in(logits))
    costs = _costs(penalty, z)
    shares = jnp.ones(k, z.dtype) if weight is None else jnp.asarray(weight, z.dtype)
    if shares.shape != (k,):
        raise ArgumentError(f"`weight` must have shape ({k},); got {shares.shape}.")
    if soft:
        y = target.astype(z.dtype) * shares
        # Some devices multiply matrices in fewer digits unless asked not to.
        rows = jnp.matmul(y, costs, precision="highest")
        smooth = ((1.0 - smoothing) * target.astype(z.dtype) + smoothing / k) * shares
        ce = -_charged(smooth, jax.nn.log_softmax(z, -1))
        losses = _mix(alpha, ce, term(rows, z))
        total = losses.size
    else:
        # Small types of whole numbers may not hold `ignore_index` or the number of classes.
        target = target.astype(jnp.promote_types(target.dtype, jnp.int32))
        ignored = target == ignore_index
        wrong = ((target < 0) | (target >= k)) & ~ignored
        index = jnp.where(ignored | wrong, 0, target)
        # Not by the losses alone: the slope of what is nan would be nan, even times 0.
        z = jnp.where(ignored[..., None], 0.0, z)
        log_p, share = jax.nn.log_softmax(z, -1), shares[index]
        ce = -jnp.take_along_axis(log_p, index[..., None], -1)[..., 0] * share
        if smoothing > 0.0:
            ce = (1.0 - smoothing) * ce - smoothing / k * _charged(shares, log_p)
        losses = _mix(alpha, ce, term(costs[index], z) * share)
        losses = jnp.where(wrong, jnp.nan, jnp.where(ignored, 0.0, losses))
        total = jnp.where(ignored, 0.0, share).sum()
    if reduction == "none":
        return losses.astype(dtype)
    return (losses.sum() if reduction == "sum" else losses.sum() / total).astype(dtype)


def _charged(factors: Any, logs: Any) -> Any:
    """(...) Sum of factors times logarithms: a factor of 0 adds nothing, not even times -inf."""
    return (factors * jnp.where((factors == 0.0) & (logs == -jnp.inf), 0.0, logs)).sum(-1)


def _mix(alpha: Any, ce: Any, term: Any) -> Any:
    """`(1 - alpha) ce + alpha term`; what has no share may be infinite, which times 0 is nan."""
    ce = jnp.where((alpha == 1.0) & ~jnp.isfinite(ce), 0.0, ce)
    term = jnp.where((alpha == 0.0) & ~jnp.isfinite(term), 0.0, term)
    return (1.0 - alpha) * ce + alpha * term


def _computed_in(x: Any) -> Any:
    """Single precision for halves."""
    return jnp.promote_types(x.dtype, jnp.float32)


def _check_logits(logits: Any) -> None:
    if logits.ndim < 1 or not jnp.issubdtype(logits.dtype, jnp.floating):
        raise ArgumentError(
            "`logits` must be floating point with the classes in the last dimension; got "
            f"{logits.dtype} of shape {logits.shape}."
        )


def _check_shapes(logits: Any, target: Any, soft: bool) -> None:
    _check_logits(logits)
    if jnp.issubdtype(target.dtype, jnp.complexfloating):
        raise ArgumentError(
            f"`target` must hold class indices or probabilities; got {target.dtype}."
        )
    wanted = logits.shape if soft else logits.shape[:-1]
    if target.shape != wanted:
        kind = "probabilities" if soft else "class indices"
        raise ArgumentError(
            f"`target` as {kind} must have shape {wanted} for `logits` of shape {logits.shape}; "
            f"got {target.shape}."
        )


def _costs(penalty: Penalty | Any, z: Any) -> Any:
    """(k, k) The costs, in the type of z."""
    if isinstance(penalty, ExamplePenalty):
        raise PenaltyError(
            "`penalty` must hold costs by class here; got an ExamplePenalty, costs of each "
            "example: `untrue.functional` has the losses for those."
        )
    if not isinstance(penalty, Penalty | jax.core.Tracer):
        given = isinstance(penalty, jax.Array)
        penalty = Penalty.from_matrix(np.asarray(penalty, np.float64) if given else penalty)
    costs = jnp.asarray(penalty.matrix() if isinstance(penalty, Penalty) else penalty, z.dtype)
    k = z.shape[-1]
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        raise ArgumentError(f"`penalty` must have shape ({k}, {k}); got {costs.shape}.")
    if len(costs) != k:
        raise ArgumentError(
            f"The penalty is for {len(costs)} classes, but `logits` of shape {z.shape} have {k} in "
            "the last dimension."
        )
    return costs
