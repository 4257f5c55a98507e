"""The store keeps runs whole, refuses what it cannot keep, and says why."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from untrue.lab.records import (
    DatasetInfo,
    Decision,
    PenaltySpec,
    Provenance,
    RunConfig,
    RunResult,
    Sweep,
)
from untrue.lab.store import FILE, Store, StoreError

COSTS = PenaltySpec("zone", 10.0, 1.0, cells=((0, 1),))
OTHER_COSTS = PenaltySpec("zone", 10.0, 1.0, cells=((1, 0),))
CONFIG = RunConfig(data="tiny", network="digits", seed=0, epochs=2, score_on=(COSTS,))
INFO = DatasetInfo("tiny", ("a", "b"), (), "abc", 20, 10)
PROVENANCE = Provenance(
    seconds=1.5,
    finished_at="2024-01-01T00:00:00+00:00",
    device="cpu",
    threads=1,
    hardware="one core",
    versions=(("python", "3.11"), ("torch", "2")),
)
RESULT = RunResult(
    config=CONFIG,
    status="ok",
    provenance=PROVENANCE,
    confusion=np.array([[4, 1], [2, 3]]),
    decisions=(
        Decision(COSTS, np.array([[5, 0], [3, 2]])),
        Decision(COSTS, np.array([[5, 0], [4, 1]]), calibrated=True),
    ),
    train_losses=(0.9, 0.1 + 0.2),
    validation_losses=(0.8, 0.7),
    best_epoch=2,
    test_loss=1 / 3,
    train_images=20,
    parameters=7,
    temperature=1.25,
    ece=(0.1, 0.05),
)
FAILED = RunResult(
    config=CONFIG,
    status="failed",
    provenance=PROVENANCE,
    confusion=np.zeros((0, 0), dtype=np.int64),
    error="Traceback: it broke",
)


def same(a: RunResult, b: RunResult) -> bool:
    plain = {"confusion": None, "decisions": ()}
    return (
        dataclasses.astuple(dataclasses.replace(a, **plain))
        == dataclasses.astuple(dataclasses.replace(b, **plain))
        and np.array_equal(a.confusion, b.confusion)
        and [(d.costs, d.calibrated) for d in a.decisions]
        == [(d.costs, d.calibrated) for d in b.decisions]
        and all(
            np.array_equal(x.confusion, y.confusion)
            for x, y in zip(a.decisions, b.decisions, strict=True)
        )
    )


def test_a_run_comes_back_as_it_went_in(tmp_path: Path) -> None:
    probs = np.array([[0.25, 0.75], [0.5, 0.5]], dtype=np.float32)
    with Store.write(tmp_path) as store:
        store.add(RESULT, probs=probs)
    with Store.read(tmp_path) as store:
        found = store.result(CONFIG.run_id)
        assert found is not None
        assert same(found, RESULT)
        again = store.probs(CONFIG.run_id)
        assert again is not None
        assert np.array_equal(again, probs)
        assert store.status() == {CONFIG.run_id: "ok"}


def test_a_failed_run_is_kept_with_its_traceback_and_replaced_by_a_good_one(tmp_path: Path) -> None:
    with Store.write(tmp_path) as store:
        store.add(FAILED)
        found = store.result(CONFIG.run_id)
        assert found is not None
        assert same(found, FAILED)
        store.add(RESULT)
        (found,) = store.results()
        assert same(found, RESULT)


def test_a_baseline_can_be_scored_on_more_zones_later(tmp_path: Path) -> None:
    with Store.write(tmp_path) as store:
        store.add(RESULT)
        store.add_decision(CONFIG.run_id, Decision(OTHER_COSTS, np.array([[1, 4], [0, 5]])))
        found = store.result(CONFIG.run_id)
    assert found is not None
    scored = found.decision(OTHER_COSTS)
    assert scored is not None
    assert scored.tolist() == [[1, 4], [0, 5]]
    assert found.decision(dataclasses.replace(COSTS, inside=3.0)) is None


def test_a_sweep_lists_its_finished_runs_in_its_own_order(tmp_path: Path) -> None:
    configs = tuple(dataclasses.replace(CONFIG, seed=seed) for seed in (2, 0, 1))
    sweep = Sweep("demo", "tiny", "smoke", "untrue run demo", 3, configs)
    with Store.write(tmp_path) as store:
        store.add_sweep(sweep)
        store.add_sweep(sweep)
        for config in (configs[1], configs[0]):
            store.add(dataclasses.replace(RESULT, config=config))
        (found,) = store.sweeps()
        assert found == sweep
        assert found.name == "demo/tiny"
        assert [result.config.seed for result in store.results(found)] == [2, 0]


def test_a_reader_sees_finished_runs_beside_a_writer(tmp_path: Path) -> None:
    with Store.write(tmp_path) as writer:
        writer.add(RESULT)
        with Store.read(tmp_path) as reader:
            assert len(list(reader.results())) == 1
            writer.add(dataclasses.replace(RESULT, config=dataclasses.replace(CONFIG, seed=1)))
            assert len(list(reader.results())) == 2
            with pytest.raises(StoreError, match="readonly"):
                reader.add(RESULT)


def test_runs_on_other_files_are_not_mixed_in(tmp_path: Path) -> None:
    with Store.write(tmp_path) as store:
        store.add_dataset(INFO)
        store.add_dataset(INFO)
        assert store.datasets() == {"tiny": INFO}
        other = dataclasses.replace(INFO, fingerprint="xyz", train_images=10)
        with pytest.raises(StoreError, match=r"made with other files of 'tiny' \(20 training"):
            store.add_dataset(other)


def test_a_broken_transaction_leaves_nothing(tmp_path: Path) -> None:
    class Unwritable:
        costs = COSTS
        confusion = None

    broken = dataclasses.replace(RESULT, decisions=())
    object.__setattr__(broken, "decisions", (*RESULT.decisions, Unwritable()))
    with Store.write(tmp_path) as store:
        with pytest.raises(AttributeError):
            store.add(broken)
        assert store.status() == {}
        store.add(RESULT)
        assert store.status() == {CONFIG.run_id: "ok"}


def test_an_empty_place_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"runs.sqlite is not there. Make some with `untrue run"):
        Store.read(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_raw_and_calibrated_decisions_stand_side_by_side(tmp_path: Path) -> None:
    with Store.write(tmp_path) as store:
        store.add(RESULT)
        store.add_decision(CONFIG.run_id, Decision(COSTS, np.array([[0, 5], [5, 0]]), True))
        found = store.result(CONFIG.run_id)
    assert found is not None
    raw, calibrated = found.decision(COSTS), found.decision(COSTS, calibrated=True)
    assert raw is not None
    assert raw.tolist() == [[5, 0], [3, 2]]
    assert calibrated is not None
    assert calibrated.tolist() == [[0, 5], [5, 0]]
    assert found.decision(OTHER_COSTS, calibrated=True) is None


def make_version_1(directory: Path) -> None:
    """A store as the first version of its format wrote it."""
    old = Path(__file__).with_name("store_version_1.sql").read_text(encoding="utf-8")
    db = sqlite3.connect(directory / FILE)
    db.executescript(old)
    db.close()


def test_a_store_of_the_first_version_is_read_as_it_is(tmp_path: Path) -> None:
    make_version_1(tmp_path)
    before = (tmp_path / FILE).read_bytes()
    with Store.read(tmp_path) as store:
        (found,) = store.results()
    assert found.run_id == CONFIG.run_id
    assert [(d.costs, d.calibrated) for d in found.decisions] == [(COSTS, False)]
    assert found.decisions[0].confusion.tolist() == [[5, 0], [3, 2]]
    assert (found.temperature, found.ece) == (None, None)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_store_of_the_first_version_is_brought_up_to_date_by_a_writer(tmp_path: Path) -> None:
    make_version_1(tmp_path)
    with Store.write(tmp_path) as store:
        store.add_decision(CONFIG.run_id, Decision(COSTS, np.array([[1, 4], [0, 5]]), True))
    with Store.write(tmp_path) as store:
        (found,) = store.results()
        (sweep,) = store.sweeps()
    assert [(d.confusion.tolist(), d.calibrated) for d in found.decisions] == [
        ([[5, 0], [3, 2]], False),
        ([[1, 4], [0, 5]], True),
    ]
    assert sweep.configs == (CONFIG,)
    # A run replaced takes its decisions along, as the new table's reference says.
    with Store.write(tmp_path) as store:
        store.add(dataclasses.replace(RESULT, decisions=()))
        (found,) = store.results()
    assert found.decisions == ()


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    Store.write(tmp_path).close()
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("PRAGMA user_version = 99")
    db.close()
    for opened in (Store.read, Store.write):
        with pytest.raises(StoreError, match=r"newer version of untrue \(format 99"):
            opened(tmp_path)


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database at all" * 100)
    for opened in (Store.read, Store.write):
        with pytest.raises(StoreError, match="not a database"):
            opened(tmp_path)


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"Cannot write to .*file.*: "):
        Store.write(tmp_path / "file" / "runs")


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """A file system of its own with 256 kB, when this process may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_said_and_finished_runs_stay(small_disk: Path) -> None:
    probs = np.zeros((1000, 2), dtype=np.float32)
    runs = (
        dataclasses.replace(RESULT, config=dataclasses.replace(CONFIG, seed=s)) for s in range(99)
    )
    kept = 0

    def fill(store: Store) -> None:
        nonlocal kept
        for run in runs:
            store.add(run, probs=probs)
            kept += 1

    with Store.write(small_disk) as store, pytest.raises(StoreError, match="full") as caught:
        fill(store)
    assert "Finished runs in it are safe" in str(caught.value)
    with Store.read(small_disk) as store:
        assert len(list(store.results())) == kept
    assert kept > 3


def test_a_read_only_directory_is_said_and_can_be_read(small_disk: Path) -> None:
    with Store.write(small_disk) as store:
        store.add(RESULT)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreError, match=r"readonly|read-only|unable to open"):
        Store.write(small_disk)
    with Store.read(small_disk) as store:
        (found,) = store.results()
    assert same(found, RESULT)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_write_permission_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Cannot"):
        Store.write(tmp_path)


def test_reading_needs_no_torch(tmp_path: Path) -> None:
    code = "import sys, untrue.lab.store, untrue.lab.records; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_file_that_is_no_store_is_not_called_safe(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").write_text("not a database " * 100)
    with pytest.raises(StoreError, match=r"not a database\. Choose another --out\."):
        Store.write(tmp_path)
