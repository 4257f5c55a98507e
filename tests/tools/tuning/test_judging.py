"""Which rules are tested, what a decision costs, and what so few examples cannot show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from untrue import Penalty, decide
from untrue.budgets import ResolvedBudget, resolve_all
from untrue.errors import DataError
from untrue.tools.fitting.model import answers
from untrue.tools.tuning.judging import Judge, best_of, check_seen, too_few
from untrue.tools.tuning.setting import Setting, decision_costs, described
from untrue.tools.tuning.trainer import Recipe

CLASSES = ["tumour", "benign", "cyst"]
COSTS = Penalty.from_rules(CLASSES, {("tumour", "benign"): 20.0}, default=1.0)


def budget(text: str, **more: object) -> ResolvedBudget:
    return resolve_all(text, COSTS, **more)[0]  # type: ignore[arg-type]


def judge(text: str, true: np.ndarray, max_drop: float | None = None) -> Judge:
    resolved = (budget(text),)
    provable = tuple(too_few(each, true, 0.95) is None for each in resolved)
    return Judge(true, COSTS, resolved, len(true), provable, 0.95, max_drop)


def doubtful(true: np.ndarray, missed: int, doubt: float = 0.2) -> np.ndarray:
    """Probabilities that are right but for some tumours, which look benign."""
    probs = np.eye(3)[true] * 0.96 + 0.04 / 3
    probs[np.flatnonzero(true == 0)[:missed]] = [doubt, 1 - doubt - 0.01, 0.01]
    return probs


TRUE = np.repeat([0, 1, 2], [1000, 600, 400])


def test_paths_go_from_safe_rules_to_the_plain_one_and_say_what_to_expect() -> None:
    found = judge("tumour->benign <= 2%", TRUE, max_drop=5.0)
    probs = doubtful(TRUE, 60)
    plain = found.plain_accuracy(probs)
    assert plain == pytest.approx(0.97)
    for base, least in (("equal", 3.9), ("penalty", 1.0)):
        candidate = found.candidate(Recipe(), base, probs, plain)  # type: ignore[arg-type]
        assert candidate.plain.setting == Setting(Recipe(), base)  # type: ignore[arg-type]
        strong = [trial.setting.multipliers or (1.0,) for trial in candidate.trials]
        assert strong == sorted(strong, reverse=True)
        assert candidate.trials[0].failing < 0.01
        best = best_of(candidate.trials)
        assert best is not None
        assert best.verdicts[0].errors == 0
        assert (best.setting.multipliers or (1.0,))[0] >= least
        assert best.accuracy == pytest.approx(1.0)
        assert best.drop == pytest.approx(-3.0)
    equal = found.candidate(Recipe(), "equal", probs, plain)
    assert equal.plain.verdicts[0].errors == 60
    assert equal.plain.failing > 0.99
    assert not equal.plain.met
    assert set(equal.shown()) <= set(equal.trials)
    assert {equal.trials[0], equal.plain, best_of(equal.trials)} <= set(equal.shown())


def test_the_held_out_part_decides_and_what_passes_is_taken() -> None:
    found = judge("tumour->benign <= 2%", TRUE, max_drop=5.0)
    probs = doubtful(TRUE, 60)
    candidate = found.candidate(Recipe(), "equal", probs, found.plain_accuracy(probs))
    kept = found.confirm(candidate, probs, TRUE, plain=probs.argmax(axis=1))
    assert kept.holds
    costs = decision_costs(
        Setting(Recipe(), "equal", kept.multipliers), COSTS, found.budgets, COSTS
    )
    assert ((answers(probs, costs) == 1) & (TRUE == 0)).sum() == 0
    # The same paths on a part where tumours look like nothing but benign.
    worse = doubtful(TRUE, 60, doubt=0.0)
    lost = found.confirm(candidate, worse, TRUE, plain=worse.argmax(axis=1))
    assert not lost.holds
    assert not lost.shown


def test_a_rule_that_loses_too_many_right_answers_is_not_taken() -> None:
    found = judge("tumour->benign <= 2%", TRUE, max_drop=2.0)
    probs = doubtful(TRUE, 60)
    # As many healthy people look as doubtful: finding the tumours costs them.
    probs[1000:1120] = probs[0]
    candidate = found.candidate(Recipe(), "equal", probs, found.plain_accuracy(probs))
    assert best_of(candidate.trials) is None
    outcome = found.confirm(candidate, probs, TRUE, plain=probs.argmax(axis=1))
    assert outcome.shown
    assert not outcome.holds
    free = replace(found, max_drop=None).confirm(candidate, probs, TRUE)
    assert free.holds


def test_598_tumours_without_an_error_show_half_a_percent() -> None:
    text = "tumour->benign <= 0.5%"
    assert budget(text).examples_needed(0.005) == 598
    assert too_few(budget(text), np.zeros(598, dtype=np.int64), 0.95) is None
    assert too_few(budget(text), np.zeros(597, dtype=np.int64), 0.95)
    note = too_few(budget(text), np.zeros(40, dtype=np.int64), 0.95)
    assert note is not None
    assert note.startswith(
        "tumour->benign <= 0.5%: to show this with 95 % confidence takes at least 598 examples of "
        "'tumour' in the held-out part without any error; there are 40. Whatever is trained, it "
        "cannot count as kept"
    )
    assert too_few(budget(text), np.zeros(598, dtype=np.int64), 0.95) is None


def test_a_mean_cost_needs_many_too_and_never_can_not_be_shown() -> None:
    cost = budget("expected cost <= 0.1")
    wanted = cost.examples_needed(0.1)
    assert wanted is not None
    assert 600 < wanted < 750  # 600 would be those of errors that all cost the most
    assert too_few(cost, np.zeros(wanted, dtype=np.int64), 0.95) is None
    assert too_few(cost, np.zeros(wanted - 1, dtype=np.int64), 0.95)
    note = too_few(budget("tumour->* <= 0%"), np.zeros(10**6, dtype=np.int64), 0.95)
    assert note is not None
    assert "no number of examples can show that something never happens" in note


def test_decisions_are_by_the_costs_that_the_setting_names() -> None:
    budgets = (budget("tumour->benign <= 1%"), budget("expected cost <= 0.1"))
    probs = np.array([[0.1, 0.9, 0.0], [0.02, 0.98, 0.0]])

    def costs(*setting: object) -> Penalty:
        found = decision_costs(Setting(*setting), COSTS, budgets, COSTS)  # type: ignore[arg-type]
        assert isinstance(found, Penalty)
        return found

    assert decision_costs(Setting(Recipe()), COSTS, budgets, COSTS) is None
    assert costs(Recipe(), "penalty") == COSTS
    costlier = costs(Recipe(), "penalty", (5.0, 1.0))
    assert costlier.cost("tumour", "benign") == 100.0
    assert decide(probs, COSTS).tolist() == [0, 1]
    assert decide(probs, costlier).tolist() == [0, 0]
    equal = costs(Recipe(), "equal", (4.0, 1.0))
    np.testing.assert_allclose(equal.matrix(), [[0, 4, 1], [1, 0, 1], [1, 1, 0]])
    half = costs(Recipe(), "equal", (1.0, 2.0))
    np.testing.assert_allclose(half.matrix(), 1 - np.eye(3) + COSTS.matrix() * 6 / 25)
    # A model trained by costs has its say in the class probabilities behind its scores.
    np.testing.assert_allclose(costs(Recipe("bilinear", 0.3), "equal").matrix(), 1 - np.eye(3))


def test_settings_are_reported_in_words() -> None:
    budgets = ("tumour->benign <= 1%", "zone <= 2%")
    description = described(
        Setting(Recipe("bilinear", 0.6, (1.0, 2.0)), "equal", (4.0, 1.0)), budgets
    )
    assert description == (
        "training by bilinear, alpha 0.6 with the mistakes of zone 2 times as costly, predicting "
        "the class of least expected cost by equal costs, but with the mistakes of tumour->benign "
        "4 times as costly"
    )
    near = described(Setting(Recipe(), "equal", (1.0039,)), ("zone <= 2%",))
    assert near.endswith("the mistakes of zone 1.0039 times as costly")
    costs = described(Setting(Recipe(), "equal", (5.0,)), ("expected cost <= 1",))
    assert costs == (
        "plain training, predicting the class of least expected cost by equal costs, but with the "
        "costs of the penalty added, with weight 4"
    )
    plain = described(Setting(Recipe()), budgets)
    assert plain == "plain training, predicting the most probable class"


def test_a_budget_about_nobody_is_refused() -> None:
    with pytest.raises(DataError, match="is about examples of 'tumour'; the part to tune on has"):
        check_seen(np.array([1, 2]), (budget("tumour->benign <= 1%"),), "part to tune on")
