"""The record of a tuning: entries come back as they were put, by all that determines them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from untrue.errors import DataError
from untrue.tools.tuning.record import Record, Trained, key_of


def trained(name: str = "bilinear", weights: bytes | None = None) -> Trained:
    logits = np.arange(6, dtype=np.float32).reshape(3, 2) / 7
    return Trained(name, 1.25, logits, weights, {"best_epoch": 4}, 0.5)


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
    again.put(key_of(seed=1), trained("other"))
    assert len(again) == 1
    again.close()


def test_a_file_that_is_no_record_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database at all, just a text that is long enough to be one " * 20)
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"notes\.txt is not readable as the record of a tuning"):
        Record(path)
    assert path.read_bytes() == before
