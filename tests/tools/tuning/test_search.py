"""The search takes the weakest that will do, goes on while something is over, and ends."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from untrue import Penalty
from untrue.budgets import resolve_all
from untrue.errors import DataError
from untrue.tools.tuning.judging import Judge, best_of, too_few
from untrue.tools.tuning.search import Search, search
from untrue.tools.tuning.trainer import OutOfTimeError, Recipe

N = 1000
TRUE = np.arange(N) % 2
COSTS = Penalty.from_rules(["tumour", "benign"], {("tumour", "benign"): 3.0}, default=1.0)


@dataclass
class Answers:
    """A trainer whose networks are probabilities of the tumour, by the alpha they learn with.

    The first `missed` tumours look benign, with a chance of `doubt` of being tumours.
    """

    missed: dict[float, int]
    doubt: float = 0.0
    false: int = 0
    asked: list[Recipe] = field(default_factory=list)
    last: int = 1000

    def cross_fitted(self, recipe: Recipe) -> np.ndarray:
        if len(self.asked) >= self.last:
            raise OutOfTimeError
        self.asked.append(recipe)
        tumour = np.where(TRUE == 0, 0.9999, 0.0001)
        tumour[np.flatnonzero(TRUE == 0)[: self.missed[recipe.alpha]]] = self.doubt
        # Healthy people who look as doubtful: finding the tumours costs them.
        tumour[np.flatnonzero(TRUE == 1)[: self.false]] = self.doubt
        return np.stack([tumour, 1 - tumour], axis=1)


def found(answers: Answers, *, max_drop: float | None = None, **options: object) -> Search:
    budgets = resolve_all("tumour->benign <= 1%", COSTS)
    provable = tuple(too_few(budget, TRUE, 0.95) is None for budget in budgets)
    judge = Judge(TRUE, COSTS, budgets, 4 * N, provable, 0.95, max_drop)
    given = {"losses": ("bilinear", "log-bilinear"), "trials": 8, **options}
    return search(answers, judge, **given)  # type: ignore[arg-type]


def titles(result: Search) -> list[str]:
    return [step.title for step in result.steps]


def test_a_plain_model_within_budget_is_kept_as_it_is() -> None:
    answers = Answers({0.0: 0})
    result = found(answers)
    assert result.likely
    assert result.chosen.plain.met
    assert result.chosen.plain.setting.name == "cross-entropy, most probable class"
    assert titles(result) == ["The plain model"]
    assert answers.asked == [Recipe()]


def test_least_cost_by_the_penalty_is_asked_before_anything_costlier() -> None:
    result = found(Answers({0.0: 50}, doubt=0.3))
    assert (result.chosen.base, result.chosen.plain.met) == ("penalty", True)
    assert titles(result) == ["The plain model", "Least expected cost by the penalty"]
    assert result.trained == 0


def test_then_the_weakest_multiplier_that_holds() -> None:
    # At a chance of 0.1 a missed tumour must cost 9 times a false alarm to be called one.
    result = found(Answers({0.0: 50}, doubt=0.1))
    chosen = best_of(result.chosen.trials)
    assert chosen is not None
    costs = 3.0 if chosen.setting.base == "penalty" else 1.0
    weakest = min(t.setting.multipliers[0] for t in result.chosen.trials if t.met)
    assert costs * weakest == pytest.approx(9.0, rel=0.5)
    assert costs * weakest >= 9.0
    assert result.trained == 0
    assert titles(result)[-1] == "Costlier mistakes in the decision"


def test_training_comes_last_and_the_weakest_alpha_that_holds_is_kept() -> None:
    # No decision helps: the missed tumours look like nothing but benign.
    answers = Answers({0.0: 50, 0.3: 20, 0.6: 0, 0.9: 0})
    result = found(answers)
    assert result.likely
    assert result.chosen.recipe.alpha == 0.6
    assert result.chosen.plain.met
    assert [recipe.alpha for recipe in answers.asked] == [0.0, 0.3, 0.3, 0.6, 0.6]
    assert result.trained == 4
    assert titles(result)[2] == "Costlier mistakes in the decision"


def test_a_decision_that_costs_too_many_right_answers_is_passed_over() -> None:
    answers = Answers({0.0: 50, 0.3: 0}, doubt=0.3, false=100)
    assert found(answers).trained == 0
    # At alpha 0.3 there is nobody left to find, and the doubtful stay benign.
    result = found(answers, max_drop=2.0)
    assert result.chosen.recipe == Recipe("bilinear", 0.3, (1.0,))
    assert any(trial.failing < 0.01 and not trial.met for trial in result.trials)


def test_multipliers_rise_for_what_is_over_until_the_trials_are_spent() -> None:
    answers = Answers(dict.fromkeys((0.0, 0.3, 0.6, 0.9), 50))
    result = found(answers, losses=("bilinear",), trials=5)
    assert [recipe.multipliers for recipe in answers.asked[1:4]] == [(1.0,)] * 3
    fourth, fifth = (recipe.multipliers[0] for recipe in answers.asked[4:])
    assert 1 < fourth < fifth
    assert not result.likely
    assert result.trained == 5
    assert result.stopped == "the limit of 5 settings was reached"


def test_a_training_that_fails_ends_the_search_with_what_was_found() -> None:
    class Failing(Answers):
        def cross_fitted(self, recipe: Recipe) -> np.ndarray:
            if recipe.loss == "log-bilinear":
                raise DataError("Training stopped: the loss is no longer finite in epoch 1.")
            return super().cross_fitted(recipe)

    result = found(Failing({0.0: 50, 0.3: 20}))
    assert result.trained == 1
    assert result.stopped.startswith("log-bilinear, alpha 0.3 could not be trained (Training stop")
    assert result.chosen.recipe.loss == "bilinear"


def test_no_trials_and_no_time_end_with_the_closest() -> None:
    answers = Answers(dict.fromkeys((0.0, 0.3, 0.6, 0.9), 50))
    none = found(answers, trials=0)
    assert (none.trained, none.stopped) == (0, "no training was asked for")
    late = found(Answers(answers.missed, last=3))
    assert (late.trained, late.stopped) == (2, "the time limit passed")
    closer = found(Answers({0.0: 50, 0.3: 40, 0.6: 45, 0.9: 50}, last=6))
    assert not closer.likely
    assert closer.chosen.recipe.alpha == 0.3


def test_a_held_out_part_that_is_too_small_is_why_the_search_ended() -> None:
    # The plain model makes no error at all, and still nothing can be shown.
    budgets = resolve_all("tumour->benign <= 1%", COSTS)
    judge = Judge(TRUE, COSTS, budgets, 100, (False,), 0.95, None)
    result = search(Answers({0.0: 0}), judge, losses=("bilinear",), trials=8)  # type: ignore[arg-type]
    assert result.stopped.startswith("the held-out part is too small to show the budgets")
    assert not result.likely
    assert result.trained == 0
