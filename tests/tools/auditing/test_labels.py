"""An audit matches labels, columns and answers by name, or refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import untrue
from untrue import Penalty, audit
from untrue.errors import DataError, PenaltyError
from untrue.tools.reading.probability_file import read_probabilities

NAMED = Penalty.from_rules(["tumour", "cyst", "benign"], {("tumour", "benign"): 10.0})


def sorted_probs(n: int = 300) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Of a model right in about 8 of 10 cases, columns in sorted order as scikit-learn has them."""
    rng = np.random.default_rng(0)
    order = sorted(NAMED.classes)
    codes = rng.integers(0, 3, n)
    logits = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[codes]
    probs = np.exp(logits)
    return probs / probs.sum(axis=1, keepdims=True), np.array(order)[codes], order


def test_columns_of_other_classes_are_refused_and_classes_says_their_order() -> None:
    probs, truth, order = sorted_probs()
    with pytest.raises(DataError, match=r"taken for tumour, cyst, benign, .* Give `classes`"):
        audit(probs, truth, penalty=NAMED)
    found = audit(probs, truth, penalty=NAMED, classes=order)
    right = (np.array(order)[probs.argmax(axis=1)] == truth).mean()
    assert found.summary.accuracy == pytest.approx(right)
    assert right > 0.8


def test_true_and_false_go_by_name() -> None:
    costs = Penalty.from_rules(["True", "False"], {("True", "False"): 30.0})
    truth = np.array([True, True, False, False])
    answers = np.array([False, True, True, False])
    by_flag = audit(answers, truth, penalty=costs)
    by_name = audit(answers.astype(str), truth.astype(str), penalty=costs)
    assert by_flag.summary.expected_cost == by_name.summary.expected_cost == pytest.approx(31 / 4)
    mixed = audit(answers.astype(str), truth, penalty=costs)
    assert mixed.summary.expected_cost == pytest.approx(31 / 4)


@pytest.mark.parametrize("classes", [["1", "0"], ["1.0", "0.0"]])
@pytest.mark.parametrize("labels", [np.array([0, 1]), np.array([0.0, 1.0])])
def test_1_and_1_0_are_one_label_whichever_the_costs_have(classes, labels, tmp_path) -> None:
    costs = Penalty.from_rules(classes, {(classes[0], classes[1]): 30.0})
    truth, answers = labels[[1, 1, 0, 0]], labels[[0, 1, 1, 0]]
    path = tmp_path / "answers.csv"
    pd.DataFrame({"truth": truth, "predicted": answers}).to_csv(path, index=False)
    assert audit(path, penalty=costs).summary.expected_cost == pytest.approx(31 / 4)


def test_one_column_is_the_probability_of_the_second_class() -> None:
    costs = Penalty.from_rules(["fine", "fraud"], {("fraud", "fine"): 30.0})
    truth, second = np.array([0, 1, 1, 0] * 10), np.array([0.1, 0.7, 0.3, 0.4] * 10)
    found = audit(second, truth, penalty=costs)
    assert found.summary.accuracy == pytest.approx(0.75)
    assert found.decision is not None


@pytest.mark.parametrize("given", ["costs.toml", [[0, 1], [1, 0]], {("a", "b"): 2.0}])
def test_what_is_no_penalty_is_said_to_be_none(given) -> None:
    with pytest.raises(PenaltyError, match=r"must be a Penalty .* untrue\.Penalty\.load\(path\)"):
        audit([0, 1], [0, 1], penalty=given)


def test_nothing_to_audit_is_said() -> None:
    with pytest.raises(DataError, match="there are no examples"):
        audit([], [], penalty=NAMED)


def test_a_rule_judges_the_answers_there_and_says_where_they_are_not_its_own(tmp_path) -> None:
    probs, truth, order = sorted_probs(1200)
    rule = untrue.control(probs, truth, budgets=["tumour->benign <= 5%"], classes=order)
    table = pd.DataFrame(probs, columns=[f"prob_{name}" for name in order]).assign(truth=truth)
    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    table.assign(predicted=rule(probs)).to_csv(own, index=False)
    table.assign(predicted=np.array(order)[probs.argmax(axis=1)]).to_csv(other, index=False)
    assert not any("the rule gives" in note for note in audit(own, rule=rule).notes)
    (note,) = [note for note in audit(other, rule=rule).notes if "the rule gives" in note]
    differ = (rule(probs) != np.array(order)[probs.argmax(axis=1)]).sum()
    assert note.startswith(f"{differ:,} of 1,200 answers in 'predicted' are not those")


def test_answers_of_least_cost_raise_no_doubt_about_their_rows(tmp_path) -> None:
    probs, truth, order = sorted_probs(400)
    costs = Penalty.from_matrix([[0, 50, 1], [50, 0, 1], [1, 1, 0]], order)
    answers = np.array(order)[untrue.decide(probs, costs)]
    assert (answers == np.array(order)[probs.argmax(axis=1)]).mean() < 0.5
    table = pd.DataFrame(probs, columns=[f"prob_{name}" for name in order])
    path = tmp_path / "decided.csv"
    table.assign(truth=truth, predicted=answers).to_csv(path, index=False)
    assert not any("in the same order" in note for note in audit(path, penalty=costs).notes)


def test_probabilities_written_with_two_digits_are_scaled_to_sum_to_one(tmp_path) -> None:
    probs, truth, order = sorted_probs(200)
    path = tmp_path / "rounded.csv"
    table = pd.DataFrame(probs.round(2), columns=[f"prob_{name}" for name in order])
    assert ((table.sum(axis=1) - 1).abs() > 0.005).any()
    table.assign(truth=truth).to_csv(path, index=False)
    found = audit(path, penalty=NAMED)
    assert found.summary.accuracy > 0.8
    # More than rounding: one column is a tenth too small.
    table[f"prob_{order[0]}"] = (table[f"prob_{order[0]}"] - 0.1).clip(lower=0)
    table.assign(truth=truth).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"sum to .*, not to 1"):
        audit(path, penalty=NAMED)


def test_numbers_are_names_or_codes_in_the_whole_file(tmp_path) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, 500)
    stars = tmp_path / "stars.csv"
    pd.DataFrame({"truth": codes, "predicted": codes.clip(1)}).to_csv(stars, index=False)
    found = audit(stars, penalty=Penalty.from_ordinal(list("12345")), classes=list("12345"))
    assert found.summary.accuracy == pytest.approx((codes > 0).mean())
    probs = np.full((500, 5), 0.05) + 0.75 * np.eye(5)[codes]
    table = pd.DataFrame(probs, columns=[f"prob_{i}" for i in range(5)]).assign(truth=codes)
    some, names = tmp_path / "some.csv", tmp_path / "names.csv"
    table[table["truth"] > 0].to_csv(some, index=False)
    assert audit(some, budgets=["5->1 <= 2%"], classes=list("12345")).summary.accuracy == 1.0
    few = table.loc[table["truth"].isin([1, 2]), ["truth"]]
    few.assign(predicted=few["truth"]).to_csv(names, index=False)
    with pytest.raises(DataError, match=r"The labels 1, 2 may be names of `classes`"):
        audit(names, budgets=["5->1 <= 2%"], classes=list("12345"))
    table.to_csv(some, index=False)
    with pytest.raises(DataError, match=r"prob_4, prob_3, prob_2 .* by name, leave --classes out"):
        audit(some, budgets=["4->1 <= 2%"], classes=list("43210"))


def test_one_column_of_probabilities_is_as_exact_in_csv_as_in_parquet(tmp_path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"truth": ["fraud", "fine"] * 50, "prob_fraud": 1 - 1e-12 * rng.random(100)}
    )
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    costs = Penalty.from_rules(["fine", "fraud"], {("fine", "fraud"): 2e12})
    one, other = (audit(tmp_path / name, penalty=costs) for name in ("a.csv", "a.parquet"))
    assert one.decision is not None
    assert other.decision is not None
    assert one.decision.summary.expected_cost == other.decision.summary.expected_cost
    assert one.decision.change.changed == other.decision.change.changed > 0
    read = [
        read_probabilities(tmp_path / name, known=costs.classes, with_truth="no").probs
        for name in ("a.csv", "a.parquet")
    ]
    np.testing.assert_array_equal(*read)
