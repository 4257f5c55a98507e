"""One contract, kept by every form: a list of penalties times a list of properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import untrue
from untrue import Actions, BilinearLoss, Hierarchy, LogBilinearLoss, Penalty
from untrue.errors import ArgumentError, PenaltyError
from untrue.losses.bilinear import MixedLoss
from untrue.penalty import DensePenalty, RulesPenalty, TreePenalty


def test_its_matrix_is_a_penalty(make: Any) -> None:
    p = make()
    matrix = p.matrix()
    assert matrix.shape == (p.n_classes, p.n_classes) == (len(p.classes),) * 2
    assert matrix.dtype == np.float64
    assert (matrix >= 0).all()
    assert not np.diag(matrix).any()
    assert p.greatest == matrix.max()


def test_cost_by_name_by_index_and_by_array_is_the_matrix(make: Any) -> None:
    p = make()
    matrix, everyone = p.matrix(), np.arange(p.n_classes)
    names = np.array(p.classes)
    assert (p.cost(everyone[:, None], everyone[None, :]) == matrix).all()
    assert (p.cost(names[:, None], names[None, :]) == matrix).all()
    assert (p.cost(names.astype(object)[:, None], everyone.astype(np.uint8)) == matrix).all()
    assert (p.cost(torch.tensor(everyone)[:, None], list(p.classes)) == matrix).all()
    last = p.classes[-1]
    assert type(p.cost(p.classes[0], last)) is float
    assert p.cost(0, last) == p.cost(p.classes[0], p.n_classes - 1) == matrix[0, -1]
    assert p.cost([], []).shape == (0,)


def test_expected_is_probabilities_times_matrix(make: Any) -> None:
    p = make()
    probs = np.random.default_rng(0).dirichlet(np.ones(p.n_classes), 6)
    wanted, kept = probs @ p.matrix(), probs.copy()
    np.testing.assert_allclose(p.expected(probs), wanted, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(probs, kept)
    np.testing.assert_allclose(p.expected(probs[0]), wanted[0], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(p.expected(probs.tolist()), wanted, rtol=1e-13, atol=1e-13)
    assert p.expected(probs[:0]).shape == (0, p.n_classes)
    single = p.expected(probs.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, wanted, rtol=1e-6, atol=1e-6)
    table = pd.DataFrame(probs, columns=[f"prob_{name}" for name in p.classes])
    np.testing.assert_allclose(p.expected(table.iloc[:, ::-1]), wanted, rtol=1e-13, atol=1e-13)
    certain = np.eye(p.n_classes, dtype=np.int64)
    np.testing.assert_allclose(p.expected(certain), p.matrix(), rtol=1e-13, atol=1e-13)
    assert p.expected(certain).dtype == np.float64


def test_expected_of_a_tensor_is_a_tensor(make: Any) -> None:
    p = make()
    probs = torch.tensor(np.random.default_rng(0).dirichlet(np.ones(p.n_classes), 6))
    wanted = probs.numpy() @ p.matrix()
    for dtype, tolerance in (
        (torch.float64, 1e-12),
        (torch.float32, 1e-6),
        (torch.bfloat16, 2e-2),
        (torch.float16, 2e-3),
    ):
        given_ = probs.to(dtype)
        result = p.expected(given_)
        assert result.dtype == torch.promote_types(dtype, torch.float32)
        np.testing.assert_allclose(result.double(), wanted, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(given_.double(), probs.to(dtype).double())
    assert p.expected(probs[0]).shape == (p.n_classes,)
    assert p.expected(probs[:0]).shape == (0, p.n_classes)
    certain = p.expected(torch.eye(p.n_classes, dtype=torch.int64))
    assert certain.dtype == torch.float64, "whole numbers must not round the costs"
    np.testing.assert_allclose(certain, p.matrix(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("half", [np.float16, torch.float16])
def test_expected_costs_may_be_past_what_halves_hold(half: Any) -> None:
    costs = Penalty.from_rules(["a", "b"], {("a", "b"): 1e6})
    one = costs.per_example({("b", "a"): [3e5]})
    actions = Actions.from_penalty(costs, {"ask": 1e7})
    kind = torch.tensor if isinstance(half, torch.dtype) else np.array
    probs = kind([[0.5, 0.5]], dtype=half)
    for penalty, wanted in ((costs, [0.5, 5e5]), (one, [1.5e5, 5e5]), (actions, [0.5, 5e5, 1e7])):
        assert penalty.expected(probs).tolist() == [wanted]


def test_expected_can_be_trained_with_after_inference(make: Any) -> None:
    p = make()
    probs = torch.full((2, p.n_classes), 1.0 / p.n_classes)
    with torch.inference_mode():
        p.expected(probs)
    probs.requires_grad_()
    p.expected(probs).sum().backward()
    np.testing.assert_allclose(probs.grad[0], p.matrix().sum(axis=1), rtol=1e-5, atol=1e-6)


def test_normalized_changes_the_scale_alone(make: Any) -> None:
    p = make()
    matrix = p.matrix()
    assert p.normalized("none") is p
    sums = matrix.sum(axis=1, keepdims=True)
    rows = p.normalized("rows")
    assert rows.form == p.form
    np.testing.assert_allclose(rows.matrix() * np.where(sums > 0, sums, 1), matrix, rtol=1e-13)
    np.testing.assert_allclose(rows.matrix().sum(axis=1), (sums > 0)[:, 0], rtol=1e-13)
    top = p.normalized("max")
    assert top.form == p.form
    np.testing.assert_allclose(top.matrix() * (p.greatest or 1.0), matrix, rtol=1e-13)
    assert top.greatest == pytest.approx(1.0 if p.greatest else 0.0, rel=1e-15)
    assert top.classes == rows.classes == p.classes
    with pytest.raises(PenaltyError, match="`how` must be 'rows', 'max' or 'none'; got 'cols'"):
        p.normalized("cols")


def test_softened_costs_lie_between_equal_ones_and_those_given(make: Any) -> None:
    p = make()
    wrong = ~np.eye(p.n_classes, dtype=bool)
    assert p.softened(1.0) is p
    assert (p.softened(0.0).matrix()[wrong] == p.cheapest).all()
    soft = p.softened(0.25)
    assert soft.classes == p.classes
    expected = 0.75 * p.cheapest + 0.25 * p.matrix()
    np.testing.assert_allclose(soft.matrix()[wrong], expected[wrong], rtol=1e-12)
    assert (np.diag(soft.matrix()) == 0).all()
    # A tree whose rows are scaled becomes a matrix; every other form stays what it is.
    scaled = p.form == "tree" and not (p.row_scale == 1).all()
    assert soft.form == ("dense" if scaled else p.form)
    with pytest.raises(ArgumentError, match=r"`share` must lie in \[0, 1\]; got 1\.5"):
        p.softened(1.5)


def test_free_classes_have_a_column_of_zeros(make: Any) -> None:
    p = make()
    free = [
        name
        for name, column in zip(p.classes, p.matrix().T, strict=True)
        if not column.any() and p.n_classes > 1
    ]
    assert p.free_classes() == tuple(free)
    assert all(type(name) is str for name in p.free_classes())


def test_select_keeps_the_costs_of_the_classes_chosen(make: Any) -> None:
    p = make()
    places = list(range(p.n_classes))[::-2]
    chosen = [p.classes[i] for i in places]
    part = p.select(chosen)
    assert part.form == p.form
    assert part.classes == tuple(chosen)
    assert (part.matrix() == p.matrix()[np.ix_(places, places)]).all()
    assert p.select(p.classes) == p
    name = p.classes[0]
    for wrong, message in (
        ([name, name], f"Duplicate class name '{name}'"),
        ([], "At least one class is needed"),
        ([f"{name}k"], f"Unknown class '{name}k'"),
        (name, "`classes` must be a list of names; got the string"),
    ):
        with pytest.raises(PenaltyError, match=message):
            p.select(wrong)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda p: p.cost("catt", 0), r"Unknown class 'catt'\.$"),
        (lambda p: p.cost(p.classes[0] + "x", 0), "Unknown class '.*x'"),
        (lambda p: p.cost(None, 0), "Unknown class None"),
        (lambda p: p.cost(p.n_classes, 0), r"Class index \d is outside 0\.\.\d"),
        (lambda p: p.cost(0, [0, -1]), "Class index -1 is outside"),
        (lambda p: p.cost(0.0, 0), "Classes are names or integer indices; got float64"),
        (lambda p: p.cost(True, 0), "Classes are names or integer indices; got bool"),
        (lambda p: p.index("catt"), "Unknown class 'catt'"),
        (lambda p: p.index([0]), "Unknown class"),
        (
            lambda p: p.expected(np.ones((2, 99))),
            r"shape \(N, \d\), one column per class; got \(2, 99\)",
        ),
        (lambda p: p.expected(torch.ones(2, 99)), r"shape \(N, \d\), .*; got \(2, 99\)"),
        (lambda p: p.expected(np.ones((2, 2, p.n_classes))), r"shape \(N, \d\)"),
        (lambda p: p.expected(torch.ones(2, 2, p.n_classes)), r"shape \(N, \d\)"),
        (lambda p: p.expected(0.5), r"shape \(N, \d\), .*; got \(\)"),
        (lambda p: p.expected([[1.0] * p.n_classes, []]), "`probs` .* its rows differ in length"),
        (lambda p: p.expected([["a"] * p.n_classes]), "`probs` must hold real numbers; got <U1"),
        (
            lambda p: p.expected(np.ones((1, p.n_classes), complex)),
            "`probs` must hold real numbers; got complex128",
        ),
        (
            lambda p: p.expected(torch.ones(1, p.n_classes, dtype=torch.complex64)),
            "`probs` must hold real numbers; got torch.complex64",
        ),
    ],
)
def test_questions_it_cannot_answer(make: Any, ask: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        ask(make())


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan], ids=str)
@pytest.mark.parametrize("kind", ["Float64", "double[pyarrow]", "object", "float32"])
def test_a_missing_probability_of_a_table_is_named_by_its_row(kind: str, missing: Any) -> None:
    p = Penalty.equal(["a", "b"])
    table = pd.DataFrame({"b": [0.5, 0.2, 0.1], "a": [0.5, 0.8, 0.9]}).astype(kind)
    table.iloc[2, 0] = None if missing is pd.NA and kind == "float32" else missing
    each = p.per_example({("a", "b"): [1.0, 2.0, 3.0]})
    for costs in (p, each, Actions.from_penalty(p, {"ask": 0.1})):
        with pytest.raises(PenaltyError, match="`probs` must hold real numbers; row 2 holds"):
            costs.expected(table)
    with pytest.raises(PenaltyError, match="`probs` must hold real numbers; row 1 holds nan"):
        p.expected([[0.5, 0.5], [None, 1.0]])


def test_a_misspelt_class_gets_the_nearest_name(penalties: Any) -> None:
    for make in (penalties["dense"], penalties["rules"], penalties["tree"]):
        with pytest.raises(PenaltyError, match=r"Unknown class 'snaek'; did you mean 'snake'\?"):
            make().cost("snaek", "ray")


def test_the_front_door_and_the_kinds_of_error(penalties: Any) -> None:
    assert untrue.Penalty is Penalty
    forms = [type(penalties[name]()) for name in ("dense", "rules", "tree")]
    assert forms == [DensePenalty, RulesPenalty, TreePenalty]
    assert [form.form for form in forms] == ["dense", "rules", "tree"]
    assert issubclass(PenaltyError, ValueError)
    with pytest.raises(TypeError, match="abstract"):
        Penalty(("a",))


def largest_step(p: Penalty) -> float:
    """The greatest number that the sums of `expected` run through, per unit of probability."""
    if isinstance(p, TreePenalty):
        return float(p.height_costs.max() * p.row_scale.max())
    return float(max(p.default.max(), p.greatest) if isinstance(p, RulesPenalty) else p.greatest)


@given(data=st.data())
def test_every_form_agrees_with_its_dense_twin(twins: Any, data: Any) -> None:
    p, matrix = data.draw(twins)
    k = p.n_classes
    np.testing.assert_allclose(p.matrix(), matrix, rtol=1e-13)
    everyone = np.arange(k)
    assert (p.cost(everyone[:, None], everyone) == p.matrix()).all(), "to the last bit"
    weights = st.lists(st.sampled_from([0.0, 0.5, 1e-9, 1.0, 3.0]), min_size=k, max_size=k)
    probs = np.array(data.draw(st.lists(weights, min_size=1, max_size=3)))
    error = np.abs(p.expected(probs) - probs @ matrix).max()
    assert error <= 1e-14 * largest_step(p) * probs.sum(axis=1).max()
    assert (p.expected(probs) >= 0).all()
    assert p.greatest == p.matrix().max()
    dense = Penalty.from_matrix(p.matrix(), p.classes)
    assert p.free_classes() == dense.free_classes()
    for how in ("rows", "max"):
        ours, theirs = p.normalized(how), dense.normalized(how)
        np.testing.assert_allclose(ours.matrix(), theirs.matrix(), rtol=1e-12)


TREE_OF_TWO = Hierarchy.from_groups({"g": ["a"], "h": ["b"]})


@pytest.mark.parametrize("cost", [1.0001e30, 1e39, 1.7e308])
@pytest.mark.parametrize(
    "make",
    [
        lambda cost: Penalty.from_matrix([[0, cost], [1, 0]]),
        lambda cost: Penalty.from_rules(2, {(0, 1): cost}),
        lambda cost: Penalty.from_rules(2, {}, default=cost),
        lambda cost: Penalty.from_groups({"g": ["a"], "h": ["b"]}, 0.0, cost),
        lambda cost: TreePenalty(TREE_OF_TWO, [0.0, 1.0, 1.0], [cost, 1.0]),
        lambda cost: Penalty.from_ordinal(3, power=np.log2(cost)),
    ],
)
def test_costs_beyond_single_precision_are_refused_where_they_come_in(
    make: Callable[[float], Penalty], cost: float
) -> None:
    with pytest.raises(PenaltyError, match=r"costs must be at most 1e\+30; state them in larger"):
        make(cost)


@pytest.mark.parametrize("kind", [BilinearLoss, LogBilinearLoss])
def test_the_greatest_cost_allowed_gives_finite_losses(kind: type[MixedLoss]) -> None:
    loss = kind(Penalty.from_rules(3, {}, default=1e30), alpha=0.5)
    z = torch.tensor([[1e4, -1e4, 0.0], [0.0, 1.0, 2.0]], requires_grad=True)
    value = loss(z, torch.tensor([1, 0]))
    value.backward()
    assert value.isfinite()
    assert z.grad is not None
    assert z.grad.isfinite().all()
