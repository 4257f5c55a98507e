"""Costs of each example, beside a loop over the examples with a penalty each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import BilinearLoss, LogBilinearLoss, Penalty, decide, functional, metrics
from untrue.errors import ArgumentError, DataError, PenaltyError
from untrue.penalty import ExamplePenalty, FormulaPenalty
from untrue.penalty.stated import examples_over

NAMES = ["fraud", "doubtful", "fine"]
BASES = {
    "rules": Penalty.from_rules(NAMES, {("fraud", "fine"): 20.0}, default=0.5),
    "dense": Penalty.from_ordinal(NAMES, 2.0),
    "tree": Penalty.from_groups({"bad": ["fraud", "doubtful"], "good": ["fine"]}),
}
N = 40


def make(base: Penalty, seed: int = 0) -> ExamplePenalty:
    rng = np.random.default_rng(seed)
    return base.per_example(
        {("fraud", "fine"): rng.exponential(100, N), ("fine", "fraud"): rng.random(N), (1, 2): 3.0}
    )


def data(seed: int = 0) -> tuple[Any, Any, Any]:
    """Probabilities, true classes, answers."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(3), N), rng.integers(0, 3, N), rng.integers(0, 3, N)


@pytest.fixture(params=BASES.values(), ids=BASES)
def each(request: Any) -> ExamplePenalty:
    return make(request.param)


def test_each_example_has_its_own_penalty(each: ExamplePenalty) -> None:
    for n in range(3):
        own = each.penalty(n)
        expected = np.array(each.base.matrix())
        expected[[0, 2, 1], [2, 0, 2]] = each.values[n]
        np.testing.assert_array_equal(own.matrix(), expected)
        assert own.classes == each.classes == tuple(NAMES)
    if each.base.form == "rules":
        assert each.penalty(0).form == "rules"


def test_equal_costs_of_the_same_examples_are_equal(each: ExamplePenalty) -> None:
    again = make(each.base)
    assert again == each
    assert hash(again) == hash(each)
    assert make(each.base, seed=1) != each != each.take(slice(5))
    assert each != each.base


def test_costs_rows_and_expectations_are_those_of_a_loop(each: ExamplePenalty) -> None:
    probs, true, predicted = data()
    own = [each.penalty(n) for n in range(N)]
    paid = [p.cost(int(t), int(a)) for p, t, a in zip(own, true, predicted, strict=True)]
    np.testing.assert_array_equal(each.costs(true, predicted), paid)
    rows = [p.matrix()[t] for p, t in zip(own, true, strict=True)]
    np.testing.assert_array_equal(each.rows(true), rows)
    expected = [p.expected(q) for p, q in zip(own, probs, strict=True)]
    np.testing.assert_allclose(each.expected(probs), expected, atol=1e-12)
    tensor = each.expected(torch.from_numpy(probs))
    np.testing.assert_allclose(tensor.numpy(), expected, atol=1e-12)
    table = pd.DataFrame(probs, columns=NAMES)[NAMES[::-1]]
    np.testing.assert_allclose(each.expected(table), expected, atol=1e-12)
    certain = torch.eye(3, dtype=torch.int64)
    np.testing.assert_allclose(
        each.take([0, 1, 2]).expected(certain),
        [own[n].matrix()[n] for n in range(3)],
        atol=1e-12,
        err_msg="whole numbers must not round the costs",
    )


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_decisions_are_those_of_a_loop(each: ExamplePenalty, kind: Any) -> None:
    probs, _, _ = data()
    for limit in (None, 0.5):
        expected = [decide(probs[n : n + 1], each.penalty(n), limit)[0] for n in range(N)]
        assert decide(kind(probs), each, limit).tolist() == expected
    with pytest.raises(ArgumentError, match=r"a row for each of the 40 examples .*; got 39"):
        decide(kind(probs[1:]), each)


def test_many_rows_are_decided_in_blocks() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(2), 100_000)
    amounts = rng.exponential(10, len(probs))
    costs = Penalty.from_rules(["fraud", "fine"], {}).per_example({("fraud", "fine"): amounts})
    expected = np.where(probs[:, 0] * amounts > probs[:, 1], 0, 1)
    np.testing.assert_array_equal(decide(probs, costs), expected)


def test_measures_know_what_each_answer_cost(each: ExamplePenalty) -> None:
    _, true, predicted = data()
    paid = each.costs(true, predicted)
    np.testing.assert_array_equal(metrics.example_costs(true, predicted, each), paid)
    assert metrics.expected_cost((true, predicted), each) == pytest.approx(paid.mean())
    silent = np.where(np.arange(N) < 5, -1, predicted)
    with_price = metrics.example_costs(true, silent, each, abstain_cost=7.0)
    np.testing.assert_array_equal(with_price, np.where(silent < 0, 7.0, paid))
    with pytest.raises(DataError, match=r"abstains \(-1\) at position 0 and 5 times in all"):
        metrics.example_costs(true, silent, each)
    with pytest.raises(ArgumentError, match=r"takes \(true, predicted\), the classes of each"):
        metrics.expected_cost(np.eye(3, dtype=int), each)
    by_class = metrics.example_costs(true, predicted, each.base)
    cm = metrics.confusion_matrix(true, predicted, 3)
    assert by_class.mean() == pytest.approx(metrics.expected_cost(cm, each.base))


@pytest.mark.parametrize("kind", [BilinearLoss, LogBilinearLoss])
@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_losses_charge_each_example_its_own_costs(
    each: ExamplePenalty, kind: Any, alpha: float
) -> None:
    _, true, _ = data()
    z = torch.randn(N, 3, dtype=torch.float64, requires_grad=True)
    y = torch.from_numpy(true)
    weight = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    loss = kind(each.base, alpha=alpha, reduction="none", weight=weight)
    alone = [
        kind(each.penalty(n), alpha=alpha, reduction="none", weight=weight)(z[n], y[n])
        for n in range(N)
    ]
    expected = torch.stack(alone)
    rows = torch.from_numpy(each.rows(true))
    (slope,) = torch.autograd.grad(expected.sum(), z)
    for costs in (each, rows, rows + 9 * torch.nn.functional.one_hot(y, 3)):
        found = loss(z, y, costs=costs)
        torch.testing.assert_close(found, expected)
        (own,) = torch.autograd.grad(found.sum(), z)
        torch.testing.assert_close(own, slope)
    torch.testing.assert_close(
        functional.bilinear_loss(z, y, each), functional.bilinear_loss(z, y, each.base, costs=rows)
    )
    assert torch.equal(rows, torch.from_numpy(each.rows(true))), "what was given stays"


def test_soft_targets_mix_the_costs_of_each_example(each: ExamplePenalty) -> None:
    probs, _, _ = data()
    y, z = torch.from_numpy(probs), torch.randn(N, 3, dtype=torch.float64)
    found = functional.bilinear_loss(z, y, each, alpha=0.5, reduction="none")
    expected = [
        functional.bilinear_loss(z[n], y[n], each.penalty(n), alpha=0.5, reduction="none")
        for n in range(N)
    ]
    torch.testing.assert_close(found, torch.stack(expected))
    with pytest.raises(ArgumentError, match="`target` must be class indices, not probabilities"):
        functional.bilinear_loss(z, y, each.base, costs=z.abs())


def test_one_logit_for_two_classes_has_costs_by_example_too() -> None:
    base = Penalty.from_rules(["no", "yes"], {})
    each = base.per_example({("yes", "no"): np.arange(6.0)})
    z, y = torch.randn(6), torch.tensor([0, 1, 1, 0, 1, 1])
    pair = torch.stack([torch.zeros(6), z], 1)
    loss = BilinearLoss(base, binary=True)
    torch.testing.assert_close(loss(z, y, costs=each), BilinearLoss(base)(pair, y, costs=each))
    rows = torch.from_numpy(each.rows(y.numpy())).float()
    torch.testing.assert_close(loss(z, y, costs=rows), loss(z, y, costs=each))


@pytest.mark.parametrize("binary", [False, True])
def test_costs_of_twice_or_half_as_many_examples_are_refused(binary: bool) -> None:
    base = Penalty.from_rules(["no", "yes"], {})
    each = base.per_example({("yes", "no"): np.arange(8.0)})
    z, y = torch.randn((4,) if binary else (4, 2)), torch.ones(4, dtype=torch.long)
    for n in (2, 8):
        with pytest.raises(ArgumentError, match=rf"`costs` are of {n} examples, .* are of 4"):
            functional.bilinear_loss(z, y, base, costs=each.take(slice(n)), binary=binary)


def test_costs_that_do_not_fit_the_batch_are_refused(each: ExamplePenalty) -> None:
    z, y = torch.randn(5, 3), torch.zeros(5, dtype=torch.long)
    with pytest.raises(ArgumentError, match=r"`costs` are of 40 examples, .*\(5, 3\) are of 5"):
        functional.bilinear_loss(z, y, each.base, costs=each)
    functional.bilinear_loss(z, y, each.base, costs=each.take(slice(5)))
    with pytest.raises(ArgumentError, match=r"of shape \(5, 3\); got torch"):
        functional.bilinear_loss(z, y, each.base, costs=torch.zeros(5, 2))
    with pytest.raises(ArgumentError, match="`costs` must be a tensor; got ndarray"):
        functional.bilinear_loss(z, y, each.base, costs=np.zeros((5, 3)))  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", [BilinearLoss, LogBilinearLoss])
def test_a_loss_made_with_costs_of_each_example_says_where_they_go(loss: Any) -> None:
    message = r"got an ExamplePenalty.*`penalty\.base`.*`loss\(logits, target, costs=penalty\.take"
    with pytest.raises(PenaltyError, match=message):
        loss(make(BASES["rules"]))


def test_one_row_and_none_can_be_taken(each: ExamplePenalty) -> None:
    assert each.take(3).values.tolist() == [each.values[3].tolist()]
    assert len(each.take(-1)) == 1
    assert len(each.take([])) == 0
    for rows in ([len(each)], np.ones(3, dtype=bool), [1.5]):
        with pytest.raises(PenaltyError, match="`rows` must be positions of the 40 examples"):
            each.take(rows)


def test_batches_and_folds_take_their_rows(each: ExamplePenalty) -> None:
    _, true, predicted = data()
    rows = np.array([3, 1, 7])
    np.testing.assert_array_equal(
        each.take(rows).costs(true[rows], predicted[rows]), each.costs(true, predicted)[rows]
    )
    assert len(each.take(true == 0)) == (true == 0).sum()


def test_costs_by_class_are_the_means(each: ExamplePenalty) -> None:
    _, true, _ = data()
    assert each.mean().cost("fraud", "fine") == pytest.approx(each.values[:, 0].mean())
    own = each.mean(true)
    assert own.cost("fraud", "fine") == pytest.approx(each.values[true == 0, 0].mean())
    assert own.cost("fine", "fraud") == pytest.approx(each.values[true == 2, 1].mean())
    assert own.cost("fine", "doubtful") == each.base.cost("fine", "doubtful")
    nobody = np.full(N, 1)
    assert each.mean(nobody).cost("fraud", "fine") == pytest.approx(each.values[:, 0].mean())


def test_a_common_scale_makes_the_greatest_cost_1(each: ExamplePenalty) -> None:
    _, true, predicted = data()
    scaled = each.normalized("max")
    greatest = max(each.penalty(n).greatest for n in range(N))
    assert max(scaled.penalty(n).greatest for n in range(N)) == pytest.approx(1.0)
    np.testing.assert_allclose(
        scaled.costs(true, predicted) * greatest, each.costs(true, predicted)
    )
    cells = zip(each.true.tolist(), each.predicted.tolist(), strict=True)
    cheap = each.base.per_example(dict.fromkeys(cells, np.full(2, 0.01)))
    assert cheap.normalized("max").penalty(0).greatest == 1.0, "nobody pays the base's own costs"
    assert each.normalized("none") is each
    with pytest.raises(ArgumentError, match="`factor` must"):
        each.scaled(0)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_a_star_stands_for_every_other_answer(k: int, seed: int) -> None:
    amounts = np.random.default_rng(seed).random(5)
    each = Penalty.from_ordinal(k).per_example({(1, "*"): amounts})
    for n in range(5):
        row = each.penalty(n).matrix()[1]
        assert row.tolist() == [0.0 if j == 1 else amounts[n] for j in range(k)]
    assert each.values.shape == (5, 1)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({}, r"must be a mapping \{\(true, predicted\): costs of each example\}"),
        ([1.0], "must be a mapping .*; got list"),
        ({("fraud", "fin"): [1.0]}, "Unknown class 'fin'; did you mean 'fine'"),
        ({("fraud", "fraud"): [1.0]}, "leads from 'fraud' to itself"),
        ({("fraud", "fine"): 1.0}, "At least one cell must have a cost for each example"),
        ({("fraud", "fine"): [1.0, np.nan]}, r"\('fraud', 'fine'\) in row 1 is nan: it is missing"),
        ({("fraud", "fine"): [1.0, None]}, "in row 1 is nan: it is missing"),
        ({("fraud", "fine"): [-1.0, -2.0]}, r"row 0 is -1: costs must not be negative \(1 more"),
        ({("fraud", "fine"): [1.0, np.inf]}, "in row 1 is inf: costs must be finite"),
        ({("fraud", "fine"): [1.0, 1e31]}, r"in row 1 is 1e\+31: costs must be at most 1e\+30"),
        ({("fraud", "fine"): ["a"]}, r"costs of \('fraud', 'fine'\) must be numbers, one per e"),
        ({("fraud", "fine"): [[1.0]]}, r"must be numbers, one per example; got .* shape \(1, 1\)"),
        ({("fraud", "fine"): [1.0], (2, 0): [1.0, 2.0]}, "equally many costs; .* has 1, .* 2"),
        ({("fraud", "*"): [1.0], (0, 2): [1.0]}, "Two costs for one mistake: .* and"),
        ({("fraud", "fine"): "amount"}, "is a formula, 'amount': give `columns`, the data"),
    ],
)
def test_costs_that_are_none_are_named(cells: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        BASES["rules"].per_example(cells)


def test_formulas_are_of_columns() -> None:
    table = pd.DataFrame({"amount": [10.0, 1000.0], "fee": [1.0, 2.0]})
    each = BASES["rules"].per_example({("fraud", "fine"): "0.2 * amount + 5 + fee"}, table)
    assert each.values[:, 0].tolist() == [8.0, 207.0]
    with pytest.raises(PenaltyError, match=r"in row 1 is -990: costs must not be negative"):
        BASES["rules"].per_example({("fraud", "fine"): "10 - amount"}, table)


FILE = """
classes = ["fraud", "fine"]
default = 1.0

[[rule]]
true = "fraud"
predicted = "fine"
cost = "0.2 * amount + 5"
"""


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_file_may_hold_formulas(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "costs.toml"
    path.write_text(FILE)
    found = FormulaPenalty.load(path)
    assert (found.classes, found.columns) == (("fraud", "fine"), ("amount",))
    assert found.per_example({"amount": [10.0, 0.0]}).values[:, 0].tolist() == [7.0, 5.0]
    again = FormulaPenalty.load(found.save(tmp_path / f"again{suffix}"))
    assert again == found
    with pytest.raises(PenaltyError, match=r"costs.toml: the cost of 'fraud' -> 'fine' is '0.2"):
        Penalty.load(path)
    with pytest.raises(PenaltyError, match=r"here costs must be numbers\. `untrue fit`, `tune`"):
        Penalty.load(path)
    plain = Penalty.from_rules(2, {}).save(tmp_path / "plain.toml")
    with pytest.raises(PenaltyError, match=r"plain.toml: has no formulas. Penalty.load\(path\)"):
        FormulaPenalty.load(plain)
    path.write_text(FILE.replace("+ 5", "+ five("))
    with pytest.raises(PenaltyError, match=r"costs.toml: Cost '0.2 \* amount \+ five\(', at char"):
        FormulaPenalty.load(path)


def test_a_large_problem_needs_no_cube() -> None:
    k, n = 2000, 500
    amounts = np.random.default_rng(0).random(n)
    base = Penalty.from_rules(k, {(0, 1): 5.0})
    each = base.per_example({(0, 1): amounts, (3, "*"): amounts})
    probs = np.random.default_rng(1).dirichlet(np.full(k, 0.1), n)
    found = decide(probs, each)
    rows = [each.penalty(n).expected(probs[n]) for n in range(5)]
    np.testing.assert_allclose(each.expected(probs)[:5], rows, atol=1e-12)
    assert found.shape == (n,)


def test_expected_costs_of_lists_are_those_of_arrays() -> None:
    penalty = make(BASES["dense"])
    probs = np.full((N, 3), 1 / 3)
    np.testing.assert_array_equal(penalty.expected(probs.tolist()), penalty.expected(probs))
    with pytest.raises(PenaltyError, match="a row for each"):
        penalty.expected([0.5, 0.5])


def test_a_small_cost_in_place_of_a_large_one_keeps_its_digits_in_single_precision() -> None:
    base = Penalty.from_rules(["a", "b"], {("a", "b"): 1e6})
    each = base.per_example({("a", "b"): [0.5, 0.25]})
    probs = torch.tensor([[0.3, 0.7], [0.9, 0.1]])
    expected = torch.tensor([[0.7, 0.15], [0.1, 0.225]])
    torch.testing.assert_close(each.expected(probs), expected)
    logits = torch.zeros(2, 2)
    loss = functional.bilinear_loss(logits, probs, base, costs=each, alpha=1.0, reduction="none")
    torch.testing.assert_close(loss, expected.mean(1))


def test_what_no_cell_pays_does_not_set_the_scale() -> None:
    base = Penalty.from_rules(["a", "b", "c"], {})
    each = base.per_example({("a", "b"): [2.0, 4.0], ("c", "*"): [900.0, 900.0]})
    some = examples_over(each, ["a", "b"]).normalized("max")
    assert some.costs(["a", "b"], ["b", "a"]).tolist() == [0.5, 0.25]


def test_softened_costs_lie_between_equal_ones_and_these(each: ExamplePenalty) -> None:
    cheapest = each.mean().cheapest
    true, predicted = np.zeros(len(each), dtype=int), np.ones(len(each), dtype=int)
    wanted = cheapest + 0.25 * (each.costs(true, predicted) - cheapest)
    assert each.softened(0.25).costs(true, predicted) == pytest.approx(wanted)
    assert (each.softened(0.25).costs(true, true) == 0).all()
    assert each.softened(1.0) is each
    probs = np.random.default_rng(0).dirichlet(np.ones(each.n_classes), len(each))
    assert (decide(probs, each.softened(0.0)) == probs.argmax(1)).all()
    with pytest.raises(ArgumentError, match=r"`share` must lie in \[0, 1\]; got 2"):
        each.softened(2)


def test_the_same_costs_for_all_examples_soften_as_those_of_classes_do() -> None:
    base = Penalty.from_rules(["a", "b", "c"], {("b", "a"): 8.0}, default=2.0)
    softened = base.per_example({("a", "*"): [5.0, 5.0]}).softened(0.5).penalty(1)
    by_class = Penalty.from_rules(
        ["a", "b", "c"], {("b", "a"): 8.0}, default={"a": 5, "b": 2, "c": 2}
    )
    assert (softened.matrix() == by_class.softened(0.5).matrix()).all()


def test_weights_count_examples_in_the_means() -> None:
    each = Penalty.equal(["a", "b"]).per_example({("a", "b"): [2.0, 8.0, 100.0]})
    twice = each.mean(["a", "a", "a"], weight=np.array([2, 1, 0]))
    assert twice.cost("a", "b") == each.take([0, 0, 1]).mean().cost("a", "b") == 4.0
    with pytest.raises(PenaltyError, match="There is no mean cost: no example counts"):
        each.take([]).mean()


def test_costs_of_a_whole_row_of_many_classes_take_time_in_proportion_to_them() -> None:
    k = 50_000
    each = Penalty.equal(k).per_example({("3", "*"): [2.0, 5.0]})
    assert [cells.tolist() for _, cells in each._by_answer[:5]] == [[0], [1], [2], [3], [4]]
    probs = np.zeros((2, k))
    probs[:, 3] = 1.0
    expected = each.expected(probs)
    assert expected[:, 3].tolist() == [0.0, 0.0]
    assert expected[0, 4] == 2.0
    assert (np.delete(expected[1], 3) == 5.0).all()
