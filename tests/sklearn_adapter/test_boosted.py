"""`BoostedClassifier` matches costs with labels by name, and answers with labels."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import estimator_checks_generator

import untrue
from untrue import Penalty, boosting, decide, posterior
from untrue.errors import ArgumentError, DataError
from untrue.sklearn import BoostedClassifier

LIGHTGBM: dict[str, Any] = {
    "n_estimators": 20, "num_leaves": 8, "min_child_samples": 5, "verbose": -1, "n_jobs": 1,
}  # fmt: skip
XGBOOST: dict[str, Any] = {"n_estimators": 20, "max_depth": 3, "n_jobs": 1}
TREES = [
    pytest.param(lightgbm.LGBMClassifier(**LIGHTGBM), id="lightgbm"),
    pytest.param(xgboost.XGBClassifier(**XGBOOST), id="xgboost"),
]
X, Y = load_breast_cancer(return_X_y=True)
LABELS = np.array(["malignant", "benign"])[Y]  # 0 is malignant, but "benign" sorts first
COSTS = Penalty.from_rules(["malignant", "benign"], {("malignant", "benign"): 20.0})
# Weights are not repetitions where a tree bins the columns; the check of array API input skips
# itself.
LEFT_OUT = {
    "check_array_api_input",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}
CHECKED = (
    lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=1, verbose=-1, n_jobs=1),
    xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1),
)
CHECKS = [
    (estimator, check)
    for trees in CHECKED
    for estimator, check in estimator_checks_generator(BoostedClassifier(trees))
    if check.func.__name__ not in LEFT_OUT
]


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[check.func.__name__ for _, check in CHECKS]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("trees", TREES)
def test_trees_that_answer_one_class_alone_are_warned_of(trees: Any) -> None:
    few = clone(trees).set_params(n_estimators=3)
    message = "The trees answer 'malignant' to every training example.*Give more trees"
    with pytest.warns(untrue.UntrueWarning, match=message):
        model = BoostedClassifier(few, COSTS, alpha=0.9).fit(X, LABELS)
    assert set(model.predict(X)) == {"malignant"}
    more = clone(trees).set_params(n_estimators=30, learning_rate=0.3)
    assert len(set(BoostedClassifier(more, COSTS, alpha=0.9).fit(X, LABELS).predict(X))) == 2


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize(
    "penalty",
    [
        COSTS,
        {("malignant", "benign"): 20.0},
        [[0.0, 1.0], [20.0, 0.0]],
        Penalty.from_matrix([[0.0, 1.0], [20.0, 0.0]]),
    ],
    ids=["named", "rules", "matrix", "nameless"],
)
def test_costs_are_matched_with_the_labels_by_name(trees: Any, penalty: Any) -> None:
    x, test, y, truth = train_test_split(X, LABELS, test_size=0.5, random_state=0)
    missed, alarms = {}, {}
    for alpha in (0.0, 0.7):
        answers = BoostedClassifier(trees, penalty, alpha=alpha).fit(x, y).predict(test)
        missed[alpha] = ((truth == "malignant") & (answers == "benign")).sum()
        alarms[alpha] = ((truth == "benign") & (answers == "malignant")).sum()
    assert missed[0.7] < missed[0.0]
    assert alarms[0.7] >= alarms[0.0]


@pytest.mark.parametrize("trees", TREES)
def test_codes_are_matched_by_classes_and_refused_without(trees: Any) -> None:
    by_name = BoostedClassifier(trees, COSTS).fit(X, LABELS)
    by_code = BoostedClassifier(trees, COSTS, classes=["malignant", "benign"]).fit(X, Y)
    np.testing.assert_allclose(
        by_code.predict_proba(X), by_name.predict_proba(X)[:, ::-1], atol=1e-5
    )
    with pytest.raises(ValueError, match=r"no class '0'.*give the names as `classes`"):
        BoostedClassifier(trees, COSTS).fit(X, Y)


@pytest.mark.parametrize("trees", TREES)
def test_it_answers_with_labels_and_probabilities_of_several_classes(trees: Any) -> None:
    digits, number = load_digits(return_X_y=True)
    names = np.array([f"digit {n}" for n in number])
    costs = Penalty.from_rules(sorted(set(names)), {("digit 1", "digit 8"): 30.0})
    model = BoostedClassifier(trees, costs, decision="cost").fit(digits, names)
    probs = model.predict_proba(digits)
    assert probs.shape == (len(names), 10)
    np.testing.assert_allclose(probs.sum(1), 1.0)
    once = decide(posterior(probs, costs, 0.5), costs)
    np.testing.assert_array_equal(model.predict(digits), model.classes_[once])
    assert model.score(digits, names) > 0.9


@pytest.mark.parametrize("trees", TREES)
def test_costs_in_the_loss_do_not_count_again_in_the_decision(trees: Any) -> None:
    """Nothing can be learned but the shares of the classes, so the cheapest answer is known."""
    costs = np.array([[0.0, 1.0, 20.0], [1.0, 0.0, 20.0], [10.0, 2.0, 0.0]])
    labels = np.repeat([0, 1, 2], [780, 40, 180])
    nothing = np.tile([0.0, 1.0], 500)[:, None]
    assert (np.bincount(labels) @ costs).argmin() == 1
    model = BoostedClassifier(trees, costs, alpha=0.5, decision="cost").fit(nothing, labels)
    assert set(model.predict(nothing)) == {1}
    assert set(decide(model.predict_proba(nothing), model.penalty_)) == {0}
    with pytest.raises(ArgumentError, match=r'`alpha` must be below 1 with `decision="cost"`'):
        model.set_params(alpha=1.0).fit(nothing, labels)


def test_it_grows_the_trees_of_the_bare_objective() -> None:
    trees = lightgbm.LGBMClassifier(**LIGHTGBM)
    model = BoostedClassifier(trees, COSTS, "log-bilinear", 0.3).fit(X, LABELS)
    costs = COSTS.select(["benign", "malignant"]).matrix()
    bare = lightgbm.LGBMClassifier(
        objective=boosting.lightgbm_objective(costs, "log-bilinear", 0.3), **LIGHTGBM
    )
    start = boosting.start_scores(costs, 1 - Y, "log-bilinear", 0.3)
    np.testing.assert_array_equal(model.start_scores_, start)
    margin = start[1] - start[0]
    raw = bare.fit(X, LABELS, init_score=np.full(len(X), margin)).predict_proba(X, raw_score=True)
    np.testing.assert_array_equal(model.predict_proba(X), boosting.probs(raw + margin))


@pytest.fixture(scope="module")
def rare() -> tuple[np.ndarray, np.ndarray]:
    """Two examples of a hundred are of class 1, and one column shows which, somewhat."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.02).astype(int)
    x = rng.normal(size=(4000, 5))
    x[:, 0] += 1.5 * y
    return x, y


@pytest.mark.parametrize("trees", TREES)
def test_a_rare_class_is_as_probable_as_it_is_frequent(trees: Any, rare: Any) -> None:
    x, y = rare
    model = BoostedClassifier(trees, alpha=0.0).fit(x[:3000], y[:3000])
    assert model.predict_proba(x[3000:])[:, 1].mean() == pytest.approx(y[3000:].mean(), abs=0.01)


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_without_costs_it_is_the_librarys_own_model(
    trees: Any, rare: Any, *, weighted: bool
) -> None:
    for x, y in (rare, load_digits(return_X_y=True)):
        x, y = x[y < 5], y[y < 5]
        weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
        own = clone(trees).fit(x, y, sample_weight=weight).predict_proba(x)
        ours = BoostedClassifier(trees, alpha=0.0).fit(x, y, sample_weight=weight)
        np.testing.assert_allclose(ours.predict_proba(x), own, atol=1e-5)


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("k", [2, 3])
def test_examples_to_evaluate_on_start_from_the_same_scores(trees: Any, k: int) -> None:
    digits, number = load_digits(n_class=k, return_X_y=True)
    x, y = digits[20:], number[20:]
    held_out, truth = digits[:20], number[:20]
    pairs: dict[str, Any] = {"eval_set": [(x, y), (held_out, truth)], "verbose": False}
    if isinstance(trees, lightgbm.LGBMClassifier):
        pairs = {"eval_X": (x, held_out), "eval_y": (y, truth)}
    model = BoostedClassifier(trees, alpha=0.5).fit(x, y, **pairs)
    found = model.estimator_
    history = found.evals_result_ if hasattr(found, "evals_result_") else found.evals_result()
    for rows, target, seen in zip((x, held_out), (y, truth), history.values(), strict=True):
        logits = np.log(model.predict_proba(rows))
        costs = (1.0 - np.eye(k))[target]
        loss = untrue.reference.losses(logits, target, costs, alpha=0.5).mean()
        assert seen["bilinear-loss"][-1] == pytest.approx(loss, rel=1e-3)


@pytest.mark.parametrize(
    ("trees", "fit", "name"),
    [
        (lightgbm.LGBMClassifier(), {"init_score": np.zeros(len(X))}, "init_score"),
        (lightgbm.LGBMClassifier(), {"init_model": "trees.txt"}, "init_model"),
        (xgboost.XGBClassifier(), {"base_margin": np.zeros(len(X))}, "base_margin"),
        (xgboost.XGBClassifier(), {"xgb_model": "trees.json"}, "xgb_model"),
        (xgboost.XGBClassifier(base_score=0.5), {}, "base_score"),
    ],
)
def test_another_start_is_refused(trees: Any, fit: Any, name: str) -> None:
    with pytest.raises(ArgumentError, match=f"`{name}` cannot be given: the scores of a Boosted"):
        BoostedClassifier(trees, COSTS).fit(X, LABELS, **fit)


def test_weights_by_label_reach_the_trees() -> None:
    weighted = lightgbm.LGBMClassifier(class_weight={"malignant": 9.0}, **LIGHTGBM)
    model = BoostedClassifier(weighted, COSTS).fit(X, LABELS)
    weight = np.where(LABELS == "malignant", 9.0, 1.0)
    by_example = BoostedClassifier(lightgbm.LGBMClassifier(**LIGHTGBM), COSTS)
    by_example.fit(X, LABELS, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), by_example.predict_proba(X))
    np.testing.assert_allclose(model.start_scores_, by_example.start_scores_)
    balanced = lightgbm.LGBMClassifier(class_weight="balanced", **LIGHTGBM)
    start = BoostedClassifier(balanced, alpha=0.0).fit(X, LABELS).start_scores_
    np.testing.assert_allclose(start, np.log([0.5, 0.5]))


def test_weights_by_label_reach_the_examples_to_evaluate_on() -> None:
    model = BoostedClassifier(lightgbm.LGBMClassifier(**LIGHTGBM), COSTS)
    held_out: dict[str, Any] = {"eval_X": X[:100], "eval_y": LABELS[:100]}
    by_label = clone(model).fit(X, LABELS, **held_out, eval_class_weight=[{"malignant": 9.0}])
    weight = np.where(LABELS[:100] == "malignant", 9.0, 1.0)
    by_example = clone(model).fit(X, LABELS, **held_out, eval_sample_weight=[weight])
    assert by_label.estimator_.evals_result_ == by_example.estimator_.evals_result_


def test_training_stops_early_by_our_loss() -> None:
    x, test, y, truth = train_test_split(X, LABELS, test_size=0.5, random_state=0)
    trees = lightgbm.LGBMClassifier(**{**LIGHTGBM, "n_estimators": 300, "learning_rate": 0.3})
    stop = lightgbm.early_stopping(5, verbose=False)
    model = BoostedClassifier(trees, COSTS).fit(x, y, eval_X=test, eval_y=truth, callbacks=[stop])
    history = model.estimator_.evals_result_["valid_0"]
    assert list(history) == ["bilinear-loss"]
    assert model.estimator_.best_iteration_ < 300
    other = xgboost.XGBClassifier(
        **{**XGBOOST, "n_estimators": 300, "learning_rate": 0.3}, early_stopping_rounds=5
    )
    found = BoostedClassifier(other, COSTS).fit(x, y, eval_set=[(test, truth)], verbose=False)
    # XGBoost stops by the last of its metrics.
    assert list(found.estimator_.evals_result()["validation_0"])[-1] == "bilinear-loss"
    assert found.estimator_.best_iteration < 300


def test_what_is_wrong_is_said_at_fit() -> None:
    with pytest.raises(ArgumentError, match="must be an LGBMClassifier or an XGBClassifier; got L"):
        BoostedClassifier(LogisticRegression()).fit(X, Y)
    trees = lightgbm.LGBMClassifier(**LIGHTGBM)
    with pytest.raises(ArgumentError, match=r"`alpha` must lie in \[0, 1\]; got 2"):
        BoostedClassifier(trees, alpha=2.0).fit(X, Y)
    with pytest.raises(DataError, match="Label 'benignn' is not among the classes; did you mean"):
        BoostedClassifier(
            lightgbm.LGBMClassifier(class_weight={"benignn": 2.0}, **LIGHTGBM), COSTS
        ).fit(X, LABELS)
    with pytest.raises(DataError, match="need examples of more than one class; got 569 of"):
        BoostedClassifier(trees).fit(X, np.ones(len(X)))


@pytest.mark.parametrize("trees", TREES)
def test_columns_in_another_order_are_refused(trees: Any) -> None:
    table = pd.DataFrame(X[:200, :3], columns=["a", "b", "c"])
    model = BoostedClassifier(trees, COSTS).fit(table, LABELS[:200])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["c", "b", "a"]])
    assert len(model.predict(table)) == 200
    plain = BoostedClassifier(trees, COSTS).fit(X[:200, :3], LABELS[:200])
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_array_equal(plain.predict(X[:200, :3]), model.predict(table))


@pytest.mark.parametrize(
    "trees",
    [
        lightgbm.LGBMClassifier(**LIGHTGBM, scale_pos_weight=20),
        lightgbm.LGBMClassifier(**LIGHTGBM, is_unbalance=True),
        xgboost.XGBClassifier(**XGBOOST, scale_pos_weight=20),
    ],
)
def test_weights_that_only_the_libraries_own_losses_know_are_refused(trees: Any) -> None:
    with pytest.raises(ArgumentError, match="has no effect"):
        BoostedClassifier(trees, COSTS).fit(X[:200], LABELS[:200])


@pytest.mark.parametrize("trees", TREES)
def test_negative_weights_are_refused(trees: Any) -> None:
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        BoostedClassifier(trees, COSTS).fit(X[:200], LABELS[:200], sample_weight=-np.ones(200))


@pytest.mark.parametrize(
    ("rows", "constant"), [(60, True), (6, False), (2, False)], ids=["constant", "six rows", "two"]
)
def test_a_table_that_lightgbm_cannot_split_is_one_sentence(
    rows: int, constant: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    X = np.arange(2.0 * rows).reshape(rows, 2) * (not constant)  # noqa: N806
    trees = lightgbm.LGBMClassifier(n_estimators=2)
    with pytest.raises(
        DataError,
        match=rf"No column of X splits its {rows} rows .* 20 rows in a leaf .*`min_child_samples`",
    ):
        BoostedClassifier(trees, alpha=0.5).fit(X, np.arange(rows) % 2)
    assert capfd.readouterr() == ("", "")


def test_few_rows_are_enough_where_leaves_may_be_small() -> None:
    X = np.arange(12.0).reshape(-1, 1)  # noqa: N806
    small = {"min_child_samples": 2, "min_data_in_bin": 1}
    trees = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, **small)
    model = BoostedClassifier(trees, alpha=0.0).fit(X, X[:, 0] > 5)
    np.testing.assert_array_equal(model.predict(X), X[:, 0] > 5)
