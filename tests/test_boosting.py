"""Real LightGBM and XGBoost listen to costs, and at alpha = 0 grow the trees they always grew."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

import untrue
from untrue import Penalty, boosting, reference
from untrue.errors import ArgumentError, DataError, PenaltyError

LOSSES = ["bilinear", "log-bilinear"]
OBJECTIVES = [boosting.lightgbm_objective, boosting.xgboost_objective]
X, Y = load_digits(return_X_y=True)
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, len(Y))
ZONE = Penalty.random_zone(10, 20, seed=1)
LIGHTGBM: dict[str, Any] = {
    "num_leaves": 8, "learning_rate": 0.2, "verbose": -1, "num_threads": 1, "metric": "None",
}  # fmt: skip
XGBOOST: dict[str, Any] = {"max_depth": 3, "nthread": 1, "base_score": 0.5, "min_child_weight": 0.1}


def lightgbm_scores(
    objective: Any, x: Any, y: Any, test: Any, rounds: int = 40, **more: Any
) -> Any:
    params = {**LIGHTGBM, "num_class": 10, "objective": objective}
    data = lightgbm.Dataset(x, y, weight=more.pop("weight", None))
    return lightgbm.train({**params, **more}, data, rounds).predict(test, raw_score=True)


def xgboost_scores(objective: Any, x: Any, y: Any, test: Any, rounds: int = 40, **more: Any) -> Any:
    params = {**XGBOOST, "num_class": 10, "objective": "multi:softprob"}
    data = xgboost.DMatrix(x, y, weight=more.pop("weight", None))
    booster = xgboost.train({**params, **more}, data, rounds, obj=objective)
    return booster.predict(xgboost.DMatrix(test), output_margin=True)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("scores", "objective"),
    [
        (lightgbm_scores, boosting.lightgbm_objective),
        (xgboost_scores, boosting.xgboost_objective),
    ],
    ids=["lightgbm", "xgboost"],
)
def test_fewer_errors_in_the_zone_at_about_the_same_accuracy(
    scores: Any, objective: Any, loss: Any
) -> None:
    """Real digits, six splits, each with its own zone; the plain objective at alpha = 0."""
    in_zone, right = np.zeros((2, 6)), np.zeros((2, 6))
    for seed in range(6):
        zone = Penalty.random_zone(10, 20, seed=seed)
        x, test, y, truth = train_test_split(X, Y, test_size=0.5, random_state=seed, stratify=Y)
        for row, alpha in enumerate([0.0, 0.5]):
            costs = objective(zone.matrix() * 10.0, loss=loss, alpha=alpha)
            predicted = scores(costs, x, y, test).argmax(1)
            confusion = untrue.metrics.confusion_matrix(truth, predicted, 10)
            in_zone[row, seed] = untrue.metrics.zone_errors(confusion, zone)
            right[row, seed] = (predicted == truth).mean()
    assert in_zone[1].sum() <= 0.8 * in_zone[0].sum()
    assert (in_zone[1] < in_zone[0]).sum() > (in_zone[1] > in_zone[0]).sum()
    assert right[1].mean() >= right[0].mean() - 0.015


def test_alpha_0_grows_the_trees_of_lightgbms_own_objective() -> None:
    ours = boosting.lightgbm_objective(ZONE, alpha=0.0)
    found = lightgbm_scores(ours, X, Y, X, 5, weight=WEIGHT)
    own = lightgbm_scores("multiclass", X, Y, X, 5, weight=WEIGHT, boost_from_average=False)
    np.testing.assert_allclose(found, own, atol=1e-5)


def test_alpha_0_grows_the_trees_of_xgboosts_own_objective() -> None:
    ours = boosting.xgboost_objective(ZONE, alpha=0.0, loss="log-bilinear")
    found = xgboost_scores(ours, X, Y, X, 5, weight=WEIGHT)
    np.testing.assert_allclose(found, xgboost_scores(None, X, Y, X, 5, weight=WEIGHT), atol=1e-5)


def test_the_lightgbm_estimator_grows_the_same_trees_as_the_booster() -> None:
    objective = boosting.lightgbm_objective(ZONE, alpha=0.5)
    model = lightgbm.LGBMClassifier(objective=objective, n_estimators=5, **LIGHTGBM)
    digits = np.array([f"digit {y}" for y in Y])
    model.fit(X, digits, sample_weight=WEIGHT)
    raw = model.predict_proba(X, raw_score=True)
    np.testing.assert_allclose(raw, lightgbm_scores(objective, X, Y, X, 5, weight=WEIGHT))
    assert (model.classes_[boosting.probs(raw).argmax(1)] == digits).mean() > 0.9


def test_the_xgboost_estimator_grows_the_same_trees_as_the_booster() -> None:
    objective = boosting.xgboost_objective(ZONE, alpha=0.5)
    model = xgboost.XGBClassifier(objective=objective, n_estimators=5, **XGBOOST)
    model.fit(X, Y, sample_weight=WEIGHT)
    raw = xgboost_scores(objective, X, Y, X, 5, weight=WEIGHT)
    np.testing.assert_allclose(model.predict_proba(X), boosting.probs(raw), atol=1e-6)
    assert (model.predict(X) == Y).mean() > 0.9


def test_two_classes_with_a_single_score_are_the_binary_objective_at_alpha_0() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    costs = [[0.0, 20.0], [1.0, 0.0]]
    own: Any = lightgbm.LGBMClassifier(n_estimators=5, boost_from_average=False, **LIGHTGBM)
    ours = clone(own).set_params(objective=boosting.lightgbm_objective(costs, alpha=0.0))
    found, wanted = (m.fit(x, y).predict_proba(x, raw_score=True) for m in (ours, own))
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    own = xgboost.XGBClassifier(n_estimators=5, **XGBOOST)
    ours = clone(own).set_params(objective=boosting.xgboost_objective(costs, alpha=0.0))
    found, wanted = (m.fit(x, y).predict_proba(x) for m in (ours, own))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_fewer_tumours_are_called_benign_when_that_costs_20() -> None:
    x, y = load_breast_cancer(return_X_y=True)  # 0 malignant, 1 benign
    missed = np.zeros(2)
    for seed in range(6):
        train, test, target, truth = train_test_split(x, y, test_size=0.5, random_state=seed)
        for row, alpha in enumerate([0.0, 0.5]):
            objective = boosting.lightgbm_objective([[0.0, 20.0], [1.0, 0.0]], alpha=alpha)
            model = lightgbm.LGBMClassifier(objective=objective, n_estimators=30, **LIGHTGBM)
            predicted = model.fit(train, target).predict_proba(test, raw_score=True) > 0
            missed[row] += (predicted & (truth == 0)).sum()
    assert missed[1] <= 0.85 * missed[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_derivatives_are_weighted_finite_and_positive_however_sure_the_scores(
    objective: Any, loss: Any
) -> None:
    rng = np.random.default_rng(2)
    scores = np.concatenate([rng.normal(size=(20, 10)), rng.choice([-1e4, 0, 1e4], (20, 10))])
    labels, weight = rng.integers(10, size=40), rng.uniform(size=40)
    for alpha in (0.0, 0.5, 1.0):
        made = objective(ZONE, loss=loss, alpha=alpha)
        gradient, hessian = made(labels.astype(np.float32), scores, weight)
        rows = reference.cost_rows(ZONE.matrix(), labels)
        slopes = reference.gradients(scores, labels, rows, loss=loss, alpha=alpha)
        np.testing.assert_allclose(gradient, slopes * weight[:, None], rtol=2e-5, atol=1e-7)
        assert np.isfinite(hessian).all()
        assert (hessian > 0).all()
        plain = made(labels, scores)
        np.testing.assert_allclose(plain[0], slopes, rtol=2e-5, atol=1e-7)
        np.testing.assert_allclose(hessian, plain[1] * weight[:, None], atol=1e-15)


def test_metrics_of_lightgbm_agree_with_its_own_and_with_the_formulas() -> None:
    seen: dict[str, Any] = {}
    data = lightgbm.Dataset(X, Y, weight=WEIGHT)
    metrics: Any = [
        boosting.lightgbm_metric(ZONE, alpha=0.0, raw=False),
        boosting.lightgbm_metric(ZONE, "log-bilinear", 0.5, raw=False),
        boosting.lightgbm_metric(ZONE, measure="cost", raw=False),
    ]
    params = {**LIGHTGBM, "objective": "multiclass", "num_class": 10, "metric": "multi_logloss"}
    record = lightgbm.record_evaluation(seen)
    booster = lightgbm.train(params, data, 3, valid_sets=[data], feval=metrics, callbacks=[record])
    found = {name: values[-1] for name, values in seen["training"].items()}
    assert found["bilinear-loss"] == pytest.approx(found["multi_logloss"])
    raw: Any = booster.predict(X, raw_score=True)
    rows = reference.cost_rows(ZONE.matrix(), Y)
    each = reference.losses(raw, Y, rows, loss="log-bilinear", alpha=0.5)
    assert found["log-bilinear-loss"] == pytest.approx(np.average(each, weights=WEIGHT), rel=1e-5)
    cost = np.average(ZONE.cost(Y, raw.argmax(1)), weights=WEIGHT)
    assert found["cost"] == pytest.approx(cost)
    # The same from raw scores, as an estimator calls it.
    metric = boosting.lightgbm_metric(ZONE, "log-bilinear", 0.5)
    name, value, higher_is_better = metric(Y, raw, WEIGHT)
    assert (name, higher_is_better) == ("log-bilinear-loss", False)
    assert value == pytest.approx(found["log-bilinear-loss"], rel=1e-5)
    assert np.isnan(metric(Y, raw, np.zeros(len(Y)))[1]), "nothing counts"


def test_lightgbm_stops_early_by_our_metric() -> None:
    x, test, y, truth = train_test_split(X, Y, test_size=0.5, random_state=0)
    model = lightgbm.LGBMClassifier(
        objective=boosting.lightgbm_objective(ZONE), n_estimators=200, **LIGHTGBM
    )
    model.fit(
        x, y, eval_X=test, eval_y=truth, eval_metric=boosting.lightgbm_metric(ZONE),
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )  # fmt: skip
    history = model.evals_result_["valid_0"]["bilinear-loss"]
    assert model.best_iteration_ < 200
    assert history[model.best_iteration_ - 1] == min(history)


def test_metrics_of_xgboost_agree_with_its_own_in_both_interfaces() -> None:
    seen: dict[str, Any] = {}
    data = xgboost.DMatrix(X, Y, weight=WEIGHT)
    params = {**XGBOOST, "objective": "multi:softprob", "num_class": 10, "eval_metric": "mlogloss"}
    booster = xgboost.train(
        params, data, 3, obj=boosting.xgboost_objective(ZONE), evals=[(data, "train")],
        custom_metric=boosting.xgboost_metric(ZONE, alpha=0.0), evals_result=seen,
        verbose_eval=False,
    )  # fmt: skip
    assert seen["train"]["bilinear-loss"] == pytest.approx(seen["train"]["mlogloss"], abs=1e-5)
    model = xgboost.XGBClassifier(
        objective=boosting.xgboost_objective(ZONE), n_estimators=3, **XGBOOST,
        eval_metric=boosting.xgboost_metric(ZONE, measure="cost"),
    )  # fmt: skip
    model.fit(X, Y, sample_weight=WEIGHT, eval_set=[(X, Y)], verbose=False)
    cost = ZONE.cost(Y, booster.predict(data).argmax(1)).mean()
    assert model.evals_result()["validation_0"]["cost"][-1] == pytest.approx(cost, abs=1e-5)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_named_costs_follow_the_order_of_the_labels(objective: Any) -> None:
    named = Penalty.from_rules(["dog", "cat", "ant"], {("dog", "cat"): 7.0})
    by_rules = objective({("dog", "cat"): 7.0}, classes=["ant", "cat", "dog"])
    by_name = objective(named, classes=["ant", "cat", "dog"])
    scores = np.array([[0.1, 0.2, 0.3]])
    for found, wanted in zip(by_name([2], scores), by_rules([2], scores), strict=True):
        np.testing.assert_array_equal(found, wanted)
    gradient = by_name([2], scores)[0][0]
    assert gradient.argmax() == 1  # for a dog, away from the cat above all


NAMED = Penalty.from_rules(["good", "bad"], {("bad", "good"): 5.0})
SMALL = {"n_estimators": 3, "min_child_samples": 2, **LIGHTGBM}


@pytest.mark.parametrize("kind", ["objective", "metric"])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_an_estimator_is_never_served_names_by_position(library: str, kind: str) -> None:
    """LGBMClassifier sorts the labels, so that 0 is "bad", the penalty's second class."""
    make = getattr(boosting, f"{library}_{kind}")
    with pytest.raises(ArgumentError, match=r"has class names, good, bad, .*classes=\['bad', 'go"):
        make(NAMED)([0, 1], np.zeros(2))
    by_name = make(NAMED, classes=["bad", "good"])([0, 1], np.zeros(2))
    by_matrix = make(NAMED.select(["bad", "good"]).matrix())([0, 1], np.zeros(2))
    np.testing.assert_array_equal(by_name, by_matrix)


def test_a_named_penalty_in_lgbmclassifier_is_refused_or_right() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["good", "bad"])[y]
    objective = boosting.lightgbm_objective(NAMED)
    with pytest.raises(ArgumentError, match="Give `classes`, the labels in the order of their"):
        lightgbm.LGBMClassifier(objective=objective, **SMALL).fit(x, labels)
    found, wanted = (
        lightgbm.LGBMClassifier(objective=objective, **SMALL)
        .fit(x, labels)
        .predict_proba(x, raw_score=True)
        for objective in (
            boosting.lightgbm_objective(NAMED, classes=["bad", "good"]),
            boosting.lightgbm_objective([[0.0, 5.0], [1.0, 0.0]]),
        )
    )
    np.testing.assert_array_equal(found, wanted)


def test_a_booster_takes_codes_in_the_order_of_the_penalty() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    named, plain = (
        lightgbm.train(
            {**LIGHTGBM, "num_class": 2, "objective": boosting.lightgbm_objective(costs)},
            lightgbm.Dataset(x, y),
            3,
        ).predict(x)
        for costs in (NAMED, NAMED.matrix())
    )
    np.testing.assert_array_equal(named, plain)


EACH = NAMED.per_example({("bad", "good"): np.linspace(1.0, 50.0, 569)})


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_costs_of_each_example_are_the_rows_of_the_loss(objective: Any, loss: Any) -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(569, 2)), rng.integers(2, size=569)
    made = objective(EACH, loss=loss, alpha=0.4, classes=["bad", "good"])
    rows = np.where(labels[:, None] == 0, [0.0, 1.0], [1.0, 0.0])
    rows[labels == 0, 1] = np.linspace(1.0, 50.0, 569)[labels == 0]
    wanted = reference.gradients(scores, labels, rows, loss=loss, alpha=0.4)
    np.testing.assert_allclose(made(labels, scores)[0], wanted, rtol=2e-6)  # in single precision
    with pytest.raises(ArgumentError, match="has class names, good, bad"):
        objective(EACH)(labels, scores)
    with pytest.raises(DataError, match="costs are of 569 examples, but the data have 10 rows"):
        made(labels[:10], scores[:10])


def test_trees_mind_the_costly_examples_most() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    amounts = np.linspace(1.0, 50.0, 569)
    x, codes = np.column_stack([x[:, 1], amounts]), 1 - y  # 1 is bad, as in the penalty
    gap = {}
    for name, costs in (("each", EACH), ("mean", EACH.mean(codes))):
        objective = boosting.lightgbm_objective(costs, alpha=0.3)
        params = {**LIGHTGBM, "num_class": 2, "objective": objective}
        booster = lightgbm.train(params, lightgbm.Dataset(x, codes), 20)
        bad = boosting.probs(booster.predict(x, raw_score=True))[:, 1]
        gap[name] = (
            bad[(codes == 0) & (amounts > 35)].mean() - bad[(codes == 0) & (amounts < 15)].mean()
        )
    assert gap["each"] > gap["mean"] + 0.1
    metric = boosting.lightgbm_metric(EACH, measure="cost", classes=["good", "bad"])
    scores = np.stack([np.ones(569), np.zeros(569)], axis=1)  # all are called good
    found = metric(codes, scores)[1]
    assert found == pytest.approx(np.where(codes == 1, np.linspace(1.0, 50.0, 569), 0.0).mean())


def test_objectives_pickle_and_survive_clone() -> None:
    objective = boosting.lightgbm_objective(ZONE, alpha=0.3)
    model = clone(lightgbm.LGBMClassifier(objective=objective, n_estimators=2, **LIGHTGBM))
    model = pickle.loads(pickle.dumps(model.fit(X, Y)))
    assert model.predict_proba(X, raw_score=True).shape == (len(X), 10)


def test_probabilities_of_raw_scores() -> None:
    np.testing.assert_allclose(boosting.probs([[1e4, 0.0, 0.0]]), [[1.0, 0.0, 0.0]])
    np.testing.assert_allclose(boosting.probs([np.log(3.0)]), [[0.25, 0.75]])
    with pytest.raises(ArgumentError, match=r"`raw` must have shape \(N, k\) or \(N,\); got \(\)"):
        boosting.probs(1.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda make: make(ZONE, loss="hinge"), ArgumentError, "`loss` must be 'bilinear' or"),
        (lambda make: make(ZONE, alpha=-1), ArgumentError, r"`alpha` must lie in \[0, 1\]; got -1"),
        (lambda make: make({("a", "b"): 2.0}), ArgumentError, "`penalty` needs `classes` here"),
        (lambda make: make([[0.0, -1.0], [1.0, 0.0]]), PenaltyError, "must not be negative"),
        (
            lambda make: make({("catt", "dog"): 2.0}, classes=["cat", "dog"]),
            PenaltyError,
            "Unknown class 'catt' in the penalty; did you mean 'cat'?",
        ),
        (
            lambda make: make(ZONE)([0, 1], np.zeros(2)),
            ArgumentError,
            r"must have shape \(2, 10\); got \(2,\). A Booster needs params\['num_class'\] = 10",
        ),
        (
            lambda make: make(ZONE)([0, 10], np.zeros((2, 10))),
            DataError,
            r"Labels must be the integers 0..9.* row 1 has 10",
        ),
    ],
)
@pytest.mark.parametrize("make", OBJECTIVES)
def test_errors_say_what_was_given(make: Any, call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(make)


def test_an_unknown_measure_is_named() -> None:
    with pytest.raises(ArgumentError, match="`measure` must be 'loss' or 'cost'; got 'auc'"):
        boosting.xgboost_metric(ZONE, measure="auc")  # type: ignore[arg-type]


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_missing_library_is_named_with_its_install_line(library: str) -> None:
    program = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from untrue import Penalty, boosting\n"
        f"boosting.{library}_objective(Penalty.from_ordinal(3))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode != 0
    line = f'untrue.boosting needs {library}, which is missing: pip install "untrue[boosting]".'
    assert line in ended.stderr


def test_boosting_needs_no_torch() -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from untrue import boosting\n"
        "boosting.lightgbm_objective([[0, 1], [1, 0]])([0], [[0.0, 0.0]])"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
