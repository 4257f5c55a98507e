"""The forms in which a tree may be given, each turned into (parent, child) pairs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from untrue.errors import HierarchyError
from untrue.hierarchy.names import check_names
from untrue.hierarchy.nested_json import parse
from untrue.input_files import read_text, reading

Edge = tuple[str, str]
Hung = tuple[str | None, str]  # None: not below anything yet


def rows_of(table: Any) -> Iterable[Any]:
    """The rows of a table (pandas, pyarrow); anything else as it is."""
    if hasattr(table, "column_names"):
        table = zip(*(column.to_pylist() for column in table.columns), strict=True)
    elif hasattr(table, "itertuples"):
        table = table.itertuples(index=False, name=None)
    rows: Iterable[Any] = table
    return rows


def edge_rows(table: Any) -> Iterable[Any]:
    """(parent, child) rows; a table with columns called so goes by these names."""
    columns = getattr(table, "column_names", getattr(table, "columns", ()))
    names = [str(name).strip().lower() for name in columns]
    rows = rows_of(table)
    return (row[::-1] for row in rows) if names == ["child", "parent"] else rows


def csv_edges(path: Path) -> Iterator[Edge]:
    reader = csv.reader(
        io.StringIO(read_text(path, HierarchyError), newline=""), skipinitialspace=True
    )
    first, turned = True, False
    with reading(path, "CSV", HierarchyError):
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            names = [cell.lower() for cell in cells] if first else []
            first = False
            if sorted(names) == ["child", "parent"]:
                turned = names[0] == "child"
                continue
            if len(cells) != 2 or not all(cells):
                raise HierarchyError(
                    f"line {reader.line_num}: expected two names separated by a comma, "
                    f"parent,child; got {','.join(row)!r}."
                )
            yield (cells[1], cells[0]) if turned else (cells[0], cells[1])


def json_edges(path: Path) -> Iterable[Edge]:
    text = read_text(path, HierarchyError)
    with reading(path, "JSON", HierarchyError):
        content = parse(text)
    if isinstance(content, list):
        return content
    if isinstance(content, dict):
        return dict_edges(content)
    raise HierarchyError("expected nested objects or a list of [parent, child] pairs.")


def dict_edges(tree: Mapping[str, Any]) -> Iterator[Edge]:
    if not isinstance(tree, Mapping):
        raise HierarchyError(f"Expected nested mappings; got {type(tree).__name__}.")
    edges: dict[Hung, None] = {}
    stack = _below(None, tree)
    while stack:
        parent, name, content = stack.pop()
        if (parent, name) in edges:
            raise HierarchyError(f"{name!r} is listed twice below {parent!r}.")
        edges[parent, name] = None
        stack += _below(name, content)
    return _with_root(list(edges))


def _below(parent: str | None, content: Any) -> list[tuple[str | None, str, Any]]:
    """(parent, name, what is below name), last one first."""
    if isinstance(content, str):
        content = [content]
    if isinstance(content, Mapping):
        items = list(content.items())
    elif content is None:
        items = []
    elif isinstance(content, Sequence | np.ndarray):
        items = [(name, None) for name in content]
    else:
        raise HierarchyError(f"{content!r} is below {parent!r}; expected names or a mapping.")
    names = check_names([name for name, _ in items], "the tree" if parent is None else repr(parent))
    return [(parent, name, item[1]) for name, item in zip(names, items, strict=True)][::-1]


def group_edges(groups: Mapping[str, Sequence[str]]) -> Iterator[Edge]:
    if not isinstance(groups, Mapping):
        raise HierarchyError(
            f"`groups` must be a mapping of names to lists; got {type(groups).__name__}."
        )
    group_of: dict[str, str] = {}
    for group, members in groups.items():
        names = check_names(members, f"group {group!r}")
        if not names:
            raise HierarchyError(f"Group {group!r} has no classes.")
        for name in names:
            if name in group_of:
                places = (
                    f"twice in group {group!r}"
                    if group_of[name] == group
                    else f"in two groups, {group_of[name]!r} and {group!r}"
                )
                raise HierarchyError(f"Class {name!r} is {places}.")
            group_of[name] = group
    nodes: dict[str, str] = {}
    for group in groups:
        node = group
        while node in group_of or (node != group and node in groups):
            node += " (group)"
        nodes[group] = node
    root = _free_name({*group_of, *nodes.values()})
    yield from ((root, node) for node in nodes.values())
    yield from ((nodes[group], name) for name, group in group_of.items())


def path_edges(paths: Iterable[Sequence[str | None]]) -> Iterator[Edge]:
    edges: dict[Hung, None] = {}
    for number, path in enumerate(rows_of(paths)):
        if isinstance(path, str) or not isinstance(path, Sequence | np.ndarray):
            raise HierarchyError(
                f"Path {number} is {path!r}; expected a list of names, coarsest first."
            )
        labels = list(path)
        while labels and _missing(labels[-1]):
            labels.pop()
        if not labels or any(map(_missing, labels)):
            raise HierarchyError(f"Path {number} has a gap or is empty: {tuple(path)!r}.")
        above: str | None = None
        for name in check_names(labels, f"path {number}"):
            edges[above, name] = None
            above = name
    return _with_root(list(edges))


def _missing(label: Any) -> bool:
    """None, an empty string, or the NaN or NA that tables put into empty cells."""
    if isinstance(label, str):
        return not label
    return label is None or type(label).__name__ == "NAType" or label != label


def _with_root(edges: Sequence[Hung]) -> Iterator[Edge]:
    """Hang what has no parent under a new root, unless there is exactly one such node."""
    tops = [child for parent, child in edges if parent is None]
    if len(tops) == 1 and len(edges) > 1:
        yield from ((parent, child) for parent, child in edges if parent is not None)
        return
    root = _free_name({child for _, child in edges})
    yield from ((root if parent is None else parent, child) for parent, child in edges)


def _free_name(taken: set[str]) -> str:
    root = "root"
    while root in taken:
        root += "_"
    return root
