"""The words and figures of a fit's page."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from untrue import Penalty
from untrue.metrics import Interval
from untrue.report.document.page import render
from untrue.report.own import fit as fit_page
from untrue.tools.fitting.fit import fit
from untrue.tools.fitting.result import FitResult
from untrue.tools.reading.opening import open_source


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> FitResult:
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("fit") / "d.npz"
    y = rng.integers(3, size=200)
    np.savez(path, X=rng.normal(size=(200, 4)) + y[:, None], y=y)
    costs = Penalty.from_rules(3, {("2", "1"): 9.0})
    return fit(open_source(path), penalty=costs, epochs=8, learning_rate=0.01)


def changed(found: FitResult, low: float, high: float) -> FitResult:
    """The same with another interval of the change in cost."""
    variant = found.variants[found.chosen]
    assert variant.change is not None
    cost = Interval((low + high) / 2, low, high, 0.95)
    new = dataclasses.replace(
        variant, change=dataclasses.replace(variant.change, expected_cost=cost)
    )
    variants = [new if each is variant else each for each in found.variants]
    return dataclasses.replace(found, variants=tuple(variants))


def test_the_finding_follows_the_interval(found: FitResult) -> None:
    assert "the new loss lowers the cost." in fit_page.lead(changed(found, -2, -1))
    assert "the new loss raises the cost here." in fit_page.lead(changed(found, 1, 2))
    assert "show no clear difference." in fit_page.lead(changed(found, -1, 2))


def costing(found: FitResult, *costs: float) -> FitResult:
    """The same with other costs of an answer, one for each row."""
    variants = [
        dataclasses.replace(each, summary=dataclasses.replace(each.summary, expected_cost=cost))
        for each, cost in zip(found.variants, costs, strict=True)
    ]
    return dataclasses.replace(found, variants=tuple(variants))


@pytest.mark.parametrize(
    ("costs", "advice"),
    [
        ((4.0, 3.0, 2.0, 1.0), " Bilinear, alpha 0.5 + least cost is the cheapest here, at 1: "
         "predict with `--decide cost`."),
        ((4.0, 1.0, 3.0, 2.0), " Cross-entropy + least cost is the cheapest here, at 1: "
         "fit with `--loss cross-entropy`, then predict with `--decide cost`."),
        ((1.0, 2.0, 3.0, 4.0), " Cross-entropy is the cheapest here, at 1: "
         "fit with `--loss cross-entropy`."),
        ((2.0, 1.0, 1.0, 1.0), " Cross-entropy + least cost costs as little: "
         "fit with `--loss cross-entropy`, then predict with `--decide cost`."),
    ],
)  # fmt: skip
def test_the_advice_is_the_cheapest_row_and_its_options(
    found: FitResult, costs: tuple[float, ...], advice: str
) -> None:
    assert fit_page.lead(costing(found, *costs)).endswith(advice)


def test_no_advice_where_the_model_in_the_folder_is_the_cheapest(found: FitResult) -> None:
    assert "--" not in fit_page.lead(costing(found, 2.0, 2.0, 1.0, 1.0))


def test_a_plain_model_is_told_of_the_decision_too(found: FitResult) -> None:
    plain = costing(dataclasses.replace(found, variants=found.variants[:2], chosen=0), 2.0, 1.0)
    assert fit_page.lead(plain).endswith("at 1: predict with `--decide cost`.")


def test_the_model_that_is_kept_stands_out(found: FitResult) -> None:
    table = fit_page.variants_table(found)
    assert [row[0] for row in table.rows] == [
        "cross-entropy",
        "cross-entropy + least cost",
        "bilinear, alpha 0.5 *",
        "bilinear, alpha 0.5 + least cost",
    ]
    assert table.see.endswith("* is the model in the folder.")
    assert table.strong == {2}
    changes = fit_page.changes_table(found)
    assert changes is not None
    assert [changes.rows[i][0] for i in changes.strong] == ["bilinear, alpha 0.5 *"]
    assert len(changes.rows) == 3


def test_before_and_after_count_the_same_errors(found: FitResult) -> None:
    figure = fit_page._change_figure(found, found.variants[0], found.variants[2])
    after = found.variants[2].confusion
    for row in figure.rows:
        true, predicted = (int(part) for part in row.name.split(" → "))
        cell = (after.true == true) & (after.predicted == predicted)
        assert row.after == after.count[cell].sum()


def test_epochs_are_whole_numbers(found: FitResult) -> None:
    ran = len(found.history.validation)
    assert fit_page._losses(found).x.ticks == tuple(range(1, ran + 1))
    long = dataclasses.replace(found.history, validation=(1.0,) * 50)
    assert fit_page._losses(dataclasses.replace(found, history=long)).x.ticks == ()


def test_a_page_without_a_baseline_compares_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    np.savez(tmp_path / "d.npz", X=rng.normal(size=(60, 2)) + y[:, None], y=y)
    alone = fit(
        open_source(tmp_path / "d.npz"),
        penalty=None,
        loss="cross-entropy",
        epochs=3,
    )
    alone = dataclasses.replace(alone, variants=alone.variants[:1])
    assert fit_page.changes_table(alone) is None
    page = render(fit_page.fit_page(alone))
    assert "Before and after" not in page
    assert "The zone: the mistakes that cost anything." in page


def test_the_numbers_for_other_programs_are_those_shown(found: FitResult) -> None:
    numbers = fit_page.metrics(found)
    assert numbers["test"] == found.sizes[2]
    assert [variant["name"] for variant in numbers["variants"]] == [
        variant.name for variant in found.variants
    ]
    assert "change" not in numbers["variants"][0]
    kept = numbers["variants"][2]["change"]["expected_cost"]
    assert kept["low"] <= kept["value"] <= kept["high"]
