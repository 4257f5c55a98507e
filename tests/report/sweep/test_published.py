"""The paper's numbers inside the package are the paper's numbers."""

from __future__ import annotations

import pytest

from untrue.report.sweep.published import published, published_value


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


@pytest.mark.parametrize(
    ("experiment", "metric", "count", "total"),
    [
        ("cifar100_hierarchy", "total_error_pct", 16, 635.07),
        ("cifar100_hierarchy", "coarse_error_pct", 16, 413.47),
        ("cifar100_hierarchy", "errors_in_superclass_pct", 16, 548.48),
        ("cifar100_small_sample", "accuracy_pct", 9, 492.44),
        ("cifar100_small_sample", "small_class_accuracy_pct", 9, 82.58),
        ("cifar100_small_sample", "small_class_superclass_accuracy_pct", 9, 468.16),
    ],
)
def test_each_column_adds_up_to_the_sum_of_the_printed_one(
    experiment: str, metric: str, count: int, total: float
) -> None:
    column = [n.value for n in published() if (n.experiment, n.metric) == (experiment, metric)]
    assert len(column) == count
    assert sum(column) == pytest.approx(total, abs=1e-6)
