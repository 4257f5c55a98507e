"""From the probabilities of a network trained by costs to the posterior behind them.

The losses have a link of their own: with a true posterior eta they are least not at p = eta, but at
a p that is moved away from costly classes. With l = alpha / (1 - alpha), c = A' eta the expected
cost of each answer, and D = diag(p) - p p', the gradient in the logits vanishes where

    bilinear       eta = p + l D c                  eta_m = p_m (1 + l (c_m - sum_j p_j c_j))
    log-bilinear   eta = p + l D (c / (1 - p))      eta_m = p_m (1 + l (c_m - sum_{j != m} t_j)),
                                                    t_j = c_j p_j / (1 - p_j)

Both are linear in eta: `(I - l E A') eta = p` with E = D or D diag(1 / (1 - p)), one system of k
equations an example, whose solution sums to 1 since every column of E does to 0. Few classes are
solved by elimination; many by GMRES (Saad, Schultz, 1986), which needs products with A only, so
that rules and trees stay what they are. E has about the rank of the classes that have some
probability: a few steps do.

A class weight multiplies the whole loss of its examples: what is found is then
`zeta_m = w_m eta_m / sum_j w_j eta_j`, and the weights are divided out. With label smoothing e, the
cross-entropy's target is `(1 - e) zeta + e / k w s`, s = sum_j zeta_j / w_j, as in PyTorch:

    ((1 - e) I - l E A' + e / k (w - p sum(w)) (1 / w)') zeta = (1 - e) p
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from untrue.array_types import ArrayOrTensor, BoolArray, FloatArray
from untrue.checks import check_choice
from untrue.decision.gmres import STEPS, gmres
from untrue.errors import ArgumentError, DataError, UntrueWarning
from untrue.losses.registry import MIXED, MixedName
from untrue.metrics.inputs import (
    check_prob_rows,
    in_precision_of,
    precision,
    read_scores,
    row_blocks,
    to_numpy,
)
from untrue.metrics.layouts import RowLayout, class_rows
from untrue.metrics.weights import check_penalty
from untrue.penalty import ExamplePenalty
from untrue.penalty.prob_columns import in_column_order

if TYPE_CHECKING:
    import torch

    from untrue.penalty import Penalty

# Up to this many classes elimination is faster than products with A.
FEW_CLASSES = 32
# Less than this of a row's mass, clipped away, is rounding and what training leaves undone.
SLACK = 1e-6
# What a product with large costs loses of them.
ROUNDING = 2.0**-46
# Values that the systems of a block of rows may hold: 16 MB.
_BLOCK = 2**21


@overload
def posterior(
    probs: torch.Tensor,
    penalty: Penalty | ExamplePenalty,
    alpha: float,
    loss: MixedName = "bilinear",
    *,
    weight: ArrayOrTensor | None = None,
    label_smoothing: float = 0.0,
    strict: bool = False,
    dim: int = 1,
    binary: bool = False,
) -> torch.Tensor: ...
@overload
def posterior(
    probs: npt.ArrayLike,
    penalty: Penalty | ExamplePenalty,
    alpha: float,
    loss: MixedName = "bilinear",
    *,
    weight: ArrayOrTensor | None = None,
    label_smoothing: float = 0.0,
    strict: bool = False,
    dim: int = 1,
    binary: bool = False,
) -> npt.NDArray[np.floating[Any]]: ...
def posterior(
    probs: Any,
    penalty: Penalty | ExamplePenalty,
    alpha: float,
    loss: MixedName = "bilinear",
    *,
    weight: ArrayOrTensor | None = None,
    label_smoothing: float = 0.0,
    strict: bool = False,
    dim: int = 1,
    binary: bool = False,
) -> Any:
    """The class probabilities (N, k) behind those of a model trained by costs.

    probs            (N, k) softmax of a model trained by `BilinearLoss` or `LogBilinearLoss`
    penalty, alpha   as it was trained with, the penalty with its normalisation; alpha below 1.
                     With costs of each example (`penalty.per_example`) row n is of example n
    loss             "bilinear" or "log-bilinear"
    weight           (k,) class weights of the loss; divided out
    label_smoothing  of the loss
    strict           raise, instead of warning, where a row is the answer to no posterior
    dim, binary      where the classes are, as in `untrue.decide`; the layout stays

    Decide on these, and the costs count once: those in the loss only shape what is learned. At
    strong alphas some rows have no posterior, or several, since the solution leaves the simplex:
    they are clipped, brought back to a sum of 1, and counted in a warning. (A negative part of less
    than 1e-6 is not counted.) In the precision of `probs`, but at least float32.

    >>> from untrue import Penalty
    >>> costs = Penalty.from_rules(["tumour", "benign"], {("tumour", "benign"): 5.0})
    >>> posterior([[0.5, 0.5]], costs, alpha=0.5).round(3)
    array([[0.3, 0.7]])
    """
    result = invert(
        probs,
        penalty,
        alpha,
        loss,
        weight=weight,
        label_smoothing=label_smoothing,
        dim=dim,
        binary=binary,
    )
    outside = int(result.outside.sum())
    if outside:
        first = int(np.argmax(result.outside))
        what = (
            f"{outside:,} of {len(result.outside):,} rows of `probs` (the first is row {first}) "
            f"match no posterior under this penalty and alpha = {alpha:g}"
        )
        if strict:
            raise DataError(
                f"{what}. strict=False clips them; a smaller alpha in training leaves fewer."
            )
        warnings.warn(f"{what}: they were clipped.", UntrueWarning, stacklevel=2)
    return in_precision_of(result.layout.scores(result.probs), probs)


@dataclass(frozen=True, slots=True, eq=False)
class Inverted:
    """Posteriors, and for which rows there is none.

    probs (M, k): a row per example, float64. outside (M,): whether its solution left the simplex.
    layout: how the examples were given
    """

    probs: FloatArray
    outside: BoolArray
    layout: RowLayout


def invert(
    probs: ArrayOrTensor,
    penalty: Penalty | ExamplePenalty,
    alpha: float,
    loss: MixedName = "bilinear",
    *,
    weight: ArrayOrTensor | None = None,
    label_smoothing: float = 0.0,
    dim: int = 1,
    binary: bool = False,
) -> Inverted:
    """`posterior`, with the rows that have none; gives no warning."""
    if not isinstance(penalty, ExamplePenalty):
        check_penalty(penalty)
    k = penalty.n_classes
    probs = in_column_order(probs, penalty.classes)
    given, layout = class_rows(probs, "probs", k, dim=dim, binary=binary)
    scores = read_scores(given, "probs", k)
    odds = _read_odds(alpha)
    smooth = _read_smoothing(label_smoothing)
    check_choice("loss", loss, MIXED)
    weights = np.ones(k) if weight is None else _read_weight(weight, k)
    eps = precision(probs)
    found, outside = np.empty(scores.shape), np.zeros(len(scores), dtype=bool)
    few = k <= FEW_CLASSES
    if isinstance(penalty, ExamplePenalty) and len(penalty) != len(scores):
        raise ArgumentError(
            f"`probs` must have a row for each of the {len(penalty):,} examples that `penalty` has "
            f"costs of; got {len(scores):,}."
        )
    for rows in row_blocks(len(scores), k * (k if few else min(STEPS, k) + 1), _BLOCK):
        block = scores[rows].astype(np.float64)
        total = block.sum(axis=1)
        check_prob_rows(block.min(axis=1), total, rows.start, eps)
        p = block / total[:, None]
        if odds == 0.0 and smooth == 0.0:
            solved, failed = p, np.zeros(len(p), dtype=bool)
        else:
            system = _System(p, odds, loss, weights, smooth)
            own = penalty.take(rows) if isinstance(penalty, ExamplePenalty) else penalty
            solved, failed = system.eliminate(own) if few else system.iterate(own)
        found[rows], outside[rows] = _onto_simplex(solved, failed, p, weights)
    return Inverted(found, outside, layout)


class _System:
    """The linear systems of a block of rows p (n, k): `M zeta = (1 - e) p`."""

    def __init__(
        self, p: FloatArray, odds: float, loss: MixedName, weights: FloatArray, smooth: float
    ) -> None:
        self.p, self.odds, self.keep = p, odds, 1.0 - smooth
        self.right = self.keep * p
        self.weights = weights
        # The column of the term of rank one that smoothing adds.
        self.pull = smooth / p.shape[1] * (weights - p * weights.sum()) if smooth else None
        self.log = loss == "log-bilinear"
        if self.log:
            n = len(p)
            self.best = (np.arange(n), p.argmax(axis=1))
            others = p.copy()
            others[self.best] = 0.0
            # 1 - p of the likeliest class is the sum of the others: no digits are lost. A row that
            # is sure has no others, and all that is divided by it is 0.
            rest = others.sum(axis=1, keepdims=True)
            self.share = np.divide(others, rest, out=np.zeros_like(p), where=rest > 0)
            self.factor = others / (1.0 - others)  # p / (1 - p), 0 for the likeliest

    def times(self, zeta: FloatArray, costs: FloatArray) -> FloatArray:
        """`M zeta`, given `costs = zeta @ A`."""
        p = self.p
        if self.log:
            t = self.factor * costs
            moved = p * (costs - (t.sum(axis=1, keepdims=True) - t))
            moved -= self.share * (costs[self.best] * p[self.best])[:, None]
        else:
            moved = p * (costs - (p * costs).sum(axis=1, keepdims=True))
        result = self.keep * zeta - self.odds * moved
        if self.pull is not None:
            result += self.pull * (zeta / self.weights).sum(axis=1, keepdims=True)
        return np.asarray(result)

    def eliminate(self, penalty: Penalty | ExamplePenalty) -> tuple[FloatArray, BoolArray]:
        """Solutions, and which rows have none, by elimination."""
        n, k = self.p.shape
        matrix = None if isinstance(penalty, ExamplePenalty) else penalty.matrix()
        # Column j of M is M applied to the j-th unit vector, whose costs are row j of A.
        columns = [
            self.times(
                np.broadcast_to(np.eye(k)[j], (n, k)),
                np.broadcast_to(matrix[j], (n, k)) if matrix is not None else _row(penalty, j),
            )
            for j in range(k)
        ]
        system, failed = np.stack(columns, axis=2), np.zeros(n, dtype=bool)
        try:
            found = np.linalg.solve(system, self.right[:, :, None])[:, :, 0]
            return found.astype(np.float64), failed
        except np.linalg.LinAlgError:
            solved = np.empty((n, k))
        for row in range(n):
            try:
                solved[row] = np.linalg.solve(system[row], self.right[row])
            except np.linalg.LinAlgError:  # several posteriors, or none: the least of them
                solved[row] = np.linalg.lstsq(system[row], self.right[row], rcond=None)[0]
                failed[row] = True
        return solved, failed

    def iterate(self, penalty: Penalty | ExamplePenalty) -> tuple[FloatArray, BoolArray]:
        """The same by products with A."""

        def apply(zeta: FloatArray) -> FloatArray:
            # `expected` never gives less than 0: each sign on its own.
            plus = penalty.expected(np.maximum(zeta, 0.0))
            return self.times(zeta, plus - penalty.expected(np.maximum(-zeta, 0.0)))

        found, left = gmres(apply, self.right, self.p)
        # The sums of a large tree round, and those of large costs in proportion to them.
        largest = self.odds * penalty.expected(np.abs(found)).max(axis=1)
        allowed = np.maximum(1e-9 * np.linalg.norm(self.right, axis=1), ROUNDING * largest)
        return found, np.asarray(~(left <= allowed))


def _row(penalty: Penalty | ExamplePenalty, j: int) -> FloatArray:
    """(n, k) What the answers cost each example if its class is j."""
    assert isinstance(penalty, ExamplePenalty)
    return penalty.rows(np.full(len(penalty), j))


def _onto_simplex(
    solved: FloatArray, failed: BoolArray, p: FloatArray, weights: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Solutions clipped, freed of class weights and brought to a sum of 1; which had left."""
    finite = np.asarray(np.isfinite(solved).all(axis=1))
    solved = np.where(finite[:, None], solved, p)
    outside = np.asarray(failed | ~finite | (-np.minimum(solved, 0.0).sum(axis=1) > SLACK))
    clipped: FloatArray = np.maximum(solved, 0.0) / weights
    nothing = clipped.sum(axis=1) == 0
    clipped[nothing] = (p / weights)[nothing]
    return clipped / clipped.sum(axis=1, keepdims=True), outside | nothing


def _read_odds(alpha: float) -> float:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | np.number):
        raise ArgumentError(f"`alpha` must be a number in [0, 1); got {alpha!r}.")
    if not 0.0 <= alpha < 1.0:
        why = (
            "; with alpha = 1 nothing of the posterior is left, only its cheapest answer"
            if alpha == 1
            else ""
        )
        raise ArgumentError(f"`alpha` must lie in [0, 1); got {alpha}{why}.")
    return float(alpha) / (1.0 - float(alpha))


def _read_smoothing(smoothing: float) -> float:
    if not isinstance(smoothing, int | float | np.number) or not 0.0 <= smoothing < 1.0:
        raise ArgumentError(f"`label_smoothing` must lie in [0, 1); got {smoothing!r}.")
    return float(smoothing)


def _read_weight(weight: ArrayOrTensor, k: int) -> FloatArray:
    weights = to_numpy(weight, "weight")
    if weights.shape != (k,) or weights.dtype.kind not in "fiu":
        raise ArgumentError(
            f"`weight` must be {k} numbers, one per class; got dtype {weights.dtype} of shape "
            f"{weights.shape}."
        )
    weights = weights.astype(np.float64)
    bad = ~((weights > 0) & (weights < math.inf))
    if bad.any():
        i = int(np.argmax(bad))
        raise ArgumentError(
            f"`weight` must be positive and finite; class {i} has {weights[i]:g}. Of a class "
            "without weight nothing was learned."
        )
    return weights
