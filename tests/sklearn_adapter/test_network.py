"""`BilinearClassifier` is an estimator like any other, and listens to what mistakes cost."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    estimator_checks_generator,
)

import untrue
from untrue import Penalty, decide
from untrue.errors import ArgumentError, DataError, DivergedError, PenaltyError, UntrueWarning
from untrue.sklearn import BilinearClassifier, cost_scorer
from untrue.sklearn.stopping import folds_of

IRIS, FLOWER = load_iris(return_X_y=True)
NAMED = load_iris().target_names[FLOWER]
COSTLY = {("virginica", "versicolor"): 20.0}


# The check of array API input skips itself unless an environment variable is set.
CHECKS = [
    (estimator, check)
    for estimator, check in estimator_checks_generator(BilinearClassifier())
    if check.func.__name__ != "check_array_api_input"
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[check.func.__name__ for _, check in CHECKS]
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
def test_weights_are_repetitions_with_costs_too(loss: Any) -> None:
    costs = [[0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    model = BilinearClassifier(costs, loss, 0.3, (8, 8), decision="cost")
    check_sample_weight_equivalence_on_dense_data("BilinearClassifier", model)


@pytest.mark.parametrize(
    ("load", "least"),
    [(load_iris, 0.93), (load_wine, 0.95), (load_digits, 0.92), (load_breast_cancer, 0.95)],
)
def test_tables_work_as_they_are(load: Any, least: float) -> None:
    x, y = load(return_X_y=True)
    predicted = cross_val_predict(BilinearClassifier(random_state=0), x, y, cv=3)
    assert (predicted == y).mean() > least


@pytest.mark.parametrize("loss", ["bilinear", "log-bilinear"])
def test_fewer_errors_in_the_zone_at_about_the_same_accuracy(loss: Any) -> None:
    x, y = load_digits(return_X_y=True)
    in_zone, right = np.zeros(2), np.zeros(2)
    for seed in range(3):
        zone = Penalty.random_zone(10, 20, seed=seed)
        train, test, target, truth = train_test_split(x, y, test_size=0.5, random_state=seed)
        for row, alpha in enumerate([0.0, 0.5]):
            model = BilinearClassifier(zone.matrix() * 5, loss, alpha, (8,), random_state=seed)
            predicted = model.fit(train, target).predict(test)
            confusion = untrue.metrics.confusion_matrix(truth, predicted, 10)
            in_zone[row] += untrue.metrics.zone_errors(confusion, zone)
            right[row] += (predicted == truth).mean() / 3
    assert in_zone[1] <= 0.6 * in_zone[0]
    assert right[1] >= right[0] - 0.02


def test_penalties_in_every_form_train_the_same_model() -> None:
    names = ["virginica", "setosa", "versicolor", "never seen"]
    matrix = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 20.0, 0.0]]
    forms: list[Any] = [
        COSTLY,
        {**COSTLY, "default": 1.0},
        matrix,
        pd.DataFrame(matrix, index=np.unique(NAMED), columns=np.unique(NAMED)),
        Penalty.from_rules(names, {("virginica", "versicolor"): 20.0}),
    ]
    models = [
        BilinearClassifier(form, random_state=0, epochs=20).fit(IRIS, NAMED) for form in forms
    ]
    for model in models:
        assert model.penalty_.cost("virginica", "versicolor") == 20.0
        np.testing.assert_allclose(model.predict_proba(IRIS), models[0].predict_proba(IRIS))
    plain = BilinearClassifier(random_state=0, epochs=20).fit(IRIS, NAMED)
    assert not np.allclose(plain.predict_proba(IRIS), models[0].predict_proba(IRIS))


def test_the_costly_mistake_becomes_rarer_than_without_costs() -> None:
    mistakes = []
    for penalty in (None, COSTLY):
        model = BilinearClassifier(penalty, random_state=0, hidden=(), epochs=100)
        predicted = cross_val_predict(model, IRIS, NAMED, cv=3)
        mistakes.append(((NAMED == "virginica") & (predicted == "versicolor")).sum())
    assert mistakes[1] < mistakes[0]


def test_deciding_by_cost_is_the_least_expected_cost_of_its_probabilities() -> None:
    model = BilinearClassifier(COSTLY, alpha=0.0, decision="cost", random_state=0, epochs=20)
    model.fit(IRIS, NAMED)
    expected = model.penalty_.expected(model.predict_proba(IRIS))
    np.testing.assert_array_equal(model.predict(IRIS), model.classes_[expected.argmin(1)])
    likeliest = model.classes_[model.predict_proba(IRIS).argmax(1)]
    assert (model.predict(IRIS) != likeliest).any()
    np.testing.assert_array_equal(model.set_params(decision="argmax").predict(IRIS), likeliest)


@pytest.mark.parametrize(
    ("loss", "costs", "shares", "once", "twice"),
    [
        ("bilinear", [[0, 1, 20], [1, 0, 20], [10, 2, 0]], (0.78, 0.04, 0.18), 1, 0),
        ("log-bilinear", [[0, 10, 20], [10, 0, 1], [20, 10, 0]], (0.11, 0.87, 0.02), 1, 2),
    ],
)
def test_costs_in_the_loss_do_not_count_again_in_the_decision(
    loss: Any, costs: Any, shares: Any, once: int, twice: int
) -> None:
    """Nothing can be learned but the shares of the classes, so the cheapest answer is known."""
    costs = np.array(costs, float)
    labels = np.repeat([0, 1, 2], np.multiply(shares, 1000).astype(int))
    assert (np.bincount(labels) @ costs).argmin() == once
    nothing = np.zeros((len(labels), 1))
    model = BilinearClassifier(costs, loss, 0.5, (), decision="cost", random_state=0, warmup=0.0)
    model.set_params(early_stopping=False, epochs=2000).fit(nothing, labels)
    assert set(model.predict(nothing)) == {once}
    assert set(decide(model.predict_proba(nothing), model.penalty_)) == {twice}
    with pytest.raises(ArgumentError, match=r'`alpha` must be below 1 with `decision="cost"`'):
        model.set_params(alpha=1.0).fit(nothing, labels)


def test_alpha_is_searched_in_a_pipeline_over_a_data_frame() -> None:
    table = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    pipeline = make_pipeline(MinMaxScaler().set_output(transform="pandas"), BilinearClassifier())
    pipeline.set_params(bilinearclassifier__penalty=COSTLY, bilinearclassifier__epochs=30)
    pipeline.set_params(bilinearclassifier__random_state=0)
    search = GridSearchCV(
        pipeline, {"bilinearclassifier__alpha": [0.0, 0.5]}, scoring=cost_scorer(COSTLY), cv=3
    ).fit(table, pd.Series(NAMED, index=np.arange(7, 157)))
    assert list(search.classes_) == ["setosa", "versicolor", "virginica"]
    assert list(search.best_estimator_[-1].feature_names_in_) == ["a", "b", "c", "d"]
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) <= 0


def test_the_same_seed_gives_the_same_model_also_after_clone_and_pickle() -> None:
    model = BilinearClassifier(COSTLY, random_state=3, batch_size=32, epochs=5)
    probs = model.fit(IRIS, NAMED).predict_proba(IRIS)
    np.testing.assert_array_equal(clone(model).fit(IRIS, NAMED).predict_proba(IRIS), probs)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(IRIS), probs)
    other = clone(model).set_params(random_state=4).fit(IRIS, NAMED)
    assert not np.allclose(other.predict_proba(IRIS), probs)


def test_partial_fit_goes_on_where_it_was_also_after_pickling() -> None:
    model = BilinearClassifier(COSTLY, learning_rate=0.02, random_state=0)
    order = np.random.default_rng(0).permutation(len(IRIS))
    for _ in range(15):
        for rows in np.array_split(order, 5):
            model.partial_fit(IRIS[rows], NAMED[rows], classes=np.unique(NAMED))
            model = pickle.loads(pickle.dumps(model))
    assert model.n_iter_ == len(model.loss_curve_) == 75
    assert model.loss_curve_[-1] < 0.2 * model.loss_curve_[0]
    assert model.score(IRIS, NAMED) > 0.9


def test_partial_fit_after_fit_improves_the_same_model() -> None:
    model = BilinearClassifier(random_state=0, epochs=5).fit(IRIS, NAMED)
    before = model.loss_curve_[-1]
    for _ in range(20):
        model.partial_fit(IRIS, NAMED)
    assert model.loss_curve_[-1] < before
    assert model.n_iter_ == 25


def noisy_wine() -> tuple[Any, Any]:
    x, y = load_wine(return_X_y=True)
    y[::3] = np.random.default_rng(0).permutation(y[::3])  # something to memorise
    return x, y


def test_it_trains_as_long_as_it_helps_on_examples_left_out() -> None:
    x, y = noisy_wine()
    model = BilinearClassifier(random_state=0).fit(x, y)
    curve = model.validation_curve_
    assert model.n_iter_ == int(np.argmin(curve)) + 1 < 40
    assert len(curve) > model.n_iter_ + 5
    # The labels that were put at random are not learned by heart, as they are without.
    whole = clone(model).set_params(early_stopping=False).fit(x, y)
    assert model.score(x, y) < 0.85
    assert whole.score(x, y) > 0.9


def test_small_tables_are_not_memorised_by_default() -> None:
    """Noise in 60 columns: what is learned by heart costs twice what is not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 60))
    y = np.where(x[:, 0] + 2 * rng.normal(size=400) > 0, "good", "bad")
    costs = {("bad", "good"): 5.0, ("good", "bad"): 1.0}
    mean = []
    for early in (True, False):
        model = BilinearClassifier(
            costs, alpha=0.0, decision="cost", early_stopping=early, random_state=0
        )
        answers = cross_val_predict(model, x, y, cv=5)
        costly, cheap = (y == "bad") & (answers == "good"), (y == "good") & (answers == "bad")
        mean.append((5 * costly + cheap).mean())
    assert mean[0] < 0.75 * mean[1]


def test_large_tables_leave_one_part_out_and_keep_the_best_pass() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 20))
    y = rng.integers(3, size=3_000)  # nothing to learn
    model = BilinearClassifier(random_state=0, patience=3, learning_rate=0.02).fit(x, y)
    curve = model.validation_curve_
    assert len(curve) == model.n_iter_ == int(np.argmin(curve)) + 1 + 3


@pytest.mark.parametrize(("n_classes", "fraction"), [(500, 0.1), (5, 0.001), (5, 0.9999)])
def test_large_tables_leave_a_part_out_that_is_too_small_for_all_classes(
    n_classes: int, fraction: float
) -> None:
    x, y = np.random.default_rng(0).normal(size=(3_000, 2)), np.arange(3_000) % n_classes
    model = BilinearClassifier(random_state=0, epochs=1, validation_fraction=fraction).fit(x, y)
    assert len(model.validation_curve_) == model.n_iter_ == 1
    assert model.predict_proba(x[:2]).shape == (2, n_classes)


def test_folds_are_those_of_repeated_rows_and_balanced() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], [40, 18, 2])
    weight = rng.integers(1, 4, size=60)
    fold = folds_of(x, y, weight.astype(float), np.random.RandomState(5))
    again = np.repeat(np.arange(60), weight)
    repeated = folds_of(x[again], y[again], np.ones(len(again)), np.random.RandomState(5))
    np.testing.assert_array_equal(repeated, fold[again])
    shares = np.bincount(fold, weights=weight) / weight.sum()
    assert shares == pytest.approx([0.2] * 5, abs=0.06)


def test_what_cannot_be_left_out_is_trained_on_whole() -> None:
    model = BilinearClassifier(random_state=0, epochs=7).fit([[1.0], [1.0]], ["a", "a"])
    assert model.n_iter_ == 7
    assert not hasattr(model, "validation_curve_")
    model.fit(IRIS, FLOWER)
    assert len(model.validation_curve_) == 7
    assert not hasattr(
        model.set_params(early_stopping=False).fit(IRIS, FLOWER), "validation_curve_"
    )


def test_large_data_train_in_batches_quickly() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 10)) * 50 + 7
    y = (x @ rng.normal(size=(10, 3))).argmax(1)
    begin = time.process_time()
    model = BilinearClassifier(random_state=0).fit(x[:10_000], y[:10_000])
    assert time.process_time() - begin < 30
    assert model.n_iter_ == 20
    assert model.score(x[10_000:], y[10_000:]) > 0.95


def test_a_free_class_at_high_alpha_is_warned_of() -> None:
    zone = Penalty.from_zone([("virginica", "versicolor")], classes=list(np.unique(NAMED)))
    with pytest.warns(UntrueWarning, match="Predicting setosa, virginica never costs anything"):
        BilinearClassifier(zone, alpha=0.95, epochs=5, random_state=0).fit(IRIS, NAMED)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"loss": "hinge"}, ArgumentError, "`loss` must be 'bilinear' or 'log-bilinear'; got 'hi"),
        ({"decision": "max"}, ArgumentError, "`decision` must be 'argmax' or 'cost'; got 'max'"),
        ({"alpha": 1.5}, ArgumentError, r"`alpha` must lie in \[0, 1\]; got 1.5"),
        ({"alpha": "high"}, ArgumentError, r"`alpha` must lie in \[0, 1\]; got 'high'"),
        ({"learning_rate": 0}, ArgumentError, "`learning_rate` must be positive; got 0"),
        ({"weight_decay": -1}, ArgumentError, "`weight_decay` must be at least 0; got -1"),
        ({"validation_fraction": 0}, ArgumentError, r"must lie strictly between 0 and 1; got 0"),
        ({"epochs": 0}, ArgumentError, "`epochs` must be at least 1; got 0"),
        ({"hidden": (8, 0)}, ArgumentError, "`hidden` must be at least 1; got 0"),
        ({"hidden": 64}, ArgumentError, "`hidden` must list the widths of layers; got 64"),
        ({"penalty": {("virginca", "setosa"): 2.0}}, PenaltyError,
         "Unknown class 'virginca' in the penalty; did you mean 'virginica'"),
        ({"penalty": Penalty.from_rules(["setosa", "versicolour", "virginica"], {})}, PenaltyError,
         "no class 'versicolor', which is in the data; did you mean 'versicolour'"),
        ({"penalty": np.ones((2, 2)) - np.eye(2)}, PenaltyError, "for 2 classes, but the data"),
        ({"penalty": "costs.csv"}, PenaltyError, r"For a file: untrue.Penalty.load\(path\)"),
        ({"learning_rate": 1e200, "standardize": False}, DivergedError, "Training stopped"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_what_is_wrong_is_said_at_fit(parameters: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        BilinearClassifier(**parameters).fit(IRIS, NAMED)


def test_partial_fit_says_what_is_wrong() -> None:
    model = BilinearClassifier()
    with pytest.raises(NotFittedError):
        model.predict(IRIS)
    with pytest.raises(ArgumentError, match="`classes`, all labels, must be given to the first"):
        model.partial_fit(IRIS, NAMED)
    model.partial_fit(IRIS, NAMED, classes=np.unique(NAMED))
    with pytest.raises(ArgumentError, match="`classes` must be those of the first call"):
        model.partial_fit(IRIS, NAMED, classes=["setosa"])
    with pytest.raises(DataError, match="Label 'virginca' is not among the classes; did you mean"):
        model.partial_fit(IRIS[:1], ["virginca"])


def test_without_scikit_learn_the_install_line_is_named() -> None:
    program = "import sys; sys.modules['sklearn'] = None\nimport untrue.sklearn"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode != 0
    line = 'untrue.sklearn needs scikit-learn, which is missing: pip install "untrue[sklearn]".'
    assert line in ended.stderr
