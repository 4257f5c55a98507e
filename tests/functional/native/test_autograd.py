"""How the kernel's gradient is handed on, and where the formulas must serve in its place."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings

import pytest
import torch
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from untrue import BilinearLoss, Penalty, functional, kernels
from untrue.functional.native import loss as native_loss

LOSSES = (functional.bilinear_loss, functional.log_bilinear_loss)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=["bilinear", "log-bilinear"])
K = 9


@pytest.fixture
def batch(penalties):
    torch.manual_seed(0)
    return torch.randn(6, K), torch.arange(6), penalties(K)["dense, double"]


@pytest.fixture
def used(monkeypatch, kernels):
    """Counts the calls of the kernel."""
    calls = []

    class Counted:
        def __getattr__(self, name):
            return getattr(kernels, name)

        def loss(self, *arguments):
            calls.append(arguments)
            return kernels.loss(*arguments)

    monkeypatch.setattr(native_loss, "KERNELS", Counted())
    return calls


@every_loss
@pytest.mark.parametrize("factor", [1.0, 3.0, -0.25, 0.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_is_scaled_by_what_comes_from_above(loss, factor, dtype, batch) -> None:
    z, y, costs = batch
    z = z.to(dtype)
    plain, scaled = z.clone().requires_grad_(), z.clone().requires_grad_()
    loss(plain, y, costs).backward()
    (factor * loss(scaled, y, costs)).backward()
    torch.testing.assert_close(scaled.grad, factor * plain.grad)


@every_loss
def test_gradients_add_up_over_batches(loss, batch) -> None:
    z, y, costs = batch
    once, often = z.clone().requires_grad_(), z.clone().requires_grad_()
    loss(once, y, costs).backward()
    for _ in range(4):
        loss(often, y, costs).backward()
    torch.testing.assert_close(often.grad, 4 * once.grad)


@every_loss
@pytest.mark.parametrize("factor", [math.inf, math.nan])
@pytest.mark.parametrize("reduction", ["none", "sum"])
def test_what_is_ignored_has_no_gradient_whatever_comes_from_above(
    loss, factor, reduction, batch
) -> None:
    z, y, costs = batch
    y = y.clone()
    y[2] = -100
    z = z.clone().requires_grad_()
    (factor * loss(z, y, costs, reduction=reduction)).sum().backward()
    assert (z.grad[2] == 0.0).all()
    assert not z.grad[[0, 1, 3]].isfinite().any()


@every_loss
def test_second_derivatives_are_those_of_the_formula(loss, batch, monkeypatch) -> None:
    z, y, costs = batch
    z = z.double()

    def hessian():
        return torch.autograd.functional.hessian(lambda x: loss(x, y, costs), z)

    found = hessian()
    monkeypatch.setattr(native_loss, "KERNELS", None)
    torch.testing.assert_close(found, hessian())
    assert found.abs().max() > 0


@every_loss
def test_checkpointed_and_hooked_tensors(loss, batch, used) -> None:
    z, y, costs = batch
    plain, ours = z.clone().requires_grad_(), z.clone().requires_grad_()
    loss(plain, y, costs).backward()
    again = torch.utils.checkpoint.checkpoint(
        lambda x: loss(x * 1.0, y, costs), ours, use_reentrant=False
    )
    again.backward()
    torch.testing.assert_close(ours.grad, plain.grad)
    ours.grad = None
    with torch.autograd.graph.save_on_cpu():
        loss(ours, y, costs).backward()
    torch.testing.assert_close(ours.grad, plain.grad)
    assert len(used) == 4


@every_loss
def test_logits_that_are_changed_afterwards_are_noticed(loss, batch) -> None:
    z, y, costs = batch
    leaf = z.clone().requires_grad_()
    logits = leaf * 1.0
    value = loss(logits, y, costs)
    logits.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


@every_loss
def test_a_parameter_may_be_the_logits(loss, batch, used) -> None:
    z, y, costs = batch
    parameter = torch.nn.Parameter(z.clone())
    loss(parameter, y, costs).backward()
    assert parameter.grad.isfinite().all()
    assert len(used) == 1


@every_loss
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # of torch's own code
def test_forward_mode_derivatives_come_from_the_formula(loss, batch, used) -> None:
    z, y, costs = batch
    z = z.double()
    along = torch.randn_like(z)
    with forward_ad.dual_level():
        value = loss(forward_ad.make_dual(z, along), y, costs)
        slope = forward_ad.unpack_dual(value).tangent
    assert not used
    leaf = z.clone().requires_grad_()
    loss(leaf, y, costs).backward()
    torch.testing.assert_close(slope, (leaf.grad * along).sum())
    assert len(used) == 1


@every_loss
def test_what_is_recorded_is_the_formula(loss, batch, used) -> None:
    z, y, costs = batch
    other = torch.randn(6, K)
    costs = functional.as_costs(costs, z)
    graph = make_fx(lambda x: loss(x, y, costs))(z)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Not checked by running the function again, which would not be recorded.
        traced = torch.jit.trace(lambda x: loss(x, y, costs), z, check_trace=False)
    assert not used
    wanted = loss(other, y, costs)
    torch.testing.assert_close(graph(other), wanted)
    torch.testing.assert_close(traced(other), wanted)


@every_loss
def test_lazily_negated_logits(loss, batch) -> None:
    z, y, costs = batch
    negative = torch.complex(torch.zeros_like(z), z).conj().imag
    assert negative.is_neg()
    torch.testing.assert_close(loss(negative, y, costs), loss(-z, y, costs))


@every_loss
def test_what_is_learned_besides_the_logits_keeps_its_gradient(loss, batch, used) -> None:
    """A weight, or an alpha: the kernel has no gradient for these."""
    z, y, costs = batch
    weight = torch.linspace(0.5, 1.5, K, requires_grad=True)
    loss(z, y, costs, weight=weight, reduction="sum").backward()
    assert weight.grad[:6].abs().min() > 0
    assert not used


@every_loss
def test_a_meta_tensor_or_another_subclass_is_left_to_torch(loss, batch, used) -> None:
    z, y, costs = batch

    class Own(torch.Tensor):
        pass

    value = loss(z.as_subclass(Own), y, costs)
    assert type(value) is Own
    assert not used


def test_alpha_zero_never_comes_here(batch, used) -> None:
    z, y, costs = batch
    wanted = torch.nn.functional.cross_entropy(z, y)
    assert torch.equal(BilinearLoss(costs, alpha=0.0)(z, y), wanted)
    assert not used


@pytest.mark.parametrize(("value", "expected"), [("0", "torch"), ("1", "native"), (None, "native")])
def test_the_switch(value, expected, monkeypatch) -> None:
    if value is None:
        monkeypatch.delenv(kernels.SWITCH, raising=False)
    else:
        monkeypatch.setenv(kernels.SWITCH, value)
    script = """
import torch, untrue
loss = untrue.BilinearLoss(untrue.Penalty.from_ordinal(3))
value = loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))
print(untrue.functional.backend(), round(value.item(), 4))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == [expected, "0.4162"], done.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "untrue.functional.native"], capture_output=True, text=True
    )
    assert shown.stdout.startswith(f"{expected}: ")
    assert ("UNTRUE_NATIVE=0 turns" in shown.stdout) == (value == "0")


def test_the_penalty_is_exact_in_both(penalties) -> None:
    """Costs that float32 cannot hold are read in double precision, as the formulas' are."""
    z = torch.tensor([[0.0, 0.0]], dtype=torch.float64)
    penalty = Penalty.from_matrix([[0.0, 0.1], [0.3, 0.0]])
    for loss in LOSSES:
        value = loss(z, torch.tensor([0]), penalty, alpha=1.0).item()
        share = 0.5 if loss is LOSSES[0] else math.log(2.0)
        assert value == pytest.approx(0.1 * share, rel=1e-15)
