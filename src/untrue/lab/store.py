"""Results in one SQLite file: what is in it survives anything, and is never made twice.

Write-ahead log, one transaction per run, one writer. Matrices are raw little-endian int64, test
probabilities of baselines raw little-endian float32; everything else is JSON. Nothing is pickled.

    runs       id, status, config, record (losses, provenance, ...), n_classes, confusion, probs
    decisions  run_id, costs, calibrated, confusion   least-expected-cost decisions of a run
    sweeps     name, record                    what was asked for ...
    planned    sweep, position, run_id, config ... run by run, so that gaps can be named
    datasets   name, info                      class names, groups, fingerprint

A reader opens the file beside a writer at any time:

    with Store.read("runs/mnist") as store:
        for sweep in store.sweeps():
            results = store.results(sweep)      # finished runs, in the order of the sweep
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from untrue.errors import UntrueError
from untrue.lab.records import (
    Counts,
    DatasetInfo,
    Decision,
    PenaltySpec,
    Provenance,
    RunConfig,
    RunResult,
    Sweep,
)

FILE = "runs.sqlite"
SCHEMA_VERSION = 2
_DECISIONS = """
CREATE TABLE decisions (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    costs TEXT NOT NULL,
    calibrated INTEGER NOT NULL DEFAULT 0,
    confusion BLOB NOT NULL,
    PRIMARY KEY (run_id, costs, calibrated)
);
"""
SCHEMA = f"""
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed')),
    config TEXT NOT NULL,
    record TEXT NOT NULL,
    n_classes INTEGER NOT NULL,
    confusion BLOB NOT NULL,
    probs BLOB
);
{_DECISIONS}
CREATE TABLE sweeps (name TEXT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE planned (
    sweep TEXT NOT NULL REFERENCES sweeps (name) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    config TEXT NOT NULL,
    PRIMARY KEY (sweep, position)
);
CREATE TABLE datasets (name TEXT PRIMARY KEY, info TEXT NOT NULL);
"""
# From each older version to the next. Version 1 had no calibrated decisions.
_COPY = "INSERT INTO decisions SELECT run_id, costs, 0, confusion FROM older ORDER BY rowid;"
MIGRATIONS = {
    1: f"ALTER TABLE decisions RENAME TO older; {_DECISIONS} {_COPY} DROP TABLE older;",
}


class StoreError(UntrueError, OSError):
    """A store that cannot be opened, read or written."""


class Store:
    """The results of a directory. Open with `Store.write` (one process) or `Store.read` (any)."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._db = connection

    @classmethod
    def write(cls, directory: str | Path) -> Self:
        """Open for reading and writing; the directory and the file are made when absent."""
        path = Path(directory) / FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(path, timeout=30, isolation_level=None)
            with _told(path):
                # Each commit reaches the disk: a power cut loses the runs in flight, no others.
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = FULL")
                db.execute("PRAGMA foreign_keys = ON")
                version = _version(db, path)
                later = range(version, SCHEMA_VERSION)
                steps = [SCHEMA] if version == 0 else [MIGRATIONS[older] for older in later]
                if steps:
                    db.executescript(
                        f"BEGIN IMMEDIATE; {''.join(steps)} "
                        f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
                    )
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"Cannot write to {path.parent}: {error.strerror}.") from error
        except sqlite3.Error as error:
            raise StoreError(f"Cannot open {path}: {error}.") from error
        return cls(db, path)

    @classmethod
    def read(cls, directory: str | Path) -> Self:
        """Open for reading only; nothing is made or changed."""
        path = Path(directory) / FILE
        if not path.is_file():
            raise StoreError(
                f"No results in {directory}: {FILE} is not there. "
                f"Make some with `untrue run EXPERIMENT --out {directory}`."
            )
        # A read-only folder cannot hold the write-ahead log's index, so the file is then read as
        # it stands; with a log beside it the plain way must work or its runs would be missed.
        address = path.resolve().as_uri()
        for mode in ("mode=ro", "mode=ro&immutable=1"):
            db = sqlite3.connect(f"{address}?{mode}", uri=True, timeout=30, isolation_level=None)
            try:
                db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                break
            except sqlite3.OperationalError as error:
                db.close()
                if "immutable" in mode or path.with_name(FILE + "-wal").exists():
                    raise StoreError(f"Cannot read {path}: {error}.") from error
            except sqlite3.DatabaseError as error:
                db.close()
                raise StoreError(f"Cannot read {path}: {error}.") from error
        _version(db, path)
        return cls(db, path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def copy_to(self, directory: Path) -> None:
        """Everything in it as another store."""
        with closing(sqlite3.connect(directory / FILE)) as copy, _told(self.path):
            self._db.backup(copy)

    def close(self) -> None:
        self._db.close()

    def add(self, result: RunResult, *, probs: npt.NDArray[np.float32] | None = None) -> None:
        """Store one run whole, or not at all. A failed run of the same id is replaced."""
        fields = dataclasses.asdict(dataclasses.replace(result, decisions=()))
        for held_elsewhere in ("config", "status", "confusion", "decisions"):
            del fields[held_elsewhere]
        with self._transaction():
            self._db.execute("DELETE FROM runs WHERE id = ?", (result.run_id,))
            self._db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    result.run_id,
                    result.status,
                    result.config.to_json(),
                    json.dumps(fields),
                    len(result.confusion),
                    result.confusion.astype("<i8").tobytes(),
                    None if probs is None else probs.astype("<f4").tobytes(),
                ),
            )
            for decision in result.decisions:
                self._add_decision(result.run_id, decision)

    def add_decision(self, run_id: str, decision: Decision) -> None:
        """Score a finished run on one more cost matrix."""
        with self._transaction():
            self._add_decision(run_id, decision)

    def add_dataset(self, info: DatasetInfo) -> None:
        """Note a data set; refuses when the runs here were made from other files."""
        known = self.datasets().get(info.name)
        if known is not None and known.fingerprint != info.fingerprint:
            raise StoreError(
                f"The runs in {self.path.parent} were made with other files of {info.name!r} "
                f"({known.train_images} training and {known.test_images} test images; now "
                f"{info.train_images} and {info.test_images}). Choose another --out."
            )
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO datasets VALUES (?, ?)", (info.name, info.to_json())
            )

    def add_sweep(self, sweep: Sweep) -> None:
        """Note what is asked for. A sweep of the same name is replaced; its runs stay."""
        fields = dataclasses.asdict(dataclasses.replace(sweep, configs=()))
        del fields["configs"]
        with self._transaction():
            self._db.execute("DELETE FROM sweeps WHERE name = ?", (sweep.name,))
            self._db.execute("INSERT INTO sweeps VALUES (?, ?)", (sweep.name, json.dumps(fields)))
            self._db.executemany(
                "INSERT INTO planned VALUES (?, ?, ?, ?)",
                [
                    (sweep.name, position, config.run_id, config.to_json())
                    for position, config in enumerate(sweep.configs)
                ],
            )

    def status(self) -> dict[str, str]:
        """'ok' or 'failed' by run id."""
        with _told(self.path):
            return dict(self._db.execute("SELECT id, status FROM runs").fetchall())

    def result(self, run_id: str) -> RunResult | None:
        """One run, or None when it has not been made."""
        with _told(self.path):
            row = self._db.execute(f"{_SELECT} WHERE id = ?", (run_id,)).fetchone()
            return None if row is None else self._result(row)

    def results(self, sweep: Sweep | None = None) -> Iterator[RunResult]:
        """Finished runs, failed ones too: those of a sweep in its order, or all by run id."""
        with _told(self.path):
            if sweep is None:
                for row in self._db.execute(f"{_SELECT} ORDER BY id").fetchall():
                    yield self._result(row)
            else:
                for config in sweep.configs:
                    found = self.result(config.run_id)
                    if found is not None:
                        yield found

    def probs(self, run_id: str) -> npt.NDArray[np.float32] | None:
        """Test probabilities (N, k) of a baseline, in the order of the test images."""
        with _told(self.path):
            row = self._db.execute(
                "SELECT probs, n_classes FROM runs WHERE id = ?", (run_id,)
            ).fetchone()
        if row is None or row[0] is None:
            return None
        return np.frombuffer(row[0], dtype="<f4").reshape(-1, row[1]).astype(np.float32)

    def sweeps(self) -> list[Sweep]:
        """What was asked for in this directory."""
        found = []
        with _told(self.path):
            for name, record in self._db.execute("SELECT name, record FROM sweeps ORDER BY rowid"):
                rows = self._db.execute(
                    "SELECT config FROM planned WHERE sweep = ? ORDER BY position", (name,)
                )
                configs = tuple(RunConfig.from_json(text) for (text,) in rows)
                found.append(Sweep(**json.loads(record), configs=configs))
        return found

    def datasets(self) -> dict[str, DatasetInfo]:
        """The data sets of the runs, by name."""
        with _told(self.path):
            rows = self._db.execute("SELECT name, info FROM datasets ORDER BY name").fetchall()
        return {name: DatasetInfo.from_json(info) for name, info in rows}

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _told(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _add_decision(self, run_id: str, decision: Decision) -> None:
        blob = decision.confusion.astype("<i8").tobytes()
        self._db.execute(
            "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?)",
            (run_id, decision.costs.to_json(), decision.calibrated, blob),
        )

    def _result(self, row: tuple[Any, ...]) -> RunResult:
        run_id, status, config, record, n_classes, confusion = row
        fields = json.loads(record)
        # A reader changes nothing, so it meets files of version 1 as they are: without the flag.
        decisions = tuple(
            Decision(PenaltySpec.from_json(costs), _matrix(blob, n_classes), flag == [1])
            for _, costs, *flag, blob in self._db.execute(
                "SELECT * FROM decisions WHERE run_id = ? ORDER BY rowid", (run_id,)
            )
        )
        for name in ("train_losses", "validation_losses", "ece"):
            if fields.get(name) is not None:
                fields[name] = tuple(fields[name])
        provenance = fields.pop("provenance")
        provenance["versions"] = tuple((name, text) for name, text in provenance["versions"])
        return RunResult(
            config=RunConfig.from_json(config),
            status=status,
            provenance=Provenance(**provenance),
            confusion=_matrix(confusion, n_classes),
            decisions=decisions,
            **fields,
        )


_SELECT = "SELECT id, status, config, record, n_classes, confusion FROM runs"


def _matrix(blob: bytes, n_classes: int) -> Counts:
    """A read-only (k, k) view of stored counts."""
    return np.frombuffer(blob, dtype="<i8").reshape(n_classes, n_classes)


def _version(db: sqlite3.Connection, path: Path) -> int:
    with _told(path):
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer version of untrue (format {version}, this one reads "
            f"{SCHEMA_VERSION}). Update untrue, or choose another --out."
        )
    return version


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """SQLite's errors, as one sentence that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        broken = type(error) is sqlite3.DatabaseError  # "not a database", "malformed"
        way = "Choose another --out." if broken else "Finished runs in it are safe."
        raise StoreError(f"Cannot use {path}: {error}. {way}") from error
