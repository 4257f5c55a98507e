"""Rows say what `untrue.metrics` says of the stored matrices, once for each rule and zone."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from untrue import metrics
from untrue.lab.records import Confidence, DatasetInfo, Sweep, Validated
from untrue.lab.store import Store
from untrue.report.runs.rows import Collected, collect, to_csv


def collected(folder: Path) -> Collected:
    with Store.read(folder) as store:
        (found,) = collect(store)
    return found


def test_one_row_per_run_rule_and_zone(zone_store: Path) -> None:
    found = collected(zone_store)
    keys = {(r.run_id, r.decision, r.zone) for r in found.rows}
    assert len(keys) == len(found.rows)
    # 3 repetitions: a baseline on 2 zones, 2 losses x 2 alphas x 2 zones, each with 2 rules.
    assert len(found.rows) == 3 * (2 + 8) * 2
    baselines = [r for r in found.rows if r.loss == "cross-entropy"]
    assert {(r.seed, r.zone_size, r.decision) for r in baselines} == {
        (s, n, d) for s in range(3) for n in (3, 6) for d in ("argmax", "least-cost")
    }
    assert len({r.run_id for r in baselines}) == 3


def test_zones_are_paired_within_a_repetition(zone_store: Path) -> None:
    zones: dict[tuple[int, int | None], set[str]] = {}
    for row in collected(zone_store).rows:
        zones.setdefault((row.seed, row.zone_size), set()).add(row.zone)
    assert {len(found) for found in zones.values()} == {1}
    assert len(set.union(*zones.values())) == 6


def test_measures_of_a_zone_are_those_of_metrics(zone_store: Path) -> None:
    found = collected(zone_store)
    results = {result.run_id: result for result in found.results}
    for row in found.rows:
        result = results[row.run_id]
        zone = [tuple(map(int, cell.split(">"))) for cell in row.zone.split()]
        if row.decision == "argmax":
            cm, costs = result.confusion, ""
        else:
            made = next(d for d in result.decisions if list(d.costs.cells) == zone)
            cm, costs = made.confusion, "zone 10, else 1"
        assert row.costs == costs
        assert row.zone_errors == metrics.zone_errors(cm, zone)
        assert row.zone_share_pct == pytest.approx(100 * metrics.zone_share(cm, zone))
        assert row.total_error_pct == pytest.approx(100 * metrics.total_error(cm))
        assert row.accuracy_pct == pytest.approx(100 - row.total_error_pct)
        assert row.coarse_error_pct is None


def test_measures_of_super_classes_are_those_of_metrics(
    tmp_path: Path, fill: Callable[..., Sweep], things: DatasetInfo
) -> None:
    sweep = fill(tmp_path, "small-sample", things, repetitions=2)
    found = collected(tmp_path)
    groups = {name: list(members) for name, members in things.groups}
    results = {result.run_id: result for result in found.results}
    small = next(c.small_classes for c in sweep.configs if c.small_classes)
    assert found.kind == "small"
    for row in found.rows:
        result = results[row.run_id]
        cm = result.confusion if row.decision == "argmax" else result.decisions[0].confusion
        assert row.coarse_error_pct == pytest.approx(100 * metrics.coarse_error(cm, groups))
        assert row.errors_in_superclass_pct == pytest.approx(
            100 * metrics.in_group_share(cm, groups)
        )
        assert row.small_class_accuracy_pct == pytest.approx(
            100 * metrics.small_class_accuracy(cm, small)
        )
        assert row.small_class_superclass_accuracy_pct == pytest.approx(
            100 * metrics.super_class_accuracy(cm, groups, subset=small)
        )
        assert row.zone_errors is None


def test_csv_reads_back(zone_store: Path) -> None:
    rows = collected(zone_store).rows
    read = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert len(read) == len(rows)
    for text, row in zip(read, rows, strict=True):
        assert float(text["total_error_pct"]) == row.total_error_pct
        assert int(text["zone_errors"]) == row.zone_errors
        assert text["coarse_error_pct"] == ""
        assert text["loss"] == row.loss


def test_no_errors_have_no_share(
    tmp_path: Path, fill: Callable[..., Sweep], digits: DatasetInfo
) -> None:
    fill(tmp_path, "demo", digits, zone_size=(3,), skip=lambda c: not c.is_baseline)
    with Store.write(tmp_path) as store:
        (result,) = store.results()
        perfect = np.diag(np.full(4, 10)).astype(np.int64)
        store.add(dataclasses.replace(result, confusion=perfect))
    row = next(r for r in collected(tmp_path).rows if r.decision == "argmax")
    assert row.zone_share_pct is not None
    assert math.isnan(row.zone_share_pct)
    assert ",nan," not in to_csv([row])


def test_what_is_missing_or_failed_is_distinguished(
    tmp_path: Path, fill: Callable[..., Sweep], digits: DatasetInfo
) -> None:
    sweep = fill(
        tmp_path,
        "demo",
        digits,
        repetitions=2,
        zone_size=(3,),
        skip=lambda c: c.seed == 1 and not c.is_baseline,
        fail=lambda c: c.loss == "bilinear" and c.alpha == 0.9,
    )
    found = collected(tmp_path)
    assert len(found.failed) == 1
    assert {config.seed for config in found.missing} == {1}
    assert len(found.missing) == 4
    assert len(found.results) + len(found.failed) + len(found.missing) == len(sweep.configs)


def test_a_baseline_known_from_a_smaller_sweep_is_read_on_the_new_sweeps_zones(
    tmp_path: Path, fill: Callable[..., Sweep], digits: DatasetInfo
) -> None:
    fill(tmp_path, "demo", digits, zone_size=(3,))
    # The same baseline, now asked for on another zone; its stored config names the old one only.
    fill(tmp_path, "demo", digits, zone_size=(3, 6), skip=lambda c: c.is_baseline)
    sizes = {r.zone_size for r in collected(tmp_path).rows if r.loss == "cross-entropy"}
    assert sizes == {3, 6}


def test_a_run_with_more_evidence_has_it_in_its_rows(
    tmp_path: Path, fill: Callable[..., Sweep], things: DatasetInfo
) -> None:
    sweep = fill(tmp_path, "hierarchy", things, repetitions=1)
    config = sweep.configs[1]
    with Store.write(tmp_path) as store:
        old = store.result(config.run_id)
        assert old is not None
        k = len(old.confusion)
        group = things.group_of()
        across = group[:, None] != group
        sure = np.where(across, 0.75, 0.5) * old.confusion
        store.add(
            dataclasses.replace(
                old,
                confidence=Confidence(sure, old.confusion // 2),
                train_confusion=np.eye(k, dtype=np.int64) + across,
                validated=(Validated("argmax", 0.25, 2.5), Validated("least-cost", 0.5, 1.5)),
                clipped=0.5,
            )
        )
    rows = {r.decision: r for r in collected(tmp_path).rows if r.run_id == config.run_id}
    plain, least = rows["argmax"], rows["least-cost"]
    assert plain.zone_error_confidence_pct == pytest.approx(75.0)
    inside, outside = ((old.confusion * m).sum() for m in (~across, across))
    inside -= old.confusion.trace()
    assert plain.error_confidence_pct == pytest.approx(
        100 * (0.5 * inside + 0.75 * outside) / (inside + outside)
    )
    assert plain.confident_zone_errors == (old.confusion // 2)[across].sum()
    assert plain.train_error_pct == pytest.approx(100 * across.sum() / (across.sum() + k))
    assert plain.train_coarse_error_pct == plain.train_error_pct
    assert (plain.validation_error_pct, plain.validation_cost) == (25.0, 2.5)
    assert (least.validation_error_pct, least.error_confidence_pct) == (50.0, None)
