"""The words and figures of a tuning's page follow its numbers."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from untrue import Penalty
from untrue.report.document.page import render
from untrue.report.own import tune as tune_page
from untrue.tools.reading.json_numbers import plain
from untrue.tools.tuning.result import TuneResult
from untrue.tools.tuning.tune import tune

CLASSES = ["<script>alert(1)</script>", "benign"]


@pytest.fixture(scope="module")
def found() -> TuneResult:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1200)
    costs = Penalty.from_rules(CLASSES, {tuple(CLASSES): 3.0})
    budget = f'"{CLASSES[0]}"->benign <= 5%'
    return tune(
        rng.normal(size=(1200, 3)) + 1.2 * y[:, None],
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


def with_errors(found: TuneResult, errors: int) -> TuneResult:
    """The same with another count on the held-out part, and what follows from it."""
    verdict = found.verdicts[0]
    of = verdict.held_out.of
    cm = np.diag([of, 10])
    cm[0] = [of - errors, errors]
    held = found.budgets[0].judge(cm)
    new = dataclasses.replace(verdict, held_out=held)
    return dataclasses.replace(found, verdicts=(new,), kept=new.confirmed)


def test_the_finding_follows_the_held_out_part(found: TuneResult) -> None:
    of = found.verdicts[0].held_out.of
    assert of > 120
    assert "held-out examples prove it at 95 %." in tune_page.lead(with_errors(found, 0))
    some = with_errors(found, int(0.05 * of))
    assert "confirm it, but are too few to prove it at 95 %." in tune_page.lead(some)
    assert tune_page.budgets_table(some).rows[0][1] == "kept, not proved"
    more = with_errors(found, int(0.05 * of) + 2)
    assert "do not confirm it" in tune_page.lead(more)
    assert "perhaps by chance" in tune_page.lead(more)
    many = with_errors(found, of // 2)
    assert tune_page.budgets_table(many).rows[0][1] == "over"
    assert "chance" not in tune_page.lead(many)
    none = dataclasses.replace(found, met=False, kept=False)
    assert tune_page.lead(none).startswith("No setting that was tried meets the budget within an")
    assert "marked as not keeping its budgets" in tune_page.lead(none)


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
    assert ringed[0].y <= 5.0
    assert len(points) == sum(trial.drop <= 60 for trial in found.trials)


def test_the_steps_tell_the_order_and_what_is_kept(found: TuneResult) -> None:
    lines = tune_page.steps(found)
    assert lines[0].startswith("1. The plain model: ")
    assert "over" in lines[0]
    assert sum("This one is kept." in line for line in lines) == 1
    assert lines[-1] == "It ended because a setting meets everything."


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
    not_met = dataclasses.replace(found, met=False, kept=False)
    not_kept = dataclasses.replace(found, met=True, kept=False)
    kept = dataclasses.replace(found, met=True, kept=True)
    for result in (not_met, not_kept, kept):
        sentence = re.split(r"(?<=[a-z)])[.:] ", tune_page.lead(result))[0]
        assert wanted in sentence
        assert re.search(r"(loses|gains) \d+\.\d points", sentence)
    same = dataclasses.replace(found, change=dataclasses.replace(found.change, value=0.0))
    assert tune_page.price(same) == f"loses no accuracy ({100 * found.accuracy:.1f} %, as before)"
