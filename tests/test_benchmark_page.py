"""What docs/benchmarks.md says of the choice for KDD Cup 1999, and how its tables are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks import cost_tables, record
from benchmarks.pages import read

from untrue.penalty import ExamplePenalty


def test_the_choice_of_the_page_is_the_one_that_was_written_down() -> None:
    import json

    choice = json.loads((record.RESULTS / "kdd99-choice.json").read_text())
    (kept,) = [row for row in read(record.RESULTS / "kdd99.csv") if row["chosen"] == "True"]
    assert kept["loss"] == choice["training"]["loss"]
    assert float(kept["alpha"]) == choice["training"]["alpha"]
    assert int(kept["rounds"]) == choice["rounds"]
    assert kept["decision"] == choice["decision"]


def test_what_the_page_says_of_other_weighings_is_in_the_held_out_costs() -> None:
    page = cost_tables.PAGE.path.read_text()
    normal: dict[str, float] = {}
    half: dict[str, float] = {}
    for row in read(record.RESULTS / "kdd99-held-out.csv"):
        kinds = {
            k: float(v) for k, v in row.items() if k not in ("candidate", "hardware", "versions")
        }
        normal[row["candidate"]] = kinds.pop("normal")
        half[row["candidate"]] = (normal[row["candidate"]] + sum(kinds.values()) / len(kinds)) / 2
    assert len(kinds) + 1 == 23
    assert sum(cost < 0.002 for cost in normal.values()) == len(normal) - 2 == 100
    assert round(normal["bilinear 0.8, all rows, 30 rounds, posterior"], 2) == 1.0
    best = min(half, key=half.__getitem__)
    assert best == "log-bilinear 0.2, distinct rows, 60 rounds, least cost"
    free = half["cross-entropy, distinct rows, 60 rounds, least cost"]
    assert f"({half[best]:.4f} held out; cross-entropy with the free rule {free:.4f})" in page


def test_a_table_of_credit_is_sorted_and_paired() -> None:
    def row(method: str, mean: float, change: float) -> dict[str, str]:
        numbers = {"mean_cost": mean, "low": mean - 0.1, "high": mean + 0.1, "difference": change}
        numbers |= {"difference_low": change - 0.05, "difference_high": change + 0.05}
        texts = {"method": method, "reference": "a", "repetitions": "2", "folds": "10"}
        return texts | {name: str(value) for name, value in numbers.items()}

    lines = cost_tables.german_table([row("a", 0.6, 0.0), row("b", 0.5, -0.1)]).splitlines()
    assert lines[2] == "| b | 0.500 | 0.400 to 0.600 | -0.100 (-0.150 to -0.050) |"
    assert lines[3] == "| a | 0.600 | 0.500 to 0.700 |  |"
    assert lines[4].startswith("| linear discriminant (Statlog) | 0.535 |")


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-9.0, -1.0, "**helps the free rule**"),
        (-9.0, 1.0, "**not shown to help the free rule**"),
        (1.0, 9.0, "**harms the free rule**"),
    ],
)
def test_what_costs_by_row_add_is_said_by_the_interval(low: float, high: float, words: str) -> None:
    middle = {"twin_difference": str((low + high) / 2)}
    change = {**middle, "twin_difference_low": str(low), "twin_difference_high": str(high)}
    rows = [
        {"method": "by class", "twin": "", "reference": "by class"},
        {"method": "by row", "twin": "by class", "reference": "by class", **change},
    ]
    found = cost_tables.by_row_sentence(rows)
    assert words in found
    assert f"({low:+.1f} to {high:+.1f})" in found


def test_in_one_design_the_amount_cancels_and_in_the_other_it_does_not() -> None:
    from benchmarks.example_costs import BAD, DESIGNS, GOOD

    from untrue.lab.data.tables import GERMAN_COLUMNS, GERMAN_TEXT, TableData, official_costs
    from untrue.tools.reading.features import Features, Schema

    numbers = tuple(name for name in GERMAN_COLUMNS if name not in GERMAN_TEXT)
    values = np.ones((2, len(numbers)))
    values[:, numbers.index("attribute_5")] = 300.0, 9000.0
    values[:, numbers.index("attribute_2")] = 12.0
    rows = Features.of(Schema(numbers, ()), values, np.empty((2, 0), dtype=object))
    labels = np.array([0, 1])
    data = TableData("german", rows, labels, ("1", "2"), None, None, official_costs("german"))
    grow, fixed = (design.each(data) for design in DESIGNS)
    bad, good = (tuple(data.penalty.classes.index(str(name)) for name in c) for c in (BAD, GOOD))

    def ratio(each: ExamplePenalty) -> Any:
        both = [each.costs(*(np.full(2, c) for c in cell)) for cell in (bad, good)]
        return both[0] / both[1]

    assert np.ptp(ratio(grow)) == pytest.approx(0.0)
    np.testing.assert_allclose(ratio(fixed), [0.75 * 300 / 200, 0.75 * 9000 / 200])
