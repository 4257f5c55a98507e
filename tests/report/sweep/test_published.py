"""The paper's numbers inside the package are the paper's numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from untrue.report.sweep.published import published, published_value

ORIGINAL = Path(__file__).parents[3] / "../shared/paper/published_tables.csv"


def test_numbers_of_each_table() -> None:
    find = published_value
    hierarchy, small = "cifar100_hierarchy", "cifar100_small_sample"
    assert find(hierarchy, "total_error_pct", loss="bilinear", alpha=0.5) == 36.93
    assert find(hierarchy, "coarse_error_pct", loss="log-bilinear", alpha=0.95) == 30.31
    assert find(hierarchy, "errors_in_superclass_pct", loss="log-bilinear", alpha=0.9) == 38.87
    metric = "small_class_superclass_accuracy_pct"
    assert find(small, metric, loss="bilinear", alpha=0.5, small_count=10) == 50.14
    assert find(small, "accuracy_pct", loss="bilinear", alpha=0.0, small_count=0) == 54.92
    assert find("masked_zone_mnist", "total_error_pct", loss="bilinear", alpha=0.0) == 0.8


def test_what_the_paper_does_not_say_is_none() -> None:
    assert (
        published_value("cifar100_hierarchy", "total_error_pct", loss="bilinear", alpha=0.3) is None
    )
    assert (
        published_value("digits_hierarchy", "total_error_pct", loss="bilinear", alpha=0.5) is None
    )


def test_all_of_both_tables_is_there_and_each_number_has_a_source() -> None:
    numbers = published()
    assert len([n for n in numbers if n.experiment == "cifar100_hierarchy"]) == 2 * 8 * 3
    assert len([n for n in numbers if n.experiment == "cifar100_small_sample"]) == 3 * 3 * 3
    assert all(n.source for n in numbers)


@pytest.mark.skipif(not ORIGINAL.is_file(), reason="the paper's tables are not beside the clone")
def test_nothing_was_lost_in_copying() -> None:
    with ORIGINAL.open(newline="") as file:
        original = list(csv.DictReader(file))
    ours = {(n.experiment, n.loss, n.alpha, n.small_count, n.metric): n.value for n in published()}
    for row in original:
        count = row["samples_per_small_class"]
        key = (
            row["experiment"],
            row["loss"].replace("_", "-"),
            float(row["alpha"]),
            int(count) if count else None,
            row["metric"],
        )
        assert ours[key] == float(row["value"])
