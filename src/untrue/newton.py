"""First and bounded second derivatives for boosted trees, in single precision and few passes.

The formulas are those of `untrue.reference`, for class indices as targets. Libraries of
boosted trees keep scores class by class and derivatives in float32, so all is computed as (k, N),
a block of examples at a time that stays in the cache. The likeliest class * is set aside, as there:
with q the softmax over the others and `o` their odds together, `1 - p_* = o / (1 + o)` loses no
digits. Where the C kernels are built they do the same in one pass (`kernels/newton.h`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.errors import ArgumentError
from untrue.kernels import KERNELS
from untrue.losses.registry import MixedName
from untrue.machine import threads

Singles = npt.NDArray[np.float32]

# Values of a (k, block) array: 256 kB.
BLOCK = 2**16
TINY = np.float32(1e-30)


def newton_terms(
    scores: npt.NDArray[Any],
    target: IntArray,
    costs: FloatArray,
    *,
    loss: MixedName,
    alpha: float,
    by_example: bool = False,
    scale: float = 1.0,
    weight: FloatArray | None = None,
    least: float = 0.0,
) -> tuple[Singles, Singles]:
    """Gradient and `scale` times the bound of the Hessian's diagonal, at `least` that, both (N, k).

    scores (N, k), target (N,) class indices, costs (k, k), or (N, k) `by_example`: what each answer
    costs each example; weight (N,) multiplies both. The results are transposed views: class by
    class in memory.

    >>> scores, costs = np.zeros((1, 2)), np.eye(2)[::-1]
    >>> g, h = newton_terms(scores, np.array([0]), costs, loss="bilinear", alpha=0.0)
    >>> g.tolist(), h.tolist()
    ([[-0.5, 0.5]], [[0.25, 0.25]])
    """
    n, k = scores.shape
    if target.shape != (n,) or costs.shape != (n if by_example else k, k):
        raise ArgumentError(
            f"`target` and `costs` must fit to scores {(n, k)}; got {target.shape}, {costs.shape}."
        )
    if weight is not None and weight.shape != (n,):
        raise ArgumentError(f"`weight` must have shape ({n},); got {weight.shape}.")
    if KERNELS is None:
        return by_formula(
            scores,
            target,
            costs,
            loss=loss,
            alpha=alpha,
            by_example=by_example,
            scale=scale,
            weight=weight,
            least=least,
        )
    gradient, bound = np.empty((k, n), np.float32), np.empty((k, n), np.float32)
    by_class = np.ascontiguousarray(scores.T, dtype=np.float64)
    own = np.ascontiguousarray(target, dtype=np.int64)
    if by_example:
        paid: npt.NDArray[Any] = np.ascontiguousarray(costs, dtype=np.float64)
    else:
        paid = np.ascontiguousarray(costs.T, dtype=np.float32)
    each = None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    KERNELS.newton(
        by_class.ctypes.data,
        own.ctypes.data,
        paid.ctypes.data,
        0 if each is None else each.ctypes.data,
        gradient.ctypes.data,
        bound.ctypes.data,
        n,
        k,
        threads(),
        by_example,
        loss == "log-bilinear",
        alpha,
        scale,
        least,
    )
    return gradient.T, bound.T


def by_formula(
    scores: npt.NDArray[Any],
    target: IntArray,
    costs: FloatArray,
    *,
    loss: MixedName,
    alpha: float,
    by_example: bool,
    scale: float,
    weight: FloatArray | None,
    least: float,
) -> tuple[Singles, Singles]:
    """As `newton_terms`, by NumPy."""
    n, k = scores.shape
    gradient, bound = np.empty((k, n), np.float32), np.empty((k, n), np.float32)
    by_predicted = costs.T if by_example else np.ascontiguousarray(costs.T, dtype=np.float32)
    by_class = scores.T
    size = max(1, BLOCK // k)

    def work(start: int) -> None:
        rows = slice(start, start + size)
        own = target[rows]
        paid = by_predicted[:, rows if by_example else own].astype(np.float32, copy=False)
        g, h = _block(by_class[:, rows], own, paid, loss, np.float32(alpha))
        h *= np.float32(scale)
        if weight is not None:
            w = weight[rows].astype(np.float32)
            g *= w
            h *= w
        gradient[:, rows], bound[:, rows] = g, np.maximum(h, np.float32(least))

    starts = range(0, n, size)
    if len(starts) < 4:
        for start in starts:
            work(start)
    else:  # NumPy lets other threads run while it computes
        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(work, starts))
    return gradient.T, bound.T


def _block(
    scores: npt.NDArray[Any],
    target: IntArray,
    rows: Singles,
    loss: MixedName,
    alpha: np.float32,
) -> tuple[Singles, Singles]:
    """Both terms of (k, n) scores; rows (k, n) is what each class would cost each example."""
    n = scores.shape[1]
    at = np.arange(n)
    best = scores.argmax(axis=0)
    z = (scores - scores[best, at]).astype(np.float32)
    z[best, at] = -np.inf
    # Of one class alone there are no others.
    second = np.maximum(z.max(axis=0), np.float32(-1e30))
    z -= second
    q = np.exp(z, out=z)  # the softmax over the others, except for its sum
    rest = np.maximum(q.sum(axis=0), TINY)
    q *= 1.0 / rest
    others = np.exp(second) * rest
    share = 1.0 / (1.0 + others)
    p = q * (others * share)
    complement = 1.0 - p
    p[best, at], complement[best, at] = share, others * share
    plain = np.float32(1.0) - alpha
    variance = p * complement
    if loss == "bilinear":
        mean = np.einsum("kn,kn->n", rows, p)
        slope = rows - mean
        slope *= p
        h = np.abs(slope)
        g = slope
    else:
        r_best = rows[best, at]
        odds = rows * p
        odds /= np.maximum(complement, TINY)
        odds[best, at] = 0.0
        total = odds.sum(axis=0)
        pull = r_best * share
        q *= pull
        g = odds - p * total - q
        g[best, at] += pull
        h = rows * variance + q + p * np.maximum(total - odds, 0.0)
    g *= alpha
    h *= alpha
    variance *= plain
    h += variance
    p *= plain
    p[target, at] = -plain * complement[target, at]
    g += p
    return g, h
