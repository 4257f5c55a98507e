"""Files and folders that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from untrue.errors import ArgumentError


def place_text(path: Path, text: str) -> Path:
    """Write `text` under a temporary name beside `path`, then move it into place."""
    return place_bytes(path, text.encode())


def place_bytes(path: Path, content: bytes) -> Path:
    """As `place_text`, for bytes."""
    with placed_file(path) as temporary:
        temporary.write_bytes(content)
    return path


@contextmanager
def placed_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`; what is written there takes its place at the end."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        if str(error.filename) == str(temporary):  # a file that nobody asked for
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def placed_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` that takes its place at the end; what was there goes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield temporary
        _open_up(temporary)
        if path.exists():
            old = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.old."))
            path.rename(old / path.name)
            temporary.rename(path)
            shutil.rmtree(old)
        else:
            temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_parent(path: Path) -> None:
    """The folder that `path` goes into exists."""
    if not path.parent.is_dir():
        raise ArgumentError(f"There is no folder {path.parent} to write {path.name} into; make it.")


def _open_up(folder: Path) -> None:
    """Give folder and files the rights that plain mkdir and open would have given them.

    What is made under a temporary name is often private to its user.
    """
    umask = os.umask(0)
    os.umask(umask)
    folder.chmod(0o777 & ~umask)
    for file in folder.iterdir():
        file.chmod(0o666 & ~umask)
