"""Costs of each example in estimators: by columns of X, or by metadata that scikit-learn routes."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn
import xgboost
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from untrue import Penalty, decide, posterior
from untrue.errors import ArgumentError, PenaltyError
from untrue.penalty import FormulaPenalty
from untrue.sklearn import (
    BilinearClassifier,
    BoostedClassifier,
    CostSensitiveClassifier,
    MetaCostClassifier,
    cost_scorer,
)

DATA = load_breast_cancer()
X = DATA.data[:, [0, 1]]  # radius and texture: much is left to doubt
Y = np.array(["fraud", "fair"])[DATA.target]
AMOUNT = np.random.default_rng(0).lognormal(1.0, 1.5, len(Y))
BASE = Penalty.from_rules(["fraud", "fair"], {})
FORMULA = FormulaPenalty(BASE, {("fraud", "fair"): "amount"})
TABLE = pd.DataFrame(X, columns=["radius", "texture"]).assign(amount=AMOUNT)
TREES: dict[str, Any] = {
    "n_estimators": 15, "num_leaves": 6, "learning_rate": 0.5, "verbose": -1, "n_jobs": 1,
}  # fmt: skip


def by_hand(probs: np.ndarray) -> np.ndarray:
    """Columns are fair and fraud, as sorted: say fraud where that is expected to cost less."""
    return np.where(probs[:, 1] * AMOUNT > probs[:, 0], "fraud", "fair")


@pytest.mark.parametrize(
    "columns",
    [AMOUNT, AMOUNT[:, None], TABLE[["amount"]], {"amount": AMOUNT}],
    ids=["array", "matrix", "table", "dict"],
)
def test_each_example_is_decided_by_its_own_cost(columns: Any) -> None:
    model = CostSensitiveClassifier(GaussianNB(), FORMULA).fit(X, Y)
    found = model.predict(X, cost_columns=columns)
    np.testing.assert_array_equal(found, by_hand(model.predict_proba(X)))
    flat = CostSensitiveClassifier(GaussianNB(), BASE).fit(X, Y).predict(X)
    assert (found != flat).any()


def test_the_columns_of_a_table_are_taken_from_it() -> None:
    model = CostSensitiveClassifier(GaussianNB(), FORMULA).fit(TABLE, Y)
    np.testing.assert_array_equal(model.predict(TABLE), by_hand(model.predict_proba(TABLE)))


def test_codes_and_names_are_matched_as_ever() -> None:
    codes = np.where(Y == "fraud", 1, 0)
    model = CostSensitiveClassifier(GaussianNB(), FORMULA, classes=["fair", "fraud"]).fit(X, codes)
    found = model.predict(X, cost_columns=AMOUNT)
    np.testing.assert_array_equal(found == 1, by_hand(model.predict_proba(X)) == "fraud")
    with pytest.raises(PenaltyError, match="give the names as `classes`"):
        CostSensitiveClassifier(GaussianNB(), FORMULA).fit(X, codes)
    nameless = FormulaPenalty(Penalty.from_rules(2, {}), {(1, 0): "amount"})
    by_position = CostSensitiveClassifier(GaussianNB(), nameless).fit(X, Y)
    np.testing.assert_array_equal(
        by_position.predict(X, cost_columns=AMOUNT), by_hand(by_position.predict_proba(X))
    )


@pytest.mark.parametrize(
    "trees",
    [lightgbm.LGBMClassifier(**TREES), xgboost.XGBClassifier(n_estimators=15, n_jobs=1)],
    ids=["lightgbm", "xgboost"],
)
def test_trees_train_and_decide_by_the_costs_of_each_example(trees: Any) -> None:
    model = BoostedClassifier(trees, FORMULA, alpha=0.8).fit(X, Y, cost_columns=AMOUNT)
    assert model.penalty_.cost("fraud", "fair") == pytest.approx(AMOUNT[Y == "fraud"].mean())
    plain = BoostedClassifier(trees, BASE, alpha=0.8).fit(X, Y)
    costly = (Y == "fraud") & (np.quantile(AMOUNT, 0.8) < AMOUNT)

    def caught(one: Any) -> float:
        return float(one.predict_proba(X)[costly, 1].mean())

    assert caught(model) > caught(plain) + 0.02
    decided = BoostedClassifier(trees, FORMULA, alpha=0.0, decision="cost")
    decided.fit(X, Y, cost_columns=AMOUNT)
    np.testing.assert_array_equal(
        decided.predict(X, cost_columns=AMOUNT), by_hand(decided.predict_proba(X))
    )


def test_metacost_relabels_and_the_network_decides_by_them() -> None:
    meta = MetaCostClassifier(GaussianNB(), FORMULA, n_estimators=5, random_state=0)
    meta.fit(X, Y, cost_columns=AMOUNT)
    flat = MetaCostClassifier(GaussianNB(), BASE, n_estimators=5, random_state=0).fit(X, Y)
    changed = meta.labels_ != flat.labels_
    assert changed.any()
    assert (meta.labels_[changed & (AMOUNT > 1)] == "fraud").all()
    network = BilinearClassifier(FORMULA, decision="cost", hidden=(), random_state=0)
    network.fit(X, Y, cost_columns=AMOUNT)
    assert network.penalty_.cost("fraud", "fair") == pytest.approx(AMOUNT[Y == "fraud"].mean())
    behind = posterior(network.predict_proba(X), network.penalty_, 0.5)
    np.testing.assert_array_equal(network.predict(X, cost_columns=AMOUNT), by_hand(behind))


def test_a_scorer_charges_each_example_its_own_cost() -> None:
    model = LogisticRegression(max_iter=1000).fit(X, Y)
    predicted = model.predict(X)
    missed, alarms = (Y == "fraud") & (predicted == "fair"), (Y == "fair") & (predicted == "fraud")
    wanted = (AMOUNT[missed].sum() + alarms.sum()) / len(Y)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = cost_scorer(FORMULA).set_score_request(cost_columns=True)
        assert scorer(model, X, Y, cost_columns=AMOUNT) == pytest.approx(-wanted)


def test_folds_get_their_part_of_the_columns_by_metadata_routing() -> None:
    """Amounts that grow with the row: a fold with another's amounts would decide otherwise."""
    with sklearn.config_context(enable_metadata_routing=True):
        model = CostSensitiveClassifier(GaussianNB(), FORMULA, calibrate=False)
        model.set_predict_request(cost_columns=True)
        scorer = cost_scorer(FORMULA).set_score_request(cost_columns=True)
        boosted = BoostedClassifier(lightgbm.LGBMClassifier(**TREES), FORMULA, decision="cost")
        boosted.set_fit_request(cost_columns=True).set_predict_request(cost_columns=True)
        for estimator in (model, boosted):
            found = cross_validate(
                estimator, X, Y, cv=3, params={"cost_columns": AMOUNT}, return_indices=True,
                return_estimator=True, scoring=scorer, error_score="raise",
            )  # fmt: skip
            for fitted, test, score in zip(
                found["estimator"], found["indices"]["test"], found["test_score"], strict=True
            ):
                each = FORMULA.per_example({"amount": AMOUNT[test]})
                probs = fitted.predict_proba(X[test])[:, ::-1]  # in the order of the penalty
                if estimator is boosted:
                    probs = posterior(probs, each, 0.5)
                answers = np.array(["fraud", "fair"])[decide(probs, each)]
                cost = each.costs(Y[test].tolist(), answers.tolist()).mean()
                assert score == pytest.approx(-cost)


def test_a_table_with_the_columns_needs_no_routing() -> None:
    inner = make_pipeline(make_column_transformer(("passthrough", ["radius"])), GaussianNB())
    model = CostSensitiveClassifier(inner, FORMULA, calibrate=False)
    found = cross_validate(
        model, TABLE, Y, cv=3, scoring=cost_scorer(FORMULA), return_estimator=True,
        return_indices=True, error_score="raise",
    )  # fmt: skip
    for fitted, test, score in zip(
        found["estimator"], found["indices"]["test"], found["test_score"], strict=True
    ):
        answers = fitted.predict(TABLE.iloc[test])
        each = FORMULA.per_example({"amount": AMOUNT[test]})
        assert score == pytest.approx(-each.costs(Y[test].tolist(), answers.tolist()).mean())


def test_a_pipeline_passes_the_columns_on() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = CostSensitiveClassifier(GaussianNB(), FORMULA).set_predict_request(
            cost_columns=True
        )
        whole = make_pipeline(StandardScaler(), model).fit(X, Y)
        found = whole.predict(X, cost_columns=AMOUNT)
        np.testing.assert_array_equal(found, by_hand(whole.predict_proba(X)))


RADIUS = TABLE[["radius"]]


@pytest.mark.parametrize(
    ("x", "columns", "message"),
    [
        (X, None, r"costs by the columns amount, and `X` is not a table"),
        (TABLE[["radius", "texture"]], None, "by the column 'amount', which `X` lacks"),
        (X, RADIUS, "which `cost_columns` lacks"),
        (X, AMOUNT[:9], "a row for each of the 569 examples; got 9"),
        (X, X, r"with the columns amount; got shape \(569, 2\)"),
        (X, -AMOUNT, "in row 0 is .*must not be negative"),
    ],
)
def test_what_is_wrong_is_said(x: Any, columns: Any, message: str) -> None:
    learned = TABLE[["radius", "texture"]] if hasattr(x, "columns") else X
    model = CostSensitiveClassifier(GaussianNB(), FORMULA).fit(learned, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(x, cost_columns=columns)


def test_columns_without_formulas_are_refused() -> None:
    model = CostSensitiveClassifier(GaussianNB(), BASE).fit(X, Y)
    with pytest.raises(ArgumentError, match="`penalty` has no costs by columns"):
        model.predict(X, cost_columns=AMOUNT)


def test_costs_of_certain_examples_are_not_for_estimators() -> None:
    each = BASE.per_example({("fraud", "fair"): AMOUNT})
    with pytest.raises(ArgumentError, match=r"an estimator sees parts.*FormulaPenalty"):
        CostSensitiveClassifier(GaussianNB(), each).fit(X, Y)


def test_partial_fit_refuses_costs_by_columns() -> None:
    model = BilinearClassifier(FORMULA, epochs=2, random_state=0).fit(X, Y, cost_columns=TABLE)
    with pytest.raises(ArgumentError, match="partial_fit takes costs by class"):
        model.partial_fit(X, Y)


def test_columns_of_any_table_go_by_name() -> None:
    formula = FormulaPenalty(BASE, {("fraud", "fair"): "amount + 0 * fee"})
    model = CostSensitiveClassifier(GaussianNB(), formula).fit(X, Y)
    columns = pa.table({"fee": np.full(len(Y), 1e6), "amount": AMOUNT})
    found = model.predict(X, cost_columns=columns)
    np.testing.assert_array_equal(found, by_hand(model.predict_proba(X)))


@pytest.mark.parametrize(
    "model",
    [
        BilinearClassifier(FORMULA, epochs=2, early_stopping=False),
        BoostedClassifier(xgboost.XGBClassifier(n_estimators=2, n_jobs=1), FORMULA),
    ],
    ids=["network", "trees"],
)
def test_mean_costs_count_each_example_by_its_weight(model: Any) -> None:
    weight = np.where(AMOUNT > 3, 0.0, 1.0)
    kept = weight > 0
    weighted = clone(model).fit(TABLE, Y, sample_weight=weight).penalty_
    np.testing.assert_allclose(
        weighted.matrix(), clone(model).fit(TABLE[kept], Y[kept]).penalty_.matrix()
    )
