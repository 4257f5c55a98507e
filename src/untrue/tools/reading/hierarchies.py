"""Hierarchies from files, fitted to the classes of a penalty."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from untrue.errors import HierarchyError
from untrue.hierarchy import Hierarchy
from untrue.input_files import with_path
from untrue.penalty import FormulaPenalty, Penalty, TreePenalty


def read_hierarchy(path: Path, *, classes: Sequence[str] | None = None) -> Hierarchy:
    """A hierarchy from .csv (parent,child) or .json, with these classes in this order."""
    readers = {".csv": Hierarchy.from_csv, ".json": Hierarchy.from_json}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise HierarchyError(f"{path}: a hierarchy ends in .csv or .json.")
    try:
        return reader(path, classes=classes)
    except HierarchyError as error:
        raise HierarchyError(with_path(path, error)) from None


def stated_hierarchy(
    path: Path | None,
    penalty: Penalty | FormulaPenalty | None,
    classes: Sequence[str] | None,
) -> Hierarchy | None:
    """The hierarchy of a file, else that of the costs, where they are by one."""
    if path is not None:
        return read_hierarchy(path, classes=classes)
    return penalty.hierarchy if isinstance(penalty, TreePenalty) else None
