"""Measures of where the errors went as torchmetrics: `ExpectedCost`, `ZoneErrors`, ...

Each counts a (k, k) confusion matrix, true class first, and gives what the function of the same
name in `untrue.metrics` gives for it. The counts of several processes are added, so that the value
is that of all examples together, not a mean of means. In a `MetricCollection` they share one count.

`update(preds, target)` takes classes in the shape of `target`, or logits or probabilities with the
classes in dimension 1, of which the greatest is the answer. To measure cost-sensitive answers give
classes: `metric.update(untrue.decide(probs, penalty), target)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from untrue import metrics
from untrue.checks import is_tensor
from untrue.errors import ArgumentError, DataError
from untrue.hierarchy import Hierarchy
from untrue.metrics.inputs import Groups, to_numpy
from untrue.metrics.priors import Priors
from untrue.metrics.zones import Zone, in_class_order, is_penalty
from untrue.optional import missing
from untrue.penalty import Penalty

try:
    import torch
    from torch import Tensor
    from torchmetrics import Metric
except ImportError as error:
    raise missing("untrue.torchmetrics", "torchmetrics", "frameworks") from error

__all__ = ["CoarseError", "ExpectedCost", "MistakeSeverity", "ZoneErrors"]


class ConfusionMetric(Metric):
    """The count that all share, and the measure of it.

    ignore_index  examples of this true class are left out, as in the losses
    options       those of `torchmetrics.Metric`, such as `dist_sync_on_step`
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    confusion: Tensor

    def __init__(
        self,
        n_classes: int,
        measure: Callable[[Any], float],
        ignore_index: int | None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.n_classes, self.measure, self.ignore_index = n_classes, measure, ignore_index
        none = torch.zeros(n_classes, n_classes, dtype=torch.int64)
        measure(none)  # what cannot be measured is refused before training, not after
        self.add_state("confusion", none, dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count classes, or logits or probabilities (N, k, ...), against `target` (N, ...)."""
        for name, value in (("preds", preds), ("target", target)):
            if not isinstance(value, Tensor):
                raise ArgumentError(
                    f"`{name}` must be a tensor; got {type(value).__name__}. Use torch.as_tensor."
                )
        if preds.is_floating_point():
            wanted = (*target.shape[:1], self.n_classes, *target.shape[1:])
            if preds.shape != wanted:
                raise ArgumentError(
                    f"`preds` as logits or probabilities must have shape {wanted} for `target` of "
                    f"shape {tuple(target.shape)}; got {tuple(preds.shape)}."
                )
            preds = preds.argmax(min(target.dim(), 1))
        if preds.shape == target.shape:
            silent = (preds == -1) & (target != self.ignore_index)
            if silent.any():
                raise DataError(
                    f"`preds` abstains (-1) in {int(silent.sum())} of {silent.numel()} examples; "
                    "leave these out: metric.update(preds[preds >= 0], target[preds >= 0])."
                )
        counted = metrics.confusion_matrix(
            target, preds, self.n_classes, ignore_index=self.ignore_index
        )
        self.confusion += torch.from_numpy(counted).to(self.confusion.device)

    def compute(self) -> Tensor:
        return torch.tensor(self.measure(self.confusion), device=self.confusion.device)


class ExpectedCost(ConfusionMetric):
    """Mean cost of an answer: `untrue.metrics.expected_cost`.

    penalty  a `Penalty`, or a (k, k) matrix of costs, true class first
    priors   shares of the classes where the model is used, if others than in these data
    """

    def __init__(
        self,
        penalty: Penalty | Any,
        *,
        priors: Priors | None = None,
        ignore_index: int | None = None,
        **options: Any,
    ) -> None:
        given = penalty.detach().cpu() if is_tensor(penalty) else penalty
        costs = given if isinstance(given, Penalty) else Penalty.from_matrix(given)
        measure = partial(metrics.expected_cost, penalty=costs, priors=priors)
        super().__init__(costs.n_classes, measure, ignore_index, **options)


class ZoneErrors(ConfusionMetric):
    """Number of errors in a zone: `untrue.metrics.zone_errors`.

    zone       a `Penalty`, a (k, k) mask, or (true, predicted) pairs, by name with `classes`
    n_classes  k, where the zone is pairs of indices
    """

    def __init__(
        self,
        zone: Zone,
        n_classes: int | None = None,
        *,
        classes: Sequence[str] | None = None,
        ignore_index: int | None = None,
        **options: Any,
    ) -> None:
        kept = in_class_order(zone, classes)
        if not is_penalty(kept) and not hasattr(kept, "dtype"):
            what = "a Penalty, a mask of shape (k, k), or (true, predicted) pairs"
            kept = list(_iterable("zone", kept, what))
        if n_classes is None and classes is not None:
            n_classes = len(classes)
        elif n_classes is None and is_penalty(kept):
            n_classes = kept.n_classes
        elif n_classes is None and to_numpy(kept, "zone").dtype.kind == "b":
            n_classes = len(kept)
        if n_classes is None:
            raise ArgumentError(
                "Pairs in `zone` do not say how many classes there are: give `n_classes`, or "
                "`classes`, the names of all of them in order."
            )
        measure = partial(metrics.zone_errors, zone=kept, classes=classes)
        super().__init__(n_classes, measure, ignore_index, **options)


class MistakeSeverity(ConfusionMetric):
    """Mean height of the errors in a hierarchy (`untrue.metrics.mistake_severity`); nan if none.

    More errors among near classes lower it: never report it without the total error.
    """

    def __init__(
        self, hierarchy: Hierarchy, *, ignore_index: int | None = None, **options: Any
    ) -> None:
        if not isinstance(hierarchy, Hierarchy):
            raise ArgumentError(
                f"`hierarchy` must be an untrue.Hierarchy; got {type(hierarchy).__name__}."
            )
        measure = partial(metrics.mistake_severity, hierarchy=hierarchy)
        super().__init__(hierarchy.n_classes, measure, ignore_index, **options)


class CoarseError(ConfusionMetric):
    """Share of the examples put into the wrong super-class: `untrue.metrics.coarse_error`.

    groups   the group of each class (k,), as `hierarchy.coarsen(level)` gives; or a dict from
             group to its classes
    classes  the names of all classes in order, where the dict has names
    """

    def __init__(
        self,
        groups: Groups,
        *,
        classes: Sequence[str] | None = None,
        ignore_index: int | None = None,
        **options: Any,
    ) -> None:
        what = "an integer array with the group of each class, or a dict from group to classes"
        if isinstance(groups, Hierarchy):
            raise ArgumentError(
                f"`groups` must be {what}; got a Hierarchy. `hierarchy.coarsen(level)` gives the "
                "groups at a level."
            )
        members = list(groups.values()) if isinstance(groups, Mapping) else [groups]
        n_classes = sum(len(_iterable("groups", each, what)) for each in members)
        measure = partial(metrics.coarse_error, groups=groups, classes=classes)
        super().__init__(n_classes, measure, ignore_index, **options)


def _iterable(name: str, value: Any, what: str) -> Any:
    if not hasattr(value, "__iter__"):
        raise ArgumentError(f"`{name}` must be {what}; got {value!r}.")
    return value
