"""Damage is found, named, and never read as an answer; a repair drops it and nothing else."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.storage.conftest import FEW, entry, execute, same

from untrue.storage import Damaged, Entry, Storage, StorageError, entry_id, repair

CELLS = {
    "kind": ["'runs'", "''", "CAST(x'ff80' AS TEXT)"],
    "key": ["'key 4'", "CAST(x'ff80' AS TEXT)"],
    "label": ["'another'"],
    "facts": ["'{}'", "'[1'", "substr(facts, 2)", "'5'", "replace(facts, '3', '4')"],
    "arrays": ["'[]'", "replace(arrays, '700', '7')"],
    "data": ["x''", "substr(data, 2)", "CAST(data || x'00' AS BLOB)", "zeroblob(length(data))"],
    "checksum": ["''", "'0'"],
    "id": ["id + 1"],
}


@pytest.mark.parametrize(("cell", "value"), [(c, v) for c, values in CELLS.items() for v in values])
def test_a_changed_cell_is_found_whichever_it_is(filled: Path, cell: str, value: str) -> None:
    number = entry_id("run", "key 3")
    execute(filled, f"UPDATE entries SET {cell} = {value} WHERE id = ?", number)
    with Storage.read(filled) as storage:
        (found,) = storage.damaged()
        others = {each.key for each in storage.entries("run")}
        one = storage.get("run", "key 3")
    assert found.id == number + (cell == "id")
    assert found.name.isprintable()
    assert found.reason in ("its checksum does not match", "a cell is of the wrong type")
    assert one is None if cell == "id" else isinstance(one, Damaged)
    assert others == {f"key {n}" for n in range(FEW) if n != 3}


@pytest.mark.parametrize(
    ("facts", "arrays", "data", "reason"),
    [
        ("[1", "[]", b"", "it cannot be read ("),
        ("[]", "[]", b"", "it cannot be read (the facts are a list)"),
        ("{}", '[["a","|O",[1]]]', b"12345678", "unknown kind of array '|O'"),
        ("{}", '[["a","<i8",[-1,-1]]]', b"12345678", "it cannot be read ("),
        ("{}", '[["a","<i8",[1]]]', b"1234567812345678", "16 bytes of arrays in place of 8"),
        ("{}", '[["a","<i8",[9]]]', b"12345678", "it cannot be read ("),
        ("{}", "[" * 100_000 + "]" * 100_000, b"", "it cannot be read ("),
        ('{"a":' + "9" * 5000 + "}", "[]", b"", "it cannot be read ("),
    ],
)
def test_nonsense_with_a_right_checksum_is_damage_too(
    path: Path, facts: str, arrays: str, data: bytes, reason: str
) -> None:
    from untrue.storage.entries import checksum_of

    number = entry_id("run", "k")
    cells = ["run", "k", "a run", facts, arrays]
    checksum = checksum_of(number, [*(cell.encode() for cell in cells), data])
    with Storage.write(path) as storage:
        storage.put_rows([(number, *cells, data, checksum)])
        (found,) = storage.damaged()
    assert found.name == "a run"
    assert reason in found.reason


def test_a_repair_drops_what_is_damaged_and_nothing_else(filled: Path) -> None:
    execute(filled, "UPDATE entries SET data = x'00' WHERE id = ?", entry_id("run", "key 3"))
    done = repair(filled)
    assert [found.name for found in done.dropped] == ["run number 3"]
    assert (done.kept, done.problem) == (FEW - 1, None)
    with Storage.write(filled) as storage:
        assert storage.damaged() == ()
        assert storage.get("run", "key 3") is None
        for number in set(range(FEW)) - {3}:
            assert same(storage.get("run", f"key {number}"), entry(number))
        storage.put(entry(3))
    assert [each.name for each in filled.parent.iterdir()] == [filled.name]


def test_a_repair_drops_what_its_reader_cannot_read(filled: Path) -> None:
    def reader(found: Entry) -> object:
        return 1 / (found.facts["number"] - 5)

    done = repair(filled, {"run": reader})
    assert [found.key for found in done.dropped] == ["key 5"]
    assert repair(filled, {"run": reader}).dropped == ()


def test_a_repair_of_a_whole_file_changes_nothing(filled: Path) -> None:
    before = filled.read_bytes()
    done = repair(filled)
    assert (done.kept, done.dropped, done.problem) == (FEW, (), None)
    assert filled.read_bytes() == before


def test_a_repair_takes_entries_from_the_log(filled: Path) -> None:
    """A writer that was killed leaves its last entries in the write-ahead log."""
    code = (
        "import os, sys\nfrom untrue.storage import Entry, Storage\n"
        "storage = Storage.write(sys.argv[1])\n"
        "storage.put(Entry('run', 'key 99', '', {}))\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(filled)], check=True)
    assert filled.with_name(f"{filled.name}-wal").exists()
    execute(filled, "UPDATE entries SET label = 'x' WHERE id = ?", entry_id("run", "key 3"))
    repair(filled)
    assert not filled.with_name(f"{filled.name}-wal").exists()
    with Storage.read(filled) as storage:
        assert isinstance(storage.get("run", "key 99"), Entry)


def test_a_repair_beside_a_writer_is_refused(filled: Path) -> None:
    execute(filled, "UPDATE entries SET label = 'x' WHERE id = ?", entry_id("run", "key 3"))
    with Storage.write(filled) as storage:
        with pytest.raises(StorageError, match="Cannot repair"):
            repair(filled)
        storage.put(entry(FEW))
    assert len(repair(filled).dropped) == 1


def pages(path: Path) -> list[int]:
    """The leaf pages of the table."""
    with closing(sqlite3.connect(path)) as db:
        (size,) = db.execute("PRAGMA page_size").fetchone()
        (count,) = db.execute("PRAGMA page_count").fetchone()
    content = path.read_bytes()
    return [n for n in range(1, count) if content[n * size] == 0x0D]


def test_an_unreadable_page_costs_only_what_is_on_it(path: Path) -> None:
    many = 60
    with Storage.write(path) as storage:
        storage.put(*(entry(number) for number in range(many)))
    content = bytearray(path.read_bytes())
    page = pages(path)[len(pages(path)) // 2]
    content[page * 4096 : page * 4096 + 12] = b"\xff" * 12
    path.write_bytes(content)
    with Storage.read(path) as storage:
        assert storage.problem() is not None
        found = [storage.get("run", f"key {n}") for n in range(many)]
        scanned = len(storage.entries("run"))
    whole = [n for n, each in enumerate(found) if isinstance(each, Entry)]
    lost = [each for each in found if isinstance(each, Damaged)]
    with Storage.read(path) as storage:
        assert storage.damaged()[-1].name == "a part of the file"
    assert 0 < len(lost) < 10
    assert len(whole) + len(lost) == many
    assert "the file cannot be read there" in lost[0].reason
    assert scanned >= len(whole) - 4
    with pytest.raises(
        StorageError, match=r"is damaged \(.*\)\. `untrue status .* --repair` keeps"
    ):
        Storage.write(path)
    done = repair(path)
    assert done.problem is not None
    assert done.kept == scanned
    with Storage.write(path) as storage:
        for n in whole:
            again = storage.get("run", f"key {n}")
            assert again is None or same(again, entry(n))


def test_whatever_bytes_are_flipped_no_wrong_answer_comes_out(filled: Path, tmp_path: Path) -> None:
    """Each case either reads entries exactly as they were put, or says in a sentence why not."""
    original, rng = filled.read_bytes(), random.Random(0)
    broken = tmp_path / "broken.sqlite"
    found = 0
    for case in range(600):
        content = bytearray(original)
        for _ in range(rng.choice([1, 1, 3, 30])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        end = rng.randrange(len(content)) if rng.random() < 0.2 else len(content)
        broken.write_bytes(content[:end])
        try:
            with Storage.read(broken) as storage:
                entries = storage.entries("run")
                damaged, problem = storage.damaged(), storage.problem()
            if case % 30 == 0:  # a repair waits for the disk several times
                assert repair(broken).dropped == damaged
                with Storage.write(broken) as storage:
                    assert storage.damaged() == ()
                    assert len(storage.entries("run")) == len(entries)
        except StorageError:
            found += 1
            continue
        for each in entries:
            assert same(each, entry(int(each.key.split()[1])))
        if len(entries) < FEW:
            assert damaged or problem is not None
            found += 1
    assert found > 300


@pytest.mark.parametrize("opened", [Storage.read, Storage.write])
@pytest.mark.parametrize("word", [b"    label TEXT", b"CREATE TABLE entries ("])
def test_a_damaged_definition_of_the_table_is_named(
    filled: Path, opened: object, word: bytes
) -> None:
    content = filled.read_bytes()
    assert content.count(word) == 1
    # A name that is no text any more: nothing can be selected, yet SQLite's own check passes.
    filled.write_bytes(content.replace(word, word[:6] + b"\xf2" + word[7:]))
    with pytest.raises(
        StorageError, match=r"the definition of its table is damaged|Cannot (use|read)"
    ):
        opened(filled)  # type: ignore[operator]


def test_the_name_of_damage_is_one_line() -> None:
    assert Damaged(1, "run", "k", "a\n\x1b[31mb", "").name == r"a\n\x1b[31mb"
    assert Damaged(255, "", "", "", "").name == "entry ff"
