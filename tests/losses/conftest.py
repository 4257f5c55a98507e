"""The losses of the house in one list, what to feed them, and plain sums to check them by."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch

from untrue import Hierarchy, Penalty, losses
from untrue.losses import registry

K = 7
# With a class at an inner node ("c"), an only child ("b", "x") and leaves at three depths.
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
# What a loss of the registry is made of. Rivals take the forms of a penalty by turns: they read
# costs as ours do, which take them all.
MADE_OF = {
    ("penalty",): [(form, (penalty,)) for form, penalty in PENALTIES.items()],
    ("hierarchy",): [("tree", (TREE,))],
    (): [("alone", ())],
}
OURS = {
    f"{name}-{form}": partial(registry.find(name).loss_class, penalty)
    for name in registry.MIXED
    for form, penalty in PENALTIES.items()
}
RIVALS = {
    f"{entry.name}-{form}": partial(entry.loss_class, *made_of)
    for turn, entry in enumerate(registry.OWN)
    if entry.needs in MADE_OF and entry.name not in registry.MIXED
    for form, made_of in MADE_OF[entry.needs][turn % len(MADE_OF[entry.needs]) :][:1]
}
# Options that change which formula is computed.
VARIANTS = {
    "cost-smoothed-sharply": partial(losses.CostSmoothedLoss, PENALTIES["tree"], epsilon=0.7),
    "soft-labels-flat": partial(losses.SoftLabelLoss, TREE, beta=3.0),
    "hxe-depth": partial(losses.HierarchicalLoss, TREE, decay=0.4, by="depth"),
    "squared-emd-mu": partial(losses.SquaredEMDLoss, PENALTIES["tree"], mu=0.3),
}


def budgeted(form: str, loss: str, budgets: list[str], **options):
    """A `BudgetedLoss` whose multipliers have been moved."""
    made = losses.BudgetedLoss(PENALTIES[form], budgets, loss=loss, step=0.2, **options)
    made.update(np.full((K, K), 10))
    return made


BUDGETED = {
    "budgeted-dense": partial(budgeted, "dense", "bilinear", ["0, 1->3 <= 5%", "zone <= 9%"]),
    "budgeted-rules": partial(
        budgeted, "rules", "log-bilinear", ["*->2 <= 9%", "zone <= 9%", "expected cost <= 0.3"]
    ),
    "budgeted-tree": partial(
        budgeted, "tree", "bilinear", ["a->c <= 5%", "across groups <= 9%", "d->d <= 2%"]
    ),
}


class MultiExitLoss(losses.MultiExitLoss):
    """Of logits z and z / 2, so that it can be asked what the others are."""

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return super().forward([logits, logits / 2], target)


def two_exits(**options):
    exits = [losses.BilinearLoss(PENALTIES["rules"], alpha=0.8, **options)]
    exits += [losses.CostSmoothedLoss(PENALTIES["tree"], epsilon=0.3, **options)]
    return MultiExitLoss(exits, weights=(1.0, 2.0))


EXITS = {"multi-exit": two_exits}
EVERY = OURS | BUDGETED | RIVALS | VARIANTS | EXITS


@pytest.fixture(params=EVERY.values(), ids=EVERY.keys())
def make(request):
    """Makes a loss, any of the house, of K classes; takes options."""
    return request.param


@pytest.fixture(scope="session")
def every_loss():
    """Names of the classes that the properties are tested of."""
    return {type(make()).__name__ for make in EVERY.values()}


@pytest.fixture(params=OURS.values(), ids=OURS.keys())
def make_ours(request):
    return request.param


@pytest.fixture(scope="session")
def tree():
    return TREE


@pytest.fixture(scope="session")
def penalties():
    return PENALTIES


@pytest.fixture(scope="session")
def draw():
    return _draw


def _draw(
    *shape: int,
    soft: bool = False,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    loss: torch.nn.Module | None = None,
):
    """Logits of a shape, whose C is K, and targets that fit; `loss` may want more logits."""
    generator = torch.Generator().manual_seed(seed)
    at = 0 if len(shape) == 1 else 1
    outputs = list(shape)
    outputs[at] = K if loss is None else loss.n_outputs or K
    z = (torch.randn(*outputs, generator=generator, dtype=torch.float64) * 4).to(dtype)
    if soft:
        y = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return z, y.softmax(at).to(dtype)
    rest = shape[:0] if len(shape) == 1 else (shape[0], *shape[2:])
    return z, torch.randint(0, K, rest, generator=generator)


@pytest.fixture(scope="session")
def softmax():
    return _softmax


def _softmax(scores: list[float]) -> list[float]:
    top = max(scores)
    total = math.fsum(math.exp(s - top) for s in scores)
    return [math.exp(s - top) / total for s in scores]


@pytest.fixture(scope="session")
def mean_of():
    return _mean_of


def _mean_of(values: list[float]) -> pytest.approx:
    return pytest.approx(sum(values) / len(values), rel=1e-11)
