"""The few kinds of error `untrue` raises. Each also is the builtin it resembles."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class UntrueError(Exception):
    """Anything that went wrong and one sentence can explain."""


class PenaltyError(UntrueError, ValueError):
    """A penalty that cannot be: negative costs, unknown classes, a broken file."""


class HierarchyError(UntrueError, ValueError):
    """A tree of classes that is not a tree, or not of these classes."""


class ArgumentError(UntrueError, ValueError):
    """An argument outside its range or of the wrong shape."""


class DataError(UntrueError, ValueError):
    """Data that cannot be read or do not fit: a truncated file, an unknown label."""


class BudgetError(UntrueError, ValueError):
    """Budgets that cannot be shown to be kept; `closest` is what came nearest, where there is one.

    The text gives the reason, and what it would take.
    """

    def __init__(self, message: str, closest: Any = None) -> None:
        super().__init__(message)
        self.closest = closest

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.closest)


class MissingFileError(UntrueError, FileNotFoundError):
    """A file that is not there."""


class DivergedError(UntrueError, ArithmeticError):
    """Training whose loss or gradients are no longer finite."""


class MissingDependencyError(UntrueError, ImportError):
    """An optional framework that is not installed; the message carries the install line."""


class UntrueWarning(UserWarning):
    """Something legal that is likely to disappoint."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name, ready to append to a message.

    >>> nearest("catt", ["cat", "dog"])
    "; did you mean 'cat'?"
    >>> nearest("zebra", ["cat", "dog"])
    ''
    """
    matches = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def counted(n: int, what: str) -> str:
    """A number with its noun.

    >>> counted(1, "round"), counted(2000, "round")
    ('1 round', '2,000 rounds')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def listed(names: Iterable[object], most: int = 8, *, count: int | None = None) -> str:
    """Names with commas between, those beyond the first `most` counted.

    count: how many there are, when `names` has only some of them.

    >>> listed(["cat", "dog", "eel"], most=2)
    'cat, dog and 1 more'
    """
    every = [str(name) for name in names]
    rest = (len(every) if count is None else count) - min(len(every), most)
    shown = ", ".join(every[:most])
    return f"{shown} and {rest:,} more" if rest > 0 and shown else shown
