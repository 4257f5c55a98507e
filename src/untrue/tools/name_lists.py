"""Lists of names as options take them: `a, "b, or c"`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

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


def in_shell(name: str) -> str:
    """A name as a shell takes it after an option for a list of names.

    >>> print(in_shell("id"), in_shell("weight, kg"))
    id '"weight, kg"'
    """
    plain = not (set(name) & set(',"\n')) and name == name.strip()
    return shlex.quote(name if plain else '"' + name.replace('"', '""') + '"')


def split_columns(texts: Iterable[str] | None) -> list[str]:
    """Column names of an option that may be repeated; an empty text is the column without a name.

    >>> split_columns(["a, b", "c"])
    ['a', 'b', 'c']
    """
    return [
        name
        for text in texts or ()
        for name in (split_names(text, "Column names") if text else [""])
    ]
