"""Dropping what is damaged: the whole entries go into a new file, which takes the old one's place.

So damaged cells and damaged pages are treated the same way, and a kill leaves the old file or the
new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from untrue.atomic_files import placed_file
from untrue.storage.database import ERRORS, Storage, StorageError, connect, reason
from untrue.storage.entries import Damaged, Entry, from_row, to_row


@dataclass(frozen=True, slots=True)
class Repaired:
    """dropped: the damaged entries that were found. problem: of the file as a whole, if any."""

    kept: int
    dropped: tuple[Damaged, ...]
    problem: str | None


def repair(
    path: str | Path, readers: Mapping[str, Callable[[Entry], object]] | None = None
) -> Repaired:
    """Drop damaged entries, and those that the reader of their kind cannot read.

    A file without any is left as it is. Refused while another process uses the file.
    """
    path = Path(path)
    with Storage.read(path) as storage:
        dropped, problem = storage.damaged(readers), storage.problem()
    if not dropped and problem is None:
        return Repaired(_count(path), (), None)
    _take(path)
    bad = {entry.id for entry in dropped}
    with placed_file(path) as temporary, Storage.read(path) as old:
        found = (from_row(row) for row in old.rows() if row[0] not in bad)
        with Storage.write(temporary) as new:
            new.put_rows(to_row(entry) for entry in found if isinstance(entry, Entry))
        _take(temporary)
        kept = _count(temporary)
    return Repaired(kept, dropped, problem)


def _take(path: Path) -> None:
    """Bring the write-ahead log into the file: left beside the new file, it would be read into it.

    SQLite does so only for a process that has the file to itself.
    """
    with closing(connect(path)) as db:
        try:
            db.execute("PRAGMA busy_timeout = 0")
            (mode,) = db.execute("PRAGMA journal_mode = DELETE").fetchone()
        except ERRORS as error:
            raise StorageError(f"Cannot repair {path}: {reason(error)}.") from error
    if mode != "delete":
        raise StorageError(f"Cannot repair {path} while another process uses it.")


def _count(path: Path) -> int:
    with Storage.read(path) as storage:
        return sum(1 for _ in storage.rows())
