"""When a budget counts as kept, what a decision costs, and what so few examples cannot show."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import Penalty, decide
from untrue.budgets import ResolvedBudget, resolve_all
from untrue.errors import DataError
from untrue.tools.tuning.judging import (
    Judge,
    Setting,
    check_seen,
    decision_costs,
    described,
    provable_on,
    too_few,
)
from untrue.tools.tuning.trainer import Recipe

CLASSES = ["tumour", "benign", "cyst"]
COSTS = Penalty.from_rules(CLASSES, {("tumour", "benign"): 20.0}, default=1.0)


def budget(text: str, **more: object) -> ResolvedBudget:
    return resolve_all(text, COSTS, **more)[0]  # type: ignore[arg-type]


def judge(text: str, true: np.ndarray, max_drop: float | None = None) -> Judge:
    resolved = (budget(text),)
    provable = tuple(provable_on(true, each, 0.95) for each in resolved)
    return Judge(true, COSTS, resolved, provable, 0.95, max_drop)


def sure(predicted: np.ndarray) -> np.ndarray:
    """Probabilities whose most probable class is `predicted`."""
    return np.eye(3)[predicted] * 0.9 + 0.1 / 3


@pytest.mark.parametrize(("errors", "kept"), [(0, True), (4, True), (5, False), (9, False)])
def test_the_upper_bound_decides_and_not_the_rate(errors: int, kept: bool) -> None:
    # 5 of 1000 is half the limit, but its bound is 1.05 %.
    true = np.zeros(1000, dtype=np.int64)
    predicted = np.where(np.arange(1000) < errors, 1, 0)
    trial = judge("tumour->benign <= 1%", true).trial(Setting(Recipe()), sure(predicted))
    assert trial.met == trial.kept[0] == kept
    assert trial.verdicts[0].rate == errors / 1000


@pytest.mark.parametrize(("errors", "kept"), [(0, True), (1, False)])
def test_where_no_count_could_show_it_only_no_error_will_do(errors: int, kept: bool) -> None:
    true = np.zeros(597, dtype=np.int64)
    found = judge("tumour->benign <= 0.5%", true)
    assert found.provable == (False,)
    predicted = np.where(np.arange(597) < errors, 1, 0)
    assert found.trial(Setting(Recipe()), sure(predicted)).met == kept


def test_598_tumours_without_an_error_show_half_a_percent() -> None:
    text = "tumour->benign <= 0.5%"
    assert budget(text).examples_needed(0.005) == 598
    assert provable_on(np.zeros(598, dtype=np.int64), budget(text), 0.95)
    assert not provable_on(np.zeros(597, dtype=np.int64), budget(text), 0.95)
    note = too_few(budget(text), [("held-out part", np.zeros(40, dtype=np.int64))], 0.95)
    assert note is not None
    assert note.startswith(
        "tumour->benign <= 0.5%: to show this at 95 % takes at least 598 examples of 'tumour' "
        "without any error; there are 40 in the held-out part."
    )
    assert too_few(budget(text), [("held-out part", np.zeros(598, dtype=np.int64))], 0.95) is None


def test_a_mean_cost_needs_many_too_and_never_can_not_be_shown() -> None:
    cost = budget("expected cost <= 0.1")
    wanted = cost.examples_needed(0.1)
    assert wanted is not None
    assert 600 < wanted < 750  # 600 would be those of errors that all cost the most
    assert provable_on(np.zeros(wanted, dtype=np.int64), cost, 0.95)
    assert not provable_on(np.zeros(wanted - 1, dtype=np.int64), cost, 0.95)
    note = too_few(budget("tumour->* <= 0%"), [("x", np.zeros(10**6, dtype=np.int64))], 0.95)
    assert note is not None
    assert "no number of examples can show that something never happens" in note


def test_the_drop_is_a_limit_too_and_the_excess_is_the_greatest() -> None:
    true = np.zeros(1000, dtype=np.int64)
    predicted = np.where(np.arange(1000) < 30, 2, 0)
    found = judge("tumour->benign <= 1%", true, max_drop=2.0)
    trial = found.trial(Setting(Recipe()), sure(predicted), plain=1.0)
    assert trial.kept == (True,)
    assert trial.drop == pytest.approx(3.0)
    assert not trial.met
    assert found.excess(trial) == pytest.approx(0.5)
    exact = found.trial(Setting(Recipe()), sure(predicted), plain=0.99)
    assert exact.met
    assert found.excess(exact) == pytest.approx(0)


def test_decisions_are_by_the_costs_that_the_setting_names() -> None:
    budgets = (budget("tumour->benign <= 1%"), budget("expected cost <= 0.1"))
    probs = np.array([[0.1, 0.9, 0.0], [0.02, 0.98, 0.0]])
    assert decision_costs(Setting(Recipe()), COSTS, budgets) is None
    own = decision_costs(Setting(Recipe(), "penalty"), COSTS, budgets)
    assert own == COSTS
    costlier = decision_costs(Setting(Recipe(), "penalty", (5.0, 1.0)), COSTS, budgets)
    assert costlier is not None
    assert costlier.cost("tumour", "benign") == 100.0
    assert decide(probs, COSTS).tolist() == [0, 1]
    assert decide(probs, costlier).tolist() == [0, 0]
    even = decision_costs(Setting(Recipe(), "even", (4.0, 1.0)), COSTS, budgets)
    assert even is not None
    np.testing.assert_allclose(even.matrix(), [[0, 4, 1], [1, 0, 1], [1, 1, 0]])
    half = decision_costs(Setting(Recipe(), "even", (1.0, 2.0)), COSTS, budgets)
    assert half is not None
    np.testing.assert_allclose(half.matrix(), 1 - np.eye(3) + COSTS.matrix() * 6 / 25)


def test_settings_are_reported_in_words() -> None:
    budgets = ("tumour->benign <= 1%", "zone <= 2%")
    description = described(
        Setting(Recipe("bilinear", 0.6, (1.0, 2.0)), "even", (4.0, 1.0)), budgets
    )
    assert description == (
        "training by bilinear, alpha 0.6 with the mistakes of zone 2 times as costly, predicting "
        "the class of least expected cost by equal costs, but with the mistakes of tumour->benign "
        "4 times as costly"
    )
    costs = described(Setting(Recipe(), "even", (5.0,)), ("expected cost <= 1",))
    assert costs == (
        "plain training, predicting the class of least expected cost by equal costs, but with the "
        "costs of the penalty added, with weight 4"
    )
    plain = described(Setting(Recipe()), budgets)
    assert plain == "plain training, predicting the most probable class"


def test_a_budget_about_nobody_is_refused() -> None:
    with pytest.raises(DataError, match="is about examples of 'tumour'; the part to tune on has"):
        check_seen(np.array([1, 2]), (budget("tumour->benign <= 1%"),), "part to tune on")
