"""Files that people give: read by libraries whose every complaint becomes one sentence.

A reader of a format may raise nearly anything on a file that is damaged or made to do harm, and
which it is changes from release to release. `reading` turns all of it into an `UntrueError` with
the file's name; the system's own errors about a file (permission denied) pass.

Bounds keep a small file from taking all of the memory; the error names the bound.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from untrue.errors import ArgumentError, DataError, MissingFileError, UntrueError

# How much of a library's message is shown.
LONGEST_REASON = 200
LARGEST_TEXT = 2**28
# Parts of a dotted key in TOML: the memory that the standard library's reader takes is quadratic.
DEEPEST_KEY = 32
# Packed data that unpack to more than this are refused if they grow by more than that.
UNPACKED = 2**28
GROWTH = 200
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
    """The first line of the message, without a full stop; the kind of error if it is empty.

    >>> reason(ValueError("cut short.\\nTry again."))
    'cut short'
    >>> reason(KeyError())
    'KeyError'
    """
    lines = str(error).strip().splitlines()
    text = lines[0].strip().rstrip(".") if lines else ""
    return text[:LONGEST_REASON] or type(error).__name__


def with_path(path: str | Path, error: UntrueError) -> str:
    """The message of an error, beginning with the file's name."""
    message = str(error)
    return message if message.startswith(str(path)) else f"{path}: {message}"


def as_path(given: Any) -> Path:
    """The name of a file, as a caller gives it."""
    if not isinstance(given, str | os.PathLike) or "\0" in str(given):
        raise ArgumentError(f"`path` must be the name of a file; got {given!r}.")
    return Path(given)


def check_regular(path: Path, kind: type[UntrueError] = DataError) -> os.stat_result:
    """Check that it is a plain file: reading a pipe or a device may never end."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"There is no file {path}.") from None
    if stat.S_ISDIR(found.st_mode):
        raise kind(f"{path} is a folder, not a file.")
    if not stat.S_ISREG(found.st_mode):
        raise kind(f"{path} is not a plain file (a pipe, a socket or a device); it is not read.")
    return found


def read_text(path: Path, kind: type[UntrueError] = DataError) -> str:
    """The whole of a text file in UTF-8, of at most LARGEST_TEXT bytes."""
    size = check_regular(path, kind).st_size
    if size > LARGEST_TEXT:
        raise kind(f"{path} has {size:,} bytes; at most {LARGEST_TEXT:,} are read as text.")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise kind(
            f"{path}: byte {error.start} is not UTF-8 text; save the file in that encoding."
        ) from None


def read_json(path: Path, kind: type[UntrueError] = DataError) -> Any:
    """The content of a JSON file."""
    text = read_text(path, kind)
    with reading(path, "JSON", kind):
        return json.loads(text)


def read_toml(path: Path, kind: type[UntrueError] = DataError) -> dict[str, Any]:
    """The content of a TOML file."""
    text = read_text(path, kind)
    if _deepest_key(text) > DEEPEST_KEY:
        raise kind(f"{path}: a key has more than {DEEPEST_KEY} parts with dots between them.")
    with reading(path, "TOML", kind):
        return tomllib.loads(text)


# Strings and comments, in which dots mean nothing, then parts of keys, dots, and all the rest.
_TOML_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"'
    r"|'{3}.*?'{3}|'[^'\n]*'"
    r"|#[^\n]*|[A-Za-z0-9_-]+|\.|[ \t]+|.",
    re.DOTALL,
)


def _deepest_key(text: str) -> int:
    """The greatest number of parts, with dots between, in a row outside strings."""
    most, dots = 0, 0
    for match in _TOML_PIECE.finditer(text):
        first = match[0][0]
        if first == ".":
            dots += 1
            most = max(most, dots)
        elif not (first in "\"' \t_-" or first.isalnum()):
            dots = 0
    return most + 1


def check_growth(path: Path, packed: int, unpacked: int, kind: type[UntrueError]) -> None:
    """Packed data do not grow out of proportion: a file made to fill the memory does."""
    if unpacked > max(UNPACKED, GROWTH * packed):
        raise kind(
            f"{path} unpacks from {packed:,} bytes to more than {GROWTH} times as many; it is not "
            "read. If that is as it should be, unpack it first."
        )


def shown(name: str) -> str:
    """A file's name as valid text: bytes that are not UTF-8 are escaped.

    >>> shown("caf\\udce9.png")
    'caf\\\\xe9.png'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def visible(text: str) -> str:
    """Text for a terminal: what would move its cursor, or reverse the text, is escaped.

    >>> visible("a\\tb\\x1b[2J")
    'a\\\\tb\\\\x1b[2J'
    """
    return "".join(repr(sign)[1:-1] if _steers(sign) else sign for sign in text)


def _steers(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Zl", "Zp") or sign in TURNS
