"""The store keeps runs whole, refuses what it cannot keep, and says why."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from untrue.lab.records import (
    Confidence,
    DatasetInfo,
    Decision,
    PenaltySpec,
    Provenance,
    RunConfig,
    RunResult,
    Setup,
    Sweep,
    Validated,
)
from untrue.lab.store import FILE, Store, run_entry
from untrue.storage import Damaged, Entry, StorageError
from untrue.training import Settings

COSTS = PenaltySpec("zone", 10.0, 1.0, cells=((0, 1),))
OTHER_COSTS = PenaltySpec("zone", 10.0, 1.0, cells=((1, 0),))
SETUP = Setup("tiny", "digits", Settings(epochs=2))
CONFIG = RunConfig(SETUP, seed=0, score_on=(COSTS,))
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
        Decision(COSTS, np.array([[4, 1], [4, 1]]), calibrated=True, posterior=True),
    ),
    train_losses=(0.9, 0.1 + 0.2),
    validation_losses=(0.8, 0.7),
    best_epoch=2,
    test_loss=1 / 3,
    train_images=20,
    parameters=7,
    temperature=1.25,
    ece=(0.1, 0.05),
    confidence=Confidence(np.array([[3.5, 0.6], [1.5, 2.75]]), np.array([[3, 0], [1, 2]])),
    train_confusion=np.array([[5, 0], [1, 4]]),
    validated=(Validated("argmax", 0.25, 1 / 3), Validated("posterior", 0.5, 0.1)),
    clipped=0.125,
)
FAILED = RunResult(
    config=CONFIG,
    status="failed",
    provenance=PROVENANCE,
    confusion=np.zeros((0, 0), dtype=np.int64),
    error="Traceback: it broke",
)


def same(a: RunResult, b: RunResult) -> bool:
    plain = {"confusion": None, "decisions": (), "confidence": None, "train_confusion": None}
    if (a.confidence is None) != (b.confidence is None):
        return False
    if a.confidence is not None and b.confidence is not None:
        sure = [(x.total, x.high) for x in (a.confidence, b.confidence)]
        if not all(np.array_equal(x, y) for x, y in zip(*sure, strict=True)):
            return False
    return np.array_equal(a.train_confusion, b.train_confusion) and (
        dataclasses.astuple(dataclasses.replace(a, **plain))
        == dataclasses.astuple(dataclasses.replace(b, **plain))
        and np.array_equal(a.confusion, b.confusion)
        and [(d.costs, d.rule) for d in a.decisions] == [(d.costs, d.rule) for d in b.decisions]
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


@pytest.mark.parametrize(("most", "size"), [(255, 1), (256, 2), (65_535, 2), (65_536, 8)])
def test_counts_take_few_bytes_and_come_back_whole(tmp_path: Path, most: int, size: int) -> None:
    result = dataclasses.replace(RESULT, confusion=np.array([[most, 0], [1, 4]]))
    with Store.write(tmp_path) as store:
        store.add(result)
        kept = store._storage.get("run", CONFIG.run_id)
        assert isinstance(kept, Entry)
        assert kept.arrays["confusion"].itemsize == size
        found = store.result(CONFIG.run_id)
    assert found is not None
    assert same(found, result)
    assert found.confusion.dtype == np.int64


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
        store.add_decisions(CONFIG.run_id, [Decision(OTHER_COSTS, np.array([[1, 4], [0, 5]]))])
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


def test_runs_on_other_files_are_not_mixed_in(tmp_path: Path) -> None:
    with Store.write(tmp_path) as store:
        store.add_dataset(INFO)
        store.add_dataset(INFO)
        assert store.dataset("tiny") == INFO
        assert store.dataset("other") is None
        other = dataclasses.replace(INFO, fingerprint="xyz", train_images=10)
        with pytest.raises(StorageError, match=r"made with other files of 'tiny' \(20 training"):
            store.add_dataset(other)


def test_an_empty_place_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"runs.sqlite is not there. Make some with `untrue run"):
        Store.read(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_raw_and_calibrated_decisions_stand_side_by_side(tmp_path: Path) -> None:
    with Store.write(tmp_path) as store:
        store.add(RESULT)
        store.add_decisions(CONFIG.run_id, [Decision(COSTS, np.array([[0, 5], [5, 0]]), True)])
        found = store.result(CONFIG.run_id)
    assert found is not None
    raw, calibrated = found.decision(COSTS), found.decision(COSTS, calibrated=True)
    assert raw is not None
    assert raw.tolist() == [[5, 0], [3, 2]]
    assert calibrated is not None
    assert calibrated.tolist() == [[0, 5], [5, 0]]
    assert found.decision(OTHER_COSTS, calibrated=True) is None


def damage(directory: Path, kind: str, key: str) -> None:
    with closing(sqlite3.connect(directory / FILE)) as db, db:
        changed = db.execute(
            "UPDATE entries SET facts = replace(facts, '1', '2') WHERE kind = ? AND key = ?",
            (kind, key),
        )
        assert changed.rowcount == 1


def test_a_damaged_run_is_not_read_and_differs_from_a_missing_one(tmp_path: Path) -> None:
    other = dataclasses.replace(CONFIG, seed=1)
    third = dataclasses.replace(CONFIG, seed=2)
    with Store.write(tmp_path) as store:
        store.add(RESULT)
        store.add(dataclasses.replace(RESULT, config=other))
    damage(tmp_path, "run", CONFIG.run_id)
    with Store.read(tmp_path) as store:
        assert isinstance(store.run(CONFIG.run_id), Damaged)
        assert store.result(CONFIG.run_id) is None
        assert store.probs(CONFIG.run_id) is None
        assert store.run(third.run_id) is None
        assert [run.config for run in store.results()] == [other]
        assert store.status() == {other.run_id: "ok"}
        assert store.damaged_runs((CONFIG, other, third)) == [CONFIG]
        (found,) = store.damaged()
    assert (found.id, found.name) == (run_entry(CONFIG.run_id), "tiny baseline seed=0")


def test_a_damaged_run_is_not_scored(tmp_path: Path) -> None:
    with Store.write(tmp_path) as store:
        store.add(RESULT)
    damage(tmp_path, "run", CONFIG.run_id)
    with (
        Store.write(tmp_path) as store,
        pytest.raises(StorageError, match=f"no whole run {CONFIG.run_id}"),
    ):
        store.add_decisions(CONFIG.run_id, RESULT.decisions)


def test_a_damaged_plan_and_data_set_are_noted_anew(tmp_path: Path) -> None:
    sweep = Sweep("demo", "tiny", "smoke", "untrue run demo", 1, (CONFIG,))
    with Store.write(tmp_path) as store:
        store.add_sweep(sweep)
        store.add_dataset(INFO)
    damage(tmp_path, "sweep", sweep.name)
    damage(tmp_path, "dataset", "tiny")
    with Store.write(tmp_path) as store:
        assert (store.sweeps(), store.dataset("tiny")) == ([], None)
        assert {found.name for found in store.damaged()} == {"plan of demo/tiny", "data set tiny"}
        store.add_sweep(sweep)
        store.add_dataset(INFO)
        assert (store.sweeps(), store.dataset("tiny")) == ([sweep], INFO)
        assert store.damaged() == ()


@pytest.mark.parametrize(
    "broken",
    [
        dataclasses.replace(RESULT, confusion=np.zeros((2, 3), dtype=np.int64)),
        dataclasses.replace(
            RESULT,
            confidence=Confidence(np.zeros((2, 2), dtype=np.float32), np.zeros((2, 2), np.int64)),
        ),
        dataclasses.replace(RESULT, status="well"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_run_is_damaged_even_with_a_right_checksum(
    tmp_path: Path, broken: RunResult
) -> None:
    with Store.write(tmp_path) as store:
        store.add(broken)
        (found,) = store.damaged()
        assert "it is no run that this version reads" in found.reason
        assert store.result(CONFIG.run_id) is None
        assert list(store.results()) == []
