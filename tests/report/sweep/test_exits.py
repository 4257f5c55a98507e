"""The chapter of several exits: each variant at each exit, and the price of stopping early."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from untrue.lab.records import DatasetInfo, RunResult
from untrue.lab.store import Store
from untrue.report.assemble import report
from untrue.report.document.figures import Curves
from untrue.report.runs.arms import Arms
from untrue.report.runs.chapters import Chapter
from untrue.report.runs.rows import Collected, collect
from untrue.report.sweep import exits


@pytest.fixture
def folder(tmp_path: Path, fill, things: DatasetInfo) -> Path:
    fill(tmp_path / "runs", "exits", things, repetitions=3)
    return tmp_path / "runs"


@pytest.fixture
def collected(folder: Path) -> Collected:
    with Store.read(folder) as store:
        return collect(store)[0]


@pytest.fixture
def chapter(collected: Collected) -> Chapter:
    return exits.chapter(collected, "exits-cifar100")


def runs(collected: Collected, exit_costs: str, loss: str = "bilinear") -> list[RunResult]:
    return [
        r
        for r in collected.results
        if (r.config.exit_costs, r.config.loss, r.config.setup.exits) == (exit_costs, loss, 3)
    ]


def test_the_table_has_every_variant_at_every_exit(chapter: Chapter, collected: Collected) -> None:
    (table,) = (item.part for item in chapter.items() if item.stem.endswith("by-exit"))
    assert [row[:2] for row in table.rows] == [
        ("one exit, cross-entropy", 1),
        *[("cross-entropy at every exit", number) for number in (1, 2, 3)],
        *[("final penalty at every exit", number) for number in (1, 2, 3)],
        *[("A(l): inside costs l/k", number) for number in (1, 2, 3)],
        *[("soft labels, softer at early exits", number) for number in (1, 2, 3)],
    ]
    errors = []
    for result in runs(collected, "text"):
        confusion = result.exits[1].confusion
        errors.append(100 * (1 - np.trace(confusion) / confusion.sum()))
    second = table.rows[8]
    assert second[2] == pytest.approx(4.0)  # millions of multiplications
    assert second[3].value == pytest.approx(np.mean(errors))
    assert second[-1] == 3


def test_differences_are_to_cross_entropy_at_the_same_exit(
    chapter: Chapter, collected: Collected
) -> None:
    (table,) = (item.part for item in chapter.items() if item.stem.endswith("by-exit"))
    assert [row[4] for row in table.rows[1:4]] == [None] * 3
    gaps = []
    pairs = zip(runs(collected, "text"), runs(collected, "same", "cross-entropy"), strict=True)
    for after, before in pairs:
        shares = [
            100 * (1 - np.trace(r.exits[0].confusion) / r.exits[0].confusion.sum())
            for r in (after, before)
        ]
        gaps.append(shares[0] - shares[1])
    assert table.rows[7][4].value == pytest.approx(np.mean(gaps))


def test_figures_show_exits_and_what_stopping_saves(chapter: Chapter) -> None:
    figures = {item.stem: item.part for item in chapter.items() if isinstance(item.part, Curves)}
    assert list(figures) == [
        "exits-cifar100-total-error",
        "exits-cifar100-coarse-error",
        "exits-cifar100-errors-in-superclass",
        "exits-cifar100-early-expected-cost",
        "exits-cifar100-early-total-error",
    ]
    by_exit = figures["exits-cifar100-coarse-error"]
    assert [len(series.points) for series in by_exit.series] == [3] * 5
    assert len({series.style for series in by_exit.series}) == 5
    early = figures["exits-cifar100-early-expected-cost"]
    alone, *several = early.series
    assert [point.x for point in several[0].points] == pytest.approx([0, 25, 30, 80])
    assert len(several) == 4
    assert (alone.name, alone.dashed) == ("one exit, cross-entropy", True)
    assert [point.x for point in alone.points] == pytest.approx([0, 80])


def test_beside_early_stopping_stands_the_network_with_one_exit_decided_the_same_way(
    chapter: Chapter, collected: Collected
) -> None:
    costs = [
        row.expected_cost
        for row in collected.rows
        if (row.exits, row.decision) == (1, "least-cost")
    ]
    assert len(costs) == 3
    (figure,) = (i.part for i in chapter.items() if i.stem.endswith("early-expected-cost"))
    assert [p.y for p in figure.series[0].points] == pytest.approx([np.mean(costs)] * 2)


def test_seconds_saved_are_paired_with_the_whole_network(chapter: Chapter) -> None:
    (table,) = (item.part for item in chapter.items() if item.stem.endswith("-early"))
    by_threshold = {row[1]: row for row in table.rows[:3]}
    assert set(by_threshold) == {0.0, 0.4, 5.0}  # those that the table shows
    assert by_threshold[0.0][3].value == 0.0
    assert by_threshold[0.4][3].value == pytest.approx(100 * 0.25 / 4.0)


def test_the_lead_says_what_was_found_at_both_ends(chapter: Chapter) -> None:
    assert "At the first exit: total error" in chapter.lead
    assert "At the last: total error" in chapter.lead
    assert "of the multiplications and" in chapter.lead


def test_rows_hold_every_exit_and_threshold(folder: Path) -> None:
    written = report(folder)
    with (folder / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    kinds = {(row["decision"], row["exit"], row["threshold"]) for row in rows}
    assert {("argmax", "3", ""), ("early-exit", "", "0.4")} <= kinds
    assert {row["exit_costs"] for row in rows} == {"same", "text"}
    assert "Several exits" in written.page.read_text()


def test_what_is_not_there_yet_is_left_out(tmp_path: Path, fill, things: DatasetInfo) -> None:
    fill(tmp_path, "exits", things, repetitions=1, skip=lambda c: c.exit_costs == "text")
    with Store.read(tmp_path) as store:
        (found,) = collect(store)
    made = exits.chapter(found, "x")
    assert made.lead == "Not every variant is there yet."
    assert len(exits.variants(Arms(found.rows))) == 3
