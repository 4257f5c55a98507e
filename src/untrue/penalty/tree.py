"""A penalty by the height of the lowest common ancestor: memory O(nodes), no matrix at all.

Put the classes into depth-first order ("slots"). Every node is then an interval of slots, its
probability mass a difference of two cumulative sums. Walking from the root to slot j, the cost
changes only where the path enters a smaller interval, so with step_v = c(parent of v) - c(v)

    (q A)_j = c(root) sum(q) - sum over nodes v below the root with j in v of step_v mass_v(q)

where the last v is the slot itself, which costs nothing. A row of A is the same with one unit of
mass on the true class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from untrue.errors import PenaltyError
from untrue.hierarchy import Hierarchy
from untrue.penalty.base import Floats, Ints, Penalty, frozen, names_bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """Intervals and steps of a tree penalty. "Inner" nodes are those where two classes part,
    without the topmost, which is every interval's outside.

    slots (k,): the class in each slot        places (k,): the slot of each class
    first, last (m,): interval of an inner node, `first <= slot < last`
    steps (m,): c(parent) - c(node)           slot_steps (k,): c(parent of the slot), by slot
    top: cost at the topmost node
    path (P,), starts (k + 1,): inner nodes above class i are path[starts[i] : starts[i + 1]]
    """

    slots: Ints
    places: Ints
    first: Ints
    last: Ints
    steps: Floats
    slot_steps: Floats
    top: float
    path: Ints
    starts: Ints


@dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)
class TreePenalty(Penalty):
    """`row_scale[i] * height_costs[height(i, j)]` for i != j.

    height_costs (max_height + 1,): cost by height; the first entry is 0
    row_scale (k,): factor of each true class; all ones unless normalised
    """

    form: ClassVar[str] = "tree"
    tree: Hierarchy
    height_costs: Floats
    row_scale: Floats

    def __init__(
        self, tree: Hierarchy, height_costs: npt.ArrayLike, row_scale: npt.ArrayLike = 1.0
    ) -> None:
        costs = frozen(height_costs)
        if costs.shape != (tree.max_height + 1,):
            raise PenaltyError(
                f"Costs are wanted for heights 0 to {tree.max_height}; got {len(costs)} of them."
            )
        for h in np.flatnonzero(~np.isfinite(costs) | (costs < 0))[:1]:
            raise PenaltyError(
                f"Cost at height {h} is {costs[h]}: costs must be finite and not negative."
            )
        if costs[0] != 0:
            raise PenaltyError(f"Cost at height 0 is {costs[0]}: a right answer is free.")
        scale = frozen(np.broadcast_to(np.asarray(row_scale, np.float64), (tree.n_classes,)))
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise PenaltyError("`row_scale` must be positive and finite.")
        object.__setattr__(self, "classes", tree.classes)
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "height_costs", costs)
        object.__setattr__(self, "row_scale", scale)

    def __reduce__(self) -> tuple[type[TreePenalty], tuple[Hierarchy, Floats, Floats]]:
        return type(self), (self.tree, self.height_costs, self.row_scale)

    def matrix(self) -> Floats:
        everyone = np.arange(self.n_classes)
        matrix = np.empty((self.n_classes, self.n_classes))
        for i in range(0, self.n_classes, 1024):  # a block at a time: heights need k integers a row
            block = everyone[i : i + 1024, None]
            matrix[i : i + 1024] = self._lookup(*np.broadcast_arrays(block, everyone[None, :]))
        np.fill_diagonal(matrix, 0.0)
        return matrix

    @cached_property
    def _intervals(self) -> tuple[Ints, Ints]:
        """First slot, and one past the last, of each node of the tree."""
        by_slot, nodes = np.sort(self.tree.class_nodes), np.arange(len(self.tree.names))
        return np.searchsorted(by_slot, nodes), np.searchsorted(by_slot, nodes + self.tree.sizes)

    @cached_property
    def _parting(self) -> npt.NDArray[np.bool_]:
        """Whether two classes part at a node: it holds both, and none of its children does."""
        (first, last), parents = self._intervals, self.tree.parents[1:]
        parting = np.asarray(last - first >= 2)
        same = (first[1:] == first[parents]) & (last[1:] == last[parents])
        parting[parents[same]] = False
        return parting

    @cached_property
    def layout(self) -> Layout:
        """Computed on first use."""
        tree, k, parting = self.tree, self.n_classes, self._parting
        slots = np.argsort(tree.class_nodes)
        first, last = self._intervals
        # The nearest parting node at or above each node.
        above = np.full(len(tree.names), -1)
        for v, up in enumerate(tree.parents.tolist()):
            above[v] = v if parting[v] else (above[up] if up >= 0 else -1)
        costs = self.height_costs[tree.heights]
        kept = np.flatnonzero(parting)
        top, inner = kept[:1], kept[1:]
        number = np.full(len(tree.names) + 1, -1)  # one more, so that node -1 has number -1
        number[inner] = np.arange(len(inner))
        up_inner = above[tree.parents[inner]] if len(inner) else inner
        slot_above = above[tree.class_nodes[slots]]
        path, starts = _paths(number[above[tree.class_nodes]], number[up_inner])
        return Layout(
            slots=slots,
            places=np.argsort(slots),
            first=first[inner],
            last=last[inner],
            steps=costs[up_inner] - costs[inner],
            slot_steps=costs[slot_above] if k > 1 else np.zeros(1),
            top=float(costs[top[0]]) if len(top) else 0.0,
            path=path,
            starts=starts,
        )

    @cached_property
    def _row_greatest(self) -> Floats:
        """(k,) The greatest cost in each row."""
        greatest = np.where(self._parting, self.height_costs[self.tree.heights], 0.0).tolist()
        for v, up in enumerate(self.tree.parents.tolist()):
            greatest[v] = max(greatest[v], greatest[up]) if v else greatest[v]
        return np.array(greatest)[self.tree.class_nodes] * self.row_scale

    @property
    def greatest(self) -> float:
        return float(self._row_greatest.max())

    def select(self, classes: Sequence[str]) -> Self:
        places = [self.index(name) for name in classes]
        tree = Hierarchy.from_edges(self.tree.edges(), classes=classes)
        return type(self)(tree, self.height_costs, self.row_scale[places])

    def _lookup(self, i: Ints, j: Ints) -> Floats:
        return np.asarray(self.row_scale[i] * self.height_costs[self.tree.height(i, j)])

    def _mix(self, probs: Floats) -> Floats:
        lay, k = self.layout, self.n_classes
        mass = (probs * self.row_scale)[:, lay.slots]
        sums = np.zeros((len(mass), k + 1))
        np.cumsum(mass, axis=1, out=sums[:, 1:])
        steps = lay.steps * (sums[:, lay.last] - sums[:, lay.first])
        change = np.zeros((len(mass), k + 1))
        ends = np.concatenate([lay.first, lay.last])
        order = np.argsort(ends, kind="stable")
        where, start = np.unique(ends[order], return_index=True)
        if len(where):
            signed = np.concatenate([steps, -steps], axis=1)[:, order]
            change[:, where] = np.add.reduceat(signed, start, axis=1)
        by_slot = lay.top * sums[:, -1:] - np.cumsum(change[:, :k], axis=1) - lay.slot_steps * mass
        return np.maximum(by_slot[:, lay.places], 0.0)

    def _row_sums(self) -> Floats:
        # Without the scale A is symmetric, so its column sums are its row sums.
        plain = type(self)(self.tree, self.height_costs)
        return np.asarray(plain._mix(np.ones((1, self.n_classes)))[0] * self.row_scale)

    def _scaled(self, rows: Floats) -> Penalty:
        return type(self)(self.tree, self.height_costs, self.row_scale * rows)

    def _free_columns(self) -> npt.NDArray[np.bool_]:
        # Without the scale A is symmetric: a free column is a free row.
        return np.asarray(self._row_greatest == 0)

    def _content(self) -> Iterable[bytes]:
        yield names_bytes(self.classes)
        yield names_bytes(name for edge in sorted(self.tree.edges()) for name in edge)
        yield (self.height_costs + 0.0).tobytes()
        yield self.row_scale.tobytes()

    def _about(self) -> str:
        costs = ", ".join(f"{cost:g}" for cost in self.height_costs[:6])
        more = ", ..." if len(self.height_costs) > 6 else ""
        scaled = "" if (self.row_scale == 1).all() else ", rows scaled"
        return f"tree of height {self.tree.max_height}, cost by height {costs}{more}{scaled}"


def _paths(lowest: Ints, up: Ints) -> tuple[Ints, Ints]:
    """Flat lists of the nodes from `lowest[i]` upwards, and where each list starts; -1 ends one."""
    columns, current = [], lowest.astype(np.int32)
    while (current >= 0).any():
        columns.append(current)
        current = np.where(current >= 0, up[current], -1).astype(np.int32) if len(up) else current
    table = np.stack(columns, axis=1) if columns else np.empty((len(lowest), 0), np.int32)
    on_path = table >= 0
    starts = np.concatenate([[0], np.cumsum(on_path.sum(axis=1))])
    return table[on_path].astype(np.int64), starts
