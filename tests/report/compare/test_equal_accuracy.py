"""Costs at equal accuracy are chosen on validation examples alone; costs count once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.report.compare.conftest import fill_comparison

from untrue.lab.records import DatasetInfo, Decision, PenaltySpec, RunResult, Validated
from untrue.lab.store import Store
from untrue.report.compare.chapter import chapter
from untrue.report.compare.equal_accuracy import (
    chosen,
    equal_accuracy_sentence,
    equal_accuracy_table,
    once_table,
)
from untrue.report.compare.sentences import finding
from untrue.report.compare.settings import CE, COST, Comparison, below
from untrue.report.runs.rows import collect

K = 4
INFO = DatasetInfo("made-up", tuple("abcd"), (), "x", 400, 400)
SPEC = PenaltySpec("zone", 10.0, 1.0, cells=((0, 1),))


def matrix(wrong: int, costly: int) -> np.ndarray:
    """400 examples, so many of them wrong, some of these in the costly cell."""
    found = np.diag([100] * K).astype(np.int64)
    found[0, 0] -= costly
    found[0, 1] += costly
    found[1, 1] -= wrong - costly
    found[1, 2] += wrong - costly
    return found


def with_evidence(result: RunResult) -> RunResult:
    """bilinear .5 loses 0.4 points on validation and .9 loses 3; the rule alone loses 2, and with
    a quarter of the costs 0.6."""
    config = result.config
    jitter = config.seed % 2
    plain = config.is_baseline
    weak = config.alpha == 0.5
    errors = {"argmax": 0.10 if plain else 0.104 if weak else 0.13, "least-cost": 0.12}
    costs = {"argmax": 0.5 if plain else 0.3 if weak else 0.1, "least-cost": 0.2}
    counts = {"argmax": matrix(40, 20 if plain else 10 + jitter), "least-cost": matrix(48, 2)}
    seen = [Validated(rule, errors[rule], costs[rule]) for rule in ("argmax", "least-cost")]  # type: ignore[arg-type]
    decisions = [Decision(SPEC, counts["least-cost"])]
    clipped = None
    if plain:
        decisions.append(Decision(SPEC, matrix(41, 8), calibrated=True, share=0.25))
        seen.append(Validated("softened-cost", 0.106, 0.35, 0.25))
    else:
        decisions.append(Decision(SPEC, matrix(44, 4), calibrated=True))
        decisions.append(Decision(SPEC, matrix(42, 3 + jitter), calibrated=True, posterior=True))
        seen.append(Validated("posterior", 0.108, 0.25))
        clipped = 0.25
    return dataclasses.replace(
        result,
        confusion=counts["argmax"],
        decisions=tuple(decisions),
        validated=tuple(seen),
        clipped=clipped,
    )


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    fill_comparison(
        tmp_path,
        INFO,
        lambda seed: SPEC,
        methods=("ce", "bilinear"),
        repetitions=4,
        change=with_evidence,
    )
    with Store.read(tmp_path) as store:
        (found,) = collect(store)
    return Comparison(found)


def test_a_setting_is_chosen_by_validation_cost_within_what_may_be_lost(comparison) -> None:
    by = {
        points: {
            (a.loss, a.alpha, a.decision)
            for a in chosen(comparison, "bilinear", points).by_seed.values()
        }
        for points in (0.0, 0.5, 1.0, 2.5, 5.0)
    }
    assert by[0.0] == {(CE, 0.0, "argmax")}
    assert by[0.5] == {("bilinear", 0.5, "argmax")}
    assert {d for _, _, d in by[1.0]} == {"posterior"}
    assert {d for _, _, d in by[2.5]} == {"least-cost"}
    assert by[5.0] == {("bilinear", 0.9, "argmax")}
    assert {a.decision for a in chosen(comparison, CE, 0.5).by_seed.values()} == {"argmax"}
    assert {(a.decision, a.cost_share) for a in chosen(comparison, CE, 1.0).by_seed.values()} == {
        ("softened-cost", 0.25)
    }
    assert {a.decision for a in chosen(comparison, CE, 2.5).by_seed.values()} == {"least-cost"}


def test_the_table_has_test_costs_paired_with_the_free_rule(comparison) -> None:
    table = equal_accuracy_table(comparison)
    assert table is not None
    rows = {(row[0], row[1]): row for row in table.rows}
    assert len(rows) == 6
    ours = rows[0.5, "bilinear"]
    values = [((10 + seed % 2) * 10 + 40 - 10 - seed % 2) / 400 for seed in range(4)]
    assert ours[2].value == pytest.approx(np.mean(values))
    free = (20 * 10 + 20) / 400
    assert rows[0.5, "ce, free rule"][2].value == pytest.approx(free)
    assert ours[3].value == pytest.approx(np.mean(values) - free)
    assert below(ours[3])
    assert ours[4].value == pytest.approx(0.0)
    assert "alpha 0.5" in ours[5]
    assert "costs at 25%" in rows[1.0, "ce, free rule"][5]
    sentence = equal_accuracy_sentence(comparison)
    assert "none at 0 points; bilinear at 0.5 points" in sentence


def test_costs_that_count_once_stand_beside_those_that_count_again(comparison) -> None:
    table = once_table(comparison)
    assert table is not None
    assert [row[:2] for row in table.rows] == [
        ("bilinear", "alpha 0.5"),
        ("bilinear", "alpha 0.9"),
    ]
    first = table.rows[0]
    again = (4 * 10 + 40) / 400
    assert first[2].value == pytest.approx(again)
    assert first[4].value == pytest.approx(
        comparison.value(comparison.of("bilinear", "posterior")[0], COST) - again
    )
    assert first[6].value == pytest.approx(25.0)


def test_the_page_has_both(comparison) -> None:
    found = chapter(comparison.collected, "c")
    stems = {item.stem for item in found.items()}
    assert {"c-equal-accuracy", "c-posterior"} <= stems


def test_without_validation_numbers_nothing_is_claimed(tmp_path: Path) -> None:
    methods = ("ce", "bilinear")
    fill_comparison(tmp_path, INFO, lambda seed: SPEC, methods=methods, validated=False)
    with Store.read(tmp_path) as store:
        (found,) = collect(store)
    comparison = Comparison(found)
    assert equal_accuracy_table(comparison) is None
    assert equal_accuracy_sentence(comparison) == ""
    assert once_table(comparison) is None
    assert comparison.picked_change(comparison.pick("bilinear"), COST) is None
    assert "Only the free decision rule is there so far." in " ".join(finding(comparison))
