"""The slider over alpha on the page of a sweep: what it shows, and in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.browser import KEYS, MISSING, Browser

from untrue.errors import ArgumentError
from untrue.lab.records import DatasetInfo, Sweep
from untrue.lab.store import Store
from untrue.report.document.confusion_figure import ConfusionFigure, Panel
from untrue.report.document.page import Page, Section, write
from untrue.report.document.steps import ConfusionSteps, SliderStep
from untrue.report.runs.arms import Arm, Arms
from untrue.report.runs.chapters import runs
from untrue.report.runs.rows import Collected, collect
from untrue.report.sweep.alpha_slider import hierarchy_slider, zone_slider

Fill = Callable[..., Sweep]
LOSSES = ("bilinear", "log-bilinear")


def collected(folder: Path) -> Collected:
    with Store.read(folder) as store:
        return collect(store)[0]


@pytest.fixture
def zones(zone_store: Path) -> Collected:
    return collected(zone_store)


def test_every_alpha_is_a_step_with_both_losses(zones: Collected) -> None:
    found = zone_slider(zones, Arms(zones.rows), 6)
    assert found is not None
    assert [step.name for step in found.steps] == ["0", "0.5", "0.9"]
    assert [panel.title for panel in found.figure.panels] == list(LOSSES) * 3
    before = runs(zones, Arm("cross-entropy", 0.0, "argmax"))
    seed = min(before)
    for place, loss in enumerate(LOSSES):
        assert np.array_equal(found.figure.panels[place].values, before[seed].confusion)
        after = runs(zones, Arm(loss, 0.9, "argmax", zone_size=6))[seed].confusion
        assert np.array_equal(found.figure.panels[4 + place].values, after)
        assert found.figure.zone is not None
        inside, errors = after[found.figure.zone].sum(), after.sum() - after.trace()
        assert f"{loss}: {inside} of {errors} errors are in the zone" in found.steps[2].sentence


def test_only_what_every_loss_has_finished_is_a_step(
    fill: Fill, digits: DatasetInfo, tmp_path: Path
) -> None:
    def late(config: object) -> bool:
        return getattr(config, "alpha", 0) == 0.9 and getattr(config, "loss", "") == "bilinear"

    options = {"zone_size": (3,), "repetitions": 2}
    fill(tmp_path / "some", "demo", digits, skip=late, alpha=(0.0, 0.5, 0.9), **options)
    zones = collected(tmp_path / "some")
    found = zone_slider(zones, Arms(zones.rows), 3)
    assert found is not None
    assert [step.name for step in found.steps] == ["0", "0.5"]
    # One loss has nothing at all: the other is shown alone. Nothing of either: no slider.
    fill(tmp_path / "one", "demo", digits, skip=late, alpha=(0.0, 0.9), **options)
    zones = collected(tmp_path / "one")
    found = zone_slider(zones, Arms(zones.rows), 3)
    assert found is not None
    assert [panel.title for panel in found.figure.panels] == ["log-bilinear"] * 2
    fill(tmp_path / "none", "demo", digits, skip=lambda c: c.alpha > 0, alpha=(0.0, 0.9), **options)
    zones = collected(tmp_path / "none")
    assert zone_slider(zones, Arms(zones.rows), 3) is None


def test_a_hierarchy_adds_its_repetitions_up(
    fill: Fill, things: DatasetInfo, tmp_path: Path
) -> None:
    fill(tmp_path / "runs", "hierarchy", things, alpha=(0.0, 0.5), repetitions=2)
    trees = collected(tmp_path / "runs")
    found = hierarchy_slider(trees, Arms(trees.rows))
    assert found is not None
    assert [step.name for step in found.steps] == ["0", "0.5"]
    after = runs(trees, Arm("bilinear", 0.5, "argmax"))
    summed = sum(result.confusion for result in after.values())
    assert np.array_equal(found.figure.panels[2].values, summed)
    assert "errors stay in the right super-class" in found.steps[1].sentence


def test_steps_share_out_the_panels() -> None:
    figure = ConfusionFigure("t", "see", ("a", "b"), (Panel("x", np.eye(2)),) * 3)
    with pytest.raises(ArgumentError, match="must share out the 3 panels evenly; got 2"):
        ConfusionSteps(figure, "alpha", (SliderStep("0", ""), SliderStep("1", "")))
    with pytest.raises(ArgumentError, match="`first` must be one of 3 steps, from 0; got 3"):
        ConfusionSteps(figure, "alpha", (SliderStep("0", ""),) * 3, first=3)


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.parametrize("width", [1280, 390])
def test_the_slider_moves_both_matrices(width: int, zones: Collected, tmp_path: Path) -> None:
    found = zone_slider(zones, Arms(zones.rows), 6)
    assert found is not None
    page = Page("A sweep", "Its lead.", (Section("Where the errors went", (found,)),))
    path = write(page, tmp_path / "page.html")
    numbers = (
        "return [...document.querySelectorAll('.plot')].map(place => place.data[0].z"
        ".map((row, i) => row.map((value, j) => i === j ? 0 : value)))"
    )
    with Browser(width=width) as browser:
        browser.open(path)
        browser.click(".stepper")
        browser.run("document.querySelector('.stepper input').focus()")
        browser.type(KEYS["home"])
        for i, step in enumerate(found.steps):
            shown = browser.run(numbers)
            assert len(shown) == 2
            for place in range(2):
                values = found.figure.panels[2 * i + place].values
                assert np.array_equal(shown[place], values * (1 - np.eye(4)))
            texts = browser.run(
                "return [document.querySelector('output').textContent,"
                " document.querySelector('.step-sentence').textContent]"
            )
            assert texts == [step.name, step.sentence]
            browser.type(KEYS["right"])
        seen = browser.run(
            "return [document.documentElement.scrollWidth, document.querySelectorAll('svg').length]"
        )
    assert seen[0] == width
    assert seen[1] > 0
