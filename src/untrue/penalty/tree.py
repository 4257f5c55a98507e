"""A penalty by the height of the lowest common ancestor: memory O(nodes), no matrix at all.

What matters of a hierarchy are its *parting* nodes, those where at least two classes part. Number
them and the classes in depth-first order: the classes below a node are an interval of "slots", its
probability mass a difference of two cumulative sums, and the parting nodes below it an interval of
numbers. Walking down from above the root, the cost changes only at parting nodes, so with
step_v = c(parting node above v) - c(v), and c = 0 above the topmost,

    U_v = expected cost of an answer below v, if v's own mass cost c(v) too
        = - sum over parting nodes w at or above v of step_w mass_w(q)
    (q A)_j = U_v - c(v) q_j            with v the parting node nearest above class j

and U is one more cumulative sum over the nodes. A row of A is the same with all mass on one class.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.errors import PenaltyError
from untrue.hierarchy import Hierarchy
from untrue.penalty.arrays import MOST_COST, TOO_GREAT, frozen, in_blocks, names_bytes
from untrue.penalty.base import Penalty


@dataclasses.dataclass(frozen=True, slots=True)
class TreeLayout:
    """The m parting nodes of a tree penalty, in depth-first order; node 0 is the topmost.

    slots (k,): the class in each slot
    first, last (m,): slots below each node, first <= slot < last
    ends (m,): one past the last parting node below each node
    steps (m,): cost at the parting node above, minus cost at the node
    upper (m,): the parting node above each node; -1 for the topmost
    parents (k,), parent_costs (k,): the nearest node above each class, and the cost there
    """

    slots: IntArray
    first: IntArray
    last: IntArray
    ends: IntArray
    steps: FloatArray
    upper: IntArray
    parents: IntArray
    parent_costs: FloatArray

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            getattr(self, field.name).flags.writeable = False


@dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)
class TreePenalty(Penalty):
    """`row_scale[i] * height_costs[height(i, j)]` for i != j.

    height_costs (max_height + 1,): cost by height; the first entry is 0
    row_scale (k,): factor of each true class; all ones unless normalised
    """

    form: ClassVar[str] = "tree"
    hierarchy: Hierarchy
    height_costs: FloatArray
    row_scale: FloatArray

    def __init__(
        self, hierarchy: Hierarchy, height_costs: npt.ArrayLike, row_scale: npt.ArrayLike = 1.0
    ) -> None:
        costs = frozen(height_costs)
        if costs.shape != (hierarchy.max_height + 1,):
            raise PenaltyError(
                f"Heights 0 to {hierarchy.max_height} need a cost each; got {len(costs)} costs."
            )
        for h in np.flatnonzero(~np.isfinite(costs) | (costs < 0))[:1]:
            raise PenaltyError(
                f"Cost at height {h} is {costs[h]}: costs must be finite and not negative."
            )
        if costs[0] != 0:
            raise PenaltyError(f"Cost at height 0 is {costs[0]}: a right answer is free.")
        scale = frozen(np.broadcast_to(np.asarray(row_scale, np.float64), (hierarchy.n_classes,)))
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise PenaltyError("`row_scale` must be positive and finite.")
        object.__setattr__(self, "classes", hierarchy.classes)
        object.__setattr__(self, "hierarchy", hierarchy)
        object.__setattr__(self, "height_costs", costs)
        object.__setattr__(self, "row_scale", scale)
        with np.errstate(over="ignore"):
            # The two maxima may be of different classes: `greatest` is exact, but slower.
            if costs.max() * scale.max() > MOST_COST and self.greatest > MOST_COST:
                raise PenaltyError(f"The greatest cost is {self.greatest:g}: {TOO_GREAT}.")

    def __reduce__(self) -> tuple[type[TreePenalty], tuple[Hierarchy, FloatArray, FloatArray]]:
        return type(self), (self.hierarchy, self.height_costs, self.row_scale)

    def matrix(self) -> FloatArray:
        lay, (path, starts) = self.layout, self.paths
        matrix = np.zeros((self.n_classes, self.n_classes))
        costs = self.height_costs[self.hierarchy.heights[self._parting]]
        slot = np.argsort(lay.slots)
        for i, (begin, end) in enumerate(itertools.pairwise(starts)):
            # The nodes above a class are intervals of slots, each inside the next; the costs
            # change where they begin and end.
            nodes = path[begin:end]
            own = slot[i : i + 1]
            cuts = np.concatenate([lay.first[nodes[::-1]], own, own + 1, lay.last[nodes]])
            steps = np.concatenate([costs[nodes[::-1]], [0.0], costs[nodes]])
            matrix[i, lay.slots] = np.repeat(steps, np.diff(cuts)) * self.row_scale[i]
        return matrix

    @cached_property
    def _intervals(self) -> tuple[IntArray, IntArray]:
        return intervals(self.hierarchy)

    @cached_property
    def _parting(self) -> BoolArray:
        """Whether two classes part at a node: it holds both, and none of its children does."""
        (first, last), parents = self._intervals, self.hierarchy.parents[1:]
        parting = np.asarray(last - first >= 2)
        same = (first[1:] == first[parents]) & (last[1:] == last[parents])
        parting[parents[same]] = False
        return parting

    @cached_property
    def layout(self) -> TreeLayout:
        """Computed on first use."""
        hierarchy, parting = self.hierarchy, self._parting
        first, last = self._intervals
        nodes = np.flatnonzero(parting)
        number = np.cumsum(parting) - 1
        # The number of the parting node nearest at or above each node of the hierarchy, or -1.
        above = np.where(parting, number, -1).tolist()
        for v, up in enumerate(hierarchy.parents.tolist()):
            if above[v] < 0 <= up:
                above[v] = above[up]
        nearest = np.array(above)
        upper = nearest[hierarchy.parents[nodes]]
        upper[:1] = -1  # nothing parts above the topmost
        costs = np.append(
            self.height_costs[hierarchy.heights[nodes]], 0.0
        )  # [-1]: above the topmost
        parents = nearest[hierarchy.class_nodes]
        return TreeLayout(
            slots=np.argsort(hierarchy.class_nodes),
            first=first[nodes],
            last=last[nodes],
            ends=np.searchsorted(nodes, nodes + hierarchy.sizes[nodes]),
            steps=costs[upper] - costs[:-1],
            upper=upper,
            parents=parents,
            parent_costs=costs[parents],
        )

    @cached_property
    def paths(self) -> tuple[IntArray, IntArray]:
        """path (P,), starts (k + 1,): the nodes above class i are path[starts[i] : starts[i + 1]].

        For whole rows of A. In a chain, P is half of k x k.
        """
        found = paths(self.layout.parents, self.layout.upper)
        for array in found:
            array.flags.writeable = False
        return found

    @cached_property
    def _row_greatest(self) -> FloatArray:
        """(k,) The greatest cost in each row."""
        greatest = np.where(self._parting, self.height_costs[self.hierarchy.heights], 0.0).tolist()
        for v, up in enumerate(self.hierarchy.parents.tolist()):
            greatest[v] = max(greatest[v], greatest[up]) if v else greatest[v]
        return np.array(greatest)[self.hierarchy.class_nodes] * self.row_scale

    @property
    def greatest(self) -> float:
        return float(self._row_greatest.max())

    @property
    def cheapest(self) -> float:
        costs = self.height_costs[self.hierarchy.heights]
        least = np.where(self._parting & (costs > 0), costs, np.inf).tolist()
        for v, up in enumerate(self.hierarchy.parents.tolist()):
            least[v] = min(least[v], least[up]) if v else least[v]
        found = np.array(least)[self.hierarchy.class_nodes]
        paid = np.isfinite(found)
        return (
            float((found[paid] * self.row_scale[paid]).min(initial=np.inf)) if paid.any() else 0.0
        )

    def _select(self, names: tuple[str, ...], places: IntArray) -> Self:
        hierarchy = Hierarchy.from_edges(self.hierarchy.edges(), classes=names)
        return type(self)(hierarchy, self.height_costs, self.row_scale[places])

    def _lookup(self, i: IntArray, j: IntArray) -> FloatArray:
        return np.asarray(self.row_scale[i] * self.height_costs[self.hierarchy.height(i, j)])

    def _mix(self, probs: FloatArray) -> FloatArray:
        lay = self.layout
        if not len(lay.ends):
            return np.zeros_like(probs)
        order = np.argsort(lay.ends, kind="stable")
        where, start = np.unique(lay.ends[order], return_index=True)

        def mix(some: FloatArray) -> FloatArray:
            scaled = some * self.row_scale
            sums = np.zeros((len(some), self.n_classes + 1))
            np.cumsum(np.take(scaled, lay.slots, axis=1), axis=1, out=sums[:, 1:])
            flow = lay.steps * (np.take(sums, lay.last, axis=1) - np.take(sums, lay.first, axis=1))
            change = np.pad(flow, ((0, 0), (0, 1)))
            change[:, where] -= np.add.reduceat(np.take(flow, order, axis=1), start, axis=1)
            below = np.take(-np.cumsum(change, axis=1), lay.parents, axis=1)
            return np.asarray(np.maximum(below - lay.parent_costs * scaled, 0.0))

        return in_blocks(mix, probs)

    def row_sums(self) -> FloatArray:
        # On the way down each node adds what stays behind, so nothing cancels: a small row among
        # great ones keeps its digits.
        first, last = self._intervals
        held, costs = (last - first).tolist(), self.height_costs[self.hierarchy.heights].tolist()
        sums = [0.0] * len(held)
        for v, up in enumerate(self.hierarchy.parents.tolist()):
            if v:
                sums[v] = sums[up] + costs[up] * (held[up] - held[v])
        own = [sums[v] + costs[v] * (held[v] - 1) for v in self.hierarchy.class_nodes.tolist()]
        return np.array(own) * self.row_scale

    def _divided(self, rows: FloatArray) -> Self:
        if (rows == rows[0]).all():
            return type(self)(self.hierarchy, self.height_costs / rows[0], self.row_scale)
        return type(self)(self.hierarchy, self.height_costs, self.row_scale / rows)

    def _moved(self, plus: float, times: float) -> Penalty:
        if not (self.row_scale == 1).all():
            return Penalty.from_matrix(self.matrix(), self.classes)._moved(plus, times)
        costs = plus + times * self.height_costs
        costs[0] = 0.0
        return type(self)(self.hierarchy, costs)

    def _free_columns(self) -> BoolArray:
        # Without the scale A is symmetric: a free column is a free row.
        return np.asarray(self._row_greatest == 0)

    def _content(self) -> Iterable[bytes]:
        yield names_bytes(self.classes)
        yield names_bytes(name for edge in sorted(self.hierarchy.edges()) for name in edge)
        yield (self.height_costs + 0.0).tobytes()
        yield self.row_scale.tobytes()

    def _about(self) -> str:
        costs = ", ".join(f"{cost:g}" for cost in self.height_costs[:6])
        more = ", ..." if len(self.height_costs) > 6 else ""
        scaled = "" if (self.row_scale == 1).all() else ", rows scaled"
        return f"tree of height {self.hierarchy.max_height}, cost by height {costs}{more}{scaled}"


def intervals(hierarchy: Hierarchy) -> tuple[IntArray, IntArray]:
    """First slot, and one past the last, of each node: where the classes below it are."""
    by_slot, nodes = np.sort(hierarchy.class_nodes), np.arange(len(hierarchy.names))
    return np.searchsorted(by_slot, nodes), np.searchsorted(by_slot, nodes + hierarchy.sizes)


def paths(lowest: IntArray, up: IntArray) -> tuple[IntArray, IntArray]:
    """Flat lists of the nodes from `lowest[i]` upwards, and where each list starts; -1 ends one."""
    lengths = [0] * (len(up) + 1)  # of the list from each node; [-1]: of none
    for v, above in enumerate(up.tolist()):
        lengths[v] = lengths[above] + 1
    starts = np.concatenate([[0], np.cumsum(np.array(lengths)[lowest])])
    path = np.empty(starts[-1], dtype=np.int64)
    at, node = starts[:-1], lowest
    while (going := node >= 0).any():
        at, node = at[going], node[going]
        path[at] = node
        at, node = at + 1, up[node]
    return path, starts
