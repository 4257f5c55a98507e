"""A list of losses times a list of properties: what `nn.CrossEntropyLoss` does, ours do."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from untrue import BilinearLoss, Hierarchy, LogBilinearLoss, Penalty, UntrueWarning, functional
from untrue.errors import ArgumentError

K = 7
TREE = Hierarchy.from_dict(
    {"any": {"a": ["s", "t"], "b": ["x"], "c": {"d": ["d1", "d2"], "e": None}}},
    classes=["x", "d2", "c", "s", "e", "t", "d1"],
)
PENALTIES = {
    "dense": Penalty.from_matrix(
        np.random.default_rng(0).uniform(0.1, 5, (K, K)) * (1 - np.eye(K))
    ),
    "rules": Penalty.from_rules(K, {(0, 1): 0.3, (0, 2): 5.0, (4, 1): 0.0}, default=0.7),
    "tree": Penalty.from_hierarchy(TREE, {1: 1.0, 2: 3.5, 3: 0.7}).normalized("rows"),
}
LOSSES = [
    pytest.param(partial(loss, penalty), id=f"{loss.__name__}-{form}")
    for loss in (BilinearLoss, LogBilinearLoss)
    for form, penalty in PENALTIES.items()
]
every_loss = pytest.mark.parametrize("make", LOSSES)


def draw(*shape: int, soft: bool = False, seed: int = 0, dtype: torch.dtype = torch.float64):
    """Logits of a shape, and targets that fit."""
    generator = torch.Generator().manual_seed(seed)
    z = (torch.randn(*shape, generator=generator, dtype=torch.float64) * 4).to(dtype)
    if soft:
        y = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return z, y.softmax(0 if len(shape) == 1 else 1).to(dtype)
    rest = shape[:0] if len(shape) == 1 else (shape[0], *shape[2:])
    return z, torch.randint(0, K, rest, generator=generator)


def naive(make, z, target, alpha, weight=None):
    """Per-example losses by loops over classes, in NumPy."""
    module = make(alpha)
    matrix = module.penalty.matrix()
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    y = np.eye(K)[target] if target.ndim == 1 else target
    w = np.ones(K) if weight is None else weight
    result = []
    for n in range(len(z)):
        total = 0.0
        for i, j in itertools.product(range(K), range(K)):
            cost = p[n, j] if isinstance(module, BilinearLoss) else -np.log1p(-p[n, j])
            total += alpha * y[n, i] * w[i] * matrix[i, j] * cost
        for i in range(K):
            total -= (1 - alpha) * y[n, i] * w[i] * np.log(p[n, i])
        result.append(total)
    return np.array(result)


@every_loss
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("alpha", [0.25, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_loops_over_classes(make, soft, alpha, weighted) -> None:
    z, y = draw(5, K, soft=soft)
    weight = torch.linspace(0.5, 2, K, dtype=torch.float64) if weighted else None
    options = {"alpha": alpha, "weight": weight}
    expected = naive(make, z.numpy(), y.numpy(), alpha, None if weight is None else weight.numpy())
    np.testing.assert_allclose(make(**options, reduction="none")(z, y), expected, rtol=1e-12)
    np.testing.assert_allclose(make(**options, reduction="sum")(z, y), expected.sum(), rtol=1e-12)
    share = 5.0 if soft or weight is None else weight[y].sum().item()
    np.testing.assert_allclose(make(**options)(z, y), expected.sum() / share, rtol=1e-12)


@every_loss
@pytest.mark.parametrize("shape", [(K,), (1, K), (4, K), (2, K, 3), (2, K, 3, 2)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_alpha_zero_is_cross_entropy_to_the_last_bit(make, shape, reduction, smoothing) -> None:
    for soft, weighted, dtype in itertools.product(
        [False, True], [False, True], [torch.float32, torch.float64, torch.bfloat16]
    ):
        z, y = draw(*shape, soft=soft, dtype=dtype)
        weight = torch.linspace(0.5, 2, K, dtype=dtype) if weighted else None
        options = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
        if not soft:
            options["ignore_index"] = 3
        ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
        loss, expected = make(alpha=0.0, **options)(ours, y), F.cross_entropy(theirs, y, **options)
        loss.sum().backward()
        expected.sum().backward()
        assert torch.equal(loss, expected)
        assert torch.equal(ours.grad, theirs.grad)


@every_loss
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_smoothing_touches_the_cross_entropy_alone(make, soft, smoothing) -> None:
    z, y = draw(5, K, soft=soft)
    weight = torch.linspace(0.5, 2, K, dtype=torch.float64)
    pure = make(alpha=1.0, weight=weight)(z, y)
    mixed = make(alpha=0.3, weight=weight, label_smoothing=smoothing)(z, y)
    plain = F.cross_entropy(z, y, weight=weight, label_smoothing=smoothing)
    torch.testing.assert_close(mixed, 0.7 * plain + 0.3 * pure)


@every_loss
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_every_shape_is_the_flat_one(make, soft, reduction) -> None:
    z, y = draw(2, K, 3, 2, soft=soft)
    loss = make(reduction=reduction)
    flat_y = y.movedim(1, -1).reshape(-1, K) if soft else y.reshape(-1)
    flat = loss(z.movedim(1, -1).reshape(-1, K), flat_y)
    torch.testing.assert_close(loss(z, y), flat.reshape(2, 3, 2) if reduction == "none" else flat)
    alone, batch_of_one = (z[0, :, 0, 0], y[0, ..., 0, 0]), (z[:1, :, 0, 0], y[:1, ..., 0, 0])
    torch.testing.assert_close(loss(*alone), loss(*batch_of_one).squeeze())


@every_loss
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ignored_targets_count_as_in_pytorch(make, reduction) -> None:
    z, y = draw(5, K)
    z.requires_grad_()
    y[1] = y[3] = -100
    kept = torch.tensor([0, 2, 4])
    loss = make(reduction=reduction)
    whole, part = loss(z, y), loss(z[kept], y[kept])
    torch.testing.assert_close(whole[kept] if reduction == "none" else whole, part)
    whole.sum().backward()
    assert (z.grad[[1, 3]] == 0).all()
    assert (z.grad[kept] != 0).any()


@every_loss
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("soft", [False, True])
def test_nothing_to_learn_from_gives_what_pytorch_gives(make, reduction, soft) -> None:
    cases = [draw(0, K, soft=soft)]
    if not soft:
        cases += [(draw(3, K)[0], torch.full((3,), -100))]
    for z, y in cases:
        ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
        loss, expected = (
            make(reduction=reduction)(ours, y),
            F.cross_entropy(theirs, y, reduction=reduction),
        )
        torch.testing.assert_close(loss, expected, equal_nan=True)
        loss.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(ours.grad, theirs.grad, equal_nan=True)


@every_loss
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"alpha": 1.0}, {"label_smoothing": 0.1}, {"reduction": "none"}]
)
def test_gradients_pass_gradcheck_twice(make, soft, options) -> None:
    z, y = draw(4, K, soft=soft)
    loss = make(**options)
    z.requires_grad_()
    assert torch.autograd.gradcheck(loss, (z, y))
    assert torch.autograd.gradgradcheck(loss, (z, y))


@every_loss
def test_soft_targets_can_be_learnt_too(make) -> None:
    z, y = draw(3, K, soft=True)
    assert torch.autograd.gradcheck(make(), (z.requires_grad_(), y.requires_grad_()))


@every_loss
def test_the_plain_and_the_fused_way_agree(make) -> None:
    z, y = draw(6, K)
    loss = make(alpha=0.6)
    with torch.no_grad():
        plain = loss(z, y)
    torch.testing.assert_close(loss(z.requires_grad_(), y).detach(), plain, rtol=1e-13, atol=0)


@every_loss
def test_blocks_leave_no_seam(make, monkeypatch) -> None:
    z, y = draw(50, K)
    whole = z.clone().requires_grad_()
    make()(whole, y).backward()
    monkeypatch.setattr("untrue.functional.fused.BLOCK", 3 * K)
    pieces = z.clone().requires_grad_()
    make()(pieces, y).backward()
    torch.testing.assert_close(pieces.grad, whole.grad, rtol=1e-14, atol=1e-17)


@every_loss
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(make, dtype) -> None:
    z, y = draw(6, K, dtype=dtype)
    for soft in (False, True):
        target = draw(6, K, soft=True, dtype=dtype)[1] if soft else y
        half = z.clone().requires_grad_()
        single = z.float().requires_grad_()
        ours = make()(half, target)
        exact = make()(single, target.float() if soft else target)
        assert ours.dtype == F.cross_entropy(half, target).dtype == dtype
        assert torch.equal(ours, exact.to(dtype))
        ours.backward()
        exact.backward()
        torch.testing.assert_close(half.grad, single.grad.to(dtype))


@every_loss
def test_autocast_gives_single_precision(make) -> None:
    z, y = draw(6, K, dtype=torch.float32)
    soft = draw(6, K, soft=True, dtype=torch.float32)[1]
    loss = make()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert loss(z.bfloat16(), y).dtype == torch.float32
        torch.testing.assert_close(loss(z, y), loss(z.double(), y).float())
        torch.testing.assert_close(loss(z, soft), loss(z.double(), soft.double()).float())


@every_loss
def test_never_looks_at_values(make) -> None:
    """On the meta device there are none to look at."""
    z, y = draw(4, K, dtype=torch.float32)
    soft = draw(4, K, soft=True, dtype=torch.float32)[1]
    loss = make().to("meta")
    for target in (y, soft):
        z_meta = z.to("meta").requires_grad_()
        loss(z_meta, target.to("meta")).backward()
        assert z_meta.grad.shape == z.shape


@every_loss
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # of torch.func's own code
def test_function_transforms(make) -> None:
    z, y = draw(4, K)
    soft = draw(4, K, soft=True)[1]
    loss = make()
    for target in (y, soft):
        each = [torch.func.grad(loss)(z[n], target[n]) for n in range(4)]
        together = torch.func.vmap(torch.func.grad(loss))(z, target)
        torch.testing.assert_close(together, torch.stack(each))
        reference = z.clone().requires_grad_()
        loss(reference, target).backward()
        torch.testing.assert_close(torch.func.grad(loss)(z, target), reference.grad)
    hessian = torch.func.hessian(loss)(z[0], y[0])
    torch.testing.assert_close(
        hessian, torch.autograd.functional.hessian(partial(_at, loss, y[0]), z[0])
    )


def _at(loss, target, z):
    return loss(z, target)


@every_loss
def test_compiles_without_a_break_and_follows_alpha(make) -> None:
    torch._dynamo.reset()
    z, y = draw(4, K, dtype=torch.float32)
    soft = draw(4, K, soft=True, dtype=torch.float32)[1]
    loss = make()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for target in (y, soft):
        ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
        compiled(ours, target).backward()
        loss(theirs, target).backward()
        torch.testing.assert_close(ours.grad, theirs.grad)
    for alpha in np.linspace(0.1, 0.85, 12):  # more values than the compiler would recompile for
        loss.alpha = float(alpha)
        torch.testing.assert_close(compiled(z, y), loss(z, y))


@pytest.mark.parametrize("loss", [BilinearLoss, LogBilinearLoss])
def test_compiles_to_machine_code(loss) -> None:
    torch._dynamo.reset()
    z, y = draw(4, K, dtype=torch.float32)
    module = loss(PENALTIES["tree"])
    ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the compiler's own code
        torch.compile(module, fullgraph=True)(ours, y).backward()
    module(theirs, y).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


@every_loss
def test_copies_pickles_and_state(make) -> None:
    z, y = draw(4, K)
    loss = make(weight=torch.linspace(1, 2, K, dtype=torch.float64))
    expected = loss(z, y)
    for twin in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert torch.equal(twin(z, y), expected)
    other = make(weight=torch.ones(K, dtype=torch.float64))
    for name, tensor in other.costs.named_buffers():
        if tensor.is_floating_point():
            getattr(other.costs, name).zero_()
    assert not torch.equal(other(z, y), expected)
    other.load_state_dict(loss.state_dict())
    assert torch.equal(other(z, y), expected)


@every_loss
def test_costs_follow_the_device_and_keep_their_precision(make) -> None:
    z, y = draw(4, K)
    loss = make()
    expected = loss(z, y)
    assert torch.equal(copy.deepcopy(loss).half()(z, y), expected)
    assert {b.device.type for b in copy.deepcopy(loss).to("meta").buffers()} == {"meta"}


@pytest.mark.parametrize("loss", [BilinearLoss, LogBilinearLoss])
def test_trains_under_ddp(loss, tmp_path) -> None:
    script = f"""
import os, torch, torch.distributed as dist
from untrue import {loss.__name__} as Loss, Penalty
dist.init_process_group("gloo", init_method="file://{tmp_path}/meet", rank=0, world_size=1)
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.loss = torch.nn.Linear(4, 3), Loss(Penalty.from_ordinal(3))
    def forward(self, x, y):
        return self.loss(self.layer(x), y)
net = torch.nn.parallel.DistributedDataParallel(Net())
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    value = net(x, y)
    value.backward()
    optimizer.step()
    losses.append(value.item())
assert losses[-1] < losses[0], losses
dist.destroy_process_group()
"""
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_hundred_thousand_classes_in_two_gigabytes() -> None:
    script = """
import resource, torch
from untrue import Hierarchy, LogBilinearLoss, BilinearLoss, Penalty
groups = {f"g{g}": [f"c{g}_{i}" for i in range(100)] for g in range(1000)}
nested = {f"h{h}": {g: groups[g] for g in list(groups)[h * 50 : h * 50 + 50]} for h in range(20)}
penalty = Penalty.from_hierarchy(Hierarchy.from_dict(nested))
layer = torch.nn.Linear(16, 100_000)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x, y = torch.randn(64, 16), torch.randint(0, 100_000, (64,))
for loss in (BilinearLoss(penalty), LogBilinearLoss(penalty)):
    before = loss(layer(x), y)
    before.backward()
    optimizer.step()
    optimizer.zero_grad()
    assert loss(layer(x), y) < before
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2.0


@pytest.mark.parametrize("loss", [BilinearLoss, LogBilinearLoss])
def test_one_class_cannot_be_confused(loss) -> None:
    z, y = torch.randn(3, 1, requires_grad=True), torch.zeros(3, dtype=torch.long)
    value = loss(Penalty.from_rules(1, {}))(z, y)
    value.backward()
    assert value == 0
    assert (z.grad == 0).all()


@pytest.mark.parametrize("loss", [BilinearLoss, LogBilinearLoss])
def test_a_matrix_will_do_for_a_penalty(loss) -> None:
    z, y = draw(4, K)
    matrix = PENALTIES["dense"].matrix()
    expected = loss(PENALTIES["dense"])(z, y)
    assert torch.equal(loss(matrix)(z, y), expected)
    assert torch.equal(loss(torch.tensor(matrix))(z, y), expected)
    function = functional.bilinear_loss if loss is BilinearLoss else functional.log_bilinear_loss
    assert torch.equal(function(z, y, torch.tensor(matrix)), expected)
    assert torch.equal(function(z, y, PENALTIES["dense"]), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, r"`alpha` must lie in \[0, 1\]; got 1.5"),
        ({"alpha": float("nan")}, r"`alpha` must lie in \[0, 1\]; got nan"),
        ({"reduction": "max"}, "`reduction` must be 'none', 'mean' or 'sum'; got 'max'"),
        ({"label_smoothing": 2.0}, r"`label_smoothing` must lie in \[0, 1\]; got 2.0"),
        ({"weight": torch.ones(3)}, r"`weight` must have shape \(7,\); got \(3,\)"),
    ],
)
def test_bad_options_are_named(options, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        BilinearLoss(PENALTIES["rules"], **options)


@pytest.mark.parametrize(
    ("logits", "target", "message"),
    [
        (torch.zeros(2, 5), torch.zeros(2).long(), "penalty is for 7 classes, but .* have 5"),
        (
            torch.zeros(2, 7),
            torch.zeros(3).long(),
            r"class indices must have shape \(2,\).*got \(3,\)",
        ),
        (torch.zeros(2, 7), torch.zeros(2, 5), r"probabilities must have shape \(2, 7\)"),
        (
            torch.zeros(2, 7).long(),
            torch.zeros(2).long(),
            "floating point; got torch.int64",
        ),
        (torch.tensor(1.0), torch.tensor(0), r"must have shape \(C\), \(N, C\)"),
    ],
)
def test_bad_shapes_are_named(logits, target, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        BilinearLoss(PENALTIES["rules"])(logits, target)


def test_alpha_can_be_set_but_not_outside_its_range() -> None:
    loss = BilinearLoss(PENALTIES["rules"], alpha=0.2)
    loss.alpha = 0.7
    z, y = draw(4, K)
    assert torch.equal(loss(z, y), BilinearLoss(PENALTIES["rules"], alpha=0.7)(z, y))
    with pytest.raises(ArgumentError, match=r"got -0\.1"):
        loss.alpha = -0.1
    assert loss.alpha == 0.7


def test_collapse_is_warned_of_once_and_by_name() -> None:
    zone = Penalty.from_zone([("cat", "dog")], classes=["cat", "dog", "owl"])
    loss = BilinearLoss(zone, alpha=0.5)
    with pytest.warns(UntrueWarning, match=r"Saying cat, owl never costs .* alpha = 0.95"):
        loss.alpha = 0.95
    loss.alpha = 0.99  # said already
    BilinearLoss(Penalty.from_ordinal(3), alpha=1.0)  # no free class, no warning
