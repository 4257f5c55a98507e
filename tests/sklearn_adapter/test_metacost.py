"""`MetaCostClassifier` relabels as Domingos says, and what it learns costs less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

import untrue
from untrue.errors import ArgumentError, UntrueWarning
from untrue.sklearn import MetaCostClassifier, cost_scorer

WINE, KIND = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[KIND]
# Weights are not repetitions where examples are drawn at random; the check of array API input
# skips itself unless an environment variable is set.
LEFT_OUT = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_array_api_input",
}
CHECKS = [
    (estimator, check)
    for estimator, check in estimator_checks_generator(
        MetaCostClassifier(LogisticRegression(), n_estimators=3)
    )
    if check.func.__name__ not in LEFT_OUT
]


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[check.func.__name__ for _, check in CHECKS]
)
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.DataConversionWarning", "ignore::untrue.UntrueWarning"
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("out_of_bag", [False, True])
def test_a_tree_makes_cheaper_mistakes(out_of_bag: bool) -> None:
    x, y = load_digits(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=8, random_state=0)
    plain = mindful = 0.0
    for seed in range(4):
        zone = untrue.Penalty.random_zone(10, 20, seed=seed)
        costs = untrue.Penalty.from_matrix(1.0 - np.eye(10) + 19.0 * zone.matrix())
        train, test, target, truth = train_test_split(x, y, test_size=0.5, random_state=seed)
        model = MetaCostClassifier(
            tree, costs, n_estimators=20, out_of_bag=out_of_bag, random_state=seed
        ).fit(train, target)
        plain -= cost_scorer(costs)(tree.fit(train, target), test, truth)
        mindful -= cost_scorer(costs)(model, test, truth)
    assert mindful < 0.95 * plain


def test_new_labels_are_the_cheapest_by_the_mean_of_the_committee() -> None:
    """The same by hand: three copies, their bootstrap samples, their mean."""
    costs = {("barbera", "barolo"): 10.0}
    model = MetaCostClassifier(GaussianNB(), costs, n_estimators=3, random_state=5)
    model.fit(WINE[:, :2], NAMES)
    rng = np.random.RandomState(5)
    mean = np.zeros((len(NAMES), 3))
    for _ in range(3):
        rows = rng.randint(len(NAMES), size=len(NAMES))
        mean += GaussianNB().fit(WINE[rows, :2], NAMES[rows]).predict_proba(WINE[:, :2]) / 3
    np.testing.assert_array_equal(
        model.labels_, model.classes_[untrue.decide(mean, model.penalty_)]
    )
    assert (model.labels_ != NAMES).any()
    again = GaussianNB().fit(WINE[:, :2], model.labels_)
    np.testing.assert_array_equal(model.predict(WINE[:, :2]), again.predict(WINE[:, :2]))


def test_out_of_bag_only_those_speak_who_have_not_seen_the_example() -> None:
    tree = DecisionTreeClassifier(random_state=0)
    noisy = np.random.default_rng(0).permutation(KIND)  # nothing to learn, all to memorise
    costs = {(0, 1): 5.0}
    inside = MetaCostClassifier(tree, costs, random_state=0).fit(WINE, noisy)
    outside = MetaCostClassifier(tree, costs, out_of_bag=True, random_state=0).fit(WINE, noisy)
    assert (inside.labels_ == noisy).mean() > (outside.labels_ == noisy).mean() + 0.2


def test_classifiers_without_probabilities_vote() -> None:
    model = MetaCostClassifier(RidgeClassifier(), n_estimators=5, random_state=0).fit(WINE, NAMES)
    assert model.score(WINE, NAMES) > 0.95
    assert not hasattr(model, "predict_proba")


def test_probabilities_have_a_column_for_every_class_even_one_relabelled_away() -> None:
    never = {("barbera", "barolo"): 50.0, ("grignolino", "barolo"): 50.0, "default": 1.0}
    weak = WINE[:, 2:3]  # ash alone tells little
    model = MetaCostClassifier(GaussianNB(), never, n_estimators=5, random_state=0).fit(weak, NAMES)
    probs = model.predict_proba(weak)
    assert "barolo" not in model.labels_
    assert probs.shape == (len(weak), 3)
    np.testing.assert_array_equal(probs[:, list(model.classes_).index("barolo")], 0.0)


def test_one_cheapest_answer_to_everything_is_warned_of_and_given() -> None:
    costs = {("barbera", "grignolino"): 0.0, ("barolo", "grignolino"): 0.0, "default": 1.0}
    with pytest.warns(UntrueWarning, match="'grignolino' is the cheapest answer to every"):
        model = MetaCostClassifier(LogisticRegression(), costs, n_estimators=2, random_state=0).fit(
            WINE[:, 2:3], NAMES
        )
    assert set(model.predict(WINE[:, 2:3])) == {"grignolino"}


def test_weights_reach_every_copy() -> None:
    weight = np.where(KIND == 0, 1e-6, 1.0)
    model = MetaCostClassifier(GaussianNB(), n_estimators=3, random_state=0)
    model.fit(WINE[:, 2:3], NAMES, sample_weight=weight)
    assert "barolo" not in model.predict(WINE[:, 2:3])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "`n_estimators` must be at least 1; got 0"),
        ({"max_samples": 1.5}, r"`max_samples` must lie in \[0, 1\]; got 1.5"),
    ],
)
def test_what_is_wrong_is_said_at_fit(parameters: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        MetaCostClassifier(GaussianNB(), **parameters).fit(WINE, KIND)
