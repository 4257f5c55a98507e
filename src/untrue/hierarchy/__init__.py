"""A tree of classes: reading, checking, heights, coarsening."""

from untrue.hierarchy.tree import Hierarchy

__all__ = ["Hierarchy"]
