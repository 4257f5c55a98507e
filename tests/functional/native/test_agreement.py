"""The kernels against the torch formulas in double precision: every form, type, size and option."""

from __future__ import annotations

import itertools

import pytest
import torch

from untrue import BudgetedLoss, Penalty, functional
from untrue.functional.mixed import Options, by_formula
from untrue.functional.native import costs as native_costs
from untrue.functional.native import loss as native_loss
from untrue.penalty.tensors import make_costs

TERMS = ("bilinear", "log-bilinear")
every_term = pytest.mark.parametrize("term", TERMS)
# About the width of a vector, of two and of four, and what is left over.
SIZES = (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 67, 100, 257, 399, 400, 413, 1001)


def both(options: Options, costs, z, y):
    """(value, gradient) by the kernel, and by the formulas in double precision."""
    found = []
    ours = z.detach().requires_grad_()  # as it lies in memory
    value = native_loss.loss(options, costs, ours, y)
    assert value is not None, "the kernel does not cover this"
    without = native_loss.loss(options, costs, z, y)
    assert torch.equal(value, without)  # no gradient, same value
    value.sum().backward()
    found.append((value.detach(), ours.grad))
    theirs = z.double().clone().requires_grad_()
    value = by_formula(options, costs, theirs, y)
    value.sum().backward()
    found.append((value.detach(), theirs.grad))
    return found


def assert_close(found, wanted) -> None:
    single = found[0].dtype == torch.float32
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == found[0].dtype
        near = {"rtol": 3e-7, "atol": 3e-7} if single else {"rtol": 1e-12, "atol": 1e-14}
        torch.testing.assert_close(ours.double(), theirs, **near)


@every_term
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", SIZES)
def test_every_form_and_size(instruction_set, term, dtype, k, penalties) -> None:
    torch.manual_seed(k)
    n = 2 * k if k < 40 else 9
    z, y = 3 * torch.randn(n, k, dtype=dtype), torch.arange(n) % k
    z[0, 0] += 60.0  # sure of the truth
    z[1, 0] += 60.0  # and of something else
    z[2] = 0.0  # all tied
    for penalty in penalties(k).values():
        options = Options(term, 0.6, None, -100, "none", 0.0)
        found, wanted = both(options, make_costs(penalty), z, y)
        assert_close(found, wanted)


@every_term
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_option(instruction_set, term, dtype, penalties) -> None:
    torch.manual_seed(0)
    n, k = 23, 11
    z, y = 3 * torch.randn(n, k, dtype=dtype), torch.arange(n) % k
    weight = torch.linspace(0.3, 2.0, k)
    forms = [make_costs(p) for name, p in penalties(k).items() if name in ("dense", "tree")]
    cases = itertools.product(
        forms, (0.01, 0.5, 1.0), (None, weight), (-100, 3), ("none", "mean", "sum"), (0.0, 0.1, 1.0)
    )
    for costs, alpha, w, ignored, reduction, smoothing in cases:
        options = Options(term, alpha, w, ignored, reduction, smoothing)
        found, wanted = both(options, costs, z, y)
        assert_close(found, wanted)


def hard_rows(k: int, seed: int) -> torch.Tensor:
    """Where rounding would add up: many equal logits below one, near ties, one far above."""
    torch.manual_seed(seed)
    rows = [scale * torch.randn(k) for scale in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)]
    for height in (0.0, 1.0, 5.0, 20.0, 60.0, 120.0):
        rows.append(torch.full((k,), float(torch.rand(()))))
        rows[-1][seed % k] += torch.tensor(float(k)).log() + height
    for few in (2, 3, 4, 15):
        rows.append(torch.randn(k) - 6.0)
        rows[-1][torch.randperm(k)[:few]] = 0.01 * torch.randn(few) + 5.0
    rows += [row.clone() for row in rows[:3]]
    for row in rows[-3:]:
        row[torch.randperm(k)[: k // 2]] = -torch.inf
    return torch.stack(rows)


@every_term
@pytest.mark.parametrize("k", [16, 47, 100, 416, 1000])
def test_costs_of_a_hundred_in_single_precision(instruction_set, term, k) -> None:
    """Against the kernel in double precision, which the formulas hold to 1e-12."""
    for seed in range(6):
        z = hard_rows(k, seed)
        matrix = torch.randint(0, 3, (k, k)) * 50.0
        costs = make_costs(Penalty.from_matrix(matrix.fill_diagonal_(0.0)))
        assert not native_costs.describe(costs, z[0], -100, z.dtype).is_double
        for y in (z.argmax(1), torch.arange(len(z)) % k):
            options = Options(term, 1.0, None, -100, "none", 0.0)
            found = [x.requires_grad_() for x in (z.clone(), z.double())]
            values = [native_loss.loss(options, costs, x, y) for x in found]
            for value in values:
                value.sum().backward()
            for ours, exact in (values, [x.grad for x in found]):
                off = (ours.double() - exact).abs() / exact.abs().clamp(min=1.0)
                assert off.max() < 1e-6


@every_term
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", [7, 100, 413])
def test_a_gradient_written_over_the_logits(instruction_set, term, dtype, k, penalties) -> None:
    torch.manual_seed(k)
    z, y = 3 * torch.randn(9, k, dtype=dtype), torch.arange(9) % k
    z[0, 0] += 60.0  # sure of the truth
    z[1, 0] += 200.0  # and of something else, so that the others vanish
    for penalty in penalties(k).values():
        options, costs = Options(term, 0.6, None, 3, "sum", 0.1), make_costs(penalty)
        logits = z.clone().requires_grad_()
        value = native_loss.loss(options, costs, logits, y)
        value.backward()
        space = z.clone()
        found = native_loss.loss_in_place(options, costs, space, y, 1.0, True)
        assert torch.equal(found, value)
        assert torch.equal(space, logits.grad)


@every_term
def test_a_hundred_thousand_classes(term, penalties) -> None:
    torch.manual_seed(0)
    k = 100_000
    z, y = torch.randn(3, k), torch.tensor([5, k - 1, 77])
    z[1, 3] = 30.0
    for name in ("rules", "tree", "tree, shuffled"):
        penalty = large(name, k)
        found, wanted = both(Options(term, 0.5, None, -100, "mean", 0.0), make_costs(penalty), z, y)
        assert_close(found, wanted)


def large(form: str, k: int):
    from untrue import Hierarchy, Penalty

    if form == "rules":
        return Penalty.from_rules(k, {(5, 6): 9.0, (77, 0): 0.0})
    names = [f"c{i}" for i in range(k)]
    paths = [(f"a{i // 1000}", f"b{i // 10}", name) for i, name in enumerate(names)]
    order = names if form == "tree" else names[::-3] + names[::-1][1::3] + names[::-1][2::3]
    return Penalty.from_hierarchy(Hierarchy.from_paths(paths, classes=order))


@every_term
@pytest.mark.parametrize("target_dtype", [torch.int64, torch.int32, torch.int16, torch.uint8])
def test_what_is_not_in_rows_without_gaps_is_read_right(term, target_dtype, penalties) -> None:
    torch.manual_seed(0)
    k = 10
    costs = make_costs(penalties(k)["dense"])
    wide, classes = torch.randn(40, 2 * k), torch.arange(40) % k
    weight = torch.linspace(0.5, 2.0, 2 * k)[::2]
    options = Options(term, 0.5, weight, -100, "mean", 0.0)
    for z, y in (
        (wide[:, ::2], classes),
        (wide[::2, :k], classes[::2]),
        (wide[:k, :20].T.contiguous().T[:, :k], classes[:k]),
        (wide[:1, :k].expand(40, k), classes),
        (wide[1:, 3 : 3 + k], classes[:-1]),
    ):
        found, wanted = both(options, costs, z, y.to(target_dtype))
        assert_close(found, wanted)


@every_term
@pytest.mark.parametrize("shape", [(10,), (1, 10), (2, 10, 3), (2, 10, 3, 2), (0, 10), (0, 10, 3)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_every_shape_of_cross_entropy(term, shape, reduction, penalties) -> None:
    torch.manual_seed(0)
    costs = make_costs(penalties(10)["rules"])
    z = torch.randn(shape, dtype=torch.float64)
    y = torch.randint(0, 10, [n for i, n in enumerate(shape) if i != min(1, len(shape) - 1)])
    function = getattr(functional, f"{term.replace('-', '_')}_loss")
    ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
    value = function(ours, y, costs, reduction=reduction)
    wanted = by_formula(Options(term, 0.5, None, -100, reduction, 0.0), costs, theirs, y)
    assert value.shape == wanted.shape
    torch.testing.assert_close(value, wanted, equal_nan=True)
    value.sum().backward()
    wanted.sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, equal_nan=True)


@pytest.mark.parametrize("kind", TERMS)
def test_costs_that_are_a_sum_of_forms(kind, penalties, kernels, monkeypatch) -> None:
    """Those of a budgeted loss: one row of costs an example."""
    torch.manual_seed(0)
    k = 12
    loss = BudgetedLoss(penalties(k)["dense"], ["0->1 <= 5%"], loss=kind)
    loss.update(torch.full((k, k), 10).numpy())
    z, y = torch.randn(20, k), torch.arange(20) % k
    y[3] = -100
    ours, theirs = z.clone().requires_grad_(), z.double().requires_grad_()
    loss(ours, y).backward()
    monkeypatch.setattr(native_loss, "KERNELS", None)
    loss(theirs, y).backward()
    torch.testing.assert_close(ours.grad.double(), theirs.grad, rtol=3e-7, atol=3e-7)
    monkeypatch.undo()
    y[5] = k
    with pytest.raises(IndexError, match=r"^Target 12 is out of bounds\.$"):
        loss(ours, y)
