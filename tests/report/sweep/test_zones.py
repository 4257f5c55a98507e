"""The chapter about zones, when the runs of a sweep have none."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from untrue.errors import DataError
from untrue.lab.records import Confidence, DatasetInfo, Decision, Sweep
from untrue.lab.store import FILE, Store
from untrue.report.document.figures import Curves
from untrue.report.document.tables import Table
from untrue.report.runs.arms import Arms
from untrue.report.runs.rows import collect
from untrue.report.sweep.zone_tables import best, short, shown_size
from untrue.report.sweep.zones import chapter


class NoZones:
    """The arms of runs without zones, as a damaged or foreign store may hold them."""

    def values(self, _: str) -> tuple[float, ...]:
        return ()


def test_runs_without_zones_are_one_sentence() -> None:
    with pytest.raises(DataError, match="should be about zones, but none of its runs has one"):
        shown_size(NoZones())  # type: ignore[arg-type]


def test_the_chapter_shows_how_sure_errors_are_and_training_time_where_recorded(
    zone_store: Path, tmp_path: Path
) -> None:
    shutil.copy(zone_store / FILE, tmp_path / FILE)
    with Store.write(tmp_path) as store:
        before = chapter(collect(store)[0], "z")
        assert not any("confidence" in item.stem for item in before.items())
        for result in list(store.results()):
            sure = 0.5 + result.config.alpha / 4
            store.add(
                dataclasses.replace(
                    result,
                    confidence=Confidence(sure * result.confusion, result.confusion // 3),
                    train_confusion=result.confusion + 1,
                ),
                probs=store.probs(result.run_id),
            )
        (collected,) = collect(store)
    found = {item.stem: item.part for item in chapter(collected, "z").items()}
    table = found["z-confidence-n3"]
    assert isinstance(table, Table)
    for loss, alpha, confidence, change, *_ in table.rows:
        assert isinstance(alpha, float)
        assert confidence.value == pytest.approx(100 * (0.5 + alpha / 4))
        if loss == "baseline":
            assert change is None
        else:
            assert change.value == pytest.approx(100 * alpha / 4)
    training = found["z-training-n6"]
    assert isinstance(training, Table)
    names = [column.name for column in training.columns]
    first = training.rows[0]
    own, later = (first[names.index(f"errors in the zone, {w}")] for w in ("training", "test"))
    # One more error in each of the zone's 6 cells.
    assert own.value == pytest.approx(later.value + 6)


def caption(store: Store) -> str:
    items = chapter(collect(store)[0], "z").items()
    (frontier,) = [item.part for item in items if item.stem == "z-frontier"]
    assert isinstance(frontier, Curves)
    return frontier.see


def test_the_ring_is_explained_where_every_setting_costs_too_much(
    zone_store: Path, tmp_path: Path
) -> None:
    shutil.copy(zone_store / FILE, tmp_path / FILE)
    with Store.write(tmp_path) as store:
        assert "Ringed is the setting with the fewest errors in the zone" in caption(store)
        for result in list(store.results()):
            if result.config.alpha:
                wrong = np.roll(result.confusion, 1, axis=1)
                store.add(dataclasses.replace(result, confusion=wrong))
        shown = caption(store)
    assert "No setting costs at most 1 percentage point of total error; ringed is" in shown


def test_decisions_that_a_comparison_made_of_the_same_baseline_are_not_shown(
    zone_store: Path, tmp_path: Path
) -> None:
    """A directory may hold both: calibrated decisions are none by the most probable label."""
    shutil.copy(zone_store / FILE, tmp_path / FILE)
    with Store.write(tmp_path) as store:
        before = collect(store)[0]
        for result in list(store.results()):
            more = [
                Decision(d.costs, d.confusion + 1, calibrated=True, share=share)
                for d in result.decisions
                for share in (1.0, 0.5)
            ]
            store.add(result.with_decisions(more))
        after = collect(store)[0]
    assert after.rows == before.rows
    tables = [
        [item.part for item in chapter(found, "z").items() if item.stem == "z-n3"]
        for found in (before, after)
    ]
    assert tables[0] == tables[1]


def test_before_and_after_are_of_the_same_repetitions(
    tmp_path: Path, fill: Callable[..., Sweep], digits: DatasetInfo
) -> None:
    """Each repetition has another zone: that of the first holds more errors."""
    made = {(0, 0.0): 30, (1, 0.0): 10, (0, 0.9): 15, (1, 0.9): 5, (1, 0.5): 8}
    fill(
        tmp_path,
        "demo",
        digits,
        repetitions=2,
        zone_size=(3,),
        alpha=(0.0, 0.5, 0.9),
        loss=("bilinear",),
        skip=lambda c: (c.seed, c.alpha) not in made,
    )
    with Store.write(tmp_path) as store:
        zones = {c.seed: c.score_on[0].cells[0] for c in store.sweeps()[0].configs}
        for result in list(store.results()):
            counts = np.diag(np.full(4, 1000))
            counts[zones[result.config.seed]] = made[result.config.seed, result.config.alpha]
            store.add(dataclasses.replace(result, confusion=counts))
        arms = Arms(collect(store)[0].rows)
    rows = {row[1]: row[2:4] for row in short(arms, [3]).rows}
    assert rows["bilinear, alpha 0.5"] == (10.0, 8.0)
    assert rows["bilinear, alpha 0.9"] == (20.0, 10.0)
    chosen = best(arms, 3)
    assert chosen is not None
    assert chosen.alpha == 0.9
