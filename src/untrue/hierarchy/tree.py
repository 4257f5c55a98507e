"""A tree of classes: checking, heights, coarsening.

A `Hierarchy` is immutable. Its classes are the leaves unless stated otherwise; they may be inner
nodes too ("a dog, breed unknown"). Names are strings; an integer always means a position in
`classes`. Nothing here recurses, so depth is limited by memory alone.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.errors import HierarchyError, nearest
from untrue.hierarchy import readers
from untrue.hierarchy.names import check_classes, check_names, in_one_shape, positions
from untrue.input_files import as_path, with_path

Node = str | int | Sequence[str] | Sequence[int] | npt.NDArray[Any]


class Hierarchy:
    """A rooted tree whose nodes have names, and some of whose nodes are classes.

    Attributes, to compute on the tree (arrays are read-only, one entry per node, nodes in
    depth-first order, so that the subtree of node v is the block v, ..., v + sizes[v] - 1):

    names       name of each node; names[0] is the root
    parents     position of the parent; -1 for the root
    sizes       number of nodes in the subtree
    depths      edges from the root
    heights     edges on the longest way down to a leaf
    class_nodes node of each class, in class order

    >>> tree = Hierarchy.from_dict({"animal": {"reptile": ["snake", "turtle"], "fish": ["trout"]}})
    >>> tree.leaves
    ('snake', 'turtle', 'trout')
    >>> tree.height("snake", "turtle"), tree.height("snake", "trout")
    (1, 2)
    """

    names: tuple[str, ...]
    parents: IntArray
    sizes: IntArray
    depths: IntArray
    heights: IntArray
    class_nodes: IntArray
    classes: tuple[str, ...]
    leaves: tuple[str, ...]
    _edges: tuple[tuple[str, str], ...]
    _position: dict[str, int]

    def __init__(self, edges: Iterable[tuple[str, str]], classes: Sequence[str] | None = None):
        """Build from (parent, child) pairs; the `from_...` methods read other shapes."""
        parent_of = _read_edges(edges)
        if not parent_of:
            raise HierarchyError("A hierarchy needs at least one class; got none.")
        position = _depth_first(parent_of)
        n = len(position)
        parents = [-1 if up is None else position[up] for up in map(parent_of.get, position)]
        sizes, heights, depths = [1] * n, [0] * n, [0] * n
        for v in range(n - 1, 0, -1):
            up = parents[v]
            sizes[up] += sizes[v]
            heights[up] = max(heights[up], heights[v] + 1)
        for v in range(1, n):
            depths[v] = depths[parents[v]] + 1
        # Leaves in the order in which the caller named them, which need not be depth-first.
        leaves = tuple(name for name in parent_of if sizes[position[name]] == 1)
        # Straight into the dictionary: assignment is refused below.
        vars(self).update(
            names=tuple(position),
            parents=_frozen(parents),
            sizes=_frozen(sizes),
            depths=_frozen(depths),
            heights=_frozen(heights),
            leaves=leaves,
            classes=leaves if classes is None else check_classes(classes),
            _edges=tuple((up, name) for name, up in parent_of.items() if up is not None),
            _position=position,
        )
        vars(self)["class_nodes"] = _frozen([self._node(name) for name in self.classes])

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"A Hierarchy is immutable; cannot set {name!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise dataclasses.FrozenInstanceError(f"A Hierarchy is immutable; cannot delete {name!r}.")

    def __reduce__(self) -> tuple[type[Hierarchy], tuple[Any, ...]]:
        # Through the constructor, so that unpickled arrays are read-only again.
        return type(self), (self._edges, self.classes)

    # Builders

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[str, str]], *, classes: Sequence[str] | None = None
    ) -> Hierarchy:
        """From (parent, child) pairs in any order, or a table of two such columns.

        Columns called parent and child go by these names.
        """
        return cls(edges, classes)

    @classmethod
    def from_csv(cls, path: str | Path, *, classes: Sequence[str] | None = None) -> Hierarchy:
        """From a CSV file of two columns, `parent,child`, or with these words as a header in the
        order that it says."""
        with _naming(path):
            return cls(readers.csv_edges(as_path(path)), classes)

    @classmethod
    def from_dict(
        cls, tree: Mapping[str, Any], *, classes: Sequence[str] | None = None
    ) -> Hierarchy:
        """From nested mappings; the innermost may be lists of names, or empty.

        One key at the top is the root; several are children of a root added above them.
        """
        return cls(readers.dict_edges(tree), classes)

    @classmethod
    def from_json(cls, path: str | Path, *, classes: Sequence[str] | None = None) -> Hierarchy:
        """From a JSON file: nested objects as in `from_dict`, or a list of [parent, child]."""
        with _naming(path):
            return cls(readers.json_edges(as_path(path)), classes)

    @classmethod
    def from_groups(
        cls, groups: Mapping[str, Sequence[str]], *, classes: Sequence[str] | None = None
    ) -> Hierarchy:
        """From group name -> class names: two levels under a root that is added.

        A group may share its name with a class: the group's node is then called "NAME (group)".
        """
        return cls(readers.group_edges(groups), classes)

    @classmethod
    def from_paths(
        cls, paths: Iterable[Sequence[str | None]], *, classes: Sequence[str] | None = None
    ) -> Hierarchy:
        """From one path per row, coarsest label first: `[("animal", "reptile", "snake"), ...]`.

        A table with a column per level will do. Paths may differ in length (empty, None or NaN at
        the end). A path that ends where another goes on names an inner node; list it in `classes`
        to make it a class.
        """
        return cls(readers.path_edges(paths), classes)

    # Queries

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def root(self) -> str:
        return self.names[0]

    @property
    def max_height(self) -> int:
        """Height of the root: the greatest height any two classes can have."""
        return int(self.heights[0])

    def height(self, a: Node, b: Node) -> Any:
        """Height of the lowest common ancestor of a and b; 0 for a class and itself.

        Names or class indices, scalars or arrays (broadcast against each other).
        """
        va, vb = in_one_shape(HierarchyError, a=self._nodes(a), b=self._nodes(b))
        heights = np.where(va == vb, 0, self.heights[self.common_ancestors(va, vb)])
        return heights if heights.ndim else int(heights)

    def common_ancestors(self, a: IntArray, b: IntArray) -> IntArray:
        """Lowest common ancestors of nodes, by position in `names`; one shape, or broadcast."""
        va, vb = np.broadcast_arrays(a, b)
        lca = va.copy()
        while (outside := (vb < lca) | (vb >= lca + self.sizes[lca])).any():
            lca[outside] = self.parents[lca[outside]]
        return lca

    def groups(self, level: int) -> dict[str, tuple[str, ...]]:
        """Classes below each node at depth `level` (0 is the root), in depth-first order.

        A class nearer the root than `level` is a group of its own.
        """
        nodes = self._ancestors(level)
        members: dict[int, list[str]] = {v: [] for v in np.unique(nodes).tolist()}
        for name, v in zip(self.classes, nodes.tolist(), strict=True):
            members[v].append(name)
        return {self.names[v]: tuple(names) for v, names in members.items()}

    def coarsen(self, level: int) -> IntArray:
        """(k,) For each class the position of its group in `groups(level)`."""
        return np.unique(self._ancestors(level), return_inverse=True)[1].astype(np.int64)

    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) pairs, from which with `classes` an equal tree can be built."""
        return list(self._edges)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.classes == other.classes and set(self._edges) == set(other._edges)

    def __hash__(self) -> int:
        return hash((self.classes, frozenset(self._edges)))

    def __repr__(self) -> str:
        return (
            f"Hierarchy({self.n_classes} classes, {len(self.names)} nodes, "
            f"height {self.max_height}, root {self.root!r})"
        )

    def _ancestors(self, level: int) -> IntArray:
        deepest = int(self.depths.max())
        whole = isinstance(level, int | np.integer) and not isinstance(level, bool)
        if not (whole and 0 <= level <= deepest):
            raise HierarchyError(
                f"`level` must be a whole number in 0..{deepest} (0 is the root); got {level!r}."
            )
        nodes = self.class_nodes.copy()
        while (deep := self.depths[nodes] > level).any():
            nodes[deep] = self.parents[nodes[deep]]
        return nodes

    def _node(self, name: str) -> int:
        if not isinstance(name, str) or name not in self._position:
            hint = nearest(str(name), self.names)
            raise HierarchyError(f"Unknown class {name!r} in this hierarchy{hint or '.'}")
        return self._position[name]

    def _nodes(self, which: Node) -> IntArray:
        nodes = self.class_nodes
        return positions(
            which, self._node, lambda found: nodes[found], self.n_classes, HierarchyError
        )


def _frozen(values: Sequence[int]) -> IntArray:
    array = np.asarray(values, dtype=np.int64)
    array.flags.writeable = False
    return array


@contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Errors inside begin with the file's path."""
    try:
        yield
    except HierarchyError as error:
        raise HierarchyError(with_path(path, error)) from None


def _read_edges(edges: Iterable[tuple[str, str]]) -> dict[str, str | None]:
    """Child -> parent (None for what never is a child), in order of first appearance as a child."""
    parent_of: dict[str, str | None] = {}
    for edge in readers.edge_rows(edges):
        if not isinstance(edge, (tuple, list, np.ndarray)) or len(edge) != 2:
            raise HierarchyError(f"An edge is a (parent, child) pair; got {edge!r}.")
        parent, child = edge
        if not (isinstance(parent, str) and isinstance(child, str)):
            check_names(edge, "an edge")
        parent, child = str(parent), str(child)  # NumPy's strings become Python's
        if parent == child:
            raise HierarchyError(f"{child!r} is its own parent.")
        known = parent_of.get(child)
        if known is not None and known != parent:
            raise HierarchyError(
                f"{child!r} has two parents, {known!r} and {parent!r}: a hierarchy must be a tree. "
                "Keep one of the edges, or give the two places different names."
            )
        parent_of[child] = parent
        parent_of.setdefault(parent, None)
    check_names(parent_of, "an edge")
    return parent_of


def _depth_first(parent_of: dict[str, str | None]) -> dict[str, int]:
    """Names with their places in depth-first order; checks that it is a tree."""
    roots = [name for name, parent in parent_of.items() if parent is None]
    if len(roots) > 1:
        raise HierarchyError(
            f"A tree has one root; found {len(roots)}: {', '.join(map(repr, roots[:5]))}"
            f"{', ...' if len(roots) > 5 else ''}. Put a common parent above them."
        )
    children = defaultdict[str, list[str]](list)
    for name, parent in parent_of.items():
        if parent is not None:
            children[parent].append(name)
    position: dict[str, int] = {}
    stack = list(roots)
    while stack:
        name = stack.pop()
        position[name] = len(position)
        if name in children:
            stack.extend(reversed(children[name]))
    if len(position) < len(parent_of):
        lost = next(name for name in parent_of if name not in position)
        raise HierarchyError(f"A tree has no cycles; found {_cycle(lost, parent_of)}.")
    return position


def _cycle(start: str, parent_of: Mapping[str, str | None]) -> str:
    seen: dict[str, int] = {}
    node: str | None = start
    while node is not None and node not in seen:
        seen[node] = len(seen)
        node = parent_of[node]
    assert node is not None  # every chain of parents that misses the root runs into a cycle
    loop = [name for name, step in seen.items() if step >= seen[node]]
    shown = loop if len(loop) <= 8 else [*loop[:7], "..."]
    return " -> ".join([*shown, loop[0]][::-1])
