"""One writer per directory, by a lock that the system releases however its process ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from untrue.storage.database import StorageError

FILE = "run.lock"
TRIES, PAUSE = 5, 0.05


@contextmanager
def locked(directory: str | Path) -> Iterator[None]:
    """Hold the directory for this process, or refuse and name the one that holds it."""
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
        file = (place / FILE).open("a+")
    except FileExistsError as error:
        raise StorageError(f"{place} is a file; --out must be a folder.") from error
    except OSError as error:
        raise StorageError(f"Cannot write to {place}: {error.strerror}.") from error
    with file:
        if not _grab_soon(file):
            raise StorageError(
                f"{place} is in use by another `untrue` (process {_owner(file)}). Wait for "
                "it to end, or choose another --out."
            )
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def owner(directory: str | Path) -> str | None:
    """The process that holds the directory now, or None."""
    try:
        with (Path(directory) / FILE).open("r") as file:
            return None if _grab(file, shared=True) else _owner(file)
    except OSError:
        return None


def _grab_soon(file: IO[str]) -> bool:
    """A command that only asks for the owner holds the lock for a moment: try a few times."""
    for _ in range(TRIES):
        if _grab(file):
            return True
        time.sleep(PAUSE)
    return False


def _owner(file: IO[str]) -> str:
    file.seek(0)
    return file.read().strip() or "unknown"


if sys.platform == "win32":
    import msvcrt

    def _grab(file: IO[str], *, shared: bool = False) -> bool:
        # Far past the text, since Windows keeps others from reading what is locked.
        file.seek(1 << 30)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        if shared:
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        return True

else:
    import fcntl

    def _grab(file: IO[str], *, shared: bool = False) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
