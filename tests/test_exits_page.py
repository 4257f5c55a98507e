"""What docs/exits.md says in words is what its rows have."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import exits
from benchmarks.pages import read

from untrue.report.sweep.exits import MEASURES, NAMES, ONE, PLAIN

ROWS = read(exits.ROWS)
PAGE = " ".join(exits.PAGE.path.read_text().split())
GROWING, FINAL, SOFT = NAMES["text"], NAMES["same"], NAMES["soft"]
TOTAL, COARSE, INSIDE = (measure for measure, _, _ in MEASURES)
AT = {(name, number): here for name, number, here in exits._each_exit(ROWS)}


def mean(name: str, number: str, measure: str) -> float:
    return float(np.mean(list(exits._by_seed(AT[name, number], measure).values())))


def judged(one: str, other: str, number: str, measure: str) -> str:
    change = exits._judged_change(AT[one, number], AT[other, number], measure)
    return change.rpartition(", ")[2]


def cost(name: str, threshold: float | None = None) -> float:
    (variant,) = [each for each in exits.variants(ROWS) if each.name == name]
    rows = variant.rows(ROWS, decision="least-cost")
    if threshold is not None:
        rows = exits._stop(variant, ROWS, threshold)
    return float(np.mean(list(exits._by_seed(rows, "expected_cost").values())))


def test_the_run_is_whole() -> None:
    assert {row["scale"] for row in ROWS} == {"desk"}
    assert {row["epochs_run"] for row in ROWS} == {"8"}
    assert {len(exits._by_seed(here, TOTAL)) for here in AT.values()} == {3}
    assert "after 8 epochs" in PAGE
    assert "three repetitions" in PAGE
    assert f"The table has {3 * len(_differences())} differences" in PAGE


def _differences() -> list[str]:
    return [line for line in exits.differences(ROWS).splitlines()[2:] if line.startswith("| ")]


@pytest.mark.parametrize("number", ["1", "2", "3"])
def test_a_of_l_helps_at_no_exit(number: str) -> None:
    for measure in (TOTAL, COARSE):
        assert judged(GROWING, PLAIN, number, measure) == "worse"
    assert judged(GROWING, PLAIN, number, INSIDE) != "better"
    assert judged(GROWING, FINAL, number, TOTAL) == "may be chance"
    for measure in (COARSE, INSIDE):
        expected = "may be chance" if number == "1" else "worse"
        assert judged(GROWING, FINAL, number, measure) == expected


def test_by_how_much_a_of_l_is_worse() -> None:
    shown = []
    for measure in (TOTAL, COARSE):
        lost = [mean(GROWING, n, measure) - mean(PLAIN, n, measure) for n in ("1", "2", "3")]
        shown.append(f"{min(lost):.1f} to {max(lost):.1f} points")
    assert f"{shown[0]} in all and {shown[1]} across super-classes" in PAGE


def test_soft_labels_change_little() -> None:
    found = {
        (number, measure): judged(SOFT, PLAIN, number, measure)
        for number in ("1", "2", "3")
        for measure in (TOTAL, COARSE, INSIDE)
    }
    assert found.pop(("3", COARSE)) == "better"
    assert found.pop(("1", TOTAL)) == "worse"
    assert set(found.values()) == {"may be chance"}
    fewer = mean(PLAIN, "3", COARSE) - mean(SOFT, "3", COARSE)
    more = mean(SOFT, "1", TOTAL) - mean(PLAIN, "1", TOTAL)
    assert f"the last exit makes {fewer:.1f} points fewer coarse errors" in PAGE
    assert f"the first {more:.1f} points more errors in all" in PAGE


def test_several_exits_cost_the_last() -> None:
    lost = mean(PLAIN, "3", TOTAL) - mean(ONE, exits.ONLY, TOTAL)
    assert f"{lost:.1f} points of error against the network with one" in PAGE
    for name in (GROWING, FINAL, SOFT):
        assert abs(mean(name, "3", TOTAL) - mean(PLAIN, "3", TOTAL)) < lost


def test_what_stopping_early_saves() -> None:
    (line,) = [each for each in exits.saving(ROWS).splitlines() if each.startswith(f"| {PLAIN}")]
    saved = float(line.split("|")[3].split("±")[0])
    assert f"{saved:.0f} % of the multiplications are saved (cross-entropy" in PAGE
    less = 100 * (1 - cost(ONE) / cost(PLAIN, 0.0))
    assert f"an answer of the network with one exit costs {less:.0f} % less" in PAGE
    assert all(cost(ONE) < cost(name, 0.0) for name in (PLAIN, GROWING, FINAL, SOFT))


def test_what_is_saved_in_seconds() -> None:
    rows = read(exits.PAGE.sources["seconds"].rows)
    shown = [(float(row["saved_pct"]), 100 * (1 - float(row["times_last"]))) for row in rows[2:]]
    assert all(seconds < work for work, seconds in shown)
    (few, some), *_, (many, most) = shown
    text = (
        f"{few:.0f} % of the multiplications are {some:.0f} % of the seconds, "
        f"{many:.0f} % are {most:.0f} %"
    )
    assert text in PAGE
