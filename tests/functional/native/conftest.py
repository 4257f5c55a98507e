"""The kernels by themselves: where they are not built there is nothing to test."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from untrue import Hierarchy, Penalty
from untrue.functional import native

PAIRS = {(i, j): float(10 * i + j) for i, j in [(0, 1), (0, 2), (1, 0), (2, 1)]}


@pytest.fixture(scope="package", autouse=True)
def kernels() -> Iterator[ModuleType]:
    if native.KERNELS is None:
        pytest.skip(native.described())
    yield native.KERNELS
    native.KERNELS.use(native.KERNELS.instruction_sets()[0])


@pytest.fixture(params=["native"], scope="module", autouse=True)
def backend(request) -> str:
    """Instead of both: the formulas are what the kernels are compared with."""
    return request.param


@pytest.fixture(
    params=[] if native.KERNELS is None else native.KERNELS.instruction_sets(), scope="module"
)
def instruction_set(request, kernels) -> Iterator[str]:
    kernels.use(request.param)
    yield request.param
    kernels.use(kernels.instruction_sets()[0])


def _tree(k: int, shuffled: bool) -> Hierarchy:
    """Groups of groups of unequal sizes; in depth-first order, or not."""
    names = [f"c{i}" for i in range(k)]
    paths = [(f"a{i * i % 3}", f"b{i % 5}.{i * i % 3}", c) for i, c in enumerate(names)]
    paths = sorted(paths)
    order = [path[-1] for path in paths]
    if shuffled:
        order = [order[i] for i in np.random.default_rng(0).permutation(k)]
    return Hierarchy.from_paths(paths, classes=order)


def _penalties(k: int) -> dict[str, Penalty]:
    """Every form, with costs that float32 holds and with others."""
    rng = np.random.default_rng(k)
    whole = rng.integers(0, 9, (k, k)) * (1.0 - np.eye(k))
    rules = {pair: cost for pair, cost in PAIRS.items() if max(pair) < k}
    return {
        "dense": Penalty.from_matrix(whole),
        "dense, double": Penalty.from_matrix(whole * 0.7),
        "rules": Penalty.from_rules(k, rules, default=1.0),
        "rules, double": Penalty.from_rules(k, rules, default=0.3),
        "no rules": Penalty.from_rules(k, {}, default=2.0),
        "tree": Penalty.from_hierarchy(_tree(k, shuffled=False)),
        "tree, shuffled": Penalty.from_hierarchy(_tree(k, shuffled=True)),
        "tree, scaled": Penalty.from_hierarchy(_tree(k, shuffled=True)).normalized("rows"),
    }


@pytest.fixture(scope="session")
def penalties():
    """Makes every form of a penalty for k classes."""
    return _penalties
