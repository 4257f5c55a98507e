"""Losses along the path from the root of a hierarchy to the true class."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from untrue.checks import check_choice, check_number
from untrue.functional.contract import Batch, as_rows, check_logits, compute
from untrue.hierarchy import Hierarchy
from untrue.losses.base import ClassLoss
from untrue.losses.subtrees import Subtrees, as_hierarchy
from untrue.penalty import Penalty

By = Literal["height", "depth"]


def hierarchical_loss(
    logits: Tensor,
    target: Tensor,
    hierarchy: Hierarchy | Penalty | Subtrees,
    *,
    decay: float = 0.1,
    by: By = "height",
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """`-sum_l exp(-decay h(C_l)) log p(C_l | C_{l+1})` from the true class C_0 up to the root.

    p(C_l | C_{l+1}) is the softmax mass of the classes below C_l in that below C_{l+1}, and h the
    height of a node; by "depth", the number of edges from the root to C_{l+1} instead. Arguments as
    in `functional.bilinear_loss`.
    """
    check_number("decay", decay, 0.0)
    check_choice("by", by, get_args(By))
    subtrees = _as_subtrees(hierarchy, logits)

    def by_mass(batch: Batch) -> Tensor:
        if not subtrees.levels:  # one class: nothing to decide
            return batch.finish(batch.logits[:, 0] * 0.0)
        given = subtrees.given_parent_by_mass(batch.logits)
        steps = subtrees.heights if by == "height" else subtrees.depths
        factor = torch.exp(-decay * steps.to(given.dtype))
        return batch.finish(_along_paths(subtrees, batch, given, factor))

    return compute(by_mass, logits, target, subtrees.n_classes, weight, ignore_index, reduction)


def conditional_softmax_loss(
    logits: Tensor,
    target: Tensor,
    hierarchy: Hierarchy | Penalty | Subtrees,
    *,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """`-sum_l log softmax_siblings(C_l)` from the true class up to the root.

    logits score nodes, not classes alone: (n_outputs), (N, n_outputs) or (N, n_outputs, d1, ...),
    in the order of `ConditionalSoftmaxLoss.outputs`.
    """
    subtrees = _as_subtrees(hierarchy, logits)

    def by_siblings(batch: Batch) -> Tensor:
        if not subtrees.levels:
            return batch.finish(batch.logits[:, 0] * 0.0)
        given = subtrees.given_parent_by_siblings(batch.logits)
        return batch.finish(_along_paths(subtrees, batch, given, None))

    return compute(
        by_siblings,
        logits,
        target,
        subtrees.n_classes,
        weight,
        ignore_index,
        reduction,
        n_outputs=subtrees.n_outputs,
    )


def _as_subtrees(hierarchy: Hierarchy | Penalty | Subtrees, logits: Tensor) -> Subtrees:
    return (
        hierarchy
        if isinstance(hierarchy, Subtrees)
        else _subtrees_of(as_hierarchy(hierarchy), logits.device)
    )


@lru_cache(maxsize=4)
def _subtrees_of(hierarchy: Hierarchy, device: torch.device) -> Subtrees:
    with torch.inference_mode(False):  # else training could not use what is kept
        return Subtrees(hierarchy).to(device)


def _along_paths(subtrees: Subtrees, batch: Batch, given: Tensor, factor: Tensor | None) -> Tensor:
    """(N,) Losses from `log p(v | parent)`, each edge's times its factor."""
    if batch.target is not None:
        return -subtrees.sum_to_target(given, batch.target, factor)
    assert batch.probs is not None
    sums = subtrees.sum_to_classes(given if factor is None else given * factor[:, None])
    return -(batch.probs * sums).sum(-1)


class HierarchicalLoss(ClassLoss):
    """`-sum_l exp(-decay h(C_l)) log p(C_l | C_{l+1})`: each decision on the way has its weight.

    paper       Bertinetto et al., CVPR 2020 (hierarchical cross-entropy, HXE)
    hierarchy   a `Hierarchy`, or a penalty made from one. A class at an inner node is a branch of
                its own below that node, of height 0.
    decay       how fast the weight of a decision falls (alpha in the paper); 0 is cross-entropy
    by          "height", the printed formula: fine decisions count most. "depth", as in the
                authors' code up to a factor, weighs by the edges from the root to the node where
                the decision falls: coarse decisions count most.
    the rest    as in `nn.CrossEntropyLoss`
    when        a flat network is to be kept and the hierarchy is trusted; by "depth" if coarse
                mistakes are the costly ones

    >>> tree = Hierarchy.from_groups({"fish": ["trout", "ray"], "bird": ["owl"]})
    >>> loss = HierarchicalLoss(tree, decay=0.5)
    >>> loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
    tensor(0.3705)
    """

    def __init__(
        self,
        hierarchy: Hierarchy | Penalty,
        *,
        decay: float = 0.1,
        by: By = "height",
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        hierarchy = as_hierarchy(hierarchy)
        super().__init__(
            hierarchy.n_classes, weight=weight, ignore_index=ignore_index, reduction=reduction
        )
        self.hierarchy, self.subtrees = hierarchy, Subtrees(hierarchy)
        check_choice("by", by, get_args(By))
        self.decay, self.by = check_number("decay", decay, 0.0), by

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        own: dict[str, Any] = {"decay": self.decay, "by": self.by}
        return hierarchical_loss(logits, target, self.subtrees, **own, **self._options())

    def extra_repr(self) -> str:
        return f"{self.hierarchy!r}, decay={self.decay:g}, by={self.by!r}"


class ConditionalSoftmaxLoss(ClassLoss):
    """`-sum_l log softmax_siblings(C_l)`: the network scores every node, siblings compete.

    paper       Redmon, Farhadi, CVPR 2017 (YOLO9000)
    hierarchy   a `Hierarchy`, or a penalty made from one. A class at an inner node competes with
                that node's children.
    the rest    as in `nn.CrossEntropyLoss`
    when        the network may be built for the hierarchy: it needs `n_outputs` logits, and its
                probabilities come from `probs`, not from softmax

    n_outputs   logits an example must have: one per class, then one per inner node where classes
                part, the topmost excepted
    outputs     their names, in order

    >>> tree = Hierarchy.from_groups({"fish": ["trout", "ray"], "bird": ["owl"]})
    >>> loss = ConditionalSoftmaxLoss(tree)
    >>> loss.outputs
    ('trout', 'ray', 'owl', 'fish')
    >>> logits = torch.tensor([[2.0, 1.0, 0.0, 0.0]])
    >>> loss(logits, torch.tensor([0]))
    tensor(1.0064)
    >>> loss.probs(logits)
    tensor([[0.3655, 0.1345, 0.5000]])
    """

    def __init__(
        self,
        hierarchy: Hierarchy | Penalty,
        *,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        hierarchy = as_hierarchy(hierarchy)
        super().__init__(
            hierarchy.n_classes, weight=weight, ignore_index=ignore_index, reduction=reduction
        )
        self.hierarchy, self.subtrees = hierarchy, Subtrees(hierarchy)
        self.n_outputs = self.subtrees.n_outputs

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.subtrees.names

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        return conditional_softmax_loss(logits, target, self.subtrees, **self._options())

    def log_probs(self, logits: Tensor) -> Tensor:
        """Logarithms of the classes' probabilities, (N, n_outputs, ...) -> (N, k, ...)."""
        check_logits(logits, self.n_classes, self.n_outputs)
        rows, shape = as_rows(logits.float() if logits.dtype.itemsize < 4 else logits)
        if not self.subtrees.levels:
            found = rows * 0.0
        else:
            found = self.subtrees.sum_to_classes(self.subtrees.given_parent_by_siblings(rows))
        found = found.reshape(*shape, self.subtrees.n_classes).to(logits.dtype)
        return found.movedim(-1, 1) if logits.dim() > 2 else found

    def probs(self, logits: Tensor) -> Tensor:
        """The classes' probabilities; they sum to 1."""
        return self.log_probs(logits).exp()

    def extra_repr(self) -> str:
        return f"{self.hierarchy!r}, n_outputs={self.n_outputs}, reduction={self.reduction!r}"
