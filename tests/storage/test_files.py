"""Files of a storage: beside readers and writers, on bad disks, and of other programs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.storage.conftest import FEW, entry, execute

from untrue.storage import Storage, StorageError


def test_a_reader_sees_entries_beside_a_writer(path: Path) -> None:
    with Storage.write(path) as writer:
        writer.put(entry(0))
        with Storage.read(path) as reader:
            assert len(reader.entries("run")) == 1
            writer.put(entry(1))
            assert len(reader.entries("run")) == 2
            with pytest.raises(StorageError, match="readonly"):
                reader.put(entry(2))


def test_a_reader_makes_nothing(path: Path) -> None:
    with pytest.raises(StorageError, match=r"There is no file .*results\.sqlite\."):
        Storage.read(path)
    assert list(path.parent.iterdir()) == []


def test_a_reader_leaves_the_folder_as_it_was(filled: Path) -> None:
    before = filled.read_bytes()
    with Storage.read(filled) as reader:
        assert len(reader.entries("run")) == FEW
        with pytest.raises(StorageError, match="readonly"):
            reader.put(entry(FEW))
    assert filled.read_bytes() == before
    assert list(filled.parent.iterdir()) == [filled]


def test_readers_that_end_before_or_after_a_writer_take_nothing_from_it(filled: Path) -> None:
    with Storage.read(filled) as reader, Storage.write(filled) as writer:
        writer.put(entry(FEW))
        assert len(reader.entries("run")) == FEW + 1
        reader.close()
        writer.put(entry(FEW + 1))
        later = Storage.read(filled)
        assert len(later.entries("run")) == FEW + 2
    assert len(later.entries("run")) == FEW + 2
    later.close()
    assert list(filled.parent.iterdir()) == [filled]


def test_a_file_that_a_writer_has_just_made_is_empty(path: Path) -> None:
    path.touch()
    with Storage.read(path) as storage:
        assert storage.entries("run") == []
        assert storage.get("run", "key 0") is None
        with Storage.write(path) as writer:
            writer.put(entry(0))
        assert len(storage.entries("run")) == 1


@pytest.mark.parametrize("opened", [Storage.read, Storage.write])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, opened: object) -> None:
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StorageError, match=r"not a database\. Take another\."):
        opened(path, other="Take another.")  # type: ignore[operator]
    assert path.read_bytes() == b"not a database at all" * 100


@pytest.mark.parametrize("opened", [Storage.read, Storage.write])
def test_a_database_of_another_program_is_refused_and_left_alone(
    path: Path, opened: object
) -> None:
    execute(path, "CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"SQLite file of another program\. Choose another"):
        opened(path)  # type: ignore[operator]
    assert path.read_bytes() == before


@pytest.mark.parametrize("opened", [Storage.read, Storage.write])
def test_another_format_is_refused(filled: Path, opened: object) -> None:
    execute(filled, "PRAGMA user_version = 99")
    with pytest.raises(StorageError, match=r"another version of untrue \(format 99, this one"):
        opened(filled)  # type: ignore[operator]


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"Cannot write to .*file.*: "):
        Storage.write(tmp_path / "file" / "results.sqlite")


def test_a_folder_in_the_way_is_named(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StorageError, match=r"Cannot open .*results\.sqlite: unable to open"):
        Storage.write(path)


def test_a_full_disk_is_named_and_finished_entries_stay(mounted: Callable[..., Path]) -> None:
    path, kept = mounted("256k") / "results.sqlite", 0

    def fill(storage: Storage) -> None:
        nonlocal kept
        for number in range(99):
            storage.put(entry(number))
            kept += 1

    with Storage.write(path) as storage, pytest.raises(StorageError, match="full") as caught:
        fill(storage)
    assert "What is finished in it is safe" in str(caught.value)
    with Storage.read(path) as storage:
        assert len(storage.entries("run")) == kept
        assert storage.damaged() == ()
    assert kept > 3


def test_a_read_only_folder_is_named_and_can_be_read(mounted: Callable[..., Path]) -> None:
    path = mounted("256k") / "results.sqlite"
    with Storage.write(path) as storage:
        storage.put(entry(0))
    subprocess.run(["mount", "-o", "remount,ro", str(path.parent)], check=True)
    with pytest.raises(StorageError, match=r"readonly|read-only|unable to open"):
        Storage.write(path)
    with Storage.read(path) as storage:
        assert len(storage.entries("run")) == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="Cannot"):
        Storage.write(tmp_path / "results.sqlite")


def test_a_file_that_cannot_be_opened_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Storage.write(path).close()

    def refuse(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(StorageError, match=r"Cannot read .*results\.sqlite: unable to open"):
        Storage.read(path)


KILLED = """
import sys
from untrue.storage import Entry, Storage
storage = Storage.write(sys.argv[1])
for number in range(1000):
    storage.put(Entry("run", f"key {number}", "", {}))
    print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_was_put(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 7:
                process.kill()
                break
    with Storage.read(path) as storage:
        assert {entry.key for entry in storage.entries("run")} >= {f"key {n}" for n in range(8)}
        assert storage.damaged() == ()
    with Storage.write(path) as storage:
        storage.put(entry(2000))


def test_reading_needs_no_torch() -> None:
    code = "import sys, untrue.lab.store, untrue.storage; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
