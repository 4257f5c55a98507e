"""The record of a tuning: entries come back as they were put, by all that determines them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from untrue.storage import Entry, Storage, StorageError
from untrue.tools.tuning.record import Record, TrainedOutputs, key_of


def trained(name: str = "bilinear", weights: bytes | None = None) -> TrainedOutputs:
    logits = np.arange(6, dtype=np.float32).reshape(3, 2) / 7
    return TrainedOutputs(name, 1.25, logits, weights, {"kind": "network"}, {"best_epoch": 4}, 0.5)


def test_what_was_put_comes_back_after_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.sqlite"
    record = Record(path)
    record.put(key_of(seed=1), trained(weights=b"\0w"))
    record.close()
    again = Record(path)
    found = again.get(key_of(seed=1), (3, 2))
    assert found is not None
    np.testing.assert_array_equal(found.logits, trained().logits)
    assert (found.name, found.temperature, found.weights) == ("bilinear", 1.25, b"\0w")
    assert found.history == {"best_epoch": 4}
    assert again.get(key_of(seed=2), (3, 2)) is None
    assert again.get(key_of(seed=1), (4, 2)) is None
    assert again.damaged == []
    again.close()


def test_a_file_that_is_no_record_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database at all, just a text that is long enough to be one " * 20)
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"notes\.txt: file is not a database\. Name another"):
        Record(path)
    assert path.read_bytes() == before


def test_a_damaged_entry_counts_as_none_is_named_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    with closing(Record(path)) as record:
        record.put(key_of(seed=1), trained())
        record.put(key_of(seed=2), trained("other"))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE entries SET data = zeroblob(length(data)) WHERE label = 'bilinear'")
    with closing(Record(path)) as record:
        assert record.get(key_of(seed=1), (3, 2)) is None
        assert record.get(key_of(seed=2), (3, 2)) is not None
        assert record.damaged == ["bilinear"]
        record.put(key_of(seed=1), trained())
        assert record.get(key_of(seed=1), (3, 2)) is not None


def test_an_entry_that_is_no_network_counts_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    with Storage.write(path) as storage:
        storage.put(Entry("trained", key_of(seed=1), "odd", {"temperature": "hot"}))
    with closing(Record(path)) as record:
        assert record.get(key_of(seed=1), (3, 2)) is None
        assert record.damaged == ["odd"]
