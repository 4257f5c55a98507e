"""On the torch side every form gives the rows and mixtures of its matrix."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from untrue import Hierarchy, Penalty
from untrue.errors import PenaltyError
from untrue.penalty import RulesPenalty, TreePenalty
from untrue.penalty.tensors import EXACT_CLASSES, costs_of, expected, make_costs

NAMES = ["a", "b", "c", "d"]
PENALTIES = {
    "dense": Penalty.from_ordinal(NAMES, power=1.5),
    "rules": Penalty.from_rules(NAMES, {("a", "b"): 9.0, ("d", "c"): 0.3}, default=0.7),
    "tree": Penalty.from_groups({"g": ["a", "b"], "h": ["c", "d"]}, 0.1, 0.7),
}
each = pytest.mark.parametrize("p", PENALTIES.values(), ids=PENALTIES.keys())


def largest_step(p: Penalty) -> float:
    """The greatest number that the sums run through, per unit of probability."""
    if isinstance(p, TreePenalty):
        return float(p.height_costs.max() * p.row_scale.max())
    return float(max(p.default.max(), p.greatest) if isinstance(p, RulesPenalty) else p.greatest)


@given(data=st.data())
def test_rows_and_mixtures_are_those_of_the_dense_twin(twins: Any, data: Any) -> None:
    p, matrix = data.draw(twins)
    k = p.n_classes
    costs = make_costs(p)
    target = torch.tensor(data.draw(st.lists(st.integers(0, k - 1), max_size=6)), dtype=torch.int64)
    rows = costs.rows(target, torch.float64)
    assert rows.shape == (len(target), k)
    assert np.abs(rows.numpy() - matrix[target]).max(initial=0.0) <= 1e-14 * largest_step(p)
    assert not rows[torch.arange(len(target)), target].any(), "a right answer is free, exactly"
    weights = st.lists(st.sampled_from([0.0, 0.5, 1e-9, 1.0, 3.0]), min_size=k, max_size=k)
    probs = torch.tensor(data.draw(st.lists(weights, min_size=1, max_size=3)), dtype=torch.float64)
    error = np.abs(costs.mix(probs).numpy() - probs.numpy() @ matrix).max()
    assert error <= 1e-14 * largest_step(p) * probs.sum(dim=1).max()
    np.testing.assert_allclose(costs.mix(probs), p.expected(probs.numpy()), atol=1e-12)


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_are_fresh_and_of_the_dtype_asked_for(p: Penalty, dtype: torch.dtype) -> None:
    costs = make_costs(p)
    rows = costs.rows(torch.tensor([3, 0]), dtype)
    assert rows.dtype == dtype
    rows += 1.0
    np.testing.assert_allclose(costs.rows(torch.tensor([3, 0]), dtype), p.matrix()[[3, 0]], 1e-6)


@each
def test_mixing_takes_any_number_of_dimensions_and_gradients(p: Penalty) -> None:
    costs = make_costs(p)
    probs = torch.rand(2, 3, 4, dtype=torch.float64, generator=torch.manual_seed(0))
    np.testing.assert_allclose(costs.mix(probs), probs.numpy() @ p.matrix(), rtol=1e-12)
    probs.requires_grad_()
    assert torch.autograd.gradcheck(costs.mix, [probs + 0.1])


@each
def test_costs_follow_the_module_but_keep_their_digits(p: Penalty) -> None:
    costs = make_costs(p)
    half = pickle.loads(pickle.dumps(costs)).half()
    target = torch.tensor([1, 2])
    assert (half.rows(target, torch.float64) == costs.rows(target, torch.float64)).all()
    assert {name for name, _ in costs.named_buffers()} == set(costs.state_dict())
    meta = make_costs(p).to("meta")
    assert all(buffer.device.type == "meta" for buffer in meta.buffers())


@each
def test_half_precision_is_computed_in_single(p: Penalty) -> None:
    probs = torch.tensor([[0.25, 0.25, 0.5, 0.0]])
    for dtype in (torch.float16, torch.bfloat16):
        result = expected(p, probs.to(dtype))
        assert (result == expected(p, probs)).all()
    huge = Penalty.from_matrix([[0.0, 1e6], [1.0, 0.0]])
    assert expected(huge, torch.tensor([[0.01, 0.99]]).half())[0, 1] == pytest.approx(1e4, rel=1e-3)


@each
def test_expected_costs_can_be_transformed(p: Penalty) -> None:
    probs = torch.rand(5, 4, dtype=torch.float64, generator=torch.manual_seed(0))
    jacobian = torch.func.jacrev(p.expected)(probs[0])
    np.testing.assert_allclose(jacobian.T, p.matrix(), rtol=1e-12, atol=1e-15)
    mapped = torch.func.vmap(p.expected)(probs)
    np.testing.assert_allclose(mapped, p.expected(probs), rtol=1e-12)
    probs.requires_grad_()
    with torch.no_grad():
        assert not p.expected(probs).requires_grad
    assert p.expected(probs).requires_grad


@each
def test_what_was_made_is_remembered(p: Penalty) -> None:
    here = torch.device("cpu")
    again = pickle.loads(pickle.dumps(p))
    assert costs_of(p, here) is costs_of(again, here)


def test_a_matrix_is_held_in_single_precision_where_that_is_exact_or_it_is_great() -> None:
    matrix = np.full((3, 3), 0.1) * (1 - np.eye(3))
    assert make_costs(Penalty.from_matrix(matrix)).matrix.dtype == torch.float64
    assert make_costs(Penalty.from_matrix(matrix * 10)).matrix.dtype == torch.float32
    k = EXACT_CLASSES + 1
    great = Penalty.from_matrix(np.full((k, k), 0.1) * (1 - np.eye(k)))
    assert make_costs(great).matrix.dtype == torch.float32


@pytest.mark.parametrize("form", ["dense", "rules", "tree"])
def test_one_class_costs_nothing(form: str) -> None:
    p = {
        "dense": Penalty.from_matrix([[0.0]]),
        "rules": Penalty.from_rules(["a"], {}),
        "tree": Penalty.from_hierarchy(Hierarchy([("root", "a")])),
    }[form]
    costs = make_costs(p)
    assert costs.rows(torch.tensor([0, 0]), torch.float32).tolist() == [[0.0], [0.0]]
    assert costs.mix(torch.ones(2, 1)).tolist() == [[0.0], [0.0]]


def test_what_is_no_penalty_is_refused() -> None:
    with pytest.raises(PenaltyError, match="Expected a Penalty; got ndarray"):
        make_costs(np.zeros((2, 2)))


STATES = {
    # As many rules, but three of them in one row: the bound of the longest row would be stale.
    "rules": (
        Penalty.from_rules(4, {(0, 1): 2.0, (1, 2): 3.0, (2, 3): 4.0}),
        Penalty.from_rules(4, {(0, 1): 2.0, (0, 2): 3.0, (0, 3): 4.0}),
    ),
    "tree": (
        Penalty.from_groups({"g": ["a", "b"], "h": ["c", "d"]}, classes=NAMES),
        Penalty.from_groups({"g": ["a", "c"], "h": ["b", "d"]}, classes=NAMES),
    ),
    "dense": (Penalty.from_ordinal(4), Penalty.from_ordinal(4, power=2.0)),
}


@pytest.mark.parametrize(("own", "other"), STATES.values(), ids=STATES)
def test_a_state_of_another_penalty_is_refused_and_nothing_changes(
    own: Penalty, other: Penalty
) -> None:
    costs, target = make_costs(own), torch.arange(4)
    with pytest.raises(RuntimeError, match="in the state comes from another penalty or hierarchy"):
        costs.load_state_dict(make_costs(other).state_dict())
    np.testing.assert_array_equal(costs.rows(target, torch.float64).numpy(), own.matrix())
    costs.load_state_dict(make_costs(own).state_dict())


@pytest.mark.parametrize("own", [pair[0] for pair in STATES.values()], ids=STATES)
def test_a_state_fills_a_penalty_that_was_emptied(own: Penalty) -> None:
    state = make_costs(own).state_dict()
    empty = make_costs(own).to("meta")
    empty.load_state_dict(state, assign=True)
    bare = make_costs(own).to("meta").to_empty(device="cpu")
    bare.load_state_dict(state)
    for costs in (empty, bare):
        rows = costs.rows(torch.arange(4), torch.float64)
        np.testing.assert_array_equal(rows.numpy(), own.matrix())
    other = make_costs(own).to("meta")
    with pytest.raises(RuntimeError, match="another penalty or hierarchy"):
        other.load_state_dict({name: value + 1 for name, value in state.items()}, assign=True)
    # A device without float64 rounds: it is the same penalty all the same.
    rounded = {n: v.float() if v.dtype == torch.float64 else v for n, v in state.items()}
    make_costs(own).load_state_dict(rounded)
