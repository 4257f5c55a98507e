"""Every form of a penalty, in every estimator, wherever scikit-learn puts it."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from untrue import Hierarchy, Penalty
from untrue.errors import DataError, PenaltyError
from untrue.penalty.stated import penalty_over
from untrue.sklearn import (
    BilinearClassifier,
    BoostedClassifier,
    CostSensitiveClassifier,
    MetaCostClassifier,
    cost_scorer,
)

X, KIND = load_wine(return_X_y=True)
X = X[:, [1, 2, 9]]  # something is left to doubt
Y = np.array(["grignolino", "barolo", "barbera"])[KIND]
SORTED = ["barbera", "barolo", "grignolino"]
TREE = Hierarchy.from_groups({"b": ["barolo", "barbera"], "g": ["grignolino"]})
RULES = {("grignolino", "barolo"): 9.0, ("barbera", "barolo"): 4.0}
MATRIX = penalty_over(RULES, SORTED).matrix()

# By name, and in the order of the sorted labels.
NAMED: dict[str, Any] = {
    "named rules": Penalty.from_rules(["grignolino", "barolo", "barbera"], RULES),
    "more classes": Penalty.from_rules(["nebbiolo", *SORTED[::-1]], RULES),
    "named matrix": Penalty.from_matrix(MATRIX[::-1, ::-1], classes=SORTED[::-1]),
    "tree": Penalty.from_hierarchy(TREE, cost={1: 1.0, 2: 6.0}),
    "rules": {**RULES, "default": 1.0},
    "table": pd.DataFrame(MATRIX, index=SORTED, columns=SORTED).iloc[::-1, ::-1],
}
PLACED: dict[str, Any] = {
    "matrix": MATRIX,
    "list": MATRIX.tolist(),
    "nameless": Penalty.from_matrix(MATRIX),
    "none": None,
}
ALL = [pytest.param(form, id=name) for name, form in {**NAMED, **PLACED}.items()]
TREES = lightgbm.LGBMClassifier(
    n_estimators=5, num_leaves=4, min_child_samples=5, verbose=-1, n_jobs=1
)
ESTIMATORS: dict[str, Any] = {
    "decision": CostSensitiveClassifier(GaussianNB(), cv=3),
    "metacost": MetaCostClassifier(GaussianNB(), n_estimators=3, random_state=0),
    "network": BilinearClassifier(hidden=(), epochs=20, random_state=0),
    "boosted": BoostedClassifier(TREES, decision="cost"),
}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_form = pytest.mark.parametrize("form", ALL)


def made(name: str, form: Any, *, coded: bool = False) -> Any:
    """An estimator with the costs; coded: for where scikit-learn puts numbers for the labels."""
    model = clone(ESTIMATORS[name]).set_params(penalty=form)
    return model.set_params(classes=SORTED) if coded else model


@every_estimator
@every_form
def test_a_search_takes_it_and_scores_by_it(name: str, form: Any) -> None:
    search = GridSearchCV(
        clone(ESTIMATORS[name]), {"penalty": [form, None]}, cv=2, error_score="raise",
        scoring=cost_scorer(form, classes=SORTED),
    ).fit(X, Y)  # fmt: skip
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) <= 0
    assert set(search.predict(X)) <= set(SORTED)
    wanted = penalty_over(form, SORTED).matrix()
    best = search.best_estimator_
    if best.penalty is form:
        np.testing.assert_array_equal(best.penalty_.matrix(), wanted)


@every_estimator
@every_form
def test_stacking_and_voting_number_the_labels_and_it_is_matched(name: str, form: Any) -> None:
    coded = made(name, form, coded=True)
    alone = made(name, form).fit(X, Y)
    stack = StackingClassifier(
        [("costly", coded), ("plain", GaussianNB())],
        make_pipeline(StandardScaler(), LogisticRegression()),
        cv=2,
    ).fit(X, Y)
    assert set(stack.predict(X)) <= set(SORTED)
    inside = stack.named_estimators_["costly"]
    np.testing.assert_array_equal(inside.classes_, [0, 1, 2])
    np.testing.assert_array_equal(inside.penalty_.matrix(), alone.penalty_.matrix())
    vote = VotingClassifier([("costly", coded)]).fit(X, Y)
    np.testing.assert_array_equal(vote.predict(X), alone.predict(X))


@every_estimator
@every_form
def test_predictions_by_folds_are_those_of_the_folds(name: str, form: Any) -> None:
    labels = cross_val_predict(made(name, form), X, Y, cv=3)
    assert set(labels) <= set(SORTED)
    coded = cross_val_predict(made(name, form, coded=True), X, Y, cv=3, method="predict_proba")
    assert coded.shape == (len(Y), 3)
    np.testing.assert_allclose(coded.sum(axis=1), 1.0)
    # With names or with numbers for them, the folds learn the same.
    again = cross_val_predict(made(name, form, coded=True), X, Y, cv=3)
    np.testing.assert_array_equal(again, labels)


@every_estimator
@pytest.mark.parametrize("form", [pytest.param(form, id=key) for key, form in NAMED.items()])
def test_numbers_are_never_taken_for_names_unasked(name: str, form: Any) -> None:
    with pytest.raises(PenaltyError, match=r"StackingClassifier put .*give the names as `classes`"):
        StackingClassifier([("costly", made(name, form))], GaussianNB(), cv=2).fit(X, Y)


@every_estimator
@pytest.mark.parametrize("form", [pytest.param(form, id=key) for key, form in PLACED.items()])
def test_costs_without_names_need_none(name: str, form: Any) -> None:
    stack = StackingClassifier([("costly", made(name, form))], GaussianNB(), cv=2).fit(X, Y)
    wanted = penalty_over(form, SORTED).matrix()
    np.testing.assert_array_equal(stack.estimators_[0].penalty_.matrix(), wanted)


@pytest.mark.parametrize("kind", ["boolean", "category"])
@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_booleans_of_pandas_are_true_and_false(estimator: Any, kind: Any) -> None:
    y = pd.Series(KIND == 1).astype(kind)
    costs = {(True, False): 5.0, "default": 1.0}
    model = clone(estimator).set_params(penalty=costs).fit(X, y)
    assert model.classes_.tolist() == [False, True]
    plain = clone(estimator).set_params(penalty=costs).fit(X, KIND == 1)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    y.iloc[0] = None
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(X, y)


@pytest.mark.parametrize("kind", [object, "string", "category"])
@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_the_row_of_a_missing_label_is_named(estimator: Any, kind: Any) -> None:
    y = pd.Series(Y, dtype=kind)
    y.iloc[7] = None
    with pytest.raises(DataError, match="`y` must have a label in every row; row 7 has none"):
        clone(estimator).fit(X, y)
    if kind is object:
        with pytest.raises(DataError, match="`y_true` must have a label in every row; row 7 has"):
            cost_scorer(RULES)(clone(estimator).fit(X, Y), X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_objects_that_are_booleans_are_true_and_false(estimator: Any) -> None:
    """As a column is that had missing values."""
    y = (KIND == 1).astype(object)
    model = clone(estimator).set_params(penalty={(True, False): 5.0}).fit(X, y)
    assert model.classes_.tolist() == [False, True]
    assert model.score(X, y) == np.mean(model.predict(X) == (KIND == 1))
    assert model.score(X, y, KIND + 1.0) == model.score(X, KIND == 1, KIND + 1.0)


@pytest.mark.parametrize("wrapper", [CostSensitiveClassifier, MetaCostClassifier])
def test_booleans_stay_so_around_a_classifier_that_answers_with_numbers(wrapper: Any) -> None:
    y, trees = KIND == 1, xgboost.XGBClassifier(n_estimators=3, n_jobs=1)
    assert trees.fit(X, y).predict(X).dtype.kind == "i"
    costs = {(True, False): 5.0, "default": 1.0}
    assert cost_scorer(costs)(trees, X, y) == -(4 * (y & (trees.predict(X) == 0)) + (
        trees.predict(X) != y
    )).mean()  # fmt: skip
    model = wrapper(trees, costs).fit(X, y)
    assert model.classes_.dtype == model.predict(X).dtype == bool
    numbers = wrapper(trees, {(1, 0): 5.0, "default": 1.0}).fit(X, y.astype(int))
    if wrapper is CostSensitiveClassifier:
        np.testing.assert_array_equal(model.predict(X), numbers.predict(X) == 1)
