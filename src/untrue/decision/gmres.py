"""Many linear systems at once, by products with their matrices only. (Saad, Schultz, 1986.)"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from untrue.array_types import FloatArray

# Steps before it starts again, and how often it may; the residual it stops at.
STEPS, STARTS, RESIDUAL = 60, 6, 1e-13


def gmres(
    apply: Callable[[FloatArray], FloatArray], right: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Solutions (n, k) of n systems at once, and the residual (n,) that each leaves."""
    found = start.copy()
    scale = np.linalg.norm(right, axis=1)
    for _ in range(STARTS):
        residual = right - apply(found)
        size = np.linalg.norm(residual, axis=1)
        if not (size > RESIDUAL * scale).any():
            break
        found = found + _krylov(apply, residual, size, RESIDUAL * scale)
    return found, np.asarray(np.linalg.norm(right - apply(found), axis=1))


def _krylov(
    apply: Callable[[FloatArray], FloatArray],
    residual: FloatArray,
    size: FloatArray,
    aim: FloatArray,
) -> FloatArray:
    """The step (n, k) that leaves the least residual among `STEPS` directions."""
    n, k = residual.shape
    steps = min(STEPS, k)
    directions = [_quotient(residual, size[:, None])]
    upper = np.zeros((steps + 1, steps, n))
    turn: list[tuple[FloatArray, FloatArray]] = []
    target = np.zeros((steps + 1, n))
    target[0] = size
    done = 0
    for j in range(steps):
        new = apply(directions[j])
        for _ in range(2):  # once more, for what rounding has left
            for i, direction in enumerate(directions):
                part = np.einsum("nk,nk->n", direction, new)
                upper[i, j] += part
                new = new - part[:, None] * direction
        length = np.linalg.norm(new, axis=1)
        upper[j + 1, j] = length
        directions.append(_quotient(new, length[:, None]))
        for i, (cosine, sine) in enumerate(turn):
            a, b = upper[i, j].copy(), upper[i + 1, j].copy()
            upper[i, j], upper[i + 1, j] = cosine * a + sine * b, cosine * b - sine * a
        whole = np.hypot(upper[j, j], upper[j + 1, j])
        cosine = np.where(whole > 0, _quotient(upper[j, j], whole), 1.0)
        sine = _quotient(upper[j + 1, j], whole)
        turn.append((cosine, sine))
        upper[j, j], upper[j + 1, j] = whole, 0.0
        target[j], target[j + 1] = cosine * target[j], -sine * target[j]
        done = j + 1
        if not (np.abs(target[done]) > aim).any():
            break
    weights = np.zeros((done, n))
    for i in range(done - 1, -1, -1):
        known = np.einsum("jn,jn->n", upper[i, i + 1 : done], weights[i + 1 :])
        weights[i] = _quotient(target[i] - known, upper[i, i])
    return np.asarray(np.einsum("jn,jnk->nk", weights, np.stack(directions[:done])))


def _quotient(above: FloatArray, below: FloatArray) -> FloatArray:
    """`above / below`, 0 where there is nothing to divide by."""
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below != 0)
