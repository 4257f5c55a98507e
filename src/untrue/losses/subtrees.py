"""A hierarchy as tensors: probabilities of nodes given their parents, sums along paths.

Only *parting* nodes matter, those with at least two branches that hold classes: between them the
conditional probability is 1. A class at an inner node is one more branch of that node. What is left
are the k classes and fewer than k parting nodes; each but the topmost is an *edge*, named after its
lower end. Edges are laid out level by level, so that everything about a level is a
slice, and all work is O(k) per example, in as many steps as there are levels. Tables here are
(edges, N), so that adding a row to its parent's is one quick sweep.

A log-sum-exp is kept as `top + rest`, top being one of the logits and rest the logarithm of a sum
between 1 and k. Differences are then taken of logits first, which is exact however large they are.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from untrue.array_types import IntArray
from untrue.errors import ArgumentError
from untrue.hierarchy import Hierarchy
from untrue.penalty import Penalty, TreePenalty
from untrue.penalty.device_buffers import DeviceBuffers
from untrue.penalty.tensors import ragged
from untrue.penalty.tree import paths


def as_hierarchy(hierarchy: Hierarchy | Penalty | Any) -> Hierarchy:
    """A `Hierarchy`, or the one that a penalty was made from."""
    if isinstance(hierarchy, Hierarchy):
        return hierarchy
    if isinstance(hierarchy, TreePenalty):
        return hierarchy.hierarchy
    given = (
        f"a penalty in {hierarchy.form} form"
        if isinstance(hierarchy, Penalty)
        else type(hierarchy).__name__
    )
    raise ArgumentError(
        f"`hierarchy` must be a Hierarchy, or a penalty made from one (Penalty.from_hierarchy, "
        f"from_groups); got {given}."
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Contracted:
    """The classes, numbered 0..k-1, and the m parting nodes, k..k+m-1, the topmost last.

    up (k + m,): the parting node next above; -1 for the topmost
    heights (k + m,): height in the whole hierarchy of the branch of `up` that holds the node
    depths (k + m,): edges of the whole hierarchy from its root to `up`
    levels (k + m,): edges from the topmost
    names: of all of them
    """

    up: IntArray
    heights: IntArray
    depths: IntArray
    levels: IntArray
    names: tuple[str, ...]


def contract(hierarchy: Hierarchy) -> Contracted:
    """Leave out every node at which nothing is decided."""
    k, n, parents = hierarchy.n_classes, len(hierarchy.names), hierarchy.parents.tolist()
    holds, branches = [0] * n, [0] * n
    for v in hierarchy.class_nodes.tolist():
        holds[v] = branches[v] = 1
    for v in range(n - 1, 0, -1):
        holds[parents[v]] += holds[v]
        branches[parents[v]] += holds[v] > 0
    parting = [v for v in range(n) if branches[v] >= 2]
    number = {v: k + len(parting) - 1 - i for i, v in enumerate(parting)}
    # Of each node of the hierarchy: the parting node above, and which of its branches leads here.
    above, branch = [-1] * n, [0] * n
    for v in range(1, n):
        up = parents[v]
        above[v], branch[v] = (number[up], v) if up in number else (above[up], branch[up])
    height = hierarchy.heights.tolist()
    ups, heights = [], []
    for v in hierarchy.class_nodes.tolist():
        at_inner = v in number
        ups.append(number[v] if at_inner else above[v])
        heights.append(0 if at_inner else height[branch[v]])
    for v in reversed(parting):
        ups.append(above[v])
        heights.append(height[branch[v]])
    levels = [0] * len(ups)
    for v in [*range(len(ups) - 1, k - 1, -1), *range(k)]:  # above before below
        levels[v] = levels[ups[v]] + 1 if ups[v] >= 0 else 0
    depth_of = {number[v]: int(hierarchy.depths[v]) for v in parting}
    depths = [depth_of.get(up, 0) for up in ups]
    taken = set(hierarchy.classes)
    inner = (hierarchy.names[v] for v in reversed(parting))
    names = (*hierarchy.classes, *(f"{name} (inner)" if name in taken else name for name in inner))
    return Contracted(np.array(ups), np.array(heights), np.array(depths), np.array(levels), names)


class Level(NamedTuple):
    """Edges of one depth: first..middle - 1 lead to parting nodes, middle..end - 1 to classes."""

    first: int
    middle: int
    end: int
    n_parents: int


class Subtrees(DeviceBuffers):
    """The edges of a contracted hierarchy on a device, shallowest level first.

    n_outputs   nodes that a network must score if it scores nodes: classes, then inner nodes
    names       of those
    heights, depths   (edges,): as in `Contracted`
    """

    heights: Tensor
    depths: Tensor
    outputs: Tensor
    classes: Tensor
    rank: Tensor
    group: Tensor
    family: Tensor
    path: Tensor
    starts: Tensor

    def __init__(self, hierarchy: Hierarchy) -> None:
        super().__init__()
        small, k = contract(hierarchy), hierarchy.n_classes
        self.n_classes = k
        self.n_outputs = max(len(small.up) - 1, 1)
        self.n_families = len(small.up) - k
        self.names = small.names[: self.n_outputs]
        # In a level parting nodes come before classes, and siblings are neighbours.
        edges = np.flatnonzero(small.up >= 0)
        edges = edges[np.lexsort((small.up[edges], edges < k, small.levels[edges]))]
        place = np.full(len(small.up), -1)  # of each node among the edges; -1 is the topmost
        place[edges] = np.arange(len(edges))
        above = place[small.up[edges]]
        family = np.unique(above, return_inverse=True)[1]
        # Families in the order of their parents, so those of a level are neighbours, in the order
        # of the parents on the level above.
        self.levels: list[Level] = []
        group = family.copy()
        for depth in range(1, int(small.levels.max()) + 1):
            level = np.flatnonzero(small.levels[edges] == depth)
            first, n_inner = int(level[0]), int((edges[level] >= k).sum())
            group[level] -= family[level].min()
            n_parents = int(group[level].max()) + 1
            self.levels.append(Level(first, first + n_inner, int(level[-1]) + 1, n_parents))
        path, starts = paths(place[:k], above)
        self.deepest = int(np.diff(starts).max())
        self._hold("heights", small.heights[edges])
        self._hold("depths", small.depths[edges])
        self._hold("outputs", edges)  # the output of each edge
        self._hold("classes", edges[edges < k])  # the class of each edge that leads to one
        self._hold("rank", np.argsort(edges[edges < k]))  # the place of each class among those
        self._hold("group", group)  # the place of an edge's parent among those of its level
        self._hold("family", family)  # the same among all
        self._hold("path", path)  # edges above class i: path[starts[i] : starts[i + 1]]
        self._hold("starts", starts)

    def given_parent_by_mass(self, z: Tensor) -> Tensor:
        """(N, k) logits of the classes -> (edges, N): `log p(v | parent)` under their softmax."""
        leaves = _bounded(z.T.index_select(0, self.classes))
        top, rest = leaves.detach(), leaves - leaves.detach()
        below, parts = len(self.classes), []
        up: tuple[Tensor, ...] = ()
        for level in reversed(self.levels):
            n = level.end - level.middle
            own = (top[below - n : below], rest[below - n : below])
            below -= n
            if up:
                own = (torch.cat([up[0], own[0]]), torch.cat([up[1], own[1]]))
            group = self.group[level.first : level.end]
            given, *up_now = _given_group(*own, group, level.n_parents)
            up = tuple(up_now)
            parts.append(given)
        return torch.cat(parts[::-1])

    def given_parent_by_siblings(self, outputs: Tensor) -> Tensor:
        """(N, n_outputs) logits of nodes -> (edges, N): their log-softmax among siblings."""
        x = _bounded(outputs.T.index_select(0, self.outputs))
        return _given_group(x.detach(), x - x.detach(), self.family, self.n_families)[0]

    def sum_to_target(self, values: Tensor, target: Tensor, factor: Tensor | None) -> Tensor:
        """(N,) Sums of (edges, N) values, each times its edge's factor, on the way to a class."""
        index, there = ragged(self.starts, target, self.deepest)
        edge = self.path[index].T
        found = values.gather(0, edge)
        if factor is not None:
            found = found * factor[edge]
        return torch.where(there.T, found, 0.0).sum(0)

    def sum_to_classes(self, values: Tensor) -> Tensor:
        """(N, k) The same for every class."""
        sums, parts = values, []
        for number, level in enumerate(self.levels):
            here = values[level.first : level.end]
            if number:
                here = here + sums.index_select(0, self.group[level.first : level.end])
            n_inner = level.middle - level.first
            sums = here[:n_inner]
            parts.append(here[n_inner:])
        return torch.cat(parts).index_select(0, self.rank).T


def _bounded(x: Tensor) -> Tensor:
    """Logits of -inf (classes ruled out) as numbers with the same exponential, low but
    so that a few of them can be added up: then a subtree all ruled out has differences too."""
    return x.clamp(min=torch.finfo(x.dtype).min / 4)


def _given_group(
    top: Tensor, rest: Tensor, group: Tensor, n_groups: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise exp(top + rest) (rows, N) in each group of rows.

    Gives its logarithm (rows, N), and that of each group's sum, again as top and rest
    (n_groups, N). No gradient flows through the tops.
    """
    empty = top.new_full((n_groups, top.shape[1]), -torch.inf)
    highest = empty.scatter_reduce(0, group[:, None].expand_as(top), top, "amax")
    seen = (top - highest.index_select(0, group)) + rest
    total = torch.zeros_like(empty).index_add(0, group, seen.exp()).log()
    return seen - total.index_select(0, group), highest, total
