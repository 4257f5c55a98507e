"""docs/benchmarks.md shows what was measured."""

from __future__ import annotations

import pytest
from benchmarks import cost_tables, record


@pytest.mark.parametrize("name", cost_tables.TABLES)
def test_the_page_has_the_results_as_they_are(name: str) -> None:
    page = cost_tables.PAGE.read_text()
    assert f"<!-- {name}: begin -->" in page
    assert cost_tables.replaced(page, name) == page, "run `python -m benchmarks.cost_tables`"


def test_the_choice_of_the_page_is_the_one_that_was_written_down() -> None:
    import json

    choice = json.loads((record.RESULTS / "kdd99-choice.json").read_text())
    (kept,) = [row for row in cost_tables.results("kdd99") if row["chosen"] == "True"]
    assert kept["loss"] == choice["training"]["loss"]
    assert float(kept["alpha"]) == choice["training"]["alpha"]
    assert int(kept["rounds"]) == choice["rounds"]
    assert kept["decision"] == choice["decision"]


def test_what_the_page_says_of_other_weighings_is_in_the_held_out_costs() -> None:
    page = cost_tables.PAGE.read_text()
    normal: dict[str, float] = {}
    half: dict[str, float] = {}
    for row in cost_tables.results("kdd99-held-out"):
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
