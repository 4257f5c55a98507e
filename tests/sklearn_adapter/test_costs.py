"""`cost_scorer` prefers the model whose mistakes cost less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB

from untrue import Penalty
from untrue.errors import DataError, PenaltyError, UntrueWarning
from untrue.sklearn import CostSensitiveClassifier, cost_scorer
from untrue.sklearn.costs import mean_cost

TRUTH = np.array(["a", "b", "c", "c"])
ROWS = np.zeros((4, 1))
MATRIX = [[0.0, 1.0, 8.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


def says(label: str) -> Any:
    return DummyClassifier(strategy="constant", constant=label).fit(ROWS, TRUTH)


@pytest.mark.parametrize(
    "penalty",
    [
        {("a", "c"): 8.0},
        Penalty.from_rules(["c", "b", "a", "z"], {("a", "c"): 8.0}),
        Penalty.from_matrix(MATRIX, classes=["a", "b", "c"]),
        MATRIX,
    ],
    ids=["rules", "named rules", "named matrix", "matrix"],
)
def test_the_score_is_minus_the_mean_cost(penalty: Any) -> None:
    assert cost_scorer(penalty)(says("c"), ROWS, TRUTH) == -(8 + 1) / 4
    weights = np.array([1.0, 0.0, 0.0, 1.0])
    assert cost_scorer(penalty)(says("c"), ROWS, TRUTH, sample_weight=weights) == -4.0


def test_without_a_penalty_it_is_minus_the_error_rate() -> None:
    assert cost_scorer()(says("c"), ROWS, TRUTH) == -0.5


def test_a_fold_may_lack_classes() -> None:
    rows = TRUTH == "a"
    for penalty in (
        {("a", "c"): 8.0, ("b", "a"): 3.0},
        Penalty.from_matrix(MATRIX, ["a", "b", "c"]),
    ):
        assert cost_scorer(penalty)(says("c"), ROWS[rows], TRUTH[rows]) == -8.0
    full = cost_scorer(MATRIX, classes=["a", "b", "c"])
    assert full(says("c"), ROWS[rows], TRUTH[rows]) == -8.0
    with pytest.raises(PenaltyError, match="for 3 classes, but the data have 2: a, c"):
        cost_scorer(MATRIX)(says("c"), ROWS[rows], TRUTH[rows])


def test_labels_may_be_a_column() -> None:
    costs = {("a", "b"): 6.0}
    assert mean_cost([["a"], ["b"]], ["b", "b"], penalty=costs) == 3.0
    assert mean_cost(np.array([["a"], ["b"]]), [["b"], ["a"]], penalty=costs) == 3.5


def test_integers_as_labels() -> None:
    digits = DummyClassifier(strategy="constant", constant=2).fit(ROWS, [0, 1, 2, 2])
    assert cost_scorer({(0, 2): 8.0})(digits, ROWS, [0, 1, 2, 2]) == -(8 + 1) / 4


def test_model_selection_by_cost_finds_the_cheaper_decision() -> None:
    x, y = load_wine(return_X_y=True)
    costs = {(0, 1): 30.0, (2, 1): 30.0}
    weak = x[:, 2:4]
    search = GridSearchCV(
        CostSensitiveClassifier(GaussianNB()), {"penalty": [None, costs]},
        scoring=cost_scorer(costs), cv=5,
    ).fit(weak, y)  # fmt: skip
    assert search.best_params_ == {"penalty": costs}
    scores = cross_val_score(search.best_estimator_, weak, y, scoring=cost_scorer(costs))
    assert scores.mean() == pytest.approx(search.best_score_)


def test_names_are_checked_against_the_classes_when_given() -> None:
    with pytest.raises(PenaltyError, match="Unknown class 'aa' in the penalty; did you mean 'a'"):
        cost_scorer({("aa", "c"): 8.0}, classes=["a", "b", "c"])(says("c"), ROWS, TRUTH)
    with pytest.raises(DataError, match="Label 'c' is not in `classes`"):
        cost_scorer(classes=["a", "b"])(says("a"), ROWS, TRUTH)


def test_codes_are_scored_by_the_names_they_stand_for() -> None:
    named = Penalty.from_rules(["good", "bad"], {("bad", "good"): 5.0})
    says_1 = DummyClassifier(strategy="constant", constant=1).fit(ROWS, [0, 1, 0, 1])
    codes = np.array([0, 1, 0, 1])  # 0 is bad
    with pytest.raises(PenaltyError, match=r"no class '0'.*give the names as `classes`"):
        cost_scorer(named)(says_1, ROWS, codes)
    assert cost_scorer(named, classes=["bad", "good"])(says_1, ROWS, codes) == -2.5


def test_a_rule_that_looks_like_a_slip_of_a_label_is_warned_of() -> None:
    predicted = DummyClassifier(strategy="constant", constant="cat").fit([[0], [1]], ["cat", "dog"])
    with pytest.warns(UntrueWarning, match="'catt', which is not a label; did you mean 'cat'?"):
        cost_scorer({("dog", "catt"): 9.0})(predicted, [[0], [1]], ["cat", "dog"])


def test_rules_that_are_about_no_label_are_refused() -> None:
    with pytest.raises(PenaltyError, match=r"rules for 1, 0, and the labels are a, b, c"):
        cost_scorer({(1, 0): 30.0})(says("c"), ROWS, TRUTH)


def test_a_fold_that_lacks_a_label_is_still_scored_by_the_names_of_classes() -> None:
    costs = [[0, 2, 3], [4, 0, 5], [6, 7, 0]]
    # 1 called 2: the first row, not the second, which 1 would be as a code.
    assert mean_cost([1, 2], [2, 2], penalty=costs, classes=[1, 2, 3]) == 1.0
    assert mean_cost([0, 1], [1, 1], penalty=costs, classes=[1, 2, 3]) == 1.0


def test_booleans_and_numbers_for_them_are_the_same_answers() -> None:
    truth, numbers = np.array([True, True, False]), np.array([1, 0, 0])
    assert mean_cost(truth, numbers, penalty={(True, False): 6.0}) == 2.0
    assert mean_cost(numbers, truth, penalty={(0, 1): 6.0}) == 2.0
    assert mean_cost(truth, numbers, penalty={(True, False): 6.0}, classes=[False, True]) == 2.0
    with pytest.raises(PenaltyError, match="No rule of `penalty` is about a label"):
        mean_cost(truth, numbers + 1, penalty={(True, False): 6.0})


@pytest.mark.parametrize(
    ("labels", "answers", "weight", "message"),
    [
        ("ab", "a", None, "inconsistent numbers of samples"),
        ([1.0, np.nan], [1.0, 1.0], None, "y_true contains NaN"),
        ([1.0, 1.0], [1.0, np.nan], None, "y_pred contains NaN"),
        (["a", None], ["a", "a"], None, "`y_true` must have a label in every row; row 1 has none"),
        ("ab", "aa", [0.0, 0.0], "Sample weights must contain at least one non-zero number"),
        ("ab", "aa", [-1.0, 3.0], "Negative values in data passed to `sample_weight`"),
        ("ab", "aa", [1.0], "sample_weight.shape == "),
    ],
)
def test_what_cannot_be_scored_is_refused(
    labels: Any, answers: Any, weight: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        mean_cost(list(labels), list(answers), sample_weight=weight)
