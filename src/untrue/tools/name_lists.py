"""Lists of names as options take them: `a, "b, or c"`."""

from __future__ import annotations

import re

from untrue.errors import ArgumentError

# A name between commas: in quotes, doubled inside, or without any.
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^",][^,]*)?)\s*(?:,|$)')


def split_names(text: str, what: str = "Class names") -> list[str]:
    """Names between commas: quoted as in a CSV file where they hold commas, line ends, or blanks at
    an end.

    >>> split_names('a, "b, or c", "d "')
    ['a', 'b, or c', 'd ']
    """
    names, position = [], 0
    while position <= len(text):
        match = _NAME.match(text, position)
        if match is None:
            break
        quoted, plain = match.groups()
        names.append((plain or "").strip() if quoted is None else quoted.replace('""', '"'))
        position = match.end()
        if not match[0].endswith(","):
            break
    else:
        names.append("")
    if position < len(text) or not all(names):
        raise ArgumentError(
            f"{what} are separated by single commas, and quoted where they hold one "
            f'("a, b",c); got {text!r}.'
        )
    return names


def split_columns(text: str | None) -> list[str]:
    """Column names; none for None, and for an empty text the column that has an empty name."""
    if not text:
        return [] if text is None else [""]
    return split_names(text, "Column names")
