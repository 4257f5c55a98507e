"""The level of a hierarchy that people mean by "the groups"."""

from __future__ import annotations

from untrue.array_types import IntArray
from untrue.hierarchy.tree import Hierarchy


def super_level(hierarchy: Hierarchy) -> int | None:
    """The least depth at which there are several groups, fewer than classes; None in a flat one.

    >>> super_level(Hierarchy.from_groups({"fish": ["trout", "ray"], "bird": ["owl"]}))
    1
    """
    for level in range(1, int(hierarchy.depths.max()) + 1):
        n_groups = len(hierarchy.groups(level))
        if n_groups > 1:
            return level if n_groups < hierarchy.n_classes else None
    return None


def super_classes(hierarchy: Hierarchy) -> tuple[dict[str, tuple[str, ...]], IntArray] | None:
    """The coarsest groups that separate classes and are no single classes; the group of each class.

    None for a hierarchy without such a level (a flat one).
    """
    level = super_level(hierarchy)
    return None if level is None else (hierarchy.groups(level), hierarchy.coarsen(level))
