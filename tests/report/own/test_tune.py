"""The words and figures of a tuning's page follow its numbers."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from untrue import Penalty
from untrue.report.document.figures import Curves
from untrue.report.document.page import render
from untrue.report.own import tune as tune_page
from untrue.tools.tuning.result import TuneResult
from untrue.tools.tuning.tune import tune
from untrue.tools.writing import plain

CLASSES = ["<script>alert(1)</script>", "benign"]


@pytest.fixture(scope="module")
def found() -> TuneResult:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    costs = Penalty.from_rules(CLASSES, {tuple(CLASSES): 3.0})
    budget = f'"{CLASSES[0]}"->benign <= 5%'
    return tune(
        rng.normal(size=(2000, 3)) + 1.2 * y[:, None],
        y,
        budgets=budget,
        penalty=costs,
        max_accuracy_drop=20.0,
        classes=CLASSES,
        model="linear",
        epochs=8,
        learning_rate=0.02,
        repetitions=2,
        trials=1,
    )


def not_kept(found: TuneResult, why: str = "No rule can be shown to keep it.") -> TuneResult:
    """The same where no rule passed."""
    guarantee = dataclasses.replace(found.guarantee, holds=False)
    return dataclasses.replace(found, guarantee=guarantee, why=why)


def test_the_finding_follows_the_test(found: TuneResult) -> None:
    assert found.kept
    held_out = found.sizes[1]
    sentence = f"it holds for new cases like these, as tested on {held_out} held-out examples."
    assert sentence in tune_page.lead(found)
    assert tune_page.budgets_table(found).rows[0][1] == "kept"
    none = not_kept(found)
    assert tune_page.lead(none).startswith("No rule can be shown to keep it. The closest loses ")
    assert "marked as not keeping its budgets" in tune_page.lead(none)
    assert tune_page.budgets_table(none).rows[0][1] == "within, by itself"
    verdict = found.verdicts[0]
    plain = dataclasses.replace(verdict, held_out=verdict.plain)
    broken = dataclasses.replace(none, verdicts=(plain,))
    assert tune_page.budgets_table(broken).rows[0][1] == "broken"


def test_the_figure_has_every_setting_the_limits_and_the_chosen_one(found: TuneResult) -> None:
    figure = tune_page._frontier(found, 0)
    series = {each.name: each for each in figure.series}
    assert {point.y for point in series["limit"].points} == {5.0}
    least = 100 * found.trials[0].accuracy - 20.0
    assert [point.x for point in series["least accuracy"].points] == [pytest.approx(least)] * 2
    points = [
        p for name in series if name not in ("limit", "least accuracy") for p in series[name].points
    ]
    ringed = [point for point in points if point.marked]
    assert [point.y for point in ringed] == [100 * found.trial.verdicts[0].upper]
    more = found.trial not in found.trials
    assert len(points) == sum(trial.drop <= 60 for trial in found.trials) + more


def test_the_page_has_the_path_that_was_tested(found: TuneResult) -> None:
    figure = tune_page.tested_path(found.guarantee)[0]
    assert isinstance(figure, Curves)
    passed = {each.name: each for each in figure.series}["passed"]
    assert len(passed.points) == sum(rule.passed for rule in found.guarantee.tested)
    assert sum(point.marked for point in passed.points) == 1


def test_the_steps_tell_the_order_and_what_is_kept(found: TuneResult) -> None:
    lines = tune_page.steps(found)
    assert lines[0].startswith("1. The plain model: ")
    assert "chance to be shown 0 %" in lines[0]
    assert sum("The held-out part tested the rules of this model." in line for line in lines) == 1
    assert lines[-1] == "It ended because a setting is likely to be shown."


def test_names_are_shown_and_never_run(found: TuneResult) -> None:
    page = render(tune_page.tune_page(found))
    assert CLASSES[0] not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "http" not in page.replace("http-equiv", "").partition("<script")[0]


def test_the_numbers_for_other_programs_are_plain_json(found: TuneResult) -> None:
    lines = json.loads(json.dumps(plain(tune_page.metrics(found)), allow_nan=False))
    assert lines["setting"] == found.setting.name
    assert lines["budgets"][0]["held_out"]["errors"] == found.verdicts[0].held_out.errors
    assert len(lines["trials"]) == len(found.trials)


def test_the_first_sentence_names_the_price(found: TuneResult) -> None:
    before = 100 * (found.accuracy - found.change.value)
    wanted = f"points of accuracy ({before:.1f} % to {100 * found.accuracy:.1f} %)"
    sentence = re.split(r"(?<=[a-z)])[.:] ", tune_page.lead(found))[0]
    assert wanted in sentence
    assert re.search(r"(loses|gains) \d+\.\d points", sentence)
    # Where nothing is kept, right after the reason.
    assert wanted in re.split(r"(?<=[a-z)])\. ", tune_page.lead(not_kept(found)))[1]
    same = dataclasses.replace(found, change=dataclasses.replace(found.change, value=0.0))
    assert tune_page.price(same) == f"loses no accuracy ({100 * found.accuracy:.1f} %, as before)"
