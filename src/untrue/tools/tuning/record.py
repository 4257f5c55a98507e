"""What a tuning has trained, in one SQLite file: killed at any moment, it goes on from there.

The key of an entry is a hash of all that determines it (examples, split, network, training, costs):
the same command finds everything, a command with other budgets finds what it shares, and one about
other data finds nothing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError

TABLE = """
create table if not exists trained (
    key text primary key,
    name text not null,
    temperature real not null,
    logits blob not null,
    weights blob,
    history text not null,
    seconds real not null
) strict
"""
# Another process may be writing its own entry.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A network that was trained, seen by its outputs.

    logits       (N, k) of the examples it is judged on
    temperature  found on its watch part
    weights      as safetensors bytes, where the network itself is wanted
    history      losses by epoch, as JSON
    """

    name: str
    temperature: float
    logits: npt.NDArray[np.float32]
    weights: bytes | None
    history: dict[str, Any]
    seconds: float


def key_of(**facts: Any) -> str:
    """A hash of facts that are plain JSON."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Record:
    """Entries by key; in memory without a path."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._store = sqlite3.connect(path or ":memory:", timeout=PATIENCE_SECONDS)
            self._store.execute(TABLE)
            self._store.commit()
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"{path} is not readable as the record of a tuning ({error}); remove it, or name "
                "another with --record."
            ) from None

    def get(self, key: str, shape: tuple[int, int]) -> Trained | None:
        """The entry, whose logits must have this shape; None when there is none."""
        with closing(
            self._store.execute(
                "select name, temperature, logits, weights, history, seconds from trained "
                "where key = ?",
                (key,),
            )
        ) as rows:
            row = rows.fetchone()
        if row is None or len(row[2]) != 4 * shape[0] * shape[1]:
            return None
        logits = np.frombuffer(row[2], dtype="<f4").reshape(shape).astype(np.float32)
        return Trained(row[0], row[1], logits, row[3], json.loads(row[4]), row[5])

    def put(self, key: str, trained: Trained) -> None:
        """Keep an entry, in one transaction."""
        try:
            self._insert(key, trained)
        except sqlite3.DatabaseError as error:
            raise DataError(f"{self.path} cannot be written ({error}).") from None

    def _insert(self, key: str, trained: Trained) -> None:
        with self._store:
            self._store.execute(
                "insert or replace into trained values (?, ?, ?, ?, ?, ?, ?)",
                (
                    key,
                    trained.name,
                    trained.temperature,
                    trained.logits.astype("<f4").tobytes(),
                    trained.weights,
                    json.dumps(trained.history),
                    trained.seconds,
                ),
            )

    def __len__(self) -> int:
        found: int = self._store.execute("select count(*) from trained").fetchone()[0]
        return found

    def close(self) -> None:
        self._store.close()
