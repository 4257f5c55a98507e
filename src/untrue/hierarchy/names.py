"""What may name a class, for trees and penalties alike."""

from __future__ import annotations

from collections.abc import Iterable

from untrue.errors import HierarchyError, UntrueError


def check_names(
    names: Iterable[str], what: str, kind: type[UntrueError] = HierarchyError
) -> tuple[str, ...]:
    """Names as a tuple of plain strings; `what` names the argument in messages."""
    if isinstance(names, str):
        raise kind(f"{what} must be a list of names; got the string {names!r}.")
    if isinstance(names, set | frozenset):
        raise kind(f"{what} must have an order; got a set.")
    try:
        listed = tuple(names)
    except TypeError:
        raise kind(f"{what} must be a list of names; got {names!r}.") from None
    for name in listed:
        if not isinstance(name, str):
            raise kind(
                f"Class names must be strings; got {name!r} ({type(name).__name__}) in {what}. "
                "Integers always mean positions."
            )
        if not name:
            raise kind(f"Class names must not be empty; got '' in {what}.")
    try:
        "".join(listed).encode()
    except UnicodeEncodeError as error:
        # Lone surrogates, as in names of files that are not UTF-8: nothing could store them.
        raise kind(f"A name in {what} is not valid text: {error}") from None
    return tuple(map(str, listed))


def check_classes(
    classes: Iterable[str], kind: type[UntrueError] = HierarchyError
) -> tuple[str, ...]:
    """Names of classes: at least one, none twice."""
    names = check_names(classes, "`classes`", kind)
    if not names:
        raise kind("At least one class is needed; `classes` is empty.")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise kind(f"Duplicate class name {name!r}.")
        seen.add(name)
    return names
