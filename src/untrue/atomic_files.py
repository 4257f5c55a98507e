"""Files and folders that are there whole or not at all, even after a kill or a loss of power.

What is written goes to a temporary name beside its place, is forced to the disk, and then moved.
Linux exchanges two folders in one step. Elsewhere two renames do it, and the old folder is away
between them: `restore` puts it back after a kill, and removes what else was left.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from untrue.errors import ArgumentError, MissingFileError

# In the names of folders under way: `.model.untrue-k2j4h1`; `restore` looks for it.
UNDER_WAY = ".untrue-"
OLD = ".old"
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def place_text(path: Path, text: str) -> Path:
    """Write `text` under a temporary name beside `path`, then move it into place."""
    # A path in the text may hold bytes that are not UTF-8.
    return place_bytes(path, text.encode("utf-8", "backslashreplace"))


def place_bytes(path: Path, content: bytes) -> Path:
    """As `place_text`, for bytes."""
    with placed_file(path) as temporary:
        temporary.write_bytes(content)
    return path


@contextmanager
def placed_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`; what is written there takes its place at the end."""
    if not path.name:
        raise ArgumentError(f"'{path}' is a folder; name a file to write.")
    if not path.parent.is_dir():
        raise MissingFileError(_no_folder(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        _force(temporary)
        temporary.replace(path)
        _force(path.parent)
    except OSError as error:
        if str(error.filename) == str(temporary):  # a name that the user did not give
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`, to fill and then to `put_in_place`; else it is removed.

    It is locked while it is filled, so that `restore` in another process leaves it alone.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    made, lock = _locked_folder(path)
    try:
        yield made
    finally:
        os.close(lock)
        shutil.rmtree(made, ignore_errors=True)


def put_in_place(made: Path, path: Path) -> Path:
    """Move a folder of `folder_beside` to `path`, in one step; a folder that was there is removed.

    A kill at any moment leaves the old folder or the new one, whole.
    """
    if path.is_symlink():
        raise ArgumentError(f"{path} is a link; name the folder that it leads to.")
    _open_up(made)
    for file in made.iterdir():
        _force(file)
    _force(made)
    old = None
    if not path.exists():
        made.rename(path)
    elif _exchange(made, path):
        old = made
    else:
        old = made.with_name(made.name + OLD)
        path.rename(old)
        try:
            made.rename(path)
        except OSError:
            old.rename(path)
            raise
    _force(path.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
    return path


def restore(path: Path) -> None:
    """Clean up after commands that were killed: the old folder is put back if it is away.

    What another process is filling is left alone.
    """
    if not path.parent.is_dir():
        return
    start = f".{path.name}{UNDER_WAY}"
    left = [each for each in path.parent.iterdir() if each.name.startswith(start)]
    for folder in sorted(left, reverse=True):  # the old folder before the one to replace it
        lock = _try_lock(folder.with_name(folder.name.removesuffix(OLD)))
        if lock is None:
            continue
        with suppress(OSError):
            if folder.name.endswith(OLD) and not path.exists():
                folder.rename(path)
            else:
                shutil.rmtree(folder)
        if lock >= 0:
            os.close(lock)


def check_place(path: Path, *inputs: Path | None, overwrite: bool = False) -> None:
    """A file that a command is asked to write, checked before the work. The rule of all commands:

    its folder is there and can be written to; it is none of the files that are read; and what is
    there already is replaced only with `overwrite`, a folder never.
    """
    if not path.parent.is_dir():
        raise ArgumentError(_no_folder(path))
    for read in inputs:
        if read is not None and path.resolve() == read.resolve():
            raise ArgumentError(f"{path} is read by this command; name another file to write.")
    if path.is_dir():
        raise ArgumentError(f"{path} is a folder; name a file to write.")
    if os.path.lexists(path) and not overwrite:
        raise ArgumentError(
            f"{path} is there already; add --overwrite to replace it, or name another place."
        )
    if not os.access(path.parent, os.W_OK):
        raise ArgumentError(
            f"{path} cannot be written: you may not write into {path.parent}, its folder."
        )


def check_can_make(folder: Path) -> None:
    """A folder is there, or can be made: checked before the work."""
    if folder.is_dir():
        return
    if folder.exists():
        raise ArgumentError(f"{folder} is a file; name a folder to write into.")
    above = next(path for path in folder.absolute().parents if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ArgumentError(f"{folder} cannot be made: {above} is no folder to write into.")


def _no_folder(path: Path) -> str:
    return f"There is no folder {path.parent} to write {path.name} into; make it."


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system has no such step."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(rename(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0)


def _force(path: Path) -> None:
    """Have the system put a file's content, or a folder's names, on the disk."""
    if sys.platform == "win32" and path.is_dir():
        return  # folders cannot be opened there
    handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems cannot do this; a full or broken disk is another matter.
        if error.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(handle)


def _open_up(folder: Path) -> None:
    """Give folder and files the rights that plain mkdir and open would have given them.

    What is made under a temporary name is often private to its user.
    """
    umask = os.umask(0)
    os.umask(umask)
    folder.chmod(0o777 & ~umask)
    for file in folder.iterdir():
        file.chmod(0o666 & ~umask)


def _locked_folder(path: Path) -> tuple[Path, int]:
    while True:
        made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}{UNDER_WAY}"))
        lock = _try_lock(made, wait=True)
        if lock is None:
            raise ArgumentError(f"The folder {made} cannot be opened; it was made just now.")
        # Between its making and its locking another process may have taken it for a remnant.
        if lock >= 0 and made.exists():
            return made, lock
        if lock >= 0:
            os.close(lock)


if sys.platform == "win32":

    def _try_lock(folder: Path, *, wait: bool = False) -> int | None:  # noqa: ARG001
        """Windows locks no folders: nothing counts as left behind."""
        return os.open(os.devnull, os.O_RDONLY) if wait else None

else:
    import fcntl

    def _try_lock(folder: Path, *, wait: bool = False) -> int | None:
        """A handle that holds the folder, -1 when there is none, None when another has it."""
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return -1
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if wait:  # a file system without locks, where nothing counts as left behind either
                return handle
            os.close(handle)
            return None
        return handle
