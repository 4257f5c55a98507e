"""Right to the last digit: fifty-digit references at the extremes, and the paper's claims."""

from __future__ import annotations

import itertools
import math
from functools import cache

import mpmath
import numpy as np
import pytest
import torch

from untrue import Hierarchy, Penalty, functional
from untrue.functional import log1m_softmax

mpmath.mp.dps = 50

CLASSES = ["a", "b", "c", "d", "e", "f"]
K = len(CLASSES)
PENALTIES = {
    "dense": Penalty.from_matrix(
        np.random.default_rng(1).integers(0, 6, (K, K)) * (1 - np.eye(K)), CLASSES
    ),
    "rules": Penalty.from_rules(
        CLASSES, {("a", "b"): 5.0, ("a", "c"): 0.0, ("d", "f"): 0.25}, default=1.0
    ),
    "tree": Penalty.from_hierarchy(
        Hierarchy.from_dict(
            {"x": {"y": ["a", "d"], "z": {"w": ["b", "f"], "v": ["c", "e"]}}}, classes=CLASSES
        ),
        {1: 1.0, 2: 2.0, 3: 5.0},
    ),
}
LOSSES = {
    "bilinear": functional.bilinear_loss,
    "log-bilinear": functional.log_bilinear_loss,
}

# One list of logits for every property: the likeliest class right, wrong, tied, certain, hopeless.
LOGITS = {
    "even": [0.0] * K,
    "ordinary": [1.5, -0.3, 0.2, 2.1, -1.0, 0.7],
    "p rounds to 1": [40.0, 0.0, 1.0, 2.0, 3.0, -4.0],
    "p rounds to 0": [-80.0, 3.0, -90.0, 2.5, -100.0, 0.0],
    "certain": [1e4, -1e4, 0.0, 5.0, -3e3, 1e3],
    "certain elsewhere": [-1e4, 1e4, 0.0, 5.0, -3e3, 9.9e3],
    "two at the top": [1e4, 1e4, -1e4, 0.0, 0.0, 0.0],
    "all but level at the top": [1e4, 9999.0, 9998.5, 9999.5, 1e4, 9997.0],
    "all low": [-1e4, -9999.0, -9998.0, -1e4, -9999.5, -9990.0],
}
every_case = pytest.mark.parametrize("logits", LOGITS.values(), ids=LOGITS.keys())
every_form = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())
every_loss = pytest.mark.parametrize("name", LOSSES)


def reference(name, logits, y, matrix, alpha):
    """Loss and gradient of one example in fifty digits; y is a probability vector."""
    numbers = [tuple(map(float, values)) for values in (logits, y, *matrix)]
    return _reference(name, *numbers[:2], tuple(numbers[2:]), alpha)


@cache
def _reference(name, logits, y, matrix, alpha):
    k = len(logits)
    z = [mpmath.mpf(float(v)) for v in logits]
    y = [mpmath.mpf(float(v)) for v in y]
    top = max(z)
    e = [mpmath.exp(v - top) for v in z]
    total = mpmath.fsum(e)
    p = [v / total for v in e]
    rest = [mpmath.fsum(e[:j] + e[j + 1 :]) / total for j in range(k)]  # 1 - p without rounding
    r = [mpmath.fsum(y[i] * mpmath.mpf(float(matrix[i][j])) for i in range(k)) for j in range(k)]
    mass = mpmath.fsum(y)
    ce = -mpmath.fsum(y[i] * (z[i] - top - mpmath.log(total)) for i in range(k) if y[i])
    if name == "bilinear":
        term = mpmath.fsum(r[j] * p[j] for j in range(k))
        slope = [p[m] * (r[m] - term) for m in range(k)]
    else:
        term = -mpmath.fsum(r[j] * mpmath.log(rest[j]) for j in range(k) if r[j])
        ru = [r[j] * p[j] / rest[j] if r[j] else mpmath.mpf(0) for j in range(k)]
        # d/dz_m of -r_j log(1 - p_j) is r_m p_m for j = m, and -p_m r_j p_j / (1 - p_j) elsewhere.
        slope = [p[m] * (r[m] - mpmath.fsum(ru[:m] + ru[m + 1 :])) for m in range(k)]
    a, b = mpmath.mpf(alpha), 1 - mpmath.mpf(alpha)
    gradient = [b * (mass * p[m] - y[m]) + a * slope[m] for m in range(k)]
    return (b * ce if b else 0) + a * term, gradient


def assert_exact(value, expected, near=1e-6) -> None:
    for ours, theirs in zip(np.atleast_1d(value).tolist(), expected, strict=True):
        assert np.isfinite(ours)
        assert abs(mpmath.mpf(ours) - theirs) <= near * max(1, abs(theirs))


@every_case
@every_form
@every_loss
@pytest.mark.parametrize("alpha", [0.1, 0.9, 1.0])
def test_single_precision_is_exact_at_both_ends(logits, penalty, name, alpha) -> None:
    z32 = np.array(logits, dtype=np.float32)
    for true in range(K):
        z = torch.tensor(z32, requires_grad=True)
        value = LOSSES[name](z, torch.tensor(true), penalty, alpha=alpha)
        value.backward()
        loss, gradient = reference(name, z32, np.eye(K)[true], penalty.matrix(), alpha)
        assert_exact(value.detach(), [loss])
        assert_exact(z.grad, gradient)
        with torch.no_grad():  # the plain way
            assert_exact(LOSSES[name](z, torch.tensor(true), penalty, alpha=alpha), [loss])


def random_rows(rng, k: int):
    """Ordinary logits, near ties at the top, a class that leaves the others little or nothing."""
    for scale in (0.3, 1.0, 3.0, 10.0, 100.0, 3e3):
        yield rng.normal(0.0, scale, k)
    yield np.r_[rng.normal(0.0, 1e-3, 2), rng.normal(-3.0, 1.0, k - 2)]
    yield np.r_[rng.uniform(5.0, 20.0), rng.normal(0.0, 1.0, k - 1)]
    yield np.r_[1e4, rng.normal(0.0, 1.0, k - 1)]


@pytest.mark.parametrize("whole", [True, False], ids=["whole costs", "any costs"])
@every_loss
def test_costs_of_a_hundred_are_as_exact(name, whole, backend) -> None:
    """The gradient is a difference of costs, which single precision rounds by 1e-7 of the largest.

    The kernel computes in double precision; the formulas of torch do not, and are within 1e-5.
    """
    near = 1e-6 if backend == "native" else 1e-5
    rng = np.random.default_rng(5)
    for k in (2, 3, 6):
        costs = rng.integers(0, 101, (k, k)) if whole else rng.uniform(0.0, 100.0, (k, k))
        penalty = Penalty.from_matrix(costs * (1.0 - np.eye(k)))
        for row in [row for _ in range(8) for row in random_rows(rng, k)]:
            z = torch.tensor(row, dtype=torch.float32, requires_grad=True)
            for alpha, true in itertools.product((0.5, 1.0), range(k)):
                z.grad = None
                value = LOSSES[name](z, torch.tensor(true), penalty, alpha=alpha)
                value.backward()
                z32 = z.detach().numpy()
                loss, gradient = reference(name, z32, np.eye(k)[true], penalty.matrix(), alpha)
                assert_exact(value.detach(), [loss], near)
                assert_exact(z.grad, gradient, near)


MASKED = {
    "one": [1.5, -0.3, -math.inf, 2.1, -1.0, 0.7],
    "most": [-math.inf, -math.inf, 3.0, -math.inf, -math.inf, 40.0],
    "the likeliest far above": [-math.inf, 1e4, 1.0, -math.inf, -1e4, 2.0],
}


@pytest.mark.parametrize("logits", MASKED.values(), ids=MASKED.keys())
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
@every_form
@every_loss
def test_classes_masked_by_minus_infinity(logits, dtype, alpha, penalty, name) -> None:
    for true in range(K):
        z = torch.tensor(logits, dtype=dtype, requires_grad=True)
        value = LOSSES[name](z, torch.tensor(true), penalty, alpha=alpha)
        value.backward()
        loss, gradient = reference(name, logits, np.eye(K)[true], penalty.matrix(), alpha)
        if math.isinf(logits[true]) and alpha < 1.0:
            assert value == math.inf  # as cross-entropy has it
        else:
            assert_exact(value.detach(), [loss])
        assert_exact(z.grad, gradient)
        assert all(z.grad[j] == 0 for j in range(K) if math.isinf(logits[j]) and j != true)
        plain = torch.func.grad(lambda x, y=true: LOSSES[name](x, torch.tensor(y), penalty))
        assert plain(z.detach()).isfinite().all()


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@every_form
@every_loss
def test_a_single_class_that_is_not_masked(alpha, penalty, name) -> None:
    for only, true in itertools.product(range(K), range(K)):
        z = torch.full((K,), -math.inf)
        z[only] = 2.0
        z.requires_grad_()
        value = LOSSES[name](z, torch.tensor(true), penalty, alpha=alpha)
        value.backward()
        assert z.grad.isfinite().all()
        cost = penalty.matrix()[true, only]
        if only == true:
            assert value == 0.0
            assert (z.grad == 0.0).all()
        elif name == "bilinear" and alpha == 1.0:
            assert value.item() == pytest.approx(cost)
        else:
            assert value == (math.inf if cost > 0 or alpha < 1.0 else 0.0)


@every_case
@every_form
@every_loss
def test_soft_targets_are_exact_too(logits, penalty, name) -> None:
    z32 = np.array(logits, dtype=np.float32)
    for y in ([0.5, 0.25, 0.125, 0.0, 0.0625, 0.0625], [1 - 2**-20, 2**-20, 0, 0, 0, 0]):
        y32 = np.array(y, dtype=np.float32)
        z = torch.tensor(z32, requires_grad=True)
        value = LOSSES[name](z, torch.tensor(y32), penalty, alpha=0.5)
        value.backward()
        loss, gradient = reference(name, z32, y32, penalty.matrix(), 0.5)
        assert_exact(value.detach(), [loss])
        assert_exact(z.grad, gradient)


@every_case
@every_loss
def test_the_plain_way_has_the_same_gradient(logits, name) -> None:
    """`torch.func` sees plain operations only; their gradients must be as exact."""
    z = torch.tensor(logits)
    penalty = PENALTIES["dense"]

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return LOSSES[name](x, y, penalty, alpha=0.5)

    for true in range(K):
        gradient = torch.func.grad(loss)(z, torch.tensor(true))
        _, expected = reference(name, z.numpy(), np.eye(K)[true], penalty.matrix(), 0.5)
        assert_exact(gradient, expected)


@every_case
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_log_of_one_minus_softmax(logits, dim) -> None:
    z = torch.tensor([logits, logits[::-1]])
    z = z if dim else z.T
    ours = log1m_softmax(z, dim)
    ours = ours if dim else ours.T
    for row, source in zip(ours.tolist(), [logits, logits[::-1]], strict=True):
        exact = [mpmath.exp(mpmath.mpf(float(np.float32(v)))) for v in source]
        others = [mpmath.fsum(exact[:j] + exact[j + 1 :]) for j in range(K)]
        assert_exact(row, [mpmath.log(o / mpmath.fsum(exact)) for o in others])


def test_log_of_one_minus_softmax_has_a_bounded_gradient() -> None:
    z = torch.tensor([1e4, 0.0, -1e4], requires_grad=True)
    log1m_softmax(z)[0].backward()
    assert z.grad.tolist() == [-1.0, 1.0, 0.0]
    assert log1m_softmax(torch.zeros(2, 3, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert log1m_softmax(torch.zeros(1)).item() == -np.inf


def test_random_logits_never_give_nan() -> None:
    generator = torch.Generator().manual_seed(0)
    scales = 10 ** torch.empty(2000, 1).uniform_(-3, 4, generator=generator)
    z = (torch.randn(2000, K, generator=generator) * scales).clamp(-1e4, 1e4).requires_grad_()
    y = torch.randint(0, K, (2000,), generator=generator)
    for loss in LOSSES.values():
        for penalty in PENALTIES.values():
            (gradient,) = torch.autograd.grad(loss(z, y, penalty, alpha=0.99), z)
            assert gradient.isfinite().all()


class TestWhatThePaperSays:
    """Two equally costly mistakes, 1 and 2, share a weight of 0.6."""

    zone = Penalty.from_zone([(0, 1), (0, 2)], classes=3)

    def losses(self, name) -> list[float]:
        shares = [0.0, 0.1, 0.3, 0.5, 0.6]
        z = torch.tensor([[0.4, s, 0.6 - s] for s in shares], dtype=torch.float64).log()
        target = torch.zeros(len(shares), dtype=torch.long)
        return LOSSES[name](z, target, self.zone, alpha=1.0, reduction="none").tolist()

    def test_bilinear_is_indifferent_to_how_weight_divides(self) -> None:
        assert self.losses("bilinear") == pytest.approx([0.6] * 5, rel=1e-12)

    def test_log_bilinear_is_greatest_when_weight_sits_on_one(self) -> None:
        at = self.losses("log-bilinear")
        assert at[0] == pytest.approx(at[-1]) == pytest.approx(-np.log(0.4))
        assert at[0] > at[1] > at[2]
        assert at[2] < at[3] < at[4]

    def test_bilinear_charges_each_step_alike_and_log_bilinear_the_last_most(self) -> None:
        pair = Penalty.from_zone([(0, 1)], classes=2)
        z = torch.tensor([[1 - p, p] for p in (0.1, 0.2, 0.8, 0.9)], dtype=torch.float64).log()
        target = torch.zeros(4, dtype=torch.long)
        options = {"alpha": 1.0, "reduction": "none"}
        linear = LOSSES["bilinear"](z, target, pair, **options).tolist()
        steep = LOSSES["log-bilinear"](z, target, pair, **options).tolist()
        assert linear[1] - linear[0] == pytest.approx(linear[3] - linear[2])
        assert steep[3] - steep[2] > 5 * (steep[1] - steep[0])
