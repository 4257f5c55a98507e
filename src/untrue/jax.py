"""The bilinear losses as pure functions of `jax.numpy`: under `jit`, `vmap` and `grad`.

    bilinear      L = (1 - alpha) CE + alpha  y' A p
    log-bilinear  L = (1 - alpha) CE - alpha  y' A log(1 - p)

As in `untrue.functional`, but with the classes in the last dimension, as is usual in JAX. Shapes
and the penalty are checked; a class that is none gives nan, since traced code cannot raise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from untrue.checks import check_choice, check_number
from untrue.errors import ArgumentError
from untrue.optional import missing
from untrue.penalty import Penalty

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
) -> Any:
    """`(1 - alpha) CE + alpha y'Ap`: charges the weight put on each wrong class by what it costs.

    logits (..., C); target class indices (...), or probabilities (..., C). `penalty` is a
    `Penalty`, or a (C, C) matrix of costs, true class first, which may be traced, as alpha may. The
    rest as in `torch.nn.functional.cross_entropy`.
    """

    def term(rows: Any, z: Any) -> Any:
        return (rows * jax.nn.softmax(z, -1)).sum(-1)

    return _mixed(term, logits, target, penalty, alpha, weight, ignore_index, reduction)


def log_bilinear_loss(
    logits: Any,
    target: Any,
    penalty: Penalty | Any,
    *,
    alpha: Any = 0.5,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """`(1 - alpha) CE - alpha y'A log(1 - p)`: charges above all confidence in a costly class.

    Arguments as in `bilinear_loss`.
    """

    def term(rows: Any, z: Any) -> Any:
        # With one class there is nothing to confuse, and log(1 - p) is -inf.
        return -(rows * log1m_softmax(z)).sum(-1) if z.shape[-1] > 1 else jnp.zeros(z.shape[:-1])

    return _mixed(term, logits, target, penalty, alpha, weight, ignore_index, reduction)


def log1m_softmax(logits: Any) -> Any:
    """`log(1 - softmax(logits))` over the last dimension, exact where a probability rounds to 1.

    The likeliest class gets the log-sum-exp of the others; all other probabilities are at most
    1/2, where `log1p(-p)` is exact.
    """
    logits = jnp.asarray(logits)
    largest = jax.lax.stop_gradient(logits).argmax(-1, keepdims=True)
    mask = jnp.arange(logits.shape[-1]) == largest
    others = jnp.where(mask, -jnp.inf, logits)
    # Seen from the second likeliest, so that large logits do not round their differences away.
    second = jax.lax.stop_gradient(others).max(-1, keepdims=True)
    others = others - second
    rest = jax.nn.logsumexp(others, -1, keepdims=True)
    log_rest = -jnp.logaddexp(jnp.take_along_axis(logits, largest, -1) - second - rest, 0.0)
    # In the likeliest class's own column stands a harmless log(1 - 0), which is replaced.
    return jnp.where(mask, log_rest, jnp.log1p(-jnp.exp(others - rest + log_rest)))


def _mixed(
    term: Any,
    logits: Any,
    target: Any,
    penalty: Penalty | Any,
    alpha: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
) -> Any:
    check_choice("reduction", reduction, ("mean", "sum", "none"))
    if not isinstance(alpha, jax.core.Tracer):
        check_number("alpha", alpha, 0.0, 1.0)
    logits, target = jnp.asarray(logits), jnp.asarray(target)
    soft = bool(jnp.issubdtype(target.dtype, jnp.floating))
    _check_shapes(logits, target, soft)
    dtype = logits.dtype
    z = logits.astype(jnp.promote_types(dtype, jnp.float32))
    costs = _costs(penalty, z)
    shares = jnp.ones(z.shape[-1], z.dtype) if weight is None else jnp.asarray(weight, z.dtype)
    if shares.shape != z.shape[-1:]:
        raise ArgumentError(f"`weight` must have shape {z.shape[-1:]}; got {shares.shape}.")
    log_p = jax.nn.log_softmax(z, -1)
    if soft:
        y = target.astype(z.dtype) * shares
        losses = (1.0 - alpha) * -(y * log_p).sum(-1) + alpha * term(y @ costs, z)
        total = losses.size
    else:
        ignored = target == ignore_index
        wrong = ((target < 0) | (target >= z.shape[-1])) & ~ignored
        index = jnp.where(ignored | wrong, 0, target)
        ce = -jnp.take_along_axis(log_p, index[..., None], -1)[..., 0]
        losses = ((1.0 - alpha) * ce + alpha * term(costs[index], z)) * shares[index]
        losses = jnp.where(wrong, jnp.nan, jnp.where(ignored, 0.0, losses))
        total = jnp.where(ignored, 0.0, shares[index]).sum()
    if reduction == "none":
        return losses.astype(dtype)
    return (losses.sum() if reduction == "sum" else losses.sum() / total).astype(dtype)


def _check_shapes(logits: Any, target: Any, soft: bool) -> None:
    if logits.ndim < 1 or not jnp.issubdtype(logits.dtype, jnp.floating):
        raise ArgumentError(
            "`logits` must be floating point with the classes in the last dimension; got "
            f"{logits.dtype} of shape {logits.shape}."
        )
    wanted = logits.shape if soft else logits.shape[:-1]
    if target.shape != wanted:
        kind = "probabilities" if soft else "class indices"
        raise ArgumentError(
            f"`target` as {kind} must have shape {wanted} for `logits` of shape {logits.shape}; "
            f"got {target.shape}."
        )


def _costs(penalty: Penalty | Any, z: Any) -> Any:
    if not isinstance(penalty, Penalty | jax.core.Tracer):
        penalty = Penalty.from_matrix(np.asarray(penalty, dtype=np.float64))
    costs = jnp.asarray(penalty.matrix() if isinstance(penalty, Penalty) else penalty, z.dtype)
    if costs.shape != (z.shape[-1], z.shape[-1]):
        raise ArgumentError(
            f"The penalty is for {costs.shape[0]} classes, but `logits` of shape {z.shape} have "
            f"{z.shape[-1]} in the last dimension."
        )
    return costs
