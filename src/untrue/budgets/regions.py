"""The cells that a budget is about, held without k x k numbers wherever the penalty is.

A region is a `Block`, all mistakes from some classes to some classes, or a `Penalty` that costs 1
inside and 0 outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.errors import ArgumentError, listed, nearest
from untrue.hierarchy import Hierarchy
from untrue.hierarchy.super_classes import super_level
from untrue.metrics.inputs import class_indices, read_groups
from untrue.metrics.zones import Zone, in_class_order, is_penalty
from untrue.penalty import Penalty, RulesPenalty, TreePenalty
from untrue.penalty.zone import zone_penalty, zone_threshold

# A mean over this many cells is exact enough, and fast.
MOST_CELLS = 2**21

GroupsLike: TypeAlias = "Hierarchy | Mapping[str, Sequence[str | int]]"


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Mistakes about the classes of `true` (k,), predicted as one of `predicted` (k,)."""

    true: BoolArray
    predicted: BoolArray

    def inside(self, true: IntArray, predicted: IntArray) -> BoolArray:
        return np.asarray(self.true[true] & self.predicted[predicted] & (true != predicted))

    def rules(self, classes: tuple[str, ...]) -> RulesPenalty:
        """The same as a penalty of ones and zeros; whole rows are defaults, the rest rules."""
        k = len(classes)
        mostly = self.predicted.sum() > k / 2
        true, predicted = np.flatnonzero(self.true), np.flatnonzero(self.predicted != mostly)
        rows, columns = (grid.ravel() for grid in np.meshgrid(true, predicted, indexing="ij"))
        off = rows != columns
        costs = np.full(int(off.sum()), 0.0 if mostly else 1.0)
        return RulesPenalty(
            classes, (self.true & mostly).astype(np.float64), rows[off], columns[off], costs
        )


Region: TypeAlias = "Block | Penalty"


def inside(region: Region, true: IntArray, predicted: IntArray) -> FloatArray:
    """1 where a cell lies in the region, else 0 (for a penalty: what it costs), broadcast."""
    if isinstance(region, Block):
        return region.inside(true, predicted).astype(np.float64)
    return np.asarray(region.cost(true, predicted), dtype=np.float64)


def rows_of(region: Region) -> BoolArray:
    """(k,) Whether a true class has a cell in the region."""
    if isinstance(region, Penalty):
        return np.asarray(region.row_sums() > 0)
    others = region.predicted.sum() - region.predicted
    return np.asarray(region.true & (others > 0))


def mean_cost(penalty: Penalty, region: Region) -> float:
    """Mean cost over the cells of a region; of evenly spaced rows beyond some 1,400 classes."""
    rows = np.flatnonzero(rows_of(region))
    most = max(1, MOST_CELLS // penalty.n_classes)
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
    every = np.arange(penalty.n_classes)
    total = cells = 0.0
    step = max(1, 2**20 // penalty.n_classes)
    for start in range(0, len(rows), step):
        some = rows[start : start + step, None]
        chosen = inside(region, some, every) > 0
        total += float(np.where(chosen, penalty.cost(some, every), 0.0).sum())
        cells += float(chosen.sum())
    return total / cells if cells else 0.0


def members(name: str, penalty: Penalty, groups: GroupsLike | None, shown: str) -> BoolArray:
    """(k,) The classes that a name stands for: a class, or a group or node of a hierarchy."""
    k, chosen = penalty.n_classes, np.zeros(penalty.n_classes, dtype=bool)
    if name in penalty.classes:
        chosen[penalty.index(name)] = True
        return chosen
    hierarchy = _hierarchy_of(penalty, groups, shown)
    if hierarchy is not None:
        if name in hierarchy.names:
            node = hierarchy.names.index(name)
            return np.asarray(
                (hierarchy.class_nodes >= node)
                & (hierarchy.class_nodes < node + hierarchy.sizes[node])
            )
        known = list(dict.fromkeys([*penalty.classes, *hierarchy.names]))
    elif isinstance(groups, Mapping):
        # A group that shares its name with a class is called "NAME (group)", as in a `Hierarchy`.
        own = {f"{g} (group)" if g in penalty.classes else str(g): g for g in groups}
        if name in own:
            found = class_indices(groups[own[name]], k, "groups", penalty.classes)
            chosen[found] = True
            return chosen
        known = [*penalty.classes, *own]
    else:
        known = list(penalty.classes)
    kind = "class" if groups is None and hierarchy is None else "class or group"
    hint = nearest(name, known) or f"; known are {listed(known)}."
    raise ArgumentError(f"{shown}: unknown {kind} {name!r}{hint}")


def across(penalty: Penalty, groups: GroupsLike | None, shown: str) -> Penalty:
    """Ones where the answer lies in another group than the truth."""
    hierarchy = _hierarchy_of(penalty, groups, shown)
    if hierarchy is not None:
        level = super_level(hierarchy)
        if level is None:
            raise ArgumentError(
                f"{shown}: the hierarchy has no groups between its root and classes."
            )
        # The groups all part at one node, and no other that holds two classes is as high.
        top = hierarchy.names.index(next(iter(hierarchy.groups(level - 1))))
        heights = np.arange(hierarchy.max_height + 1)
        return TreePenalty(hierarchy, (heights >= hierarchy.heights[top]).astype(np.float64))
    if not isinstance(groups, Mapping):
        raise ArgumentError(
            f"{shown}: no groups are known. Give `groups` ({{group: its classes}} or a Hierarchy; "
            "--hierarchy FILE), or a penalty from groups or from a hierarchy."
        )
    group = read_groups(groups, penalty.n_classes, penalty.classes)
    members_of: dict[str, list[str]] = {}
    for name, number in zip(penalty.classes, group.tolist(), strict=True):
        members_of.setdefault(f"group {number}", []).append(name)
    if len(members_of) < 2:
        raise ArgumentError(f"{shown}: there is only one group, so nothing can cross.")
    return Penalty.from_groups(members_of, 0.0, 1.0, classes=penalty.classes)


def own_zone(penalty: Penalty, above: float | None, shown: str) -> Penalty:
    """Ones in the penalty's own zone, in its form; `above` as in `zone_threshold`."""
    threshold = zone_threshold(penalty, above)
    if penalty.greatest <= threshold:
        none = "none of its mistakes costs " + (f"more than {threshold:g}" if above else "anything")
        raise ArgumentError(
            f"{shown}: the penalty has no zone, since {none}. "
            "Give the mistakes of the zone a higher cost, or give `zone`."
        )
    return zone_penalty(penalty, above)


def stated_zone(zone: Zone, penalty: Penalty, shown: str) -> Penalty:
    """Ones in a zone given as a penalty, a mask or pairs."""
    try:
        given = in_class_order(zone, penalty.classes)
    except ArgumentError as error:
        raise ArgumentError(f"{shown}: {error}") from None
    if is_penalty(given):
        if given.greatest <= 0:
            raise ArgumentError(f"{shown}: `zone` is empty: it has no cell that costs anything.")
        return own_zone(given, None, shown)
    found = Penalty.from_zone(given, classes=penalty.classes)
    if found.greatest <= 0:
        raise ArgumentError(f"{shown}: `zone` is empty: it has no cell.")
    return found


def _hierarchy_of(penalty: Penalty, groups: GroupsLike | None, shown: str) -> Hierarchy | None:
    """The hierarchy whose nodes may be named; its classes are the penalty's, in their order."""
    if groups is None:
        return penalty.hierarchy if isinstance(penalty, TreePenalty) else None
    if isinstance(groups, Hierarchy):
        if groups.classes != penalty.classes:
            raise ArgumentError(
                f"{shown}: the classes of the hierarchy in `groups` are not those of the penalty. "
                "Hierarchy.from_...(..., classes=penalty.classes) sets them."
            )
        return groups
    if not isinstance(groups, Mapping):
        raise ArgumentError(
            f"`groups` must be {{group: its classes}} or a Hierarchy; got {type(groups).__name__}."
        )
    return None
