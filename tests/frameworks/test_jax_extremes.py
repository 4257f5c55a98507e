"""The losses in JAX where formulas break: masks, large logits, halves, small types, no examples."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import untrue
from untrue import reference
from untrue.errors import ArgumentError, PenaltyError
from untrue.jax import bilinear_loss, log1m_softmax, log_bilinear_loss

CLASSES = ["a", "b", "c", "d"]
COSTS = untrue.Penalty.from_rules(CLASSES, {("a", "d"): 7.0, ("c", "a"): 0.5})
FREE = untrue.Penalty.from_rules(CLASSES, {("b", "c"): 2.0}, default=0.0)
TREE = untrue.Penalty.from_hierarchy(
    untrue.Hierarchy.from_groups({"low": ["a", "b"], "high": ["c", "d"]})
)
LOSSES = {"bilinear": bilinear_loss, "log-bilinear": log_bilinear_loss}
MASKED = np.array([[0.0, 1.0, -np.inf, 2.0], [3.0, -np.inf, -np.inf, -np.inf]], np.float32)


@pytest.mark.parametrize("name", LOSSES)
def test_values_and_two_derivatives_are_those_of_the_reference(name: str) -> None:
    rng = np.random.default_rng(0)
    size = np.repeat([1.0, 20.0, 1e4], 6)[:, None]
    logits = (size * rng.normal(size=(18, 4))).astype(np.float32)
    target = rng.dirichlet(np.ones(4), 18).astype(np.float32)
    target[::2] = np.eye(4)[rng.integers(0, 4, 9)]

    def loss(z: Any, y: Any, costs: Any) -> Any:
        return LOSSES[name](z, y, costs, alpha=0.7)

    def all_three(z: Any, y: Any, costs: Any) -> Any:
        return loss(z, y, costs), jax.grad(loss)(z, y, costs), jax.hessian(loss)(z, y, costs)

    compiled = jax.jit(jax.vmap(all_three, in_axes=(0, 0, None)))
    for penalty in (COSTS, FREE, TREE, untrue.Penalty.from_matrix(1e4 * TREE.matrix())):
        rows = reference.cost_rows(penalty.matrix(), target)
        measures = (reference.losses, reference.gradients, reference.hessians)
        found = compiled(logits, target, jnp.asarray(penalty.matrix()))
        for values, measure in zip(found, measures, strict=True):
            wanted = measure(logits, target, rows, loss=name, alpha=0.7)
            largest = np.maximum(1.0, rows.max(1)).reshape(-1, *[1] * (wanted.ndim - 1))
            assert (abs(values - wanted) / np.maximum(largest, abs(wanted))).max() < 1e-6


def by_definition(name: str, penalty: Any, classes: list[int], alpha: float) -> Any:
    """The losses of `MASKED`; what is infinite counts nothing where its factor is 0."""
    p = np.exp(MASKED.astype(float) - MASKED.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    rows = penalty.matrix()[classes]
    with np.errstate(all="ignore"):
        charged = p if name == "bilinear" else -np.log(1 - p)
        term = np.where(rows == 0, 0.0, rows * charged).sum(1)
        ce = -np.log(p[[0, 1], classes])
        return (0.0 if alpha == 1 else (1 - alpha) * ce) + (0.0 if alpha == 0 else alpha * term)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("fixed", [None, 0.0, 1.0], ids=["traced alpha", "0", "1"])
def test_classes_masked_by_infinite_logits(name: str, fixed: float | None) -> None:
    def total(z: Any, classes: Any, costs: Any, alpha: Any) -> Any:
        alpha = alpha if fixed is None else fixed
        each = [
            LOSSES[name](z, y, costs, alpha=alpha, reduction="none")
            for y in (classes, jnp.eye(4)[classes])
        ]
        return sum(jnp.where(jnp.isinf(x), 0.0, x).sum() for x in each), each

    compiled = jax.jit(jax.grad(total, has_aux=True))
    for alpha in (0.0, 0.5, 1.0) if fixed is None else (fixed,):
        for penalty in (COSTS, FREE):
            for classes in ([0, 0], [2, 0], [3, 2], [1, 1]):
                wanted = by_definition(name, penalty, classes, alpha)
                slopes, found = compiled(MASKED, jnp.array(classes), penalty.matrix(), alpha)
                for values in found:
                    np.testing.assert_allclose(values, wanted, rtol=1e-6)
                assert np.isfinite(slopes).all()


@pytest.mark.parametrize("name", LOSSES)
def test_what_is_ignored_has_no_slope_whatever_it_holds(name: str) -> None:
    target = jnp.array([1, -100, 2])
    logits = np.array([[0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0], [2.0, 0.0, 1.0, 0.0]])
    broken = logits.copy()
    broken[1, :2] = [np.nan, np.inf]
    compiled = jax.jit(jax.value_and_grad(lambda z: LOSSES[name](z, target, COSTS)))
    value, slopes = compiled(broken)
    wanted, wanted_slopes = compiled(logits)
    assert value == wanted
    np.testing.assert_array_equal(slopes, wanted_slopes)


@pytest.mark.parametrize(("dtype", "k"), [("uint8", 256), ("int8", 300)])
def test_targets_in_small_types_are_those_in_large_ones(dtype: str, k: int) -> None:
    penalty, logits, target = untrue.Penalty.from_ordinal(k), jnp.ones((3, k)), jnp.array([0, 1, 9])
    found = bilinear_loss(logits, target.astype(dtype), penalty)
    assert found == bilinear_loss(logits, target, penalty)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_computed_in_single_precision(dtype: str) -> None:
    logits = jnp.array([[3.0, 0.3, -4.0, 2.1], [9.0, 0.0, 1.0, 1.0]], dtype)
    single, target = logits.astype("float32"), jnp.array([0, 2])
    for loss in LOSSES.values():
        found = loss(logits, target, COSTS)
        assert found.dtype == dtype
        assert found == loss(single, target, COSTS).astype(dtype)
    assert (log1m_softmax(logits) == log1m_softmax(single).astype(dtype)).all()


def test_one_class_cannot_be_confused() -> None:
    alone = untrue.Penalty.from_matrix([[0.0]])
    for loss in LOSSES.values():
        assert loss(jnp.ones((3, 1)), jnp.zeros(3, int), alone) == 0
    assert (log1m_softmax(jnp.ones((3, 1))) == -jnp.inf).all()


def test_no_examples_have_a_sum_and_no_mean() -> None:
    for target in (jnp.zeros(0, int), jnp.zeros((0, 4))):
        assert jnp.isnan(bilinear_loss(jnp.zeros((0, 4)), target, COSTS))
        assert bilinear_loss(jnp.zeros((0, 4)), target, COSTS, reduction="sum") == 0


def test_each_wrong_argument_has_its_sentence() -> None:
    logits, target = jnp.zeros((9, 4)), jnp.zeros(9, int)
    with pytest.raises(ArgumentError, match="`target` must hold class indices or probabilities"):
        bilinear_loss(logits, jnp.zeros(9, complex), COSTS)
    with pytest.raises(ArgumentError, match=r"`penalty` must have shape \(4, 4\); got \(\)"):
        jax.jit(lambda cost: bilinear_loss(logits, target, cost))(1.0)
    with pytest.raises(PenaltyError, match="got an ExamplePenalty, costs of each example"):
        bilinear_loss(logits, target, COSTS.per_example({("a", "b"): np.arange(9.0)}))
    with pytest.raises(PenaltyError, match=r"A penalty matrix is a table; got 'costs\.toml'"):
        bilinear_loss(logits, target, "costs.toml")
    for wrong in (jnp.zeros((2, 4), int), jnp.zeros(())):
        with pytest.raises(ArgumentError, match="`logits` must be floating point with"):
            log1m_softmax(wrong)


def test_a_soft_target_of_zero_has_a_slope() -> None:
    """By formula: the bilinear loss is linear in the target, (1 - alpha)(-log p) + alpha A p."""
    logits, target = jnp.array([0.5, -1.0, 2.0, 0.0]), jnp.array([1.0, 0.0, 0.0, 0.0])
    slope = jax.grad(lambda y: bilinear_loss(logits, y, COSTS, alpha=0.3))(target)
    p = np.asarray(jax.nn.softmax(logits))
    np.testing.assert_allclose(slope, -0.7 * np.log(p) + 0.3 * COSTS.matrix() @ p, rtol=1e-5)
