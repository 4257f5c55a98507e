"""The finding of a comparison: who beat the free rule, who did not, and what that rests on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from tests.report.compare.conftest import USELESS, Fill, Zones, compared, parsed

from untrue.lab.records import DatasetInfo, PenaltySpec, RunResult
from untrue.report.compare.figures import differences
from untrue.report.compare.sentences import beaten_in_both, costs_sentence, finding
from untrue.report.compare.tables import methods_table, short_table


def test_the_finding_says_so_when_the_free_rule_wins(
    tmp_path: Path, fill: Fill, zones: Zones, things: DatasetInfo
) -> None:
    fill(
        tmp_path,
        things,
        zones(things, 15),
        methods=("ce", "class-weighted", "sosr"),
        repetitions=5,
        left=USELESS,
        rate=20.0,
        # Without the least-cost decision the rivals cannot win here.
        change=lambda result: (
            result if result.config.is_baseline else dataclasses.replace(result, decisions=())
        ),
    )
    finding_text = " ".join(finding(compared(tmp_path)))
    assert finding_text.startswith("No method beats the free decision rule, which costs ")
    assert "; the closest is " in finding_text
    assert "The free decision rule (ce+cost) is plain cross-entropy" in finding_text
    assert "Worse by more than their interval: 2 of 2." in finding_text
    assert (
        "No setting is better than ce+cost in total error and expected cost both." in finding_text
    )
    assert "The decision rule alone takes plain cross-entropy's expected cost from" in finding_text


def test_the_finding_says_where_the_free_rule_itself_did_not_pay(
    tmp_path: Path, fill: Fill, things: DatasetInfo, zones: Zones
) -> None:
    def with_cheaper_answers(result: RunResult) -> RunResult:
        right = np.diag(np.diag(result.confusion))
        return dataclasses.replace(result, confusion=right + result.confusion // 8)

    fill(
        tmp_path,
        things,
        zones(things, 15),
        methods=("ce", "sosr"),
        repetitions=3,
        change=with_cheaper_answers,
    )
    assert "So the rule itself did not pay here (beyond its interval)." in " ".join(
        finding(compared(tmp_path))
    )


def test_the_finding_names_who_beat_the_free_rule_and_by_how_much(
    tmp_path: Path, fill: Fill, things: DatasetInfo
) -> None:
    fill(
        tmp_path,
        things,
        lambda seed: PenaltySpec("groups", 1.0, 5.0),
        methods=("ce", "bilinear", "class-weighted"),
        repetitions=5,
        left={"bilinear": 0.05, "class-weighted": 1.0},
        rate=20.0,
    )
    comparison = compared(tmp_path)
    finding_text = " ".join(finding(comparison))
    assert costs_sentence(comparison) == (
        "A mistake inside the right super-class costs 1, any other 5."
    )
    assert finding_text.startswith("1 of 2 methods beat the free decision rule, which costs ")
    assert "an answer: bilinear (by " in finding_text
    assert (
        "With intervals that allow for all 2 comparisons (Bonferroni), bilinear does."
        in finding_text
    )
    figure = differences(comparison)
    assert figure is not None
    assert figure.rows[0].name == "bilinear"
    assert [row.change.value for row in figure.rows] == sorted(r.change.value for r in figure.rows)
    assert figure.rows[0].note == (
        "alpha 0.9, least cost, calibrated (3); alpha 0.9, least cost (2)"
    )
    assert figure.rows[0].change == comparison.picked_change(
        comparison.pick("bilinear"), "expected_cost"
    )
    assert "The same holds against ce+cost without calibration (" in finding_text
    both = beaten_in_both(comparison, "coarse_error_pct")
    reference = next(arm for arm in comparison.settings if arm == comparison.reference)
    better = [
        arm
        for arm in comparison.settings
        if all(
            comparison.value(arm, name) < comparison.value(reference, name)
            for name in ("total_error_pct", "coarse_error_pct")
        )
    ]
    assert both.startswith(f"{len(better)} of 15 settings are better than ce+cost in total error")
    assert both.endswith(
        "beyond an interval in at least one (with this many settings, a few may be by chance)."
    )
    assert "its coarse error from" in finding_text
    short = short_table(comparison)
    assert [row[0] for row in short.rows] == ["ce", "ce", "ce+cost", "bilinear", "class-weighted"]
    assert short.strong == frozenset({2})
    table = parsed(methods_table(comparison))
    assert float(table[3]["difference in cost high"]) < 0
    assert table[3]["setting"] == figure.rows[0].note


def test_the_finding_says_when_only_calibration_was_beaten(
    tmp_path: Path, fill: Fill, things: DatasetInfo
) -> None:
    def swap(result: RunResult) -> RunResult:
        """Cross-entropy's raw decision as cheap as can be."""
        if not result.config.is_baseline:
            return result
        raw, calibrated = result.decisions
        perfect = np.diag(result.confusion.sum(axis=1)).astype(np.int64)
        cheap = dataclasses.replace(raw, confusion=perfect)
        return dataclasses.replace(result, decisions=(cheap, calibrated))

    fill(
        tmp_path,
        things,
        lambda seed: PenaltySpec("groups", 1.0, 5.0),
        methods=("ce", "bilinear"),
        repetitions=5,
        left={"bilinear": 0.05},
        rate=20.0,
        change=swap,
    )
    finding_text = " ".join(finding(compared(tmp_path)))
    assert finding_text.startswith("1 of 1 methods beat")
    assert (
        "Without the calibration ce+cost costs 0.000 ± 0.000, which none of them beat."
        in finding_text
    )
