"""All measures that apply, in one call and one frozen record."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from untrue.array_types import ArrayOrTensor, FloatArray
from untrue.checks import MOST_RESAMPLES, check_count, check_number, check_seed
from untrue.errors import ArgumentError, counted
from untrue.metrics import weights
from untrue.metrics.confusion import Cells, ConfusionLike, merged, read_confusion
from untrue.metrics.inputs import Groups, check_scores_shape, read_groups, read_subset
from untrue.metrics.intervals import Interval, percentile_interval
from untrue.metrics.measures import (
    Confusion,
    adjusted,
    best_constant_cost,
    costliest_cells,
)
from untrue.metrics.probabilities import BINS
from untrue.metrics.resampling import resampled_ece, resampled_height, resampled_ratios
from untrue.penalty import ExamplePenalty, Penalty
from untrue.penalty.prob_columns import in_column_order

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy
    from untrue.metrics.zones import Zone


# Shares of the answer's and of the truth's nodes in the denominator.
HIERARCHICAL = {
    "hierarchical_precision": (1.0, 0.0),
    "hierarchical_recall": (0.0, 1.0),
    "hierarchical_f": (0.5, 0.5),
}


@dataclass(frozen=True, slots=True, repr=False)
class Summary:
    """What `summary` found. None: not asked for; nan: a share of nothing.

    Each number is what the function of the same name in `untrue.metrics` gives.
    """

    n: int
    errors: int
    total_error: float
    abstained: int = 0
    coverage: float = 1.0
    zone_errors: int | None = None
    zone_share: float | None = None
    coarse_error: float | None = None
    in_group_share: float | None = None
    expected_cost: float | None = None
    adjusted_expected_cost: float | None = None
    mistake_severity: float | None = None
    hierarchical_precision: float | None = None
    hierarchical_recall: float | None = None
    hierarchical_f: float | None = None
    height_at_k: Mapping[int, float] | None = None
    small_class_accuracy: float | None = None
    super_class_accuracy: float | None = None
    ece: float | None = None
    costliest: tuple[Confusion, ...] | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Share of the examples that are right."""
        return 1 - self.total_error

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and dicts, as JSON takes them; what does not apply is left out."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        heights = plain.pop("height_at_k") or {}
        plain |= {f"height_at_{k}": value for k, value in heights.items()}
        if self.costliest is not None:
            plain["costliest"] = [asdict(row) for row in self.costliest]
        plain["intervals"] = {
            name: {"low": found.low, "high": found.high, "confidence": found.confidence}
            for name, found in self.intervals.items()
        } or None
        return {name: value for name, value in plain.items() if value is not None}

    def __repr__(self) -> str:
        shown = self.as_dict()
        for hidden in ("n", "costliest", "intervals"):
            shown.pop(hidden, None)
        if not self.abstained:
            del shown["abstained"], shown["coverage"]
        lines = [f"Summary of {counted(self.n, 'example')}"]
        for name, value in shown.items():
            number = str(value) if isinstance(value, int) else f"{value:.4g}"
            found = self.intervals.get(name)
            spread = f"  [{found.low:.4g}, {found.high:.4g}]" if found else ""
            lines.append(f"  {name:<24}{number:>10}{spread}")
        if self.costliest:
            lines.append("  costliest confusions (true -> predicted: count, cost)")
            lines += [
                f"    {row.true} -> {row.predicted}: {row.count}, {row.cost:.6g}"
                for row in self.costliest
            ]
        return "\n".join(lines)


def summary(
    cm: ConfusionLike,
    *,
    penalty: Penalty | ExamplePenalty | None = None,
    zone: Zone | None = None,
    groups: Groups | None = None,
    hierarchy: Hierarchy | None = None,
    subset: Iterable[Any] | None = None,
    probs: ArrayOrTensor | None = None,
    true: ArrayOrTensor | None = None,
    classes: Sequence[str] | None = None,
    top: Sequence[int] = (1, 5, 20),
    bins: int = BINS,
    costliest: int = 10,
    abstained: int = 0,
    resamples: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Summary:
    """Every measure for which there is enough: a frozen `Summary`.

    cm          confusion matrix (k, k) or `Cells`; rows are the truth
    penalty     gives expected and adjusted expected cost and the `costliest` confusions. With costs
                of each example `cm` must be `example_cells(true, predicted, k)`, in their order
    zone        gives errors in the zone and their share (see `zone_errors`)
    groups      gives coarse error and the share of errors inside the right group
    hierarchy   gives mistake severity, hierarchical precision, recall and F, and with `probs`
                height@k for the k of `top` that exist
    subset      gives the accuracy of these (small) classes, and with `groups` their super-class one
    probs, true go together, (N, k) and (N,): give ECE over `bins`. A table's columns go by name
    classes     names in class order, for zone, groups and subset; else of penalty or hierarchy
    abstained   how many examples were not answered and so are not in `cm`
    resamples   0, or how many bootstrap resamples to draw for `intervals` (see `bootstrap`)

    >>> summary([[8, 2], [0, 10]], zone=[(0, 1)])
    Summary of 20 examples
      errors                           2
      total_error                    0.1
      zone_errors                      2
      zone_share                       1
    """
    cells = read_confusion(cm)
    n_resamples = check_count("resamples", resamples, least=0, most=MOST_RESAMPLES)
    n_abstained = check_count("abstained", abstained, least=0)
    check_number("confidence", confidence, 0, 1, ends=False)
    if (probs is None) != (true is None):
        raise ArgumentError("`probs` and `true` go together; got only one of them.")
    rng = np.random.default_rng(check_seed(seed))
    names = _class_names(classes, penalty, hierarchy)
    pairs = _pairs(cells, penalty, zone, groups, hierarchy, subset, names)
    values: dict[str, Any] = {
        name: float(weights.ratio(cells.count @ above, cells.count @ below))
        for name, (above, below) in pairs.items()
    }
    drawn: dict[str, FloatArray] = {}
    # What a constant answer costs is about true classes: the means of their examples are used.
    by_class = penalty.mean(cells.true) if isinstance(penalty, ExamplePenalty) else penalty
    constant = None if by_class is None else partial(best_constant_cost, penalty=by_class)
    if n_resamples:
        drawn, constants = resampled_ratios(cells, pairs, n_resamples, rng, constant)
        if constant is not None:
            drawn["adjusted_expected_cost"] = adjusted(drawn["expected_cost"], constants)
    if constant is not None:
        best = constant(cells.per_class()[None])
        values["adjusted_expected_cost"] = float(adjusted(values["expected_cost"], best)[0])
    if zone is not None:
        del values["zone_rate"]
        values["zone_errors"] = int(cells.count @ pairs["zone_share"][0])
        if n_resamples:
            drawn["zone_errors"] = np.rint(drawn.pop("zone_rate") * cells.total)
    heights: dict[int, float] = {}
    if probs is not None and true is not None:
        probs = probs if names is None else in_column_order(probs, tuple(names))
        check_scores_shape(np.shape(probs), "probs", cells.n_classes)
        values["ece"], found = resampled_ece(probs, true, bins, n_resamples, rng)
        drawn |= {"ece": found} if n_resamples else {}
        places = [] if hierarchy is None else [check_count("top", k) for k in top]
        for k in places:
            if hierarchy is not None and k <= cells.n_classes:
                heights[k], found = resampled_height(probs, true, hierarchy, k, n_resamples, rng)
                drawn |= {f"height_at_{k}": found} if n_resamples else {}
    point = values | {f"height_at_{k}": value for k, value in heights.items()}
    answered_or_not = cells.total + n_abstained
    return Summary(
        n=cells.total,
        errors=int(cells.count[cells.wrong].sum()),
        abstained=n_abstained,
        coverage=cells.total / answered_or_not if answered_or_not else float("nan"),
        height_at_k=heights or None,
        costliest=None
        if penalty is None
        else costliest_cells(*merged(cells, pairs["expected_cost"][0]), penalty.classes, costliest),
        intervals={
            name: percentile_interval(point[name], drawn[name], confidence) for name in drawn
        },
        **values,
    )


def _pairs(
    cells: Cells,
    penalty: Penalty | ExamplePenalty | None,
    zone: Zone | None,
    groups: Groups | None,
    hierarchy: Hierarchy | None,
    subset: Iterable[Any] | None,
    names: Sequence[str] | None,
) -> dict[str, weights.Weights]:
    """The ratios that apply, by the name of their measure."""
    pairs = {"total_error": weights.error_rate(cells)}
    if zone is not None:
        pairs["zone_share"] = weights.zone_share(cells, zone, names)
        # The count in a resample is this rate times N, which every resample has.
        pairs["zone_rate"] = pairs["zone_share"][0], np.ones(cells.count.size)
    if groups is not None:
        groups = read_groups(groups, cells.n_classes, names)
        pairs["coarse_error"] = weights.coarse_error(cells, groups, names)
        pairs["in_group_share"] = weights.in_group_share(cells, groups, names)
    if penalty is not None:
        pairs["expected_cost"] = weights.expected_cost(cells, penalty)
    if hierarchy is not None:
        pairs["mistake_severity"] = weights.mistake_severity(cells, hierarchy)
        for name, (precision, recall) in HIERARCHICAL.items():
            pairs[name] = weights.hierarchical(
                hierarchy.class_nodes[cells.true],
                hierarchy.class_nodes[cells.predicted],
                hierarchy,
                precision=precision,
                recall=recall,
            )
    if subset is not None:
        chosen = np.flatnonzero(read_subset(subset, cells.n_classes, names)).tolist()
        pairs["small_class_accuracy"] = weights.small_class_accuracy(cells, chosen, names)
        if groups is not None:
            pairs["super_class_accuracy"] = weights.super_class_accuracy(
                cells, groups, chosen, names
            )
    return pairs


def _class_names(
    classes: Sequence[str] | None, penalty: Any, hierarchy: Hierarchy | None
) -> Sequence[str] | None:
    """The names of the classes, which penalty and hierarchy must not have in different orders."""
    known = {
        "classes": classes,
        "penalty": getattr(penalty, "classes", None),
        "hierarchy": getattr(hierarchy, "classes", None),
    }
    named = {source: tuple(names) for source, names in known.items() if names is not None}
    for (a, first), (b, second) in itertools.combinations(named.items(), 2):
        if first != second and set(first) == set(second):
            place = next(
                i for i, pair in enumerate(zip(first, second, strict=True)) if len({*pair}) > 1
            )
            raise ArgumentError(
                f"`{a}` and `{b}` have the same classes in a different order: class {place} is "
                f"{first[place]!r} in one and {second[place]!r} in the other."
            )
    return next(iter(named.values()), None)
