"""Published runs can be read again, and say nothing about where things were on a machine."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from benchmarks.kept_runs import keep_runs, without_places
from benchmarks.pages import DOCS
from tests.lab.test_store import CONFIG, INFO, RESULT

from untrue.lab.records import Sweep
from untrue.lab.store import FILE, Store

PUBLISHED = sorted(DOCS.glob(f"*/*/{FILE}"))


def test_places_of_the_machine_are_left_out(tmp_path: Path) -> None:
    command = "untrue run masked-zone --data-dir /home/somebody/data --out /tmp/runs"
    with Store.write(tmp_path / "runs") as store:
        store.add_dataset(INFO)
        store.add_sweep(Sweep("masked-zone", "tiny", "desk", command, 1, (CONFIG,) * 40))
        store.add(RESULT, probs=np.zeros((10, 2), np.float32), weights=b"numbers")
    file = keep_runs(tmp_path / "runs", tmp_path / "kept")
    with Store.read(file.parent) as store:
        (sweep,) = store.sweeps()
        assert sweep.command == "untrue run masked-zone --data-dir DATA --out DIR"
        assert sweep.configs == (CONFIG,) * 40
        assert store.result(RESULT.run_id) is not None
        assert store.probs(RESULT.run_id) is None
        assert not store.has_weights(RESULT.run_id)
    assert b"/home/somebody" not in file.read_bytes()


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.parent.name)
def test_published_runs_are_those_of_the_rows(file: Path) -> None:
    with (file.parent / "rows.csv").open(newline="") as rows:
        shown = {row["run_id"]: row for row in csv.DictReader(rows) if row["decision"] == "argmax"}
    with Store.read(file.parent) as store:
        assert not store.damaged()
        assert store.problem() is None
        done = {run_id for run_id, status in store.status().items() if status == "ok"}
        configs = [config for sweep in store.sweeps() for config in sweep.configs]
        # Networks that others continue from are no rows.
        starts = {config.start.run_id for config in configs if config.start is not None}
        planned = {config.run_id for config in configs}
        # Rows whose store is lost stay when others are added; their runs are planned like these.
        assert done - starts <= shown.keys() <= planned
        for run_id in done - starts:
            result = store.result(run_id)
            assert result is not None
            wrong = result.confusion.sum() - result.confusion.trace()
            assert int(shown[run_id]["errors"]) == wrong
        for sweep in store.sweeps():
            assert without_places(sweep.command) == sweep.command
