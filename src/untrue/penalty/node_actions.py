"""The nodes of a hierarchy as answers, with costs along it: O(nodes x depth).

Let w be the lowest common ancestor of the true class y and the answer v. All costs here are

    cost(y, v) = a(y) + f(w, v)

and w is one of the nodes on the way from v up to the root. With mass(w) the probability below w and
w' the parent of w, the expected cost is a sum over that way alone,

    sum_y p_y a(y)  +  sum_w mass(w) (f(w, v) - f(w', v)),      f = 0 above the root

since a class below w but not below the next node down has w as its common ancestor with v. A class
that is an inner node itself is answered exactly, at no cost, by that node.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.errors import PenaltyError, nearest
from untrue.hierarchy import Hierarchy
from untrue.penalty.actions import Actions, NodeCost
from untrue.penalty.arrays import MOST_COST, TOO_GREAT
from untrue.penalty.builders import check_hierarchy
from untrue.penalty.tree import intervals, paths

# Values that a block of rows may hold while it is computed: 32 MB.
_BLOCK = 2**22


class NodeActions(Actions):
    """Nodes of a hierarchy as answers; made by `Actions.from_hierarchy`.

    hierarchy, cost  as they were given
    nodes        (m,) position of each answer in `hierarchy.names`
    """

    def __init__(self, hierarchy: Hierarchy, cost: NodeCost, nodes: Sequence[str] | None) -> None:
        check_hierarchy(hierarchy)
        self.hierarchy, self.cost_rule, self.classes = hierarchy, cost, hierarchy.classes
        self._slots = np.argsort(hierarchy.class_nodes, kind="stable")
        self._first, self._last = intervals(hierarchy)
        self.nodes = self._chosen(nodes)
        self.actions = tuple(hierarchy.names[v] for v in self.nodes.tolist())
        self._path, self._starts = paths(self.nodes, hierarchy.parents)
        self._own, self._pairs = self._costs(cost)
        self._check()

    def _chosen(self, nodes: Sequence[str] | None) -> IntArray:
        holds = self._last > self._first  # a node without a class below is never right
        if nodes is None:
            return np.flatnonzero(holds)
        places = {name: v for v, name in enumerate(self.hierarchy.names)}
        if isinstance(nodes, str) or not len(nodes):
            raise PenaltyError(f"`nodes` must be a list of names of nodes; got {nodes!r}.")
        for name in nodes:
            if name not in places:
                hint = nearest(str(name), self.hierarchy.names) or "."
                raise PenaltyError(f"`nodes` names no node of the hierarchy: {name!r}{hint}")
            if not holds[places[name]]:
                raise PenaltyError(f"No class is below the node {name!r}: it is never right.")
        if len(set(nodes)) < len(nodes):
            raise PenaltyError("`nodes` names a node twice.")
        return np.array([places[name] for name in nodes], dtype=np.int64)

    def _costs(self, cost: NodeCost) -> tuple[FloatArray, FloatArray]:
        """a (k,), and f (P,) for each answer v and each node w on its way up."""
        hierarchy, lengths = self.hierarchy, np.diff(self._starts)
        answer = np.repeat(self.nodes, lengths)
        none = np.zeros(hierarchy.n_classes)
        if cost == "distance":
            above = hierarchy.depths[answer] - 2.0 * hierarchy.depths[self._path]
            return hierarchy.depths[hierarchy.class_nodes].astype(np.float64), above
        if cost == "information":
            below = (self._last - self._first)[answer].astype(np.float64)
            whole = math.log(hierarchy.n_classes) or 1.0
            return none, np.where(self._path == answer, np.log(below) / whole, 1.0)
        if not callable(cost):
            raise PenaltyError(
                "`cost` must be 'distance', 'information' or a function of two heights, of the "
                f"common ancestor and of the answer; got {cost!r}."
            )
        _check_arguments(cost)
        heights = np.stack([hierarchy.heights[self._path], hierarchy.heights[answer]], axis=1)
        kinds, which = np.unique(heights, axis=0, return_inverse=True)
        found = [_number(cost(h, a), h, a) for h, a in kinds.tolist()]
        return none, np.array(found, dtype=np.float64)[which.reshape(-1)]

    def _check(self) -> None:
        """A leaf that is a class is a right answer, and free."""
        answers, _, exact = self._exact
        bad = (exact != 0) & (self.hierarchy.heights[self.nodes[answers]] == 0)
        for e in np.flatnonzero(bad)[:1].tolist():
            name = self.actions[answers[e]]
            raise PenaltyError(f"`cost` of the right answer {name!r} is {exact[e]:g}; not 0.")

    @property
    def preference(self) -> FloatArray:
        """Of two answers that cost the same, the deeper one is more specific."""
        return np.asarray(self.hierarchy.depths[self.nodes], dtype=np.float64)

    def _lookup(self, i: IntArray, j: IntArray) -> FloatArray:
        hierarchy = self.hierarchy
        true, answer = hierarchy.class_nodes[i], self.nodes[j]
        common = hierarchy.common_ancestors(true, answer)
        place = self._starts[j] + hierarchy.depths[answer] - hierarchy.depths[common]
        return np.where(true == answer, 0.0, self._own[i] + self._pairs[place])

    @cached_property
    def _steps(self) -> FloatArray:
        """(P,) `f(w, v) - f(w', v)`."""
        above = np.append(self._pairs[1:], 0.0)
        above[self._starts[1:] - 1] = 0.0  # the root has no parent
        return np.asarray(self._pairs - above)

    @cached_property
    def _exact(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Answers that are classes, those classes, and what an exact answer must not cost."""
        place = {v: i for i, v in enumerate(self.hierarchy.class_nodes.tolist())}
        pairs = [(j, place[v]) for j, v in enumerate(self.nodes.tolist()) if v in place]
        answers, classes = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return answers, classes, self._own[classes] + self._pairs[self._starts[answers]]

    def _expected(self, probs: FloatArray) -> FloatArray:
        found = np.empty((len(probs), self.n_actions))
        answers, classes, spared = self._exact
        step = max(1, _BLOCK // len(self._path))
        for start in range(0, len(probs), step):
            some = probs[start : start + step]
            sums = np.zeros((len(some), self.n_classes + 1))
            np.cumsum(np.take(some, self._slots, axis=1), axis=1, out=sums[:, 1:])
            mass = np.take(sums, self._last, axis=1) - np.take(sums, self._first, axis=1)
            flow = np.take(mass, self._path, axis=1) * self._steps
            expected = np.add.reduceat(flow, self._starts[:-1], axis=1)
            expected += (some @ self._own)[:, None]
            expected[:, answers] -= some[:, classes] * spared
            found[start : start + step] = expected
        return np.maximum(found, 0.0)

    def __repr__(self) -> str:
        return f"Actions({self.n_actions} nodes of {self.hierarchy!r})"


def _check_arguments(cost: Callable[[int, int], float]) -> None:
    """Check that it takes two heights, without a call: an error inside it is its author's."""
    try:
        stated = inspect.signature(cost)
    except (TypeError, ValueError):  # some functions of C do not say what they take
        return
    try:
        stated.bind(0, 0)
    except TypeError as error:
        raise PenaltyError(
            "`cost` must be a function `f(h, a)` of two heights, h of the common ancestor and a of "
            f"the answer; got one of {stated} ({error})."
        ) from None


def _number(cost: float, height: int, answer: int) -> float:
    try:
        value = float(cost)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value <= MOST_COST:
        rule = TOO_GREAT if MOST_COST < value < math.inf else "it must be finite and not negative"
        raise PenaltyError(f"`cost({height}, {answer})` is {cost!r}: {rule}.")
    return value
