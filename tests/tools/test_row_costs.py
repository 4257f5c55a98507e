"""Costs by columns of a table: in training, decisions, measures, model folders and commands."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import untrue
from untrue.cli import exit_code
from untrue.errors import ArgumentError, DataError, PenaltyError
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.tools.fitting.fit import fit
from untrue.tools.fitting.model_folder import load_model, save_model
from untrue.tools.fitting.predict import predict
from untrue.tools.fitting.result import FitResult
from untrue.tools.reading.opening import open_source
from untrue.tools.tuning.tune import tune

CLASSES = ["fine", "fraud"]
COSTS = FormulaPenalty(
    Penalty.from_rules(CLASSES, {("fine", "fraud"): 5.0}), {("fraud", "fine"): "0.9 * amount + 1"}
)
TOML = """
classes = ["fine", "fraud"]
default = 5.0

[[rule]]
true = "fraud"
predicted = "fine"
cost = "0.9 * amount + 1"
"""


def payments(n: int = 600, seed: int = 0) -> dict[str, list[object]]:
    """Payments whose fraud can be told in part; the amount says nothing about it."""
    rng = np.random.default_rng(seed)
    amount = np.round(np.exp(rng.normal(2.0, 1.5, n)), 2)
    hour, odd = rng.normal(size=n), rng.normal(size=n)
    fraud = hour + odd + rng.logistic(size=n) > 1.5
    return {
        "amount": amount.tolist(),
        "hour": hour.tolist(),
        "odd": odd.tolist(),
        "label": np.where(fraud, "fraud", "fine").tolist(),
    }


def write(path: Path, table: dict[str, list[object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("payments") / "payments.csv", payments())


@pytest.mark.parametrize("model", ["lightgbm", "xgboost", "linear"])
def test_fit_measures_and_decides_by_the_costs_of_each_row(table: Path, model: str) -> None:
    rounds = {} if model == "linear" else {"rounds": 20}
    found = fit(table, target="label", penalty=COSTS, model=model, **rounds)
    plain, least = found.variants[0], found.variants[1]
    # By class the mean cost of a missed fraud stands for all; by row it need not.
    amounts = np.array(payments()["amount"], float)
    assert found.model.penalty.cost("fine", "fraud") == 5.0
    assert 1 + 0.9 * amounts.min() < found.model.penalty.cost("fraud", "fine") < amounts.max()
    assert found.model.costs is not None
    assert found.model.costs.formulas == COSTS.formulas
    assert plain.summary.expected_cost is not None
    assert least.summary.expected_cost is not None
    # Money in the same answers: what the summary has is not the class-level cost of its cells.
    by_class = untrue.metrics.expected_cost(plain.confusion, found.model.penalty)
    assert plain.summary.expected_cost != pytest.approx(by_class, rel=1e-6)
    missed = {row.true: row.cost for row in plain.summary.costliest or ()}
    total = sum(missed.values()) / plain.summary.n
    assert total == pytest.approx(plain.summary.expected_cost)
    assert least.change is not None
    difference = least.summary.expected_cost - plain.summary.expected_cost
    assert least.change.expected_cost.value == pytest.approx(difference)


def test_the_network_is_trained_by_the_costs_of_each_row() -> None:
    """Only amounts tell when a miss is cheap: with costs by row the answers follow them."""
    rng = np.random.default_rng(0)
    amount = rng.choice([0.1, 10.0], 2000)
    fraud = rng.random(2000) < 0.3
    x = np.stack([amount, rng.normal(size=2000)], axis=1)
    y = np.where(fraud, "fraud", "fine")
    stated = FormulaPenalty(Penalty.from_rules(CLASSES, {}), {("fraud", "fine"): "amount"})
    # Trees start from the mean costs; those that stop early are still on their way to each row's.
    for model, near in (("linear", 0.05), ("lightgbm", 0.1)):
        found = fit(
            x, y, penalty=stated, cost_columns={"amount": amount}, model=model, alpha=0.9, seed=1
        )
        answers = predict(
            found.model, x, decision="argmax", cost_columns={"amount": amount}
        ).predicted
        assert answers[amount > 1].mean() > 0.85, model
        assert answers[amount < 1].mean() < 0.15, model
        probs = predict(found.model, x, cost_columns={"amount": amount}).probs[:, 1]
        # The posterior behind them undoes what each row's own costs moved.
        assert probs.mean() == pytest.approx(0.3, abs=near), model
        assert abs(probs[amount > 1].mean() - probs[amount < 1].mean()) < 0.2, model


def test_a_cost_column_is_a_feature_unless_it_is_ignored(table: Path) -> None:
    used = open_source(table, target="label")
    unused = open_source(table, target="label", ignore=["amount"])
    assert "amount" in used.features.schema.names  # type: ignore[attr-defined]
    assert "amount" not in unused.features.schema.names  # type: ignore[attr-defined]
    found = fit(unused, penalty=COSTS, model="lightgbm", rounds=5, baseline=False)
    assert found.model.preprocessing.schema.names == ("hour", "odd")  # type: ignore[union-attr]
    assert found.model.costs is not None


def test_the_model_folder_remembers_the_formulas(table: Path, tmp_path: Path) -> None:
    found = fit(table, target="label", penalty=COSTS, model="lightgbm", rounds=10)
    folder = found.save(tmp_path / "model")
    loaded = load_model(folder)
    assert loaded.costs is not None
    assert loaded.costs.formulas == COSTS.formulas
    assert loaded.link is not None
    assert found.model.link is not None
    assert loaded.link.scale == found.model.link.scale != 1.0
    before, after = (
        found.predictions(table, decision="cost"),
        predict(loaded, table, decision="cost"),
    )
    np.testing.assert_array_equal(before.predicted, after.predicted)
    np.testing.assert_allclose(before.probs, after.probs)
    amounts = np.array(payments()["amount"], float)
    each = COSTS.per_example({"amount": amounts})
    np.testing.assert_array_equal(after.predicted, untrue.decide(after.probs, each))
    assert (after.predicted != untrue.decide(after.probs, loaded.penalty)).any()


def test_predict_says_which_column_it_lacks(table: Path, tmp_path: Path) -> None:
    source = open_source(table, target="label", ignore=["amount"])
    found = fit(source, penalty=COSTS, model="lightgbm", rounds=5, baseline=False)
    short = payments(20)
    del short["amount"]
    path = write(tmp_path / "short.csv", short)
    with pytest.raises(DataError, match="no column 'amount', which the costs need"):
        predict(found.model, path)
    with pytest.raises(ArgumentError, match="give `cost_columns`"):
        predict(fit_arrays().model, np.zeros((3, 2)))


def fit_arrays() -> FitResult:
    held = payments()
    x = np.array([held["hour"], held["odd"]], float).T
    return fit(
        x,
        np.array(held["label"]),
        penalty=COSTS,
        cost_columns={"amount": held["amount"]},
        model="lightgbm",
        rounds=5,
        baseline=False,
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "data row 7 of .*it is missing"),
        (-40.0, "data row 7 of .*must not be negative"),
        ("inf", "data row 7 .*infinite|data row 7, column 'amount', is infinite"),
        ("1e40", "data row 7 of .*costs must be at most 1e.30"),
    ],
)
def test_a_bad_cost_names_its_row(tmp_path: Path, value: object, message: str) -> None:
    held = payments(50)
    held["amount"][6] = value
    path = write(tmp_path / "bad.csv", held)
    with pytest.raises((PenaltyError, DataError), match=message):
        fit(path, target="label", penalty=COSTS, model="lightgbm", rounds=2)
    source = open_source(path, target="label", ignore=["amount"]) if value != "inf" else path
    with pytest.raises((PenaltyError, DataError), match=message):
        fit(source, target="label", penalty=COSTS, model="lightgbm", rounds=2)  # type: ignore[arg-type]


def test_costs_of_certain_examples_make_no_model() -> None:
    each = COSTS.base.per_example({("fraud", "fine"): np.ones(4)})
    with pytest.raises(ArgumentError, match="a model must know those of new ones"):
        fit(np.zeros((4, 1)), np.array(CLASSES * 2), penalty=each)  # type: ignore[arg-type]


def test_answers_by_the_costs_of_each_row_raise_no_doubt_about_their_rows(tmp_path: Path) -> None:
    rows = {
        "truth": ["fraud", "fine"] * 20,
        "predicted": ["fraud"] * 40,
        "prob_fine": [0.9] * 40,
        "prob_fraud": [0.1] * 40,
        "amount": [1000] * 40,
    }
    path = write(tmp_path / "answers.csv", rows)  # type: ignore[arg-type]
    found = untrue.audit(path, penalty=COSTS, resamples=50)
    assert not any("in the same order" in note for note in found.notes)


def test_audit_counts_what_each_row_paid(tmp_path: Path) -> None:
    rows = {
        "truth": ["fraud", "fraud", "fine", "fine"],
        "predicted": ["fine", "fine", "fraud", "fine"],
        "prob_fine": [0.6, 0.6, 0.4, 0.95],
        "prob_fraud": [0.4, 0.4, 0.6, 0.05],
        "amount": [10, 1000, 3, 4],
    }
    path = write(tmp_path / "answers.csv", rows)  # type: ignore[arg-type]
    found = untrue.audit(path, penalty=COSTS, resamples=50)
    assert found.summary.expected_cost == pytest.approx((10 + 901 + 5) / 4)
    assert found.decision is not None
    # Least cost: 0.4 * 10 < 0.6 * 5 is false, so both frauds are named; so is the payment of 3
    # with 0.6 * 3.7 against 0.4 * 5.
    assert found.decision.summary.expected_cost == pytest.approx(5 / 4)
    assert found.decision.change.expected_cost.value == pytest.approx(-911 / 4)
    assert found.summary.costliest is not None
    assert [(row.count, row.cost) for row in found.summary.costliest] == [(2, 911.0), (1, 5.0)]
    assert "0.9 * amount + 1" in found.notes[-1]
    each = COSTS.per_example({"amount": rows["amount"]})
    true, answers = np.array([1, 1, 0, 0]), np.array([0, 0, 1, 0])
    for penalty, columns in ((each, None), (COSTS, {"amount": rows["amount"]})):
        same = untrue.audit(answers, true, penalty=penalty, cost_columns=columns, resamples=50)
        assert same.summary.expected_cost == found.summary.expected_cost
    del rows["amount"]
    short = write(tmp_path / "short.csv", rows)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no column 'amount', which the costs need"):
        untrue.audit(short, penalty=COSTS)
    with pytest.raises(ArgumentError, match="takes costs by class"):
        untrue.audit(path, penalty=COSTS, budgets=["expected cost <= 3"])


def test_tune_trains_and_decides_by_the_costs_of_each_row(table: Path, tmp_path: Path) -> None:
    found = tune(
        table,
        target="label",
        penalty=COSTS,
        budgets=["fraud->fine <= 30%"],
        max_accuracy_drop=None,
        model="lightgbm",
        rounds=15,
        trials=1,
        repetitions=2,
        record=tmp_path / "record.sqlite",
    )
    assert found.model.costs is not None
    decision = found.model.decision
    if found.setting.base == "penalty":
        assert isinstance(decision, FormulaPenalty)
    again = predict(load_model(found.save(tmp_path / "model")), table)
    np.testing.assert_array_equal(again.predicted, predict(found.model, table).predicted)
    with pytest.raises(ArgumentError, match="takes costs by class"):
        tune(table, target="label", penalty=COSTS, budgets=["expected cost <= 3"], model="lightgbm")


def test_multiplied_formulas_decide_as_multiplied_costs_do() -> None:
    from untrue.budgets import Budget, scaled_penalty
    from untrue.budgets.scaling import scaled_formulas

    three = Penalty.from_ordinal(["a", "b", "c"])
    stated = FormulaPenalty(three, {("a", "*"): "amount", ("c", "a"): "2 * amount"})
    amounts = {"amount": np.array([1.0, 4.0])}
    each: ExamplePenalty = stated.per_example(amounts)
    budget = Budget.parse("a->b <= 5%").resolve(each.penalty(1))
    scaled = scaled_formulas(stated, [budget], [3.0]).per_example(amounts)
    wanted = scaled_penalty(each.penalty(1), [budget], [3.0])
    np.testing.assert_allclose(scaled.penalty(1).matrix(), wanted.matrix())


def test_a_model_trained_by_other_formulas_than_its_own_remembers_them(
    table: Path, tmp_path: Path
) -> None:
    """As `tune` trains, with the mistakes of budgets made costlier."""
    model = fit(table, target="label", penalty=COSTS, model="lightgbm", rounds=10).model
    assert model.link is not None
    costlier = FormulaPenalty(COSTS.base, {("fraud", "fine"): "0.9 * amount + 61"})
    other = replace(model, link=replace(model.link, formulas=costlier))
    before, after = predict(model, table).probs, predict(other, table).probs
    assert np.abs(before - after).max() > 0.01
    loaded = load_model(save_model(tmp_path / "model", other))
    assert loaded.link is not None
    assert loaded.link.formulas is not None
    assert loaded.link.formulas.formulas == costlier.formulas
    np.testing.assert_array_equal(predict(loaded, table).probs, after)
    strange = FormulaPenalty(COSTS.base, {("fraud", "fine"): "hour"})
    bad = save_model(tmp_path / "bad", replace(model, link=replace(model.link, formulas=strange)))
    with pytest.raises(DataError, match=r"trained\.json is by other columns than the costs"):
        load_model(bad)


def test_the_commands_take_costs_by_columns(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text(TOML)
    model, answers = tmp_path / "model", tmp_path / "answers.csv"
    common = ["--penalty", str(costs)]
    fitted = ["fit", str(table), "--target", "label", *common, "--model", "lightgbm"]
    assert exit_code([*fitted, "--rounds", "10", "--out", str(model)]) == 0
    assert "0.9 * amount + 1" in (model / "page.html").read_text()
    words = ["predict", str(model), str(table), "--decide", "cost", "--out", str(answers)]
    assert exit_code(words) == 0
    assert [float(row["amount"]) for row in read(answers)] == payments()["amount"]
    assert exit_code(["audit", str(answers), *common, "--out", str(tmp_path / "audit")]) == 0
    assert "0.9 * amount + 1" in " ".join(capsys.readouterr().out.split())
    # Deciding by the same costs once more changes nothing.
    found = untrue.audit(answers, penalty=COSTS, resamples=20)
    assert found.decision is not None
    assert found.decision.change.changed == 0
    short = payments(20)
    del short["amount"]
    lacking = write(tmp_path / "short.csv", short)
    assert exit_code(["predict", str(model), str(lacking), "--out", str(tmp_path / "a.csv")]) == 2
    assert "amount" in capsys.readouterr().err


def test_costs_by_columns_are_not_exported() -> None:
    from untrue.tools.exporting.onnx_file import export_onnx

    with pytest.raises(ArgumentError, match="costs by columns, amount"):
        export_onnx(fit_arrays().model, decision="cost")
