"""The fast way against the plain formula, where the two could part."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode

from untrue import Penalty, functional
from untrue.errors import ArgumentError
from untrue.functional import fused

K = 7
PENALTY = Penalty.from_matrix(
    np.random.default_rng(3).uniform(0, 5, (K, K)) * (1 - np.eye(K)), classes=K
)
FORMS = (
    PENALTY,
    Penalty.from_rules(K, {(0, 1): 3.0}),
    Penalty.from_groups({"x": ["0", "1", "2"], "y": ["3", "4", "5", "6"]}),
)
LOSSES = (functional.bilinear_loss, functional.log_bilinear_loss)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=["bilinear", "log-bilinear"])


def value_and_gradient(loss, logits, target, **options):
    z = logits.clone().requires_grad_()
    value = loss(z, target, PENALTY, **options)
    value.sum().backward()
    return value.detach(), z.grad


@pytest.fixture
def batch():
    torch.manual_seed(0)
    return torch.randn(9, K) * 3, torch.arange(9) % K


@every_loss
@pytest.mark.parametrize("alpha", [1e-30, 1e-12, 1e-9, 1e-6, 0.5, 1.0])
def test_the_smallest_alpha_is_as_exact_as_the_largest(loss, batch, alpha):
    logits, target = batch
    found = value_and_gradient(loss, logits, target, alpha=alpha)
    wanted = value_and_gradient(loss, logits.double(), target, alpha=alpha)
    for single, double in zip(found, wanted, strict=True):
        torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=1e-6)


@every_loss
def test_a_batch_in_many_blocks_is_the_batch_in_one(loss, batch, monkeypatch):
    logits, target = batch
    whole = value_and_gradient(loss, logits, target, reduction="none")
    monkeypatch.setattr(fused, "BLOCK", 2 * K)
    for parts, one in zip(
        value_and_gradient(loss, logits, target, reduction="none"), whole, strict=True
    ):
        torch.testing.assert_close(parts, one, rtol=0, atol=1e-7)


@every_loss
def test_a_graph_that_is_kept_gives_its_gradient_as_often_as_asked(loss, batch):
    logits, target = batch
    _, wanted = value_and_gradient(loss, logits, target)
    z = logits.clone().requires_grad_()
    value = loss(z, target, PENALTY)
    for keep in (True, True, False):
        (found,) = torch.autograd.grad(value, z, torch.tensor(2.0), retain_graph=keep)
        assert torch.equal(found, 2.0 * wanted)
    with pytest.raises(RuntimeError, match="second time"):
        value.backward()


@every_loss
def test_gradients_of_every_example_at_once(loss, batch):
    logits, target = batch
    z = logits.clone().requires_grad_()
    losses = loss(z, target, PENALTY, reduction="none")
    (at_once,) = torch.autograd.grad(losses, z, torch.eye(len(z)), is_grads_batched=True)
    own = torch.stack([at_once[i, i] for i in range(len(z))])
    _, wanted = value_and_gradient(loss, logits, target, reduction="none")
    torch.testing.assert_close(own, wanted)
    assert torch.count_nonzero(at_once) == torch.count_nonzero(own)


@every_loss
def test_tensors_without_values_have_a_loss_and_a_gradient(loss, batch):
    with FakeTensorMode(allow_non_fake_inputs=True):
        z = torch.empty(9, K, requires_grad=True)
        value = loss(z, torch.zeros(9, dtype=torch.long), PENALTY)
        (gradient,) = torch.autograd.grad(value, z)
    assert (value.shape, gradient.shape) == ((), (9, K))


@every_loss
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_a_broken_row_that_is_ignored_leaves_the_loss_alone(loss, batch, reduction):
    logits, target = batch
    logits, target = logits.clone(), target.clone()
    logits[2], target[2] = torch.nan, -100
    value, _ = value_and_gradient(loss, logits, target, reduction=reduction)
    kept = torch.arange(9) != 2
    wanted, _ = value_and_gradient(loss, logits[kept], target[kept], reduction=reduction)
    torch.testing.assert_close(value[kept] if reduction == "none" else value, wanted)


@every_loss
def test_all_ignored_is_nan_with_no_gradient_as_in_cross_entropy(loss, batch):
    logits, _ = batch
    ignored = torch.full((9,), -100)
    assert torch.isnan(F.cross_entropy(logits, ignored))
    value, gradient = value_and_gradient(loss, logits, ignored)
    assert torch.isnan(value)
    assert torch.equal(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize("form", FORMS, ids=["dense", "rules", "tree"])
def test_compiles_with_a_penalty_as_argument(batch, form):
    torch._dynamo.reset()
    loss = functional.log_bilinear_loss
    logits, target = batch
    compiled = torch.compile(lambda z: loss(z, target, form), fullgraph=True, backend="aot_eager")
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    compiled(ours).backward()
    loss(theirs, target, form).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


@every_loss
def test_rows_that_tie_at_the_top_have_the_formula_s_gradient(loss):
    logits = torch.zeros(3, K)
    logits[1, [0, 4]] = 50.0
    logits[2] = 1e4
    target = torch.tensor([0, 4, 6])
    found = value_and_gradient(loss, logits, target, reduction="none")
    z = logits.double().requires_grad_()
    formula_value = loss(z, target, PENALTY, reduction="none")
    (wanted,) = torch.autograd.grad(formula_value.sum(), z, create_graph=True)  # the plain formula
    torch.testing.assert_close(found[0].double(), formula_value.detach(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found[1].double(), wanted.detach(), rtol=1e-6, atol=1e-6)


@every_loss
def test_what_is_no_tensor_is_named(loss):
    with pytest.raises(ArgumentError, match="`target` must be a tensor; got list"):
        loss(torch.zeros(2, K), [0, 1], PENALTY)
    with pytest.raises(ArgumentError, match="`logits` must be a tensor; got ndarray"):
        loss(np.zeros((2, K)), torch.tensor([0, 1]), PENALTY)
