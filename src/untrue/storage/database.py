"""Entries in an SQLite file: write-ahead log, one transaction per entry, one table.

    entries    id, kind, key, label, facts, arrays, data, checksum

A reader opens the file beside a writer at any time. Text is read as bytes: a cell that is no
longer UTF-8 is a damaged entry, not an exception.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from untrue.errors import UntrueError
from untrue.input_files import visible
from untrue.storage.entries import (
    Damaged,
    Entry,
    Row,
    T,
    entry_id,
    from_row,
    read_as,
    to_row,
)

FORMAT = 1
# Marks the file as ours: "untr".
APPLICATION = 0x756E7472
TABLE = """CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    label TEXT NOT NULL,
    facts TEXT NOT NULL,
    arrays TEXT NOT NULL,
    data BLOB NOT NULL,
    checksum TEXT NOT NULL
) STRICT"""
PRAGMAS = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
"""
SCHEMA = f"BEGIN IMMEDIATE; {TABLE.replace('TABLE', 'TABLE IF NOT EXISTS', 1)}; {PRAGMAS} COMMIT;"
LAST = 2**63 - 1
# Where a page of the file is unreadable, the numbers are searched in so small parts around it.
SMALLEST_PART = 2**50
# Another process may be writing its own entry.
PATIENCE_SECONDS = 60.0
INSERT = "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
OTHER = "Choose another file."


# SQLite quotes the file in its messages, whose bytes may no longer be text.
ERRORS = (sqlite3.Error, UnicodeDecodeError)


class StorageError(UntrueError, OSError):
    """A storage that cannot be opened, read or written."""


class Storage:
    """Entries by kind and key. Open with `Storage.write`, `Storage.read` or `Storage.memory`.

    other: the sentence that says how to do without this file, for messages.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path | None, *, other: str = OTHER
    ) -> None:
        self.path = path
        self._db = connection
        self._other = other
        connection.text_factory = bytes

    @classmethod
    def memory(cls) -> Self:
        """A storage that ends with its process."""
        db = sqlite3.connect(":memory:", isolation_level=None)
        db.executescript(SCHEMA)
        return cls(db, None)

    @classmethod
    def write(cls, path: str | Path, *, other: str = OTHER) -> Self:
        """Open for reading and writing; the folder and the file are made when absent."""
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"Cannot write to {path.parent}: {error.strerror}.") from error
        with cls(connect(path, other), path, other=other)._closed_on_error() as storage:
            if not storage._known():
                storage._db.executescript(SCHEMA)
            # Each commit reaches the disk: a power cut loses what is in flight, nothing else.
            storage._db.execute("PRAGMA journal_mode = WAL")
            storage._db.execute("PRAGMA synchronous = FULL")
            problem = storage.problem()
            if problem is not None:
                raise StorageError(
                    f"{path} is damaged ({problem}). `untrue status {path} --repair` keeps what "
                    "is whole."
                )
            return storage

    @classmethod
    def read(cls, path: str | Path, *, other: str = OTHER) -> Self:
        """Open for reading only: entries stay as they are, and nothing is left beside the file."""
        path = Path(path)
        if not path.is_file():
            raise StorageError(f"There is no file {path}.")
        # SQLite makes the files of its write-ahead log for a reader, too; only a connection that
        # may write (mode=rw) takes them away when it is the last to close.
        # A read-only folder cannot hold the index, so the file is then read as it is; with a log
        # beside it the first mode must work, or its entries would be missed.
        address = path.resolve().as_uri()
        logged = path.with_name(f"{path.name}-wal").exists()
        try:
            db = _reading(f"{address}?mode=rw")
        except ERRORS as error:
            if logged or not isinstance(error, sqlite3.OperationalError):
                raise StorageError(f"Cannot read {path}: {reason(error)}. {other}") from error
            try:
                db = _reading(f"{address}?mode=ro&immutable=1")
            except ERRORS as last:
                raise StorageError(f"Cannot read {path}: {reason(last)}. {other}") from last
        with cls(db, path, other=other)._closed_on_error() as storage:
            storage._known()
            return storage

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def put(self, *entries: Entry) -> None:
        """Keep entries, all or none. An entry of the same kind and key is replaced."""
        self.put_rows([to_row(entry) for entry in entries])

    def put_rows(self, rows: Iterable[Row]) -> None:
        """As `put`, for cells as they are."""
        with self._plainly():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany(INSERT, rows)
                self._db.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def get(self, kind: str, key: str) -> Entry | Damaged | None:
        """One entry, or None when there is none."""
        number = entry_id(kind, key)
        if not self._there():
            return None
        try:
            row = self._db.execute("SELECT * FROM entries WHERE id = ?", (number,)).fetchone()
        except ERRORS as error:
            if _not_the_file(error):
                raise self._error(error) from error
            why = f"the file cannot be read there ({reason(error)})"
            return Damaged(number, kind, key, "", why)
        return None if row is None else from_row(row)

    def entries(self, kind: str) -> list[Entry]:
        """The whole entries of a kind, by key. `damaged` names the others."""
        found = (from_row(row) for row in self.rows() if row[1] == kind.encode())
        # A dictionary: a damaged file may show a row twice.
        whole = {entry.key: entry for entry in found if isinstance(entry, Entry)}
        return [whole[key] for key in sorted(whole)]

    def get_as(self, kind: str, key: str, reader: Callable[[Entry], T]) -> T | Damaged | None:
        """What a reader makes of one entry, or None when there is none."""
        found = self.get(kind, key)
        return read_as(found, reader) if isinstance(found, Entry) else found

    def all_as(self, kind: str, reader: Callable[[Entry], T]) -> Iterator[T]:
        """What a reader makes of the entries of a kind, by key, as far as it can read them."""
        for entry in self.entries(kind):
            found = read_as(entry, reader)
            if not isinstance(found, Damaged):
                yield found

    def damaged(
        self, readers: Mapping[str, Callable[[Entry], object]] | None = None
    ) -> tuple[Damaged, ...]:
        """Every entry that is not whole, or that the reader of its kind cannot read."""
        found: list[Damaged] = []
        unread: list[str] = []
        for row in self.rows(unread):
            entry = from_row(row)
            reader = None if isinstance(entry, Damaged) else (readers or {}).get(entry.kind)
            if isinstance(entry, Entry) and reader is not None:
                made = read_as(entry, reader)
                entry = made if isinstance(made, Damaged) else entry
            if isinstance(entry, Damaged):
                found.append(entry)
        if unread:
            found.append(Damaged(-1, "", "", "a part of the file", unread[0]))
        return tuple(found)

    def problem(self) -> str | None:
        """What is wrong with the file as a whole, or None; entries may then be missing."""
        try:
            found = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        except ERRORS as error:
            if _not_the_file(error):
                raise self._error(error) from error
            return reason(error)
        text = found.decode(errors="replace") if isinstance(found, bytes) else str(found)
        return None if text == "ok" else visible(text)

    def rows(self, unread: list[str] | None = None) -> Iterator[Row]:
        """Every row that can be read, in any order, also of a file with unreadable pages.

        unread: is given the reason for each part of the file that could not be read.
        """
        parts = [(0, LAST)] if self._there() else []
        while parts:
            first, last = parts.pop()
            try:
                for row in self._db.execute(
                    "SELECT * FROM entries WHERE id BETWEEN ? AND ? ORDER BY id", (first, last)
                ):
                    yield row
                    first = row[0] + 1
            except ERRORS as error:
                if _not_the_file(error):
                    raise self._error(error) from error
                # The page that holds `first` may be the bad one: look on both sides of it.
                if last - first > SMALLEST_PART:
                    middle = (first + last) // 2
                    parts += [(middle + 1, last), (first, middle)]
                elif unread is not None:
                    unread.append(f"it cannot be read ({reason(error)})")

    def _there(self) -> bool:
        """Whether the table is there: a writer may have just made the file."""
        with self._plainly():
            found = self._db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'entries'")
            return found.fetchone() is not None

    def _known(self) -> bool:
        """Whether the file is a storage; False when it is empty."""
        with self._plainly():
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if application != APPLICATION and (tables or application):
            raise StorageError(
                f"Cannot use {self.path}: it is an SQLite file of another program. {self._other}"
            )
        if application == APPLICATION and version != FORMAT:
            raise StorageError(
                f"{self.path} was written by another version of untrue (format {version}, this one "
                f"reads {FORMAT}). Use that version, or: {self._other}"
            )
        if application != APPLICATION:
            return False
        # A damaged definition hides every entry, and SQLite's own check does not look at it.
        with self._plainly():
            made = self._db.execute("SELECT sql FROM sqlite_schema WHERE name = 'entries'")
            found = made.fetchone()
        if found is None or found[0] != TABLE.encode():
            raise StorageError(
                f"Cannot use {self.path}: the definition of its table is damaged. {self._other}"
            )
        return True

    @contextmanager
    def _closed_on_error(self) -> Iterator[Self]:
        try:
            with self._plainly():
                yield self
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """SQLite's errors, as one sentence that names the file."""
        try:
            yield
        except ERRORS as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> StorageError:
        broken = type(error) is not sqlite3.OperationalError  # "not a database", "malformed"
        way = self._other if broken else "What is finished in it is safe."
        return StorageError(f"Cannot use {self.path}: {reason(error)}. {way}")


def connect(path: Path, other: str = OTHER) -> sqlite3.Connection:
    """A connection that waits for other writers, and leaves transactions to us."""
    try:
        return sqlite3.connect(path, timeout=PATIENCE_SECONDS, isolation_level=None)
    except sqlite3.Error as error:
        raise StorageError(f"Cannot open {path}: {error}. {other}") from error


def reason(error: Exception) -> str:
    """What SQLite found, on one line."""
    text = "its text is damaged" if isinstance(error, UnicodeDecodeError) else str(error)
    return visible(text)


def _not_the_file(error: Exception) -> bool:
    """An error of the moment (in use, closed, no memory), which says nothing about the content."""
    return isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError)


def _reading(address: str) -> sqlite3.Connection:
    """A connection that changes no entry, and was seen to read."""
    db = sqlite3.connect(address, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)
    try:
        db.execute("PRAGMA query_only = ON")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except ERRORS:
        db.close()
        raise
    return db
