"""Storages with a few entries in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from untrue.storage import Entry, Storage

FEW = 12


def entry(number: int = 0, *, kind: str = "run", label: str | None = None) -> Entry:
    """An entry whose arrays reach into pages of their own."""
    rng = np.random.default_rng(number)
    return Entry(
        kind,
        f"key {number}",
        f"run number {number}" if label is None else label,
        {"number": number, "third": number / 3, "text": 'ä "quoted"\n', "list": [1, None, True]},
        {
            "counts": rng.integers(0, 9, (3, 3)),
            "probs": rng.random((700, 3), dtype=np.float32),
            "empty": np.zeros((0, 4)),
            "bytes": np.frombuffer(b"\0\xffweights", dtype=np.uint8),
        },
    )


def same(a: object, b: Entry) -> bool:
    return (
        isinstance(a, Entry)
        and (a.kind, a.key, a.label, a.facts) == (b.kind, b.key, b.label, b.facts)
        and list(a.arrays) == list(b.arrays)
        and all(
            a.arrays[name].dtype == b.arrays[name].dtype
            and np.array_equal(a.arrays[name], b.arrays[name])
            for name in b.arrays
        )
    )


def execute(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture
def filled(path: Path) -> Path:
    with Storage.write(path) as storage:
        storage.put(*(entry(number) for number in range(FEW)))
    return path


Opened = Callable[[], Storage]


@pytest.fixture(params=["memory", "file", "reopened"])
def opened(request: pytest.FixtureRequest, path: Path) -> Iterator[Opened]:
    """A storage to write to; called again, the same storage as a later process finds it."""
    held = [Storage.memory()] if request.param == "memory" else []

    def again() -> Storage:
        if request.param == "reopened" or not held:
            while held:
                held.pop().close()
            held.append(Storage.write(path))
        return held[-1]

    yield again
    for storage in held:
        storage.close()
