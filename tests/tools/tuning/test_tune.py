"""Tuning on real digits: budgets that argmax breaks are kept, and impossible ones are named."""

from __future__ import annotations

import warnings
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import untrue
from untrue import Penalty
from untrue.errors import ArgumentError, DataError, UntrueWarning
from untrue.storage import Storage
from untrue.tools.fitting.model_folder import load_model
from untrue.tools.fitting.predict import predict
from untrue.tools.reading.opening import array_source
from untrue.tools.tuning.record import TRAINED
from untrue.tools.tuning.result import TuneResult
from untrue.tools.tuning.tune import tune

X, Y = load_digits(return_X_y=True)
COSTS = Penalty.from_rules(10, {("8", "1"): 10.0, ("2", "1"): 5.0}, default=1.0)
BUDGET = "*->8 <= 2%"
QUICK: dict[str, Any] = {
    "model": "linear",
    "epochs": 12,
    "learning_rate": 5e-3,
    "repetitions": 3,
    "max_accuracy_drop": 4.0,
    "test_share": 0.4,
}


def tuned(seed: int = 0, **changed: Any) -> TuneResult:
    return tune(X, Y, **{**QUICK, "budgets": BUDGET, "seed": seed, **changed})


@pytest.fixture(scope="module")
def five() -> list[TuneResult]:
    return [tuned(seed) for seed in range(5)]


@pytest.fixture(scope="module")
def impossible(tmp_path_factory: pytest.TempPathFactory) -> tuple[TuneResult, Path]:
    record = tmp_path_factory.mktemp("tuning") / "record.sqlite"
    words = {"budgets": ["*->* <= 0.5%", "zone <= 1 error"], "penalty": COSTS, "trials": 1}
    return tuned(record=record, losses=["bilinear"], **words), record


def test_a_budget_that_the_plain_model_is_not_shown_to_keep_is_kept_by_the_decision(
    five: list[TuneResult],
) -> None:
    assert not any(result.trials[0].met for result in five)
    assert sum(result.kept for result in five) >= 4
    for result in five:
        assert result.trained == 0
        assert result.setting.base == "equal"
        assert result.sizes == (1078, 719)
        verdict = result.verdicts[0]
        # Each example stands once in what is bounded, whatever the number of seeds.
        assert verdict.validation.of + verdict.held_out.of == int((Y != 8).sum())
        if result.kept:
            assert result.why is None
            assert result.guarantee.rule.passed
            assert verdict.held_out.upper <= 0.02
            assert result.drop <= 4.0
            assert str(result.guarantee).startswith("With 95 % confidence *->8 <= 2% holds for ")
        else:
            assert result.why is not None
            assert result.why.startswith("No rule can be shown to keep *->8 <= 2% with 95 %: ")
    before, after = (
        sum(getattr(result.verdicts[0], part).errors for result in five)
        for part in ("plain", "held_out")
    )
    assert after < 0.8 * before


def test_the_held_out_part_is_a_random_draw_that_is_recorded(five: list[TuneResult]) -> None:
    held_out = [719 - result.verdicts[0].held_out.of for result in five]
    # Drawn by class there would be as many in every draw.
    assert len(set(held_out)) > 1
    assert all(0 < eights < (Y == 8).sum() for eights in held_out)
    for seed, result in enumerate(five):
        assert result.guarantee.seed == seed
        assert result.model.training["tuned"]["held_out"] == "at random"


def test_what_was_tested_is_what_the_model_does(five: list[TuneResult]) -> None:
    for result in five:
        held_out, guarantee = result.verdicts[0].held_out, result.guarantee
        cm = result.confusion
        assert result.budgets[0].judge(cm).errors == held_out.errors == guarantee.rule.errors[0]
        assert result.accuracy == pytest.approx(guarantee.rule.accuracy)
        predicted = result.predict(X)
        assert predicted.dtype.kind == "i"
        false = int(((predicted == 8) & (Y != 8)).sum())
        assert held_out.errors <= false


def test_a_plain_model_within_budget_stays_as_it_is() -> None:
    result = tuned(budgets="*->8 <= 10%")
    assert result.kept
    assert [step.title for step in result.steps] == ["The plain model"]
    assert result.model.decision is None
    assert result.setting.name == "cross-entropy, most probable class"
    assert result.change.value == 0


def test_an_impossible_budget_is_reported_with_the_closest(
    impossible: tuple[TuneResult, Path],
) -> None:
    result, _ = impossible
    assert not result.kept
    assert result.why is not None
    assert result.why.startswith(
        "No rule can be shown to keep *->* <= 0.5% and zone <= 1 error with 95 %: "
    )
    assert result.trained == 0
    assert result.stopped.startswith("the held-out part is too small")
    assert result.model.training["tuned"]["kept"] is False
    titles = [step.title for step in result.steps]
    assert titles == [
        "The plain model",
        "Least expected cost by the penalty",
        "Costlier mistakes in the decision",
    ]


def test_too_few_examples_are_reported_first_and_nothing_is_called_kept() -> None:
    lines: list[str] = []
    result = tuned(budgets="8->1 <= 0.5%", tell=lines.append, trials=0)
    held_out = result.verdicts[0].held_out.of
    assert lines[0].startswith(
        "8->1 <= 0.5%: to show this with 95 % confidence takes at least 598 examples of '8' in "
        f"the held-out part without any error; there are {held_out}. Whatever is trained"
    )
    assert result.notes == (lines[0],)
    assert not result.kept
    assert result.why is not None
    assert f"of 174 examples of '8' {held_out} are in the held-out part; 598 are ne" in result.why
    assert "none called 1" in result.why


def count_of(record: Path) -> int:
    with Storage.read(record) as storage:
        return len(storage.entries(TRAINED))


def test_what_was_trained_is_not_trained_again_for_other_budgets(
    impossible: tuple[TuneResult, Path],
) -> None:
    before, path = impossible
    entries = count_of(path)
    lines: list[str] = []
    again = tuned(record=path, budgets=BUDGET, penalty=COSTS, tell=lines.append)
    assert again.trained == 0
    assert sum(line.endswith("trained before") for line in lines) == 4
    assert count_of(path) == entries
    same = tuned(
        record=path,
        budgets=["*->* <= 0.5%", "zone <= 1 error"],
        penalty=COSTS,
        trials=1,
        losses=["bilinear"],
    )
    assert count_of(path) == entries
    assert same.trials == before.trials
    np.testing.assert_array_equal(same.predict(X), before.predict(X))
    # Other costs train again what learns from costs; other data, everything.
    other = Penalty.from_rules(10, {("8", "1"): 30.0}, default=1.0)
    words = {"budgets": "*->* <= 0.5%", "trials": 1, "losses": ["bilinear"], "record": path}
    changed = tuned(penalty=other, **words)
    own = count_of(path) - entries
    assert own == 3 + (changed.setting.recipe.loss != "cross-entropy")
    tune(X[::2], Y[::2], **{**QUICK, "budgets": "*->8 <= 50%", "record": path})
    assert count_of(path) == entries + own + 4


def test_the_saved_model_decides_as_the_result_does(five: list[TuneResult], tmp_path: Path) -> None:
    result = five[1]
    model = load_model(result.save(tmp_path / "model"))
    found = predict(model, array_source(X, None, path=Path("x")))
    np.testing.assert_array_equal(found.predicted, result.predict(X))
    assert (found.predicted != found.probs.argmax(axis=1)).any()


def test_names_groups_costs_and_frames_of_data_are_taken(tmp_path: Path) -> None:
    names = np.array([f"digit {y}" for y in Y], dtype=object)
    classes = [f"digit {i}" for i in range(10)]
    groups = {"round": ["digit 0", "digit 8", "digit 6", "digit 9"], "straight": classes[1:6:2]}
    groups["rest"] = ["digit 2", "digit 4", "digit 7"]
    costs = Penalty.from_groups(groups, within=1.0, across=4.0).select(classes)
    budgets = ["across groups <= 8%", "expected cost <= 0.4"]
    result = untrue.tune(X, names, budgets=budgets, penalty=costs, **QUICK)
    assert set(result.predict(X[:50])) <= set(classes)
    assert [v.validation.of for v in result.verdicts] == [1078, 1078]
    assert result.verdicts[1].validation.rate == pytest.approx(result.trial.expected_cost)
    with pytest.raises(FrozenInstanceError):
        result.why = None  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budgets": []}, "`budgets` is empty"),
        ({"budgets": "*->8 <= 1"}, "give a unit"),
        ({"budgets": "*->9000 <= 1%"}, "9000"),
        ({"losses": ["hinge"]}, "Unknown loss 'hinge'"),
        ({"epochs": 0}, "`epochs` must be at least 1; got 0"),
        ({"learning_rate": 0.0}, "`learning_rate` must be positive; got 0.0"),
        ({"model": "cnn"}, "'cnn' is for images"),
        (
            {"model": LogisticRegression()},
            r"`model` must be a name \(lightgbm, .*; got LogisticRegression\(\)",
        ),
        ({"trials": -1}, "`trials` must be at least 0; got -1"),
        ({"time_limit": -1.0}, "`time_limit` must be 0 or more seconds"),
        ({"max_accuracy_drop": -1.0}, r"`max_accuracy_drop` must lie in \[0, 100\]"),
        ({"confidence": 1.5}, r"`confidence` must lie in \[0\.5, 1\)"),
        ({"repetitions": 1}, "`repetitions` must be at least 2"),
        ({"target": "digit"}, "Give `y` or `target`, not both"),
    ],
)
def test_wrong_options_are_reported(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        tuned(**options)


def test_codes_for_named_classes_are_answered_with_codes() -> None:
    names = [f"digit {i}" for i in range(10)]
    costs = Penalty.from_rules(names[::-1], {})
    options: dict[str, Any] = {"budgets": "digit 3->digit 8 <= 50%", "model": "linear"}
    with pytest.raises(DataError, match=r"unknown label '0'.*`classes`"):
        tune(X, Y, penalty=costs, **options)
    found = tune(
        X, Y, penalty=costs, classes=names, epochs=6, repetitions=2, trials=0, learning_rate=0.01,
        **options,
    )  # fmt: skip
    assert (found.predict(X) == Y).mean() > 0.8


def test_wrong_data_are_reported() -> None:
    with pytest.raises(ArgumentError, match="`y` must hold the labels of the examples"):
        tune(X, budgets=BUDGET)
    with pytest.raises(DataError, match="must hold class names or whole numbers; got None"):
        tune(X, [None] * len(X), budgets=BUDGET)
    with pytest.raises(DataError, match="'X' must hold numbers"):
        tune(np.array([["a"]] * len(X)), Y, budgets=BUDGET)
    few = Y < 3
    with pytest.raises(DataError, match="is about examples of '8'; the part to tune on has none"):
        tune(X[few], Y[few], penalty=COSTS, **{**QUICK, "budgets": "8->1 <= 1%"})


def test_a_rare_class_is_not_bought_with_most_right_answers_unless_asked() -> None:
    """Noise, and one class in twenty: only who says it nearly always misses few of it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    y = np.where(np.arange(400) % 20 == 0, "rare", "common")
    options: dict[str, Any] = {
        "budgets": "rare->common <= 40%",
        "test_share": 0.5,
        "learning_rate": 0.05,
        "model": "linear",
        "epochs": 10,
        "repetitions": 2,
        "trials": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrueWarning)
        limited = tune(x, y, **options)
        unlimited = tune(x, y, max_accuracy_drop=None, **options)
    assert limited.max_accuracy_drop == 5.0
    assert not limited.kept
    assert limited.why is not None
    assert unlimited.kept
    assert unlimited.drop > 40
    assert f"at a price of {unlimited.drop:.1f} points of accuracy; at most 5 may" in limited.why
    assert limited.drop < unlimited.drop
    assert f"accuracy {-unlimited.drop:+.1f} points" in repr(unlimited)


def test_a_model_trained_by_costs_is_decided_by_the_class_probabilities_behind_it(
    tmp_path: Path,
) -> None:
    """Costs move what a network says; decisions undo that, also with costlier mistakes in it."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=1500)
    x = rng.normal(size=(1500, 2)) + 1.2 * y[:, None]
    costs = Penalty.from_rules(["0", "1"], {("1", "0"): 4.0}, default=1.0)
    found = tune(
        x,
        y,
        budgets="1->0 <= 2.5%",  # more than any of them keeps at this price
        penalty=costs,
        max_accuracy_drop=1.0,
        losses=["bilinear"],
        trials=4,
        model="linear",
        epochs=8,
        learning_rate=0.05,
        repetitions=2,
        record=tmp_path / "record.sqlite",
    )
    assert found.trained == 4
    by_alpha = {
        trial.setting.recipe: trial
        for trial in found.trials
        if trial.setting.base == "equal" and not trial.setting.multipliers
    }
    plain = by_alpha.pop(next(recipe for recipe in by_alpha if recipe.alpha == 0))
    # By the scores themselves the costs would be counted here, and few be called 0.
    for recipe, trial in by_alpha.items():
        assert trial.verdicts[0].errors > 0.7 * plain.verdicts[0].errors, recipe
    assert {recipe.multipliers for recipe in by_alpha} > {(1.0,)}
