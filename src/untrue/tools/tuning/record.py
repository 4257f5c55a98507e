"""What a tuning has trained, kept in a storage: killed at any moment, it continues from there.

The key of an entry is a hash of all that determines it (examples, split, network, training, costs):
the same command finds everything, a command with other budgets finds what it shares, and one about
other data finds nothing. A damaged entry is trained again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.storage import Damaged, Entry, Storage

TRAINED = "trained"
# Of the record beside the model OUT, unless a person names one.
ENDING = ".tuning.sqlite"
LOGITS, WEIGHTS = "logits", "weights"
OTHER = "Name another with --record."


@dataclass(frozen=True, slots=True, eq=False)
class TrainedOutputs:
    """A model that was trained, seen by its outputs.

    logits       (N, k) of the examples it is judged on
    temperature  found on its watch part
    weights      the model's file, where the model itself is wanted; description: what reads it back
    history      losses by epoch, as JSON
    """

    name: str
    temperature: float
    logits: npt.NDArray[np.float32]
    weights: bytes | None
    description: dict[str, Any]
    history: dict[str, Any]
    seconds: float


def key_of(**facts: Any) -> str:
    """A hash of facts that are plain JSON."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Record:
    """Entries by key; in memory without a path. `damaged`: names of those found damaged so far."""

    def __init__(self, path: Path | None = None) -> None:
        self._storage = Storage.memory() if path is None else Storage.write(path, other=OTHER)
        self.damaged: list[str] = []

    def get(self, key: str, shape: tuple[int, int]) -> TrainedOutputs | None:
        """The entry, whose logits must have this shape; None when there is none that is whole."""
        found = self._storage.get_as(TRAINED, key, read_trained)
        if isinstance(found, Damaged):
            self.damaged.append(found.name)
            return None
        return None if found is None or found.logits.shape != shape else found

    def put(self, key: str, trained: TrainedOutputs) -> None:
        """Keep an entry, in one transaction."""
        facts = {
            "temperature": trained.temperature,
            "description": trained.description,
            "history": trained.history,
            "seconds": trained.seconds,
        }
        arrays: dict[str, npt.NDArray[Any]] = {LOGITS: trained.logits.astype(np.float32)}
        if trained.weights is not None:
            arrays[WEIGHTS] = np.frombuffer(trained.weights, dtype=np.uint8)
        self._storage.put(Entry(TRAINED, key, trained.name, facts, arrays))

    def close(self) -> None:
        self._storage.close()


def read_trained(entry: Entry) -> TrainedOutputs:
    """The model of an entry."""
    logits, weights = entry.arrays[LOGITS], entry.arrays.get(WEIGHTS)
    if logits.dtype != np.float32 or logits.ndim != 2:
        raise ValueError(f"logits of the shape {logits.shape}")
    return TrainedOutputs(
        name=entry.label,
        temperature=float(entry.facts["temperature"]),
        logits=logits.copy(),
        weights=None if weights is None else weights.tobytes(),
        description=dict(entry.facts["description"]),
        history=dict(entry.facts["history"]),
        seconds=float(entry.facts["seconds"]),
    )


# How an entry is read; what it cannot read is damaged.
READERS = {TRAINED: read_trained}
