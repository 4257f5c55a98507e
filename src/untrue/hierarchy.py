"""A tree of classes: reading, checking, heights, coarsening.

A `Hierarchy` is immutable. Its classes are the leaves unless told otherwise; they may be inner
nodes too ("a dog, breed unknown"). Names are strings; an integer always means a position in
`classes`. Nothing here recurses, so depth is limited by memory alone.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import HierarchyError, nearest

Ints = npt.NDArray[np.int64]
Node = str | int | Sequence[str] | Sequence[int] | npt.NDArray[Any]


class Hierarchy:
    """A rooted tree whose nodes have names, and some of whose nodes are classes.

    Attributes, for those who compute on the tree (arrays are read-only, one entry a node, nodes in
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

    def __init__(self, edges: Iterable[tuple[str, str]], classes: Sequence[str] | None = None):
        """Build from (parent, child) pairs; the `from_...` methods read other shapes."""
        parent_of = _read_edges(edges)
        if not parent_of:
            raise HierarchyError("A hierarchy needs at least one class; got none.")
        self.names, self.parents = _depth_first(parent_of)
        n = len(self.names)
        self._position = {name: v for v, name in enumerate(self.names)}
        parents = self.parents.tolist()
        sizes, heights, depths = [1] * n, [0] * n, [0] * n
        for v in range(n - 1, 0, -1):
            up = parents[v]
            sizes[up] += sizes[v]
            heights[up] = max(heights[up], heights[v] + 1)
        for v in range(1, n):
            depths[v] = depths[parents[v]] + 1
        self.sizes, self.heights, self.depths = (_frozen(x) for x in (sizes, heights, depths))
        # Leaves in the order in which the caller named them, which need not be depth-first.
        self.leaves = tuple(name for name in parent_of if sizes[self._position[name]] == 1)
        self.classes = self.leaves if classes is None else _check_names(classes)
        self.class_nodes = _frozen([self._node(name) for name in self.classes])
        if len(set(self.classes)) < len(self.classes):
            twice = Counter(self.classes).most_common(1)[0][0]
            raise HierarchyError(f"Class {twice!r} is listed twice.")

    # How people hold a tree

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[str, str]], *, classes: Sequence[str] | None = None
    ) -> Hierarchy:
        """From (parent, child) pairs in any order."""
        return cls(edges, classes)

    @classmethod
    def from_csv(cls, path: str | Path, *, classes: Sequence[str] | None = None) -> Hierarchy:
        """From a CSV file of two columns, `parent,child`; a header of those words is skipped."""
        return cls(_csv_edges(Path(path)), classes)

    @classmethod
    def from_dict(
        cls, tree: Mapping[str, Any], *, classes: Sequence[str] | None = None
    ) -> Hierarchy:
        """From nested mappings; the innermost may be lists of names, or empty.

        One key at the top is the root; several are children of a root added above them.
        """
        return cls(_dict_edges(tree), classes)

    @classmethod
    def from_json(cls, path: str | Path, *, classes: Sequence[str] | None = None) -> Hierarchy:
        """From a JSON file: nested objects as in `from_dict`, or a list of [parent, child]."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HierarchyError(f"{path} is not readable JSON: {error}") from error
        if isinstance(content, list):
            return cls(content, classes)
        if isinstance(content, dict):
            return cls.from_dict(content, classes=classes)
        raise HierarchyError(f"{path} must hold nested objects or a list of [parent, child] pairs.")

    @classmethod
    def from_groups(
        cls, groups: Mapping[str, Sequence[str]], *, classes: Sequence[str] | None = None
    ) -> Hierarchy:
        """From group name -> class names: two levels under a root that is added.

        A group may share its name with a class: the group's node is then called "NAME (group)".
        """
        members = {name for group in groups.values() for name in _check_names(group)}
        for group, names in groups.items():
            if not names:
                raise HierarchyError(f"Group {group!r} has no classes.")
        edges = []
        for group, names in groups.items():
            node = f"{group} (group)" if group in members else group
            edges += [(None, node), *((node, name) for name in names)]
        return cls(_with_root(edges), classes)

    @classmethod
    def from_paths(
        cls, paths: Iterable[Sequence[str | None]], *, classes: Sequence[str] | None = None
    ) -> Hierarchy:
        """From one path per row, coarsest label first: `[("animal", "reptile", "snake"), ...]`.

        Paths may differ in length (empty or None at the end). A path that ends where another goes
        on names an inner node; list it in `classes` to make it a class.
        """
        return cls(_path_edges(paths), classes)

    # Questions people ask of a tree

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
        va, vb = np.broadcast_arrays(self._nodes(a), self._nodes(b))
        lca = va.copy()
        while (outside := (vb < lca) | (vb >= lca + self.sizes[lca])).any():
            lca[outside] = self.parents[lca[outside]]
        heights = np.where(va == vb, 0, self.heights[lca])
        return heights if heights.ndim else int(heights)

    def groups(self, level: int) -> dict[str, tuple[str, ...]]:
        """Classes below each node at depth `level` (0 is the root), in depth-first order.

        A class nearer the root than `level` is a group of its own.
        """
        nodes = self._ancestors(level)
        members: dict[int, list[str]] = {v: [] for v in np.unique(nodes).tolist()}
        for name, v in zip(self.classes, nodes.tolist(), strict=True):
            members[v].append(name)
        return {self.names[v]: tuple(names) for v, names in members.items()}

    def coarsen(self, level: int) -> Ints:
        """(k,) For each class the position of its group in `groups(level)`."""
        return np.unique(self._ancestors(level), return_inverse=True)[1].astype(np.int64)

    def edges(self) -> list[tuple[str, str]]:
        """(parent, child) pairs from which an equal tree can be built."""
        return [
            (self.names[up], name)
            for up, name in zip(self.parents[1:].tolist(), self.names[1:], strict=True)
        ]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.classes == other.classes and sorted(self.edges()) == sorted(other.edges())

    def __hash__(self) -> int:
        return hash((self.classes, frozenset(self.edges())))

    def __repr__(self) -> str:
        return (
            f"Hierarchy({self.n_classes} classes, {len(self.names)} nodes, "
            f"height {self.max_height}, root {self.root!r})"
        )

    def _ancestors(self, level: int) -> Ints:
        deepest = int(self.depths.max())
        if not 0 <= level <= deepest:
            raise HierarchyError(f"`level` must lie in 0..{deepest}; got {level}.")
        nodes = self.class_nodes.copy()
        while (deep := self.depths[nodes] > level).any():
            nodes[deep] = self.parents[nodes[deep]]
        return nodes

    def _node(self, name: str) -> int:
        if name not in self._position:
            hint = nearest(str(name), self.names)
            raise HierarchyError(f"Unknown class {name!r} in this hierarchy{hint or '.'}")
        return self._position[name]

    def _nodes(self, which: Node) -> Ints:
        if isinstance(which, str):
            return np.asarray(self._node(which))
        array = np.asarray(which)
        if array.dtype.kind in "UO":
            return np.array([self._node(name) for name in array.ravel().tolist()]).reshape(
                array.shape
            )
        if array.dtype.kind not in "iu":
            raise HierarchyError(f"Classes are names or integer indices; got {array.dtype}.")
        if array.size and (array.min() < 0 or array.max() >= self.n_classes):
            bad = array.min() if array.min() < 0 else array.max()
            raise HierarchyError(f"Class index {bad} is outside 0..{self.n_classes - 1}.")
        return np.asarray(self.class_nodes[array])


def _frozen(values: Sequence[int]) -> Ints:
    array = np.asarray(values, dtype=np.int64)
    array.flags.writeable = False
    return array


def _check_names(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise HierarchyError(f"Expected a list of class names; got the string {names!r}.")
    for name in names:
        if not isinstance(name, str) or not name:
            raise HierarchyError(f"Class names are non-empty strings; got {name!r}.")
    return tuple(str(name) for name in names)


def _read_edges(edges: Iterable[tuple[str, str]]) -> dict[str, str | None]:
    """Child -> parent (None for what never is a child), in order of first appearance as a child."""
    parent_of: dict[str, str | None] = {}
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise HierarchyError(f"An edge is a (parent, child) pair; got {edge!r}.")
        parent, child = _check_names(edge)
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
    return parent_of


def _depth_first(parent_of: dict[str, str | None]) -> tuple[tuple[str, ...], Ints]:
    """Names in depth-first order and each one's parent; checks that it is a tree."""
    roots = [name for name, parent in parent_of.items() if parent is None]
    if len(roots) > 1:
        raise HierarchyError(
            f"A tree has one root; found {len(roots)}: {', '.join(map(repr, roots[:5]))}"
            f"{', ...' if len(roots) > 5 else ''}. Put a common parent above them."
        )
    children: dict[str, list[str]] = {name: [] for name in parent_of}
    for name, parent in parent_of.items():
        if parent is not None:
            children[parent].append(name)
    names: list[str] = []
    position: dict[str | None, int] = {None: -1}
    stack = list(roots)
    while stack:
        name = stack.pop()
        position[name] = len(names)
        names.append(name)
        stack.extend(reversed(children[name]))
    if len(names) < len(parent_of):
        lost = next(name for name in parent_of if name not in position)
        raise HierarchyError(f"A tree has no cycles; found {_cycle(lost, parent_of)}.")
    return tuple(names), _frozen([position[parent_of[name]] for name in names])


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


def _csv_edges(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            for number, row in enumerate(csv.reader(file), start=1):
                cells = [cell.strip() for cell in row]
                if not any(cells) or (
                    number == 1 and [c.lower() for c in cells] == ["parent", "child"]
                ):
                    continue
                if len(cells) != 2 or not all(cells):
                    raise HierarchyError(
                        f"{path}, line {number}: expected parent,child; got {row!r}."
                    )
                yield cells[0], cells[1]
        except (csv.Error, UnicodeDecodeError) as error:
            raise HierarchyError(f"{path} is not readable CSV: {error}") from error


def _dict_edges(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    edges: list[tuple[str | None, str]] = []
    stack: list[tuple[str | None, Any]] = [(None, tree)]
    while stack:
        parent, below = stack.pop()
        if below is None:
            continue
        if isinstance(below, str):
            below = [below]
        if isinstance(below, Mapping):
            stack += [(name, below[name]) for name in reversed(list(below))]
        elif not isinstance(below, Sequence):
            raise HierarchyError(f"Below {parent!r} stands {below!r}: expected names or a mapping.")
        edges += [(parent, name) for name in below]
    return _with_root(edges)


def _path_edges(paths: Iterable[Sequence[str | None]]) -> Iterator[tuple[str, str]]:
    edges: dict[tuple[str | None, str], None] = {}
    for number, path in enumerate(paths):
        if isinstance(path, str):
            raise HierarchyError(
                f"Path {number} is a string; expected a list of names, coarsest first."
            )
        names = list(path)
        while names and not names[-1]:
            names.pop()
        if not names or not all(names):
            raise HierarchyError(f"Path {number} has a gap or is empty: {tuple(path)!r}.")
        above: str | None = None
        for name in names:
            edges[above, str(name)] = None
            above = str(name)
    return _with_root(list(edges))


def _with_root(edges: Sequence[tuple[str | None, str]]) -> Iterator[tuple[str, str]]:
    """Hang what has no parent under a new root, unless there is exactly one such node."""
    tops = list(dict.fromkeys(child for parent, child in edges if parent is None))
    taken = {child for _, child in edges}
    root = "root"
    while root in taken:
        root += "_"
    if len(tops) == 1 and any(parent is not None for parent, _ in edges):
        yield from ((parent, child) for parent, child in edges if parent is not None)
        return
    yield from ((root if parent is None else parent, child) for parent, child in edges)
