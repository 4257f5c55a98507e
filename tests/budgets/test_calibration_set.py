"""Codes or names: what `target` was, the answers are, and columns are never matched silently."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from untrue import Actions, DecisionRule, Penalty, audit, control
from untrue.budgets.calibration_set import read_calibration_set
from untrue.errors import ArgumentError, DataError, PenaltyError

BUDGET = ["*->benign <= 12%"]
BUDGET_OF_CODES = ["*->3 <= 12%"]
COSTS = Penalty.from_rules(["tumour", "cyst", "scar", "benign"], {})


@pytest.fixture(scope="module")
def data(pool):
    return pool.draw(1500, np.random.default_rng(0))


def test_answers_are_of_the_kind_of_the_target(pool, data) -> None:
    probs, codes = data
    names = np.array(pool.classes)
    by_code = control(probs, codes, budgets=BUDGET, penalty=COSTS)
    by_name = control(probs, names[codes], budgets=BUDGET, penalty=COSTS)
    assert by_code(probs).dtype == np.int64
    np.testing.assert_array_equal(names[by_code(probs)], by_name(probs))
    assert by_name(probs).dtype.kind == "U"
    listed = control(probs.tolist(), names[codes].tolist(), budgets=BUDGET, penalty=COSTS)
    np.testing.assert_array_equal(listed(probs), by_name(probs))
    silent = control(
        probs, names[codes], budgets=["expected cost <= 0.15"], penalty=COSTS, abstain=True
    )
    assert (silent(probs) == -1).any()
    assert set(silent(probs)) <= {*pool.classes, -1}


def test_numbers_that_are_names_stay_numbers(data) -> None:
    probs, codes = data
    labels = np.array([10, 20, 30, 40])[codes]
    rule = control(probs, labels, budgets=["*->40 <= 12%"])
    assert rule.classes == ("10", "20", "30", "40")
    assert set(rule(probs)) <= {10, 20, 30, 40}
    # Sorted as numbers, not as text.
    rule = control(probs, np.array([2, 9, 10, 100])[codes], budgets=["*->100 <= 12%"])
    assert rule.classes == ("2", "9", "10", "100")
    wide = control(probs, codes.astype(float), budgets=["*->3 <= 12%"])
    assert wide.answers == "codes"


def test_codes_are_never_refused_whatever_the_names_are(data) -> None:
    probs, codes = data
    for names in (["1", "2", "3", "4"], ["d", "c", "b", "a"]):
        costs = Penalty.from_rules(names, {})
        rule = control(probs, codes, budgets=[f"*->{names[3]} <= 12%"], penalty=costs)
        assert rule.answers == "codes"
        assert rule.guarantee.verdicts[0].of > 500


def test_names_without_an_order_are_sorted_as_scikit_learn_does(pool, data) -> None:
    probs, codes = data
    names = np.array(pool.classes)[codes]
    order = np.argsort(pool.classes)
    rule = control(probs[:, order], names, budgets=BUDGET)
    assert rule.classes == tuple(sorted(pool.classes))
    np.testing.assert_array_equal(
        rule(probs[:, order]), control(probs, names, budgets=BUDGET, penalty=COSTS)(probs)
    )


def test_columns_in_another_order_are_refused_or_named(pool, data) -> None:
    """The trap: a penalty over good, bad and scikit-learn's columns bad, good."""
    probs, codes = data
    names = np.array(pool.classes)[codes]
    order = np.argsort(pool.classes)
    with pytest.raises(
        DataError, match=r"taken for tumour, cyst, scar, benign, .* Taken for benign, .* Give"
    ):
        control(probs[:, order], names, budgets=BUDGET, penalty=COSTS)
    named = [pool.classes[i] for i in order]
    rule = control(probs[:, order], names, budgets=BUDGET, penalty=COSTS, classes=named)
    assert rule.classes == tuple(named)
    np.testing.assert_array_equal(
        rule(probs[:, order]), control(probs, names, budgets=BUDGET, penalty=COSTS)(probs)
    )


def test_tables_go_by_their_columns(pool, data) -> None:
    pd = pytest.importorskip("pandas")
    probs, codes = data
    names = np.array(pool.classes)[codes]
    order = np.argsort(pool.classes)
    table = pd.DataFrame(probs[:, order], columns=[pool.classes[i] for i in order])
    rule = control(table, pd.Series(names), budgets=BUDGET, penalty=COSTS)
    plain = control(probs, names, budgets=BUDGET, penalty=COSTS)
    np.testing.assert_array_equal(rule(table), plain(probs))
    np.testing.assert_array_equal(rule(pd.DataFrame(probs, columns=pool.classes)), plain(probs))
    numbered = control(pd.DataFrame(probs), codes, budgets=BUDGET, penalty=COSTS)
    np.testing.assert_array_equal(
        numbered(probs), control(probs, codes, budgets=BUDGET, penalty=COSTS)(probs)
    )
    with pytest.raises(
        ArgumentError, match="`probs` names 'p', which is not a class of the penalty"
    ):
        control(table.set_axis(["p", "q", "r", "s"], axis=1), names, budgets=BUDGET, penalty=COSTS)


@pytest.mark.parametrize("named", [True, False])
def test_names_of_classes_may_begin_like_those_of_columns(pool, data, named) -> None:
    probs, codes = data
    classes = [f"p_{name}" for name in pool.classes]
    names, table = np.array(classes)[codes], pd.DataFrame(probs, columns=classes).iloc[:, ::-1]
    costs = Penalty.equal(classes) if named else None
    budget = ["*->p_benign <= 12%"]
    rule = control(table.convert_dtypes(), names, budgets=budget, penalty=costs)
    plain = control(probs, names, budgets=budget, penalty=costs, classes=classes)
    np.testing.assert_array_equal(rule(table), plain(probs))
    found = audit(table, names, penalty=costs, resamples=10)
    assert found.penalty.classes == tuple(classes if named else classes[::-1])


def test_two_classes_from_one_column(pool, data) -> None:
    probs, codes = data
    second, truth = probs[:, 3], (codes == 3).astype(int)
    rule = control(second, truth, budgets=["0->1 <= 12%"])
    both = control(np.stack([1 - second, second], axis=1), truth, budgets=["0->1 <= 12%"])
    np.testing.assert_array_equal(rule(second), both(np.stack([1 - second, second], axis=1)))
    flags = control(second, truth.astype(bool), budgets=["False->True <= 12%"])
    np.testing.assert_array_equal(flags(second), rule(second))
    named = control(
        second,
        np.array(["bad", "good"])[truth],
        budgets=["good<-bad <= 12%"],
        classes=["bad", "good"],
    )
    assert set(named(second)) == {"bad", "good"}


def test_tensors_come_and_go(data) -> None:
    torch = pytest.importorskip("torch")
    probs, codes = data
    rule = control(torch.tensor(probs), torch.tensor(codes), budgets=["*->3 <= 12%"])
    given = rule(torch.tensor(probs))
    assert isinstance(given, torch.Tensor)
    np.testing.assert_array_equal(given.numpy(), rule(probs))
    half = rule(torch.tensor(probs, dtype=torch.float16))
    assert (half.numpy() == rule(probs)).mean() > 0.99


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probs": np.ones((9, 4))}, "each row of `probs` must sum to 1"),
        ({"probs": np.full((9, 4), -1.0)}, "`probs` must not be negative"),
        ({"probs": np.full((9, 3), 1 / 3)}, "one column for each of 4 classes; got 3"),
        ({"probs": np.full((8, 4), 0.25)}, "equally many rows; got 8 in `probs`, 9 in `target`"),
        ({"probs": np.full((9, 4, 2), 0.25)}, r"must have shape \(N, k\)"),
        ({"target": ["tumor"] * 9}, "unknown class 'tumor', at position 0; did you mean 'tumour'"),
        ({"target": [0] * 8 + [7]}, r"must lie in \[0, 4\) for 4 classes; got 7 at position 8"),
        ({"target": [0.5] * 9}, "`target` must hold classes; row 0 is 0.5"),
        ({"target": [None] * 9}, "class names or whole numbers; got None"),
        ({"target": np.zeros((9, 2), int)}, r"`target` must have shape \(N,\)"),
        ({"classes": ["tumour", "cyst", "scar"]}, "must name all 4 classes"),
        ({"classes": ["tumour", "cyst", "scar", "x"]}, "names 'x', which is not a class of"),
        ({"probs": np.zeros((0, 4)), "target": []}, "at least one example; got none"),
        ({"probs": np.full((1, 4), 0.25), "target": [0]}, "at least 2 examples"),
    ],
)
def test_what_does_not_fit_is_named(change, message) -> None:
    given = {"probs": np.full((9, 4), 0.25), "target": [0] * 9, "penalty": COSTS, **change}
    with pytest.raises((ArgumentError, DataError), match=message):
        control(given.pop("probs"), given.pop("target"), budgets=BUDGET, **given)


def test_more_columns_than_labels_ask_for_names(data) -> None:
    probs, codes = data
    names = np.array(["a", "b", "c"])[np.minimum(codes, 2)]
    with pytest.raises(ArgumentError, match="3 different labels and `probs` 4 columns: give `clas"):
        control(probs, names, budgets=["*->a <= 12%"])


def test_codes_in_another_order_than_the_columns_of_a_table_are_refused(pool, data) -> None:
    probs, codes = data
    table = pd.DataFrame(probs, columns=pool.classes).iloc[:, ::-1]
    with pytest.raises(DataError, match="Give `classes`"):
        control(table, codes, budgets=BUDGET, penalty=COSTS)
    rule = control(table, codes, budgets=BUDGET, penalty=COSTS, classes=pool.classes)
    plain = control(probs, codes, budgets=BUDGET, penalty=COSTS)
    np.testing.assert_array_equal(rule(table), plain(probs))


def test_sorted_names_of_columns_in_another_order_are_refused(pool, data) -> None:
    probs, codes = data
    names = np.array(pool.classes)
    with pytest.raises(DataError, match=r"taken for benign, cyst, scar, tumour, .* Give `classes`"):
        control(probs, names[codes], BUDGET)
    assert control(probs, names[codes], BUDGET, classes=pool.classes).guarantee.holds


def test_weak_models_of_many_classes_are_not_refused() -> None:
    rng = np.random.default_rng(0)
    k, n = 100, 300
    codes = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), codes] += 1.0
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    names = np.array([f"c{i:02d}" for i in range(k)])
    read_calibration_set(probs, names[codes], None, None)


def test_a_matrix_is_a_penalty_and_other_costs_are_refused(pool, data) -> None:
    probs, codes = data
    by_matrix = control(probs, codes, BUDGET_OF_CODES, 1 - np.eye(4))
    assert by_matrix.guarantee.holds
    actions = Actions.from_matrix([[0, 1, 2], [1, 0, 2]], ["a", "b"], ["x", "y", "z"])
    with pytest.raises(ArgumentError, match=r"`penalty` must hold costs by class .* TableActions"):
        control(probs, codes, BUDGET_OF_CODES, actions)


@pytest.mark.parametrize("names", [["3", "2", "1", "0"], ["1", "2", "3", "4"]])
def test_numbers_that_may_be_positions_or_names_are_refused(names, data) -> None:
    """Which labels the sample happens to hold must not decide how they are read."""
    probs, codes = data
    kept = (codes == 1) | (codes == 2)
    for options in ({"classes": names}, {"penalty": Penalty.from_rules(names, {})}):
        with pytest.raises(ArgumentError, match="names of classes or their positions"):
            control(probs[kept], codes[kept], budgets=["1->2 <= 30%"], **options)
        text = np.array(names)[codes[kept]]
        assert control(probs[kept], text, budgets=["*->* <= 60%"], **options).answers == "names"


@pytest.mark.parametrize(
    "labels",
    [[1, 2, 3, 4], [0, 2, 4, 6], [8, 9, 10, 11], ["1", "2", "3", "4"], ["b", "c", "a", "d"]],
)
def test_a_matrix_goes_by_the_labels_in_the_order_of_the_columns(labels, data) -> None:
    probs, codes = data
    order = np.argsort(labels)
    target = np.array(labels)[codes]
    matrix = np.ones((4, 4)) - np.eye(4)
    matrix[3, 0] = 9.0
    budget = [f"{sorted(labels)[0]}->* <= 60%"]
    for costs in (matrix, Penalty.from_matrix(matrix)):
        if costs is not matrix and not set(map(str, labels)).isdisjoint("0123"):
            with pytest.raises(PenaltyError, match=r"The penalty (has no class|names no classes)"):
                control(probs[:, order], target, budgets=budget, penalty=costs)
            continue
        rule = control(probs[:, order], target, budgets=budget, penalty=costs)
        assert rule.classes == tuple(map(str, sorted(labels)))
        assert rule.penalty.cost(str(sorted(labels)[3]), str(sorted(labels)[0])) == 9.0
        right = (rule(probs[:, order]) == target).mean()
        assert abs(right - rule.guarantee.rule.accuracy) < 0.05
    given = [str(label) for label in np.array(labels)[order]]
    named = control(probs[:, order], target, budgets=budget, penalty=matrix, classes=given)
    np.testing.assert_array_equal(named(probs[:, order]), rule(probs[:, order]))


def test_no_answer_and_the_class_minus_one_are_told_apart(data) -> None:
    probs, codes = data
    two = np.stack([probs[:, :2].sum(axis=1), probs[:, 2:].sum(axis=1)], axis=1)
    target = np.where(codes < 2, -1, 1)
    assert set(control(two, target, budgets=["1->-1 <= 40%"])(two)) <= {-1, 1}
    with pytest.raises(ArgumentError, match="-1 stands for no answer"):
        control(two, target, budgets=["1->-1 <= 40%"], abstain=True)
    silent = control(two, target.astype(str), budgets=["1->-1 <= 1%"], abstain=True)
    assert set(silent(two)) <= {"-1", "1", -1}


@pytest.fixture(scope="module")
def flags() -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of False and True, and the truth: three in ten are True."""
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.3
    shown = rng.normal(size=2000) + 1.5 * truth
    second = 1 / (1 + np.exp(1.9 - 1.5 * shown))
    return np.stack([1 - second, second], axis=1), truth


@pytest.mark.parametrize("kind", ["array", "list", "boolean"])
def test_true_and_false_go_by_name_in_whatever_order_the_classes_are(flags, kind) -> None:
    probs, truth = flags
    given = {"list": list, "boolean": lambda t: pd.Series(t, dtype="boolean")}.get(kind, np.array)
    alone = control(probs, given(truth), budgets=["True->False <= 30%"])
    assert alone.classes == ("False", "True")
    turned = control(
        probs[:, ::-1], given(truth), budgets=["True->False <= 30%"], classes=["True", "False"]
    )
    for rule, columns in ((alone, probs), (turned, probs[:, ::-1])):
        answers = rule(columns)
        assert answers.dtype == np.bool_
        missed = (truth & ~answers).sum() / truth.sum()
        assert missed <= 0.35
        assert (answers == truth).mean() > 0.7
    named = control(
        probs[:, 0],
        given(truth),
        budgets=["True->False <= 30%"],
        penalty=Penalty.from_rules(["True", "False"], {}),
    )
    np.testing.assert_array_equal(named(probs[:, 0]), turned(probs[:, ::-1]))


def test_a_rule_of_true_and_false_comes_back_from_its_file(flags, tmp_path) -> None:
    probs, truth = flags
    rule = control(probs, truth, budgets=["True->False <= 30%"])
    again = DecisionRule.load(rule.save(tmp_path / "rule.json"))
    assert again(probs).dtype == np.bool_
    np.testing.assert_array_equal(again(probs), rule(probs))


def test_codes_of_other_columns_are_refused(data) -> None:
    probs, codes = data
    kept = codes < 2
    with pytest.raises(DataError, match=r"taken for 0, 1, 2, 3, .* Give `classes`"):
        control(probs[kept], codes[kept] + 1, budgets=["1->2 <= 30%"])
