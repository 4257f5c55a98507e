"""Frontier, picks and shared repetitions, recomputed by hand or the slow way."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import untrue
from untrue.lab.records import DatasetInfo, Decision, PenaltySpec, RunResult, Sweep, Validated
from untrue.lab.store import Store
from untrue.metrics import Interval
from untrue.report.compare.settings import COST, TOTAL, Comparison, above, below, decided, named
from untrue.report.runs.arms import Arm
from untrue.report.runs.rows import collect

Fill = Callable[..., Sweep]
Zones = Callable[[DatasetInfo, int], Callable[[int], PenaltySpec]]
EVERY = ("ce", "bilinear", "soft-labels", "hxe", "sosr", "conditional-softmax")


def compared(folder: Path) -> Comparison:
    with Store.read(folder) as store:
        (found,) = collect(store)
    assert found.kind == "compare"
    return Comparison(found)


def counts(free: int, costly: int) -> np.ndarray[Any, Any]:
    """100 answers of two classes: `free` errors of cost 1 and `costly` ones of cost 10."""
    return np.array([[50 - costly, costly], [free, 50 - free]], dtype=np.int64)


PAIR = DatasetInfo("pair", ("a", "b"), (), "f", 100, 100)


def costly_cell(seed: int) -> PenaltySpec:
    return PenaltySpec("zone", 10.0, 1.0, ((0, 1),))


def exactly(errors: dict[tuple[str, float, str], list[tuple[int, int]]]) -> Callable[..., Any]:
    """Results with these (free, costly) errors by loss, strength and decision, one per seed."""

    def change(result: RunResult) -> RunResult:
        config = result.config
        key = (config.loss, config.alpha or config.strength or 0.0)
        (spec,) = config.score_on
        return dataclasses.replace(
            result,
            confusion=counts(*errors[*key, "argmax"][config.seed]),
            decisions=tuple(
                Decision(spec, counts(*errors[*key, rule][config.seed]), rule == "calibrated")
                for rule in ("raw", "calibrated")
                if (*key, rule) in errors
            ),
        )

    return change


def test_rows_hold_the_expected_cost_and_the_strength(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    fill(tmp_path, digits, zones(digits, 4), methods=EVERY, repetitions=2)
    comparison = compared(tmp_path)
    results = {result.run_id: result for result in comparison.collected.results}
    rows = comparison.collected.rows
    # Per repetition: 9 models with three decisions each, and sosr's 2 with its own.
    assert len(rows) == 2 * (3 * (1 + 2 + 2 + 2 + 1) + 2)
    for row in rows:
        result = results[row.run_id]
        (spec,) = result.config.score_on
        cm = result.confusion
        if row.decision != "argmax":
            found = result.decision(spec, calibrated=row.decision == "least-cost-calibrated")
            assert found is not None
            cm = found
        costs = untrue.Penalty.from_matrix(spec.matrix(digits))
        assert row.expected_cost == pytest.approx(untrue.metrics.expected_cost(cm, costs))
        assert row.zone_errors == cm[spec.mask(digits)].sum()
        assert row.strength == result.config.strength
    knobs = {row.loss: row.knob for row in rows}
    assert knobs["soft-labels"] == "beta"
    assert knobs["bilinear"] == knobs["conditional-softmax"] == ""
    ece = {(row.decision, row.ece_pct) for row in rows if row.loss == "hxe"}
    assert ece == {("argmax", 5.0), ("least-cost", 5.0), ("least-cost-calibrated", 2.0)}


def test_names_of_settings() -> None:
    assert named(Arm("cross-entropy", 0.0, "argmax")) == "ce (most probable)"
    assert named(Arm("bilinear", 0.9, "least-cost")) == "bilinear (alpha 0.9, least cost)"
    rival = Arm("soft-labels", 0.0, "least-cost-calibrated", knob="beta", strength=10.0)
    assert named(rival) == "soft-labels (beta 10, least cost, calibrated)"
    assert decided(Arm("sosr", 0.0, "argmax", knob="scale", strength=1.0)) == "its own"


def test_the_frontier_is_what_no_other_setting_dominates(tmp_path: Path, fill: Fill) -> None:
    # (free, costly) errors of one repetition: total error free + costly, cost free + 10 costly.
    errors = {
        ("cross-entropy", 0.0, "argmax"): [(4, 4)],  # least total error
        ("cross-entropy", 0.0, "raw"): [(12, 2)],  # dominated by the next
        ("cross-entropy", 0.0, "calibrated"): [(10, 1)],
        ("bilinear", 0.5, "argmax"): [(6, 3)],
        ("bilinear", 0.9, "argmax"): [(5, 4)],  # as many errors as at 0.5, and costlier
        ("bilinear", 0.5, "calibrated"): [(10, 1)],  # a tie with ce+cost: neither dominates
        ("bilinear", 0.9, "calibrated"): [(20, 0)],  # less costly, but costlier in all
    }
    fill(
        tmp_path,
        PAIR,
        costly_cell,
        methods=("ce", "bilinear"),
        repetitions=1,
        change=exactly(errors),
    )
    comparison = compared(tmp_path)
    on = [named(arm) for arm in comparison.frontier(COST)]
    assert on == [
        "ce (most probable)",
        "bilinear (alpha 0.5, most probable)",
        "ce (least cost, calibrated)",
        "bilinear (alpha 0.5, least cost, calibrated)",
    ]
    by_zone = [named(arm) for arm in comparison.frontier("zone_errors")]
    assert by_zone == [*on, "bilinear (alpha 0.9, least cost, calibrated)"]
    assert comparison.reference == comparison.of("cross-entropy", "least-cost-calibrated")[0]


def test_clear_dominance_needs_a_paired_interval_beyond_zero(
    tmp_path: Path, fill: Fill, zones: Zones, things: DatasetInfo
) -> None:
    fill(tmp_path, things, zones(things, 12), methods=EVERY, repetitions=4, rate=3.0)
    comparison = compared(tmp_path)
    for measure in comparison.planes:
        on, near = comparison.frontier(measure), comparison.near(measure)
        assert on
        assert near
        for one, other in itertools.permutations(comparison.settings, 2):
            pairs = []
            for name in (TOTAL, measure):
                a, b = (comparison.arms.by_seed(arm, name) for arm in (one, other))
                pairs.append(np.array([a[seed] - b[seed] for seed in sorted(a)]))
            means = [pair.mean() for pair in pairs]
            weak = all(mean <= 0 for mean in means) and any(mean < 0 for mean in means)
            assert comparison.dominates(one, other, measure) == weak
            tests = [stats.ttest_1samp(pair, 0.0) for pair in pairs if pair.std() > 0]
            clear = weak and any(t.pvalue < 0.05 and t.statistic < 0 for t in tests)
            assert comparison.dominates(one, other, measure, clearly=True) == clear
            if weak:
                assert other not in on
            if clear:
                assert other not in near


def test_a_setting_is_picked_by_its_validation_examples_alone(tmp_path: Path, fill: Fill) -> None:
    # On the test examples alpha 0.9 is the better one in every repetition.
    errors = {
        ("cross-entropy", 0.0, "argmax"): [(5, 5)] * 3,
        ("bilinear", 0.5, "argmax"): [(8, 2)] * 3,
        ("bilinear", 0.9, "argmax"): [(9, 1)] * 3,
    }
    before = {0.0: [0.9] * 3, 0.5: [0.3, 0.3, 0.5], 0.9: [0.4, 0.2, 0.4]}

    def change(result: RunResult) -> RunResult:
        cost = before[result.config.alpha][result.config.seed]
        seen = (Validated("argmax", 0.1, cost),)
        return dataclasses.replace(exactly(errors)(result), validated=seen)

    fill(tmp_path, PAIR, costly_cell, methods=("ce", "bilinear"), change=change)
    comparison = compared(tmp_path)
    picked = comparison.pick("bilinear")
    assert [picked.by_seed[seed].alpha for seed in range(3)] == [0.5, 0.9, 0.9]
    assert sorted(picked.settings.values()) == [1, 2]
    assert comparison.picked_values(picked, COST) == pytest.approx({0: 0.28, 1: 0.19, 2: 0.19})


def test_repetitions_that_draw_their_test_part_have_wider_intervals(
    tmp_path: Path, fill: Fill
) -> None:
    drawn = dataclasses.replace(PAIR, train_images=400, drawn_test=True)
    widths = {}
    for name, info in (("own", PAIR), ("drawn", drawn)):
        methods = ("ce", "bilinear")
        fill(tmp_path / name, info, costly_cell, methods=methods, repetitions=4)
        comparison = compared(tmp_path / name)
        picked = comparison.pick("bilinear")
        found = (
            comparison.picked_mean(picked, COST),
            comparison.picked_change(picked, COST),
            comparison.arms.mean(comparison.settings[0], COST),
            comparison.all.change(comparison.settings[0], TOTAL, to=comparison.reference),
        )
        widths[name] = [each.high - each.low for each in found if each is not None]
    assert len(widths["own"]) == 4
    # sqrt((1 / 4 + 100 / 400) / (1 / 4))
    assert np.array(widths["drawn"]) == pytest.approx(np.sqrt(2.0) * np.array(widths["own"]))


def test_all_are_judged_on_the_repetitions_they_share(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    fill(
        tmp_path,
        digits,
        zones(digits, 4),
        methods=("ce", "bilinear", "hxe"),
        repetitions=3,
        skip=lambda c: c.seed == 2 and c.loss != "cross-entropy",
        fail=lambda c: c.seed == 1 and c.loss == "bilinear" and c.alpha == 0.9,
    )
    comparison = compared(tmp_path)
    # Two repetitions of 12 settings are more than one of 15 and three of 3.
    assert comparison.seeds == {0, 1}
    assert len(comparison.settings) == 12
    assert {arm.alpha for arm in comparison.behind} == {0.9}
    assert all(comparison.arms.repetitions(arm) == 2 for arm in comparison.settings)
    assert comparison.all.repetitions(comparison.settings[0]) == 3


def test_without_calibration_the_raw_decision_is_the_reference(tmp_path: Path, fill: Fill) -> None:
    errors = {
        ("cross-entropy", 0.0, "argmax"): [(5, 5)],
        ("cross-entropy", 0.0, "raw"): [(9, 1)],
        ("bilinear", 0.5, "argmax"): [(8, 2)],
        ("bilinear", 0.9, "argmax"): [(8, 1)],
    }
    methods = ("ce", "bilinear")
    fill(tmp_path, PAIR, costly_cell, methods=methods, repetitions=1, change=exactly(errors))
    comparison = compared(tmp_path)
    assert comparison.reference is not None
    assert comparison.reference.decision == "least-cost"
    change = comparison.picked_change(comparison.pick("bilinear"), COST)
    assert change is not None
    assert change.value == pytest.approx(-0.01)
    assert not below(change)


def test_an_interval_without_width_is_no_evidence() -> None:
    assert below(Interval(-2.0, -3.0, -1.0, 0.95))
    assert not below(Interval(-2.0, -2.0, -2.0, 0.95))
    assert not below(Interval(-2.0, -4.5, 0.5, 0.95))
    assert above(Interval(2.0, 1.0, 3.0, 0.95))
    assert not above(Interval(2.0, 2.0, 2.0, 0.95))
    assert not above(None)


def test_own_costs_count_the_mistakes_costlier_than_the_cheapest(
    tmp_path: Path, fill: Fill, digits: DatasetInfo
) -> None:
    matrix = ((0.0, 1.0, 1.0, 7.0), (1.0, 0.0, 1.0, 1.0), (2.5, 1.0, 0.0, 1.0), (1.0, 1.0, 1.0, 0))
    spec = PenaltySpec("matrix", costs=tuple(tuple(map(float, row)) for row in matrix))
    fill(tmp_path, digits, lambda seed: spec, repetitions=2)
    comparison = compared(tmp_path)
    assert comparison.costly.label == "costly errors (test examples)"
    for row in comparison.collected.rows:
        assert row.costs == ("" if row.decision == "argmax" else "by a matrix")
        if row.decision == "argmax":
            (cm,) = (r.confusion for r in comparison.collected.results if r.run_id == row.run_id)
            assert row.zone_errors == cm[0, 3] + cm[2, 0]
            assert row.expected_cost == pytest.approx((cm * np.array(matrix)).sum() / cm.sum())
