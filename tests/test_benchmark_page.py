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
