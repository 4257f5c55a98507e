"""The answer of least expected cost, from probabilities and a penalty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError
from untrue.metrics.inputs import (
    IntArray,
    check_prob_rows,
    check_scores_shape,
    is_tensor,
    precision,
    prob_blocks,
    read_scores,
    row_blocks,
)
from untrue.metrics.weights import check_penalty

if TYPE_CHECKING:
    import torch

    from untrue.penalty import Penalty

# An accelerator is asked seldom, with much: 128 MB of float64 at a time.
_DEVICE_BLOCK = 2**24


@overload
def decide(
    probs: torch.Tensor, penalty: Penalty, abstain_cost: float | None = None
) -> torch.Tensor: ...
@overload
def decide(
    probs: npt.ArrayLike, penalty: Penalty, abstain_cost: float | None = None
) -> IntArray: ...
def decide(probs: Any, penalty: Penalty, abstain_cost: float | None = None) -> Any:
    """Labels of least expected cost, `argmin_j sum_i probs[n, i] A[i, j]`: (N, k) -> (N,).

    -1 where even the least expected cost is above `abstain_cost`, the price of not answering.
    Among decisions of equal cost (up to rounding) the most probable class wins, then the first:
    a penalty that tells nothing apart decides as argmax does. Computed in float64, a block of rows
    at a time. (Bayes decision rule; after training by cross-entropy: Karthik et al., ICLR 2021.)

    >>> from untrue import Penalty
    >>> p = Penalty.from_rules(["tumour", "benign"], {("tumour", "benign"): 20.0}, default=1.0)
    >>> decide([[0.1, 0.9], [0.01, 0.99]], p)
    array([0, 1])
    >>> decide([[0.1, 0.9], [0.01, 0.99]], p, abstain_cost=0.5)
    array([-1,  1])
    """
    check_penalty(penalty)
    limit = math.inf if abstain_cost is None else _read_abstain_cost(abstain_cost)
    if is_tensor(probs):
        return _decide_tensor(probs, penalty, limit)
    scores = read_scores(probs, "probs", penalty.n_classes)
    labels = np.empty(len(scores), dtype=np.int64)
    eps = precision(probs)
    for rows, block in prob_blocks(scores, eps):
        expected = penalty.expected(block)
        least, slack = expected.min(axis=1), _slack(expected.max(axis=1), scores.shape[1])
        tied = expected <= (least + slack)[:, None]
        predicted = np.where(tied, block, -1.0).argmax(axis=1)
        labels[rows] = np.where(least > limit * (1 + 4 * eps) + slack, -1, predicted)
    return labels


def _decide_tensor(probs: torch.Tensor, penalty: Penalty, limit: float) -> torch.Tensor:
    import torch

    check_scores_shape(probs.shape, "probs", penalty.n_classes)
    if probs.is_complex():
        raise ArgumentError(f"`probs` must hold numbers; got dtype {probs.dtype}.")
    (n, k), eps = probs.shape, precision(probs)
    on_cpu = probs.device.type == "cpu"
    # Apple's GPUs have no float64.
    inside = torch.float32 if probs.device.type == "mps" else torch.float64
    labels = torch.empty(n, dtype=torch.int64, device=probs.device)
    with torch.no_grad():
        for rows in row_blocks(n, k, None if on_cpu else _DEVICE_BLOCK):
            block = probs[rows].to(inside)
            check_prob_rows(
                block.amin(1).cpu().numpy(), block.sum(1).cpu().numpy(), rows.start, eps
            )
            expected = penalty.expected(block)
            least = expected.amin(1)
            slack = _slack(expected.amax(1), k, torch.finfo(inside).eps)
            tied = expected <= (least + slack)[:, None]
            predicted = torch.where(tied, block, -1.0).argmax(1)
            labels[rows] = predicted.masked_fill_(least > limit * (1 + 4 * eps) + slack, -1)
    return labels


def _slack(greatest: Any, n_classes: int, eps: float = 2.0**-52) -> Any:
    """Costs closer than this are equal but for the rounding of a sum over the classes."""
    return (64 + math.sqrt(n_classes)) * eps * greatest


def _read_abstain_cost(cost: float) -> float:
    if not isinstance(cost, int | float | np.number) or math.isnan(cost) or cost < 0:
        raise ArgumentError(
            f"`abstain_cost` must be a number of at least 0, or None; got {cost!r}."
        )
    return float(cost)
