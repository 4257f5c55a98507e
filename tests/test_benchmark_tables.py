"""How the tables of docs/kernels.md are made, and that a part can be measured again."""

from __future__ import annotations

import csv

from benchmarks import losses, record, tables


def test_a_table_has_a_line_for_each_size_and_form_and_the_best_by_hand() -> None:
    def row(loss: str, times: float, k: int = 10) -> dict[str, str]:
        return {"classes": str(k), "batch": "128", "loss": loss, "times_cross_entropy": str(times)}

    table = tables.table_of_losses(
        [
            row("cross-entropy", 1.0),
            row("by hand: softmax times A[y]", 3.0),
            row("by hand: one-hot times A", 2.5),
            row("dense bilinear, native", 0.456),
            row("dense log-bilinear, torch", 4.0),
            row("tree bilinear, native", 0.7, k=10_000),
        ]
    )
    assert table.splitlines()[2:] == [
        "| dense | 10 | 128 | 2.50 |  |  | 0.46 |  |  | 4.00 |  |",
        "| tree | 10,000 | 128 |  |  |  | 0.70 |  |  |  |  |",
    ]
    assert tables.table_of_losses([]) == "Not measured yet.\n"


def test_measuring_a_part_keeps_the_rest(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    old = {"classes": 10, "batch": 128, "loss": "x", "times_cross_entropy": 2.0, "hardware": "old"}
    record.write("losses", [old, {**old, "classes": 100}])
    losses.write([{**old, "classes": 10, "times_cross_entropy": 1.0, "hardware": "new"}])
    with (tmp_path / "losses.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["classes"], row["times_cross_entropy"], row["hardware"]) for row in rows] == [
        ("10", "1.0", "new"),
        ("100", "2.0", "old"),
    ]
