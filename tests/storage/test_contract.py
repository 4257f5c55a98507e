"""What every storage does, in memory, in a file, and in a file that was closed in between.

The runs of the lab and what a tuning has trained are both kept in such storages.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.storage.conftest import entry, same

from untrue.errors import ArgumentError
from untrue.storage import Entry, Storage

Opened = Callable[[], Storage]


def test_an_entry_comes_back_as_it_went_in(opened: Opened) -> None:
    opened().put(entry())
    assert same(opened().get("run", "key 0"), entry())


def test_what_is_not_there_is_none(opened: Opened) -> None:
    opened().put(entry())
    assert opened().get("run", "key 1") is None
    assert opened().get("trained", "key 0") is None


def test_an_entry_of_the_same_kind_and_key_is_replaced(opened: Opened) -> None:
    opened().put(entry())
    later = Entry("run", "key 0", "another", {"number": 1})
    opened().put(later)
    (found,) = opened().entries("run")
    assert same(found, later)


def test_kinds_do_not_meet(opened: Opened) -> None:
    opened().put(entry(0), entry(0, kind="sweep"))
    opened().put(entry(1, kind="sweep"))
    assert [found.key for found in opened().entries("run")] == ["key 0"]
    assert [found.key for found in opened().entries("sweep")] == ["key 0", "key 1"]
    assert opened().entries("dataset") == []


def test_entries_are_put_all_or_none(opened: Opened) -> None:
    unwritable = Entry("run", "key 1", "", {"number": object()})
    with pytest.raises(TypeError, match="not JSON serializable"):
        opened().put(entry(0), unwritable)
    assert opened().entries("run") == []
    opened().put(entry(0))
    assert len(opened().entries("run")) == 1


def test_arrays_of_objects_are_refused(opened: Opened) -> None:
    wrong = Entry("run", "k", "", {}, {"names": np.array(["a", {}], dtype=object)})
    with pytest.raises(ArgumentError, match=r"Array 'names' must be float32, .*; got object"):
        opened().put(wrong)


def test_arrays_of_any_byte_order_and_layout_come_back(opened: Opened) -> None:
    turned = np.arange(6, dtype=">i8").reshape(2, 3).T
    opened().put(Entry("run", "k", "", {}, {"turned": turned, "one": np.array(2.5)}))
    found = opened().get("run", "k")
    assert isinstance(found, Entry)
    assert found.arrays["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found.arrays["one"].shape == ()
    with pytest.raises(ValueError, match="read-only"):
        found.arrays["turned"][0, 0] = 1


def test_nothing_is_damaged_unless_it_is(opened: Opened) -> None:
    opened().put(entry(0), entry(1, label=""))
    assert opened().damaged() == ()
    assert opened().problem() is None


def test_an_entry_that_its_reader_cannot_read_is_damaged(opened: Opened) -> None:
    opened().put(entry(0), Entry("run", "key 1", "the second", {}))
    (found,) = opened().damaged({"run": lambda each: each.facts["number"]})
    assert (found.key, found.name) == ("key 1", "the second")
    assert found.reason == "it is no run that this version reads (KeyError: 'number')"
