"""Files that people give: read by libraries whose every complaint becomes one sentence.

A reader of a format may raise nearly anything on a file that is damaged or made to do harm, and
which it is changes from release to release. `reading` turns all of it into an `UntrueError` with
the file's name; what the system says about a file (no such file, permission denied) passes.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from untrue.errors import DataError, UntrueError

# Of what a library said, so much is shown.
LONGEST_REASON = 200
# Signs that show the text after them in another order than it is stored.
TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@contextmanager
def reading(path: Path, what: str, kind: type[UntrueError] = DataError) -> Iterator[None]:
    """Whatever is raised inside becomes `kind`: "PATH is not readable as WHAT (reason)."

    An error of ours passes as it is.
    """
    try:
        yield
    except UntrueError:
        raise
    except MemoryError:
        raise kind(
            f"{path} is not readable as {what}: it takes more memory than there is."
        ) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise
        raise kind(f"{path} is not readable as {what} ({reason(error)}).") from None


def reason(error: BaseException) -> str:
    """The first line of what was said, without an end stop; the kind of error if it says nothing.

    >>> reason(ValueError("cut short.\\nTry again."))
    'cut short'
    >>> reason(KeyError())
    'KeyError'
    """
    lines = str(error).strip().splitlines()
    text = lines[0].strip().rstrip(".") if lines else ""
    return text[:LONGEST_REASON] or type(error).__name__


def check_regular(path: Path, kind: type[UntrueError] = DataError) -> os.stat_result:
    """A plain file: a pipe would be waited for without end, a device read without end."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise kind(f"{path} is a folder; a file is wanted.")
    if not stat.S_ISREG(found.st_mode):
        raise kind(f"{path} is not a plain file (a pipe, a socket or a device); it is not read.")
    return found


def shown(name: str) -> str:
    """A file's name as valid text: bytes that are not UTF-8 are escaped.

    >>> shown("caf\\udce9.png")
    'caf\\\\xe9.png'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def visible(text: str) -> str:
    """Text for a terminal: what would move its cursor, or turn the writing round, is escaped.

    >>> visible("a\\tb\\x1b[2J")
    'a\\\\tb\\\\x1b[2J'
    """
    return "".join(repr(sign)[1:-1] if _steers(sign) else sign for sign in text)


def _steers(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Zl", "Zp") or sign in TURNS
