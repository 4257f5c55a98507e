"""Our two losses by themselves; what every loss must do is in test_contract.py."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from untrue import BilinearLoss, LogBilinearLoss, Penalty, UntrueWarning, functional
from untrue.errors import ArgumentError
from untrue.functional.mixed import Options, by_formula
from untrue.penalty.tensors import make_costs

K = 7


def naive(make_ours, z, target, alpha, weight=None):
    """Per-example losses by loops over classes, in NumPy."""
    module = make_ours(alpha)
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


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("alpha", [0.25, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_loops_over_classes(make_ours, soft, alpha, weighted, draw) -> None:
    z, y = draw(5, K, soft=soft)
    weight = torch.linspace(0.5, 2, K, dtype=torch.float64) if weighted else None
    options = {"alpha": alpha, "weight": weight}
    expected = naive(
        make_ours, z.numpy(), y.numpy(), alpha, None if weight is None else weight.numpy()
    )
    np.testing.assert_allclose(make_ours(**options, reduction="none")(z, y), expected, rtol=1e-12)
    np.testing.assert_allclose(
        make_ours(**options, reduction="sum")(z, y), expected.sum(), rtol=1e-12
    )
    share = 5.0 if soft or weight is None else weight[y].sum().item()
    np.testing.assert_allclose(make_ours(**options)(z, y), expected.sum() / share, rtol=1e-12)


@pytest.mark.parametrize("shape", [(K,), (1, K), (4, K), (2, K, 3), (2, K, 3, 2)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_alpha_zero_is_cross_entropy_to_the_last_bit(
    make_ours, shape, reduction, smoothing, draw
) -> None:
    for soft, weighted, dtype in itertools.product(
        [False, True], [False, True], [torch.float32, torch.float64, torch.bfloat16]
    ):
        z, y = draw(*shape, soft=soft, dtype=dtype)
        weight = torch.linspace(0.5, 2, K, dtype=dtype) if weighted else None
        options = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
        if not soft:
            options["ignore_index"] = 3
        ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
        loss, expected = (
            make_ours(alpha=0.0, **options)(ours, y),
            F.cross_entropy(theirs, y, **options),
        )
        loss.sum().backward()
        expected.sum().backward()
        assert torch.equal(loss, expected)
        assert torch.equal(ours.grad, theirs.grad)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.uint8])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_targets_and_weights_may_have_other_types_at_every_alpha(
    make_ours, dtype, alpha, smoothing, draw
) -> None:
    z, y = draw(5, K, dtype=torch.float32)
    weight = torch.linspace(0.5, 2, K, dtype=torch.float64)
    loss = make_ours(alpha, weight=weight, label_smoothing=smoothing)
    same = make_ours(alpha, weight=weight.float(), label_smoothing=smoothing)(z, y)
    torch.testing.assert_close(loss(z, y.to(dtype)), same)
    term = "bilinear" if isinstance(loss, BilinearLoss) else "log-bilinear"
    options = Options(term, alpha, weight, -100, "mean", smoothing)
    formula = by_formula(options, make_costs(loss.penalty), z, y.to(dtype))
    torch.testing.assert_close(formula, same)


def test_alpha_zero_under_autocast_weighs_as_cross_entropy_does(make_ours, draw) -> None:
    z, y = draw(5, K, dtype=torch.bfloat16)
    weight = torch.linspace(0.5, 2, K)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = make_ours(alpha=0.0, weight=weight)(z, y)
        assert torch.equal(ours, F.cross_entropy(z, y, weight=weight))


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_smoothing_touches_the_cross_entropy_alone(make_ours, soft, smoothing, draw) -> None:
    z, y = draw(5, K, soft=soft)
    weight = torch.linspace(0.5, 2, K, dtype=torch.float64)
    pure = make_ours(alpha=1.0, weight=weight)(z, y)
    mixed = make_ours(alpha=0.3, weight=weight, label_smoothing=smoothing)(z, y)
    plain = F.cross_entropy(z, y, weight=weight, label_smoothing=smoothing)
    torch.testing.assert_close(mixed, 0.7 * plain + 0.3 * pure)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("options", [{"alpha": 1.0}, {"label_smoothing": 0.1}])
def test_gradients_pass_gradcheck_twice(make_ours, soft, options, draw) -> None:
    z, y = draw(4, K, soft=soft)
    loss = make_ours(**options)
    z.requires_grad_()
    assert torch.autograd.gradcheck(loss, (z, y))
    assert torch.autograd.gradgradcheck(loss, (z, y))


def test_the_plain_and_the_fused_way_agree(make_ours, draw) -> None:
    z, y = draw(6, K)
    loss = make_ours(alpha=0.6)
    with torch.no_grad():
        plain = loss(z, y)
    torch.testing.assert_close(loss(z.requires_grad_(), y).detach(), plain, rtol=1e-13, atol=0)


def test_blocks_leave_no_seam(make_ours, monkeypatch, draw) -> None:
    z, y = draw(50, K)
    whole = z.clone().requires_grad_()
    make_ours()(whole, y).backward()
    monkeypatch.setattr("untrue.functional.fused.BLOCK", 3 * K)
    pieces = z.clone().requires_grad_()
    make_ours()(pieces, y).backward()
    torch.testing.assert_close(pieces.grad, whole.grad, rtol=1e-14, atol=1e-17)


def test_compiled_losses_follow_alpha(make_ours, draw) -> None:
    torch._dynamo.reset()
    z, y = draw(4, K, dtype=torch.float32)
    loss = make_ours()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for alpha in np.linspace(0.1, 0.85, 12):  # more values than the compiler would recompile for
        loss.alpha = float(alpha)
        torch.testing.assert_close(compiled(z, y), loss(z, y))


@pytest.mark.parametrize("loss", [BilinearLoss, LogBilinearLoss])
def test_compiles_to_machine_code(loss, draw, penalties) -> None:
    torch._dynamo.reset()
    z, y = draw(4, K, dtype=torch.float32)
    module = loss(penalties["tree"])
    ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the compiler's own code
        torch.compile(module, fullgraph=True)(ours, y).backward()
    module(theirs, y).backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


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
from untrue import *
groups = {f"g{g}": [f"c{g}_{i}" for i in range(100)] for g in range(1000)}
nested = {f"h{h}": {g: groups[g] for g in list(groups)[h * 50 : h * 50 + 50]} for h in range(20)}
tree = Hierarchy.from_dict(nested)
penalty = Penalty.from_hierarchy(tree)
layer = torch.nn.Linear(16, 100_000)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x, y = torch.randn(64, 16), torch.randint(0, 100_000, (64,))
losses = [BilinearLoss(penalty), LogBilinearLoss(penalty), CostSmoothedLoss(penalty)]
losses += [HierarchicalLoss(tree), SoftLabelLoss(tree), SquaredEMDLoss(penalty)]
for loss in losses:
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
def test_a_matrix_will_do_for_a_penalty(loss, draw, penalties) -> None:
    z, y = draw(4, K)
    matrix = penalties["dense"].matrix()
    expected = loss(penalties["dense"])(z, y)
    assert torch.equal(loss(matrix)(z, y), expected)
    assert torch.equal(loss(torch.tensor(matrix))(z, y), expected)
    function = functional.bilinear_loss if loss is BilinearLoss else functional.log_bilinear_loss
    assert torch.equal(function(z, y, torch.tensor(matrix)), expected)
    assert torch.equal(function(z, y, penalties["dense"]), expected)


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
def test_bad_options_are_named(options, message, penalties) -> None:
    with pytest.raises(ArgumentError, match=message):
        BilinearLoss(penalties["rules"], **options)


def test_alpha_can_be_set_but_not_outside_its_range(draw, penalties) -> None:
    loss = BilinearLoss(penalties["rules"], alpha=0.2)
    loss.alpha = 0.7
    z, y = draw(4, K)
    assert torch.equal(loss(z, y), BilinearLoss(penalties["rules"], alpha=0.7)(z, y))
    with pytest.raises(ArgumentError, match=r"got -0\.1"):
        loss.alpha = -0.1
    assert loss.alpha == 0.7


def test_collapse_is_warned_of_once_and_by_name() -> None:
    zone = Penalty.from_zone([("cat", "dog")], classes=["cat", "dog", "owl"])
    loss = BilinearLoss(zone, alpha=0.5)
    with pytest.warns(UntrueWarning, match=r"Predicting cat, owl never costs .* alpha = 0.95"):
        loss.alpha = 0.95
    loss.alpha = 0.99  # warned already
    BilinearLoss(Penalty.from_ordinal(3), alpha=1.0)  # no free class, no warning


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_a_checkpoint_fits_a_loss_whose_costs_were_saved_and_loaded(
    suffix: str, tmp_path: Path
) -> None:
    costs = [[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [1.0, 7.0, 0.0]]
    for penalty in (Penalty.from_matrix(costs), Penalty.from_rules(3, {(0, 1): 5.0})):
        again = Penalty.load(penalty.save(tmp_path / f"costs{suffix}"))
        state = BilinearLoss(penalty).state_dict()
        assert not any(BilinearLoss(again).load_state_dict(state))
