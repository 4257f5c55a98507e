"""A list of losses times a list of properties: what `nn.CrossEntropyLoss` does, all of them do."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from untrue.errors import ArgumentError
from untrue.losses import ClassWeightedLoss, registry

K = 7


def takes_soft(loss: torch.nn.Module) -> bool:
    """Cost regression is about one true class."""
    (entry,) = [entry for entry in registry.OWN if entry.loss == type(loss).__name__]
    return entry.outputs != "costs"


def targets(draw, loss, *shape, **options):
    """The logits and each kind of target that a loss takes."""
    z, hard = draw(*shape, loss=loss, **options)
    yield z, hard
    if takes_soft(loss):
        yield z, draw(*shape, soft=True, loss=loss, **options)[1]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_every_shape_is_the_flat_one(make, draw, reduction) -> None:
    loss = make(reduction=reduction)
    for z, y in targets(draw, loss, 2, K, 3, 2):
        soft = y.is_floating_point()
        flat_y = y.movedim(1, -1).reshape(-1, K) if soft else y.reshape(-1)
        flat = loss(z.movedim(1, -1).reshape(-1, z.shape[1]), flat_y)
        shaped = flat.reshape(2, 3, 2) if reduction == "none" else flat
        torch.testing.assert_close(loss(z, y), shaped)
        alone, batch_of_one = (z[0, :, 0, 0], y[0, ..., 0, 0]), (z[:1, :, 0, 0], y[:1, ..., 0, 0])
        torch.testing.assert_close(loss(*alone), loss(*batch_of_one).squeeze())


def test_weights_multiply_and_the_mean_divides_by_them(make, draw) -> None:
    weight = torch.linspace(0.5, 2, K, dtype=torch.float64)
    z, y = draw(5, K, loss=make())
    each, weighed = make(reduction="none")(z, y), make(reduction="none", weight=weight)(z, y)
    torch.testing.assert_close(weighed, each * weight[y])
    torch.testing.assert_close(make(reduction="sum", weight=weight)(z, y), weighed.sum())
    shares = weight[y]
    if isinstance(make(), ClassWeightedLoss):  # whose own weights count likewise
        shares = shares * make().costs.weights[y]
    torch.testing.assert_close(make(weight=weight)(z, y), weighed.sum() / shares.sum())


def test_a_soft_target_is_its_classes_in_those_shares(make, draw) -> None:
    weight = torch.linspace(0.5, 2, K, dtype=torch.float64)
    loss = make(reduction="none", weight=weight)
    z, y = draw(5, K, soft=True, loss=loss)
    if not takes_soft(loss):
        with pytest.raises(ArgumentError, match=r"must be class indices.*got torch.float64 of"):
            loss(z, y)
        return
    expected = sum(y[:, i] * loss(z, torch.full((5,), i)) for i in range(K))
    torch.testing.assert_close(loss(z, y), expected)
    torch.testing.assert_close(make(weight=weight)(z, y), expected.mean())


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ignored_targets_count_as_in_pytorch(make, draw, reduction) -> None:
    loss = make(reduction=reduction)
    z, y = draw(5, K, loss=loss)
    z.requires_grad_()
    y[1] = y[3] = -100
    kept = torch.tensor([0, 2, 4])
    whole, part = loss(z, y), loss(z[kept], y[kept])
    torch.testing.assert_close(whole[kept] if reduction == "none" else whole, part)
    whole.sum().backward()
    assert (z.grad[[1, 3]] == 0).all()
    assert (z.grad[kept] != 0).any()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nothing_to_learn_from_gives_what_pytorch_gives(make, draw, reduction) -> None:
    loss = make(reduction=reduction)
    cases = [*targets(draw, loss, 0, K), (draw(3, K, loss=loss)[0], torch.full((3,), -100))]
    for z, y in cases:
        ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
        value = loss(ours, y)
        wide = torch.zeros_like(z) if y.is_floating_point() else y
        expected = F.cross_entropy(theirs, wide, reduction=reduction)
        torch.testing.assert_close(value, expected, equal_nan=True)
        value.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(ours.grad, theirs.grad, equal_nan=True)


@pytest.mark.parametrize("wrong", [K, -1, 10**6])
@pytest.mark.parametrize("learning", [True, False])
@pytest.mark.parametrize("weighed", [True, False])
def test_a_target_that_is_no_class_is_named_as_pytorch_does(
    make, draw, wrong, learning, weighed
) -> None:
    loss = make(weight=torch.ones(K) if weighed else None)
    z, y = draw(5, K, loss=loss)
    y[1], y[3] = -100, wrong
    with pytest.raises(IndexError, match=rf"^Target {wrong} is out of bounds\.$"):
        loss(z.requires_grad_(learning), y)


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_gradients_pass_gradcheck_twice(make, draw, reduction) -> None:
    loss = make(reduction=reduction)
    for z, y in targets(draw, loss, 3, K):
        z.requires_grad_()
        assert torch.autograd.gradcheck(loss, (z, y))
        assert torch.autograd.gradgradcheck(loss, (z, y))


def test_soft_targets_can_be_learned_too(make, draw) -> None:
    loss = make()
    if takes_soft(loss):
        z, y = draw(3, K, soft=True, loss=loss)
        assert torch.autograd.gradcheck(loss, (z.requires_grad_(), y.requires_grad_()))


@pytest.mark.parametrize("size", [1e4, 1e2, 1e-4])
def test_logits_of_any_size_give_finite_losses_and_bounded_gradients(make, size) -> None:
    loss = make(reduction="none")
    n = loss.n_outputs or K
    rows = torch.cat([torch.eye(n), -torch.eye(n)])
    rows = torch.cat([rows, torch.linspace(-1, 1, n)[None]]) * size
    z = rows.repeat_interleave(K, 0).requires_grad_()
    y = torch.arange(K).repeat(len(rows))
    value = loss(z, y)
    value.sum().backward()
    assert value.isfinite().all()
    assert z.grad.abs().max() < 50  # of the order of the costs
    exact = z.detach().double().requires_grad_()
    loss(exact, y).sum().backward()
    torch.testing.assert_close(value.double(), loss(exact, y), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(z.grad.double(), exact.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(make, draw, dtype) -> None:
    loss = make()
    for z, y in targets(draw, loss, 6, K, dtype=dtype):
        half, single = z.clone().requires_grad_(), z.float().requires_grad_()
        value = loss(half, y)
        exact = loss(single, y.float() if y.is_floating_point() else y)
        assert value.dtype == dtype
        assert torch.equal(value, exact.to(dtype))
        value.backward()
        exact.backward()
        torch.testing.assert_close(half.grad, single.grad.to(dtype))


def test_autocast_gives_single_precision(make, draw) -> None:
    loss = make()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for z, y in targets(draw, loss, 6, K, dtype=torch.float32):
            soft = y.is_floating_point()
            assert loss(z.bfloat16(), y).dtype == torch.float32
            exact = loss(z.double(), y.double() if soft else y)
            torch.testing.assert_close(loss(z, y), exact.float())


def test_never_looks_at_values(make, draw) -> None:
    """On the meta device there are none to look at."""
    loss = make().to("meta")
    for z, y in targets(draw, loss, 4, K, dtype=torch.float32):
        z_meta = z.to("meta").requires_grad_()
        loss(z_meta, y.to("meta")).backward()
        assert z_meta.grad.shape == z.shape


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # of torch.func's own code
def test_function_transforms(make, draw) -> None:
    loss = make()
    for z, target in targets(draw, loss, 4, K):
        each = [torch.func.grad(loss)(z[n], target[n]) for n in range(4)]
        together = torch.func.vmap(torch.func.grad(loss))(z, target)
        torch.testing.assert_close(together, torch.stack(each))
        reference = z.clone().requires_grad_()
        loss(reference, target).backward()
        torch.testing.assert_close(torch.func.grad(loss)(z, target), reference.grad)
    z, y = draw(4, K, loss=loss)
    hessian = torch.func.hessian(loss)(z[0], y[0])
    torch.testing.assert_close(
        hessian, torch.autograd.functional.hessian(partial(_at, loss, y[0]), z[0])
    )


def _at(loss, target, z):
    return loss(z, target)


def test_compiles_without_a_break(make, draw) -> None:
    torch._dynamo.reset()
    loss = make()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for z, target in targets(draw, loss, 4, K, dtype=torch.float32):
        ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
        compiled(ours, target).backward()
        loss(theirs, target).backward()
        torch.testing.assert_close(ours.grad, theirs.grad)


def test_copies_pickles_and_state(make, draw) -> None:
    loss = make(weight=torch.linspace(1, 2, K, dtype=torch.float64))
    z, y = draw(4, K, loss=loss)
    expected = loss(z, y)
    for twin in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert torch.equal(twin(z, y), expected)
    other = make(weight=torch.ones(K, dtype=torch.float64))
    for tensor in other.buffers():
        if tensor.is_floating_point():
            tensor.zero_()
    assert not torch.equal(other(z, y), expected)
    other.load_state_dict(loss.state_dict())
    assert torch.equal(other(z, y), expected)


def test_a_state_fills_a_loss_that_was_made_without_memory(make, draw) -> None:
    loss = make(weight=torch.arange(1.0, K + 1))
    z, y = draw(4, K, loss=loss)
    empty = copy.deepcopy(loss).to("meta").to_empty(device="cpu")
    for tensor in empty.buffers():
        tensor.zero_()
    empty.load_state_dict(loss.state_dict())
    assert torch.equal(empty(z, y), loss(z, y))


def test_complex_targets_are_refused(make, draw) -> None:
    loss = make()
    z, y = draw(4, K, loss=loss)
    with pytest.raises(ArgumentError, match=r"indices or probabilities; got torch.complex64"):
        loss(z, y.to(torch.complex64))


def test_costs_follow_the_device_and_keep_their_precision(make, draw) -> None:
    loss = make()
    z, y = draw(4, K, loss=loss)
    expected = loss(z, y)
    assert torch.equal(copy.deepcopy(loss).half()(z, y), expected)
    assert {b.device.type for b in copy.deepcopy(loss).to("meta").buffers()} <= {"meta"}


def test_bad_options_are_named(make, draw) -> None:
    with pytest.raises(ArgumentError, match="'none', 'mean' or 'sum'; got 'max'"):
        make(reduction="max")
    with pytest.raises(ArgumentError, match=r"`weight` must have shape \(7,\); got \(3,\)"):
        make(weight=torch.ones(3))(*draw(2, K))
    for given in ([1.0] * K, np.ones(K)):
        with pytest.raises(
            ArgumentError, match=r"`weight` must be a tensor; got .*torch.as_tensor"
        ):
            make(weight=given)


def test_bad_shapes_are_named(make) -> None:
    loss = make()
    k = loss.n_outputs or K
    wrong = [
        (torch.zeros(2, k), torch.zeros(3).long(), r"indices must have shape \(2,\).*got \(3,\)"),
        (torch.zeros(2, k), torch.zeros(2, 5), r"probabilities must have shape \(2, 7\)"),
        (torch.zeros(2, k).long(), torch.zeros(2).long(), "floating point; got torch.int64"),
        (torch.tensor(1.0), torch.tensor(0), r"must have shape \(C\), \(N, C\)"),
    ]
    if loss.n_classes:
        wrong += [(torch.zeros(2, 5), torch.zeros(2).long(), r"logits.*have 5 in dimension 1")]
    for logits, target, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            loss(logits, target)


def test_shows_what_it_is(make) -> None:
    loss = make()
    assert type(loss).__name__ in repr(loss)
    assert "7 classes" in repr(loss) or loss.n_classes is None
