"""docs/exits.md: its tables are those of the rows that a run of the experiment leaves."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from benchmarks import exits
from benchmarks.pages import read
from benchmarks.reproduction import keep

from untrue.lab.records import DatasetInfo
from untrue.lab.store import Store
from untrue.report.runs.rows import collect, to_csv


@pytest.fixture
def store(tmp_path: Path, fill, things: DatasetInfo) -> Path:
    fill(tmp_path / "runs", "exits", things, repetitions=3)
    return tmp_path / "runs"


@pytest.fixture
def rows(store: Path) -> list[Mapping[str, str]]:
    with Store.read(store) as opened:
        (collected,) = collect(opened)
    return list(csv.DictReader(io.StringIO(to_csv(collected.rows))))


def cells(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def values(rows: list[Mapping[str, str]], measure: str, **wanted: str) -> list[float]:
    kept = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return [float(row[measure]) for row in sorted(kept, key=lambda row: int(row["seed"]))]


GROWING = {"loss": "bilinear", "exit_costs": "text", "decision": "argmax"}
PLAIN = {"loss": "cross-entropy", "exits": "3", "decision": "argmax"}


def test_rows_tables_and_figures_are_kept_and_the_store_stays_as_it_is(
    store: Path, rows: list[Mapping[str, str]], tmp_path: Path
) -> None:
    def content() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in store.iterdir()}

    before, kept = content(), tmp_path / "kept"
    keep(store, kept)
    assert content() == before
    assert read(kept / "rows.csv") == rows
    assert {path.suffix for path in kept.iterdir()} == {".csv", ".md", ".png", ".sqlite"}
    page = exits.PAGE.path.read_text()
    for path in kept.glob("*.png"):
        name = path.name.split("-", 2)[2]
        assert f"(exits/exits-cifar100-{name})" in page


def test_every_variant_stands_at_every_exit(rows: list[Mapping[str, str]]) -> None:
    found = cells(exits.by_exit(rows))
    assert [line[:2] for line in found] == [
        ["one exit, cross-entropy", "only"],
        *[["cross-entropy at every exit", str(n)] for n in (1, 2, 3)],
        *[["final penalty at every exit", str(n)] for n in (1, 2, 3)],
        *[["A(l): inside costs l/k", str(n)] for n in (1, 2, 3)],
        *[["soft labels, softer at early exits", str(n)] for n in (1, 2, 3)],
    ]
    second = values(rows, "coarse_error_pct", **GROWING, exit="2")
    assert len(second) == 3
    half = 4.302652729911275 * np.std(second, ddof=1) / np.sqrt(3)  # Student's, of three
    assert found[8][4] == f"{np.mean(second):.2f} ± {half:.2f}"
    assert "15 models, repetitions 3" in exits.by_exit(rows)


def test_differences_are_paired_and_judged_by_their_intervals(
    rows: list[Mapping[str, str]],
) -> None:
    found = {tuple(line[:3]): line[3:] for line in cells(exits.differences(rows))}
    assert len(found) == 3 * 3 + 3 + 1
    gaps = np.subtract(
        values(rows, "total_error_pct", **GROWING, exit="1"),
        values(rows, "total_error_pct", **PLAIN, exit="1"),
    )
    half = 4.302652729911275 * np.std(gaps, ddof=1) / np.sqrt(3)
    shown = found["A(l): inside costs l/k", "cross-entropy at every exit", "1"][0]
    word = "may be chance" if abs(gaps.mean()) <= half else "worse" if gaps.mean() > 0 else "better"
    assert shown == f"{gaps.mean():+.2f} ± {half:.2f}, {word}"
    assert ("cross-entropy at every exit", "one exit, cross-entropy", "3") in found


@pytest.mark.parametrize(
    ("measure", "changes", "word"),
    [
        ("coarse_error_pct", (1.0, 1.1, 0.9), "worse"),
        ("coarse_error_pct", (-1.0, -1.1, -0.9), "better"),
        ("errors_in_superclass_pct", (1.0, 1.1, 0.9), "better"),
        ("errors_in_superclass_pct", (1.0, -1.1, 0.9), "may be chance"),
    ],
)
def test_a_word_says_whether_a_difference_is_more_than_chance(
    measure: str, changes: tuple[float, ...], word: str
) -> None:
    before = [{"seed": str(seed), measure: "50"} for seed in range(3)]
    after = [{"seed": str(seed), measure: str(50 + c)} for seed, c in enumerate(changes)]
    assert exits._judged_change(after, before, measure).endswith(f", {word}")
    alone = exits._judged_change(after[:1], before[:1], measure)
    assert alone == f"{changes[0]:+.2f}"


def test_stopping_shows_what_each_threshold_saves_and_costs(rows: list[Mapping[str, str]]) -> None:
    found = cells(exits.stopping(rows))
    alone = [line for line in found if line[0] == "one exit, cross-entropy"]
    costs = values(rows, "expected_cost", loss="cross-entropy", exits="1", decision="least-cost")
    assert len(alone) == 1
    assert alone[0][3].startswith(f"{np.mean(costs):.3f}")
    stops = [line for line in found if line[0].startswith("A(l)")]
    assert [line[1] for line in stops] == ["0", "0.4", "5"]
    stop = {"decision": "early-exit", "threshold": "0.4"}
    saved = values(rows, "saved_pct", **{**GROWING, **stop})
    assert stops[1][2].startswith(f"{np.mean(saved):.1f}")


def test_what_can_be_saved_is_the_most_within_one_percent_of_the_cost(
    rows: list[Mapping[str, str]],
) -> None:
    for name, threshold, saved, cost in cells(exits.saving(rows)):
        (variant,) = [each for each in exits.variants(rows) if each.name == name]
        by_threshold: dict[float, list[float]] = {}
        for row in variant.rows(rows, decision="early-exit"):
            by_threshold.setdefault(float(row["threshold"]), []).append(float(row["expected_cost"]))
        means = {each: float(np.mean(costs)) for each, costs in by_threshold.items()}
        within = [each for each, mean in means.items() if mean <= 1.01 * means[0.0]]
        assert float(threshold) == max(within)
        assert cost == f"{means[max(within)]:.3f}, at the last exit {means[0.0]:.3f}"
        assert saved


def test_seconds_are_shown_as_ratios() -> None:
    row = {"what": "one exit", "stop_at_1_pct": "0", "stop_at_2_pct": "0", "saved_pct": "0.0"}
    row |= {"times_last": "1.03", "times_one": "1.00", "images": "4096", "hardware": "a core"}
    table = exits.seconds([row])
    assert cells(table) == [["one exit", "0", "0", "0.0", "1.03", "1.00"]]
    assert table.endswith("4,096 images, a core.\n")
