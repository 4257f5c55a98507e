"""The losses, their gradients and Hessians in float64 NumPy: the oracle beside the torch code.

For one example with logits z, `p = softmax(z)`, target y (one-hot, or any weights over the
classes; |y| is their sum) and cost row `r = y' A`, all as arrays (N, k):

    L = (1 - alpha) CE + alpha T        CE = -sum_j y_j log p_j
    bilinear       T = sum_j r_j p_j
    log-bilinear   T = -sum_j r_j log(1 - p_j)

    CE             g = |y| p - y                 H = |y| (diag(p) - p p')
    bilinear       g_m = p_m (r_m - T)           H = diag(g) - g p' - p g'

In the log-bilinear term the likeliest class * is set aside. With u_j = p_j / (1 - p_j), which is at
most 1 for every other class, w_j = r_j u_j / (1 - p_j), and sums over the others alone
(s = sum r_j u_j, W = sum w_j, w_* = u_* = 0), those contribute

                   g_m = r_m u_m - p_m s
                   H = diag(w) - w p' - p w' + W p p' - s (diag(p) - p p')

and the likeliest, whose -log(1 - p_*) is softplus(d) with d = z_* - logsumexp(others), c = 1 - p_*
and q the softmax over the others (q_* = 0), contributes with v = onehot_* - q

                   g = r_* p_* v
                   H = r_* p_* (c v v' - (diag(q) - q q'))

No difference is taken where it would cancel: `1 - p` of the likeliest class is the sum of the
others' shares. So values hold to rounding for all logits, however far apart.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray
from untrue.checks import check_choice, check_number
from untrue.errors import ArgumentError
from untrue.losses.registry import MIXED, MixedName


def losses(
    logits: npt.ArrayLike,
    target: npt.ArrayLike,
    rows: npt.ArrayLike,
    *,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
) -> FloatArray:
    """(N,) Loss of each example.

    logits (N, k); target (N,) class indices or (N, k) weights over the classes; rows (N, k) what
    each class would cost this example, see `cost_rows`.

    >>> rows = cost_rows([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [0])
    >>> losses([[2.0, 1.0, 0.0]], [0], rows, alpha=1.0).round(4)
    array([0.4248])
    """
    problem = _read(logits, target, rows, loss, alpha)
    p = problem.probs
    log_p = (problem.logits - problem.logits.max(1, keepdims=True)) - p.log_sum
    ce = -np.where(problem.y == 0, 0.0, problem.y * log_p).sum(1)
    if loss == "bilinear":
        term = (problem.rows * p.share).sum(1)
    else:
        aside = problem.aside
        term = (aside.cost * np.logaddexp(aside.distance, 0.0))[:, 0]
        term -= (problem.rows * np.log1p(np.where(aside.best, 0.0, -p.share))).sum(1)
    return np.asarray((1.0 - alpha) * ce + alpha * term)


def gradients(
    logits: npt.ArrayLike,
    target: npt.ArrayLike,
    rows: npt.ArrayLike,
    *,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
) -> FloatArray:
    """(N, k) Derivatives by the logits; arguments as in `losses`."""
    return _gradients(_read(logits, target, rows, loss, alpha))


def hessian_diagonals(
    logits: npt.ArrayLike,
    target: npt.ArrayLike,
    rows: npt.ArrayLike,
    *,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
) -> FloatArray:
    """(N, k) Second derivatives by each logit alone, without a k x k array.

    Those of the cost terms may be negative: neither is convex. Arguments as in `losses`.
    """
    problem = _read(logits, target, rows, loss, alpha)
    p = problem.probs
    variance = p.share * p.complement
    if loss == "bilinear":
        term = problem.slope * (p.complement - p.share)
    else:
        a = problem.aside
        term = a.w * (p.complement - p.share) + a.w_sum * p.share**2 - a.s * variance
        term += a.cost * a.p * (a.c * a.v**2 - a.q * a.q_complement)
    return np.asarray((1.0 - alpha) * problem.mass * variance + alpha * term)


def hessians(
    logits: npt.ArrayLike,
    target: npt.ArrayLike,
    rows: npt.ArrayLike,
    *,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
) -> FloatArray:
    """(N, k, k) All second derivatives; arguments as in `losses`."""
    problem = _read(logits, target, rows, loss, alpha)
    p = problem.probs
    spread = -_outer(p.share, p.share)
    if loss == "bilinear":
        gradient = problem.slope
        term = -_outer(gradient, p.share) - _outer(p.share, gradient)
    else:
        a = problem.aside
        squares = _outer(p.share, p.share)
        term = -_outer(a.w, p.share) - _outer(p.share, a.w)
        term += (a.w_sum + a.s)[:, :, None] * squares
        term += (a.cost * a.p)[:, :, None] * (a.c[:, :, None] * _outer(a.v, a.v) + _outer(a.q, a.q))
    full = (1.0 - alpha) * problem.mass[:, :, None] * spread + alpha * term
    k = full.shape[1]
    # On the diagonal the sums above cancel; the diagonal's own formula does not.
    full[:, range(k), range(k)] = hessian_diagonals(logits, target, rows, loss=loss, alpha=alpha)
    return np.asarray(full)


def hessian_bounds(
    logits: npt.ArrayLike,
    target: npt.ArrayLike,
    rows: npt.ArrayLike,
    *,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
) -> FloatArray:
    """(N, k) An upper bound of `hessian_diagonals` that is never negative, and tight at alpha = 0.

    A Newton step by it never overshoots because a term bends down. Per cost term:

        bilinear       |g_m|, since the diagonal is g_m (1 - 2 p_m)
        log-bilinear   r_m p_m (1 - p_m) + sum_{j != m} r_j u_j p_m, since each -log(1 - p_j) bends
                       along z_m by at most the size of its slope u_j p_m
    """
    return _bounds(_read(logits, target, rows, loss, alpha))


def newton_terms(
    logits: npt.ArrayLike,
    target: npt.ArrayLike,
    rows: npt.ArrayLike,
    *,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
) -> tuple[FloatArray, FloatArray]:
    """`gradients` and `hessian_bounds` of the same arguments, in little more time than one."""
    problem = _read(logits, target, rows, loss, alpha)
    return _gradients(problem), _bounds(problem)


def cost_rows(matrix: npt.ArrayLike, target: npt.ArrayLike) -> FloatArray:
    """(N, k) `A[target]` for class indices (N,), `target @ A` for weights (N, k)."""
    costs, y = np.asarray(matrix, np.float64), np.asarray(target)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        raise ArgumentError(f"`matrix` must be square; got shape {costs.shape}.")
    return np.asarray(costs[y] if y.ndim == 1 else y.astype(np.float64) @ costs)


@dataclasses.dataclass(frozen=True, slots=True)
class _Softmax:
    """Shares and `1 - share`, both to full relative precision; `best` marks each row's likeliest.

    `log_sum` (N, 1) is the logarithm of the sum of `exp(z - max z)`.
    """

    share: FloatArray
    complement: FloatArray
    best: BoolArray
    log_sum: FloatArray


@dataclasses.dataclass(frozen=True)
class _Problem:
    """Arguments as checked arrays (N, k); `mass` (N, 1) is the sum of the target's weights.

    `slope` is the gradient of the bilinear term.
    """

    logits: FloatArray
    y: FloatArray
    mass: FloatArray
    rows: FloatArray
    probs: _Softmax
    loss: MixedName
    alpha: float

    @cached_property
    def slope(self) -> FloatArray:
        return _bilinear_gradient(self)

    @cached_property
    def aside(self) -> _SetAside:
        return _set_aside(self)


@dataclasses.dataclass(frozen=True, slots=True)
class _SetAside:
    """The names of the module's docstring: (N, k) q, v, w, odds u; (N, 1) cost r_*, p_*, c, s, W.

    `distance` is d, `best` the (N, k) mask of the class set aside.
    """

    best: BoolArray
    cost: FloatArray
    p: FloatArray
    c: FloatArray
    distance: FloatArray
    q: FloatArray
    q_complement: FloatArray
    v: FloatArray
    odds: FloatArray
    s: FloatArray
    w: FloatArray
    w_sum: FloatArray


def _read(logits: Any, target: Any, rows: Any, loss: MixedName, alpha: float) -> _Problem:
    z, r, given = np.asarray(logits, np.float64), np.asarray(rows, np.float64), np.asarray(target)
    check_choice("loss", loss, MIXED)
    check_number("alpha", alpha, 0.0, 1.0)
    if z.ndim != 2 or z.shape[1] == 0:
        raise ArgumentError(f"`logits` must have shape (N, k); got {z.shape}.")
    if r.shape != z.shape:
        raise ArgumentError(f"`rows` must have the shape {z.shape} of `logits`; got {r.shape}.")
    if given.shape not in (z.shape, z.shape[:1]):
        raise ArgumentError(
            f"`target` must be class indices of shape {z.shape[:1]} or weights of shape "
            f"{z.shape}; got {given.shape}."
        )
    if given.ndim == 1:
        if len(given) and not (given.dtype.kind in "iu" and 0 <= given.min() <= given.max()):
            raise ArgumentError("`target` of shape (N,) must hold class indices from 0 on.")
        if len(given) and given.max() >= z.shape[1]:
            raise ArgumentError(
                f"`target` names class {given.max()}, but `logits` have {z.shape[1]} classes."
            )
        y = np.zeros_like(z)
        y[np.arange(len(z)), given.astype(np.int64)] = 1.0
    else:
        y = given.astype(np.float64)
    if z.shape[1] == 1:  # nothing to confuse
        r = np.zeros_like(r)
    return _Problem(z, y, y.sum(1, keepdims=True), r, _softmax(z), loss, alpha)


def _softmax(z: FloatArray) -> _Softmax:
    best = np.zeros(z.shape, dtype=bool)
    np.put_along_axis(best, z.argmax(1, keepdims=True), True, axis=1)
    shares = np.exp(z - z.max(1, keepdims=True))
    others = np.where(best, 0.0, shares).sum(1, keepdims=True)
    share = shares / (1.0 + others)
    complement = np.where(best, others / (1.0 + others), 1.0 - share)
    return _Softmax(share, complement, best, np.log1p(others))


def _gradients(problem: _Problem) -> FloatArray:
    ce = problem.mass * problem.probs.share - problem.y
    # At the likeliest class `|y| p - y` would cancel: the others' targets less |y| (1 - p) do not.
    best = problem.probs.best
    rest = np.where(best, 0.0, problem.y).sum(1, keepdims=True)
    ce = np.where(best, rest - problem.mass * problem.probs.complement, ce)
    if problem.loss == "bilinear":
        term = problem.slope
    else:
        aside = problem.aside
        p = problem.probs.share
        term = problem.rows * aside.odds - p * aside.s + aside.cost * aside.p * aside.v
    return np.asarray((1.0 - problem.alpha) * ce + problem.alpha * term)


def _bounds(problem: _Problem) -> FloatArray:
    p = problem.probs
    variance = p.share * p.complement
    if problem.loss == "bilinear":
        term = np.abs(problem.slope)
    else:
        a = problem.aside
        term = problem.rows * variance + a.cost * a.p * a.q
        term += p.share * np.maximum(a.s - problem.rows * a.odds, 0.0)
    return np.asarray((1.0 - problem.alpha) * problem.mass * variance + problem.alpha * term)


def _bilinear_gradient(problem: _Problem) -> FloatArray:
    p = problem.probs
    r_best = np.where(p.best, problem.rows, 0.0).sum(1, keepdims=True)
    # r_m - T by way of the likeliest class, whose own r_* - T is a sum over the others.
    to_best = (p.share * (r_best - problem.rows)).sum(1, keepdims=True)
    return np.asarray(p.share * ((problem.rows - r_best) + to_best))


def _set_aside(problem: _Problem) -> _SetAside:
    z, r, p = problem.logits, problem.rows, problem.probs
    best = p.best

    def at_best(x: FloatArray) -> FloatArray:
        return np.asarray(np.where(best, x, 0.0).sum(1, keepdims=True))

    if z.shape[1] == 1:
        q = q_complement = np.zeros_like(z)
        distance = np.zeros_like(z)
    else:
        low = z.min(1, keepdims=True)
        others = _softmax(np.where(best, -np.inf, z))
        q, q_complement = others.share, others.complement
        top = np.where(best, low, z).max(1, keepdims=True)
        distance = (at_best(z) - top) - others.log_sum
    odds = np.where(best, 0.0, p.share / np.where(best, 1.0, p.complement))
    w = np.where(best, 0.0, r * odds / np.where(best, 1.0, p.complement))
    return _SetAside(
        best=best,
        cost=at_best(r),
        p=at_best(p.share),
        c=at_best(p.complement),
        distance=distance,
        q=q,
        q_complement=q_complement,
        v=np.asarray(best - q),
        odds=odds,
        s=(r * odds).sum(1, keepdims=True),
        w=w,
        w_sum=w.sum(1, keepdims=True),
    )


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[:, :, None] * b[:, None, :]
