"""`CostSensitiveClassifier`: the free decision rule, around any classifier with probabilities."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_validate,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import untrue
from untrue.decision.calibration import log_probs
from untrue.errors import ArgumentError, DataError, PenaltyError
from untrue.sklearn import (
    BilinearClassifier,
    BoostedClassifier,
    CostSensitiveClassifier,
    MetaCostClassifier,
    cost_scorer,
)

X, Y = load_digits(return_X_y=True)
WINE, KIND = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[KIND]
ZONE = untrue.Penalty.random_zone(10, 20, seed=0)
COSTS = untrue.Penalty.from_matrix(1.0 - np.eye(10) + 19.0 * ZONE.matrix())


def checks(*estimators: Any) -> Any:
    # The check of array API input skips itself unless an environment variable is set.
    found = [
        (estimator, check)
        for model in estimators
        for estimator, check in estimator_checks_generator(model)
        if check.func.__name__ != "check_array_api_input"
    ]
    return pytest.mark.parametrize(
        ("estimator", "check"), found, ids=[check.func.__name__ for _, check in found]
    )


@checks(
    CostSensitiveClassifier(LogisticRegression(), calibrate=False),
    CostSensitiveClassifier(GaussianNB(), calibrate=True),
)
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.DataConversionWarning",
    "ignore::untrue.UntrueWarning",
    "ignore:divide by zero encountered in log",  # GaussianNB's, at a class of no weight
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(15, random_state=0), GaussianNB()], ids=["forest", "bayes"]
)
def test_mistakes_cost_less_and_least_with_calibration(estimator: Any) -> None:
    cost: dict[str, float] = {"argmax": 0.0, "raw": 0.0, "calibrated": 0.0}
    for seed in range(3):
        x, test, y, truth = train_test_split(X, Y, test_size=0.5, random_state=seed, stratify=Y)
        models = {
            "argmax": clone(estimator),
            "raw": CostSensitiveClassifier(estimator, COSTS, calibrate=False),
            "calibrated": CostSensitiveClassifier(estimator, COSTS),
        }
        for name, model in models.items():
            cost[name] -= cost_scorer(COSTS)(model.fit(x, y), test, truth)
    assert cost["calibrated"] < 0.75 * cost["argmax"]
    assert cost["calibrated"] < 0.75 * cost["raw"]


def test_calibration_makes_probabilities_honest_and_keeps_their_order() -> None:
    x, test, y, truth = train_test_split(X, Y, test_size=0.5, random_state=0)
    plain = GaussianNB().fit(x, y)
    model = CostSensitiveClassifier(GaussianNB(), COSTS).fit(x, y)
    assert model.temperature_ > 2
    probs = model.predict_proba(test)
    np.testing.assert_allclose(probs.sum(1), 1.0)
    assert log_loss(truth, probs) < 0.5 * log_loss(truth, plain.predict_proba(test))
    sure = plain.predict_proba(test).max(1) < 1 - 1e-9  # others tie at 1 in floating point
    np.testing.assert_array_equal(probs[sure].argmax(1), plain.predict(test)[sure])


def test_labels_are_those_of_least_expected_cost() -> None:
    model = CostSensitiveClassifier(LogisticRegression(max_iter=50), COSTS, calibrate=False)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        model.fit(X, Y)
    assert model.temperature_ == 1.0
    probs = model.estimator_.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), probs)
    np.testing.assert_array_equal(model.predict(X), untrue.decide(probs, COSTS))


def test_strings_data_frames_and_pipelines() -> None:
    table = pd.DataFrame(WINE, columns=load_wine().feature_names)
    labels = pd.Series(NAMES, index=np.arange(100, 278))
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = CostSensitiveClassifier(inner, {("barbera", "barolo"): 30.0}).fit(table, labels)
    assert list(model.classes_) == ["barbera", "barolo", "grignolino"]
    assert list(model.feature_names_in_) == list(table.columns)
    assert model.n_features_in_ == 13
    assert (model.predict(table) == labels).mean() > 0.95


def test_the_estimator_sees_the_labels_as_they_are() -> None:
    weighted = LogisticRegression(class_weight={"barbera": 3.0}, max_iter=5000)
    model = make_pipeline(StandardScaler(), CostSensitiveClassifier(weighted)).fit(WINE, NAMES)
    assert model.score(WINE, NAMES) > 0.95


def test_sample_weights_reach_the_estimator_and_the_temperature() -> None:
    weight = np.where(KIND == 0, 5, 1)
    folds = StratifiedKFold(3)
    model = CostSensitiveClassifier(GaussianNB(), cv=folds).fit(WINE, KIND, sample_weight=weight)
    alone = GaussianNB().fit(WINE, KIND, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_.theta_, alone.theta_)
    np.testing.assert_allclose(model.estimator_.class_prior_, alone.class_prior_)
    plain = CostSensitiveClassifier(GaussianNB(), cv=folds).fit(WINE, KIND)
    assert model.temperature_ != plain.temperature_
    with pytest.raises(ArgumentError, match=r"but KNeighborsClassifier.fit takes none"):
        CostSensitiveClassifier(KNeighborsClassifier()).fit(WINE, KIND, sample_weight=weight)


def test_metadata_are_routed() -> None:
    weight = np.where(KIND == 0, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = make_pipeline(StandardScaler(), GaussianNB().set_fit_request(sample_weight=True))
        inner[0].set_fit_request(sample_weight=True)
        model = CostSensitiveClassifier(inner).fit(WINE, KIND, sample_weight=weight)
        np.testing.assert_allclose(
            model.estimator_[-1].class_prior_,
            GaussianNB().fit(WINE, KIND, sample_weight=weight).class_prior_,
        )
        model.set_fit_request(sample_weight=True)
        scorer = cost_scorer().set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"calibrate": [True, False]}, scoring=scorer, cv=3)
        search.fit(WINE, KIND, sample_weight=weight)
        assert search.best_score_ <= 0


@pytest.mark.parametrize("routing", [False, True])
def test_folds_of_groups_keep_copies_of_an_example_together(routing: bool) -> None:
    """Parted copies would be recognized: the temperature would be that of a sure model."""
    copies, kinds = np.tile(WINE[:, 2:4], (2, 1)), np.tile(KIND, 2)
    groups = np.tile(np.arange(len(KIND)), 2)
    nearest = KNeighborsClassifier(2)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = CostSensitiveClassifier(nearest, cv=GroupKFold(3)).fit(copies, kinds, groups=groups)
        parted = CostSensitiveClassifier(nearest, cv=StratifiedKFold(3)).fit(copies, kinds)
        passed = {"params": {"groups": groups}} if routing else {"groups": groups}
        scores = cross_validate(model, copies, kinds, cv=GroupKFold(3), **passed) if routing else {}
        unseen = cross_val_predict(
            nearest, copies, kinds, cv=GroupKFold(3), method="predict_proba", **passed
        )
    found = untrue.calibrate(log_probs(unseen), kinds)
    assert model.temperature_ == pytest.approx(found.temperature)
    assert model.temperature_ > 2 * parted.temperature_
    assert not routing or len(scores["test_score"]) == 3


def test_folds_of_groups_need_them() -> None:
    with pytest.raises(ValueError, match="groups"):
        CostSensitiveClassifier(GaussianNB(), cv=GroupKFold(3)).fit(WINE, KIND)
    with pytest.raises(ValueError, match="inconsistent"):
        CostSensitiveClassifier(GaussianNB(), cv=GroupKFold(3)).fit(WINE, KIND, groups=KIND[:9])


@pytest.mark.parametrize(
    "make",
    [
        lambda **more: CostSensitiveClassifier(GaussianNB(), **more),
        lambda **more: MetaCostClassifier(GaussianNB(), n_estimators=5, random_state=0, **more),
        lambda **more: BilinearClassifier(hidden=(), random_state=0, **more),
    ],
    ids=["decision", "metacost", "network"],
)
def test_codes_are_matched_by_classes_and_refused_without(make: Any) -> None:
    weak = WINE[:, 2:4]
    rules = {("barbera", "barolo"): 9.0, ("grignolino", "barolo"): 4.0}
    costs = untrue.Penalty.from_rules(["grignolino", "barolo", "barbera"], rules)
    classes, codes = np.unique(NAMES, return_inverse=True)
    with pytest.raises(PenaltyError, match=r"no class '0'.*give the names as `classes`"):
        make(penalty=costs).fit(weak, codes)
    by_name = make(penalty=costs).fit(weak, NAMES)
    by_code = make(penalty=costs, classes=classes).fit(weak, codes)
    np.testing.assert_array_equal(classes[by_code.predict(weak)], by_name.predict(weak))
    assert (by_name.predict(weak) == "barolo").sum() < (NAMES == "barolo").sum()


def test_a_trained_model_is_calibrated_alone() -> None:
    x, rest, y, rest_y = train_test_split(X, Y, test_size=0.5, random_state=0)
    trained = GaussianNB().fit(x, y)
    model = CostSensitiveClassifier(FrozenEstimator(trained), COSTS).fit(rest, rest_y)
    logits = np.log(np.maximum(trained.predict_proba(rest), 1e-12))
    assert model.temperature_ == pytest.approx(untrue.calibrate(logits, rest_y).temperature)
    with pytest.raises(DataError, match="Label '42' is not among the classes"):
        CostSensitiveClassifier(FrozenEstimator(trained)).fit(rest, np.full(len(rest), 42))


class Logits(LogisticRegression):  # type: ignore[misc]
    """As a network without a softmax at its end."""

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return self.decision_function(X)


class Backwards(GaussianNB):  # type: ignore[misc]
    """Whose classes are not in sorted order."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        super().fit(X, y)
        self.classes_ = self.classes_[::-1]
        return self

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return super().predict_proba(X)[:, ::-1]


def test_the_estimators_classes_may_be_in_any_order() -> None:
    costs = untrue.Penalty.from_rules(sorted(set(NAMES)), {("barolo", "barbera"): 9.0})
    backwards, plain = (
        CostSensitiveClassifier(each, costs).fit(WINE[:, :3], NAMES)
        for each in (Backwards(), GaussianNB())
    )
    assert backwards.temperature_ == pytest.approx(plain.temperature_)
    np.testing.assert_array_equal(backwards.predict(WINE[:, :3]), plain.predict(WINE[:, :3]))


@pytest.mark.parametrize("calibrate", [True, False])
@pytest.mark.parametrize("wrapper", [CostSensitiveClassifier, MetaCostClassifier])
def test_logits_are_not_taken_for_probabilities(wrapper: Any, calibrate: bool) -> None:
    scaled = StandardScaler().fit_transform(WINE)
    model = wrapper(Logits())
    if wrapper is CostSensitiveClassifier:
        model.set_params(calibrate=calibrate)
    with pytest.raises(DataError, match=r"Logits.predict_proba gives no probabilities: `probs`"):
        model.fit(scaled, NAMES).predict(scaled)
    halves = wrapper(Logits())  # two classes: a single column
    with pytest.raises(DataError, match=r"must give probabilities of shape \(N, 2\).*; got shape"):
        halves.fit(scaled, KIND == 1).predict(scaled)


@pytest.mark.filterwarnings("ignore:Cannot compute class probabilities")  # LightGBM's own
def test_boosted_trees_by_our_objective_give_logits_and_are_refused() -> None:
    costs = untrue.Penalty.from_rules(3, {(2, 0): 9.0})
    trees = lightgbm.LGBMClassifier(
        objective=untrue.boosting.lightgbm_objective(costs), n_estimators=3, verbose=-1
    )
    with pytest.raises(DataError, match=r"With our objective use untrue.sklearn.BoostedClass"):
        CostSensitiveClassifier(trees, costs).fit(WINE, KIND)
    inside = BoostedClassifier(lightgbm.LGBMClassifier(n_estimators=30, verbose=-1), costs)
    assert CostSensitiveClassifier(inside, costs).fit(WINE, KIND).score(WINE, KIND) > 0.9


def test_what_is_wrong_is_said_at_fit() -> None:
    with pytest.raises(ArgumentError, match="must have predict_proba; RidgeClassifier has none"):
        CostSensitiveClassifier(RidgeClassifier()).fit(WINE, KIND)
    with pytest.raises(PenaltyError, match=r"Unknown class 'barollo'.*did you mean 'barolo'"):
        CostSensitiveClassifier(GaussianNB(), {("barollo", "barbera"): 2.0}).fit(WINE, NAMES)
    few = np.array([*KIND[:-1], 7])
    with pytest.raises(DataError, match=r"needs 2 examples of each class; '7' has one"):
        CostSensitiveClassifier(KNeighborsClassifier()).fit(WINE, few)
