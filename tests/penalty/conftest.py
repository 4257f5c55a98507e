"""A list of penalties, random ones with the matrix that loops give, and files of them refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from untrue import Hierarchy, Penalty
from untrue.errors import PenaltyError

NAMES = ["ray", "snake", "trout", "turtle", "fish"]
EDGES = [
    ("animal", "reptile"),
    ("animal", "fish"),
    ("reptile", "snake"),
    ("reptile", "turtle"),
    ("fish", "ray"),
    ("fish", "trout"),
]
TREE = Hierarchy.from_edges(EDGES, classes=NAMES)
RULES = {("snake", "ray"): 20.0, ("ray", "trout"): 0.25, ("fish", "snake"): 0.0}
MATRIX = np.random.default_rng(0).integers(0, 9, (5, 5)) * (1.0 - np.eye(5))

PENALTIES = {
    "dense": lambda: Penalty.from_matrix(MATRIX, NAMES),
    "dense, one class": lambda: Penalty.from_matrix([[0.0]]),
    "rules": lambda: Penalty.from_rules(NAMES, RULES, default=0.5),
    "rules, defaults": lambda: Penalty.from_rules(NAMES, RULES, default={"ray": 3.0, "fish": 0}),
    "rules, none": lambda: Penalty.from_rules(NAMES, {}),
    "rules, zone": lambda: Penalty.random_zone(7, 5, seed=1),
    "rules, one class": lambda: Penalty.from_rules(["ray"], {}),
    "tree": lambda: Penalty.from_hierarchy(TREE),
    "tree, cost": lambda: Penalty.from_hierarchy(TREE, {1: 0.1, 2: 0.7}),
    "tree, rows": lambda: Penalty.from_hierarchy(TREE).normalized("rows"),
    "tree, groups": lambda: Penalty.from_groups({"a": ["x", "y"], "b": ["z"]}),
    "tree, one class": lambda: Penalty.from_hierarchy(Hierarchy([("root", "only")])),
}

Twin = tuple[Penalty, Any]
costs = st.sampled_from([0.0, 1.0, 0.1, 2.5, 7.0, 1e-3, 30.0])


@pytest.fixture(params=PENALTIES.values(), ids=PENALTIES.keys())
def make(request: Any) -> Any:
    """Makes a penalty, any of the list."""
    return request.param


@pytest.fixture(scope="session")
def penalties() -> Any:
    """What makes each penalty of the list, by name."""
    return PENALTIES


@pytest.fixture(scope="session")
def classes() -> list[str]:
    return NAMES


@pytest.fixture(scope="session")
def tree() -> Hierarchy:
    return TREE


@pytest.fixture(scope="session")
def cost_matrix() -> Any:
    return MATRIX


@st.composite
def tree_twins(draw: Any) -> Twin:
    """Trees with chains, classes at inner nodes, and classes in any order."""
    n = draw(st.integers(2, 14))
    up = [draw(st.integers(0, v - 1)) for v in range(1, n)]
    edges = draw(st.permutations([(f"n{p}", f"n{v}") for v, p in enumerate(up, start=1)]))
    nodes = draw(st.permutations(range(n)))
    classes = nodes[: draw(st.integers(1, n))]
    tree = Hierarchy.from_edges(edges, classes=[f"n{v}" for v in classes])
    height_costs = [draw(costs) for _ in range(tree.max_height)]
    scaled = draw(st.sampled_from(["none", "rows", "max"]))

    parents = dict(enumerate(up, start=1))
    ways = {v: [v] for v in range(n)}
    for v, way in ways.items():
        node = v
        while node in parents:
            node = parents[node]
            way.append(node)
    height = {v: max(way.index(v) for way in ways.values() if v in way) for v in range(n)}
    matrix = np.zeros((len(classes), len(classes)))
    for i, a in enumerate(classes):
        for j, b in enumerate(classes):
            common = next(v for v in ways[a] if v in ways[b])
            matrix[i, j] = 0.0 if a == b else height_costs[height[common] - 1]
    penalty = Penalty.from_hierarchy(tree, lambda h: height_costs[h - 1]).normalized(scaled)
    return penalty, by_hand(matrix, scaled)


@st.composite
def rules_twins(draw: Any) -> Twin:
    k = draw(st.integers(1, 8))
    names = [f"c{i}" for i in range(k)]
    cells = [(i, j) for i in range(k) for j in range(k) if i != j]
    chosen = draw(st.permutations(cells))[: draw(st.integers(0, len(cells)))]
    rules = {cell: draw(costs) for cell in chosen}
    default = draw(costs | st.dictionaries(st.sampled_from(names), costs))
    scaled = draw(st.sampled_from(["none", "rows", "max"]))
    matrix = np.zeros((k, k))
    for i, j in cells:
        otherwise = default.get(names[i], 1.0) if isinstance(default, dict) else default
        matrix[i, j] = rules.get((i, j), otherwise)
    penalty = Penalty.from_rules(names, rules, default=default).normalized(scaled)
    return penalty, by_hand(matrix, scaled)


@st.composite
def dense_twins(draw: Any) -> Twin:
    k = draw(st.integers(1, 6))
    matrix = np.array([[draw(costs) if i != j else 0.0 for j in range(k)] for i in range(k)])
    scaled = draw(st.sampled_from(["none", "rows", "max"]))
    return Penalty.from_matrix(matrix).normalized(scaled), by_hand(matrix, scaled)


def by_hand(matrix: Any, scaled: str) -> Any:
    """The matrix on its scale, row by row."""
    if scaled == "none" or not matrix.any():
        return matrix
    if scaled == "max":
        return matrix / matrix.max()
    return np.array([row / row.sum() if row.any() else row for row in matrix])


@pytest.fixture(scope="session")
def twins() -> st.SearchStrategy[Twin]:
    """(penalty of any form, its matrix by hand)"""
    return st.one_of(dense_twins(), rules_twins(), tree_twins())


@pytest.fixture(scope="session")
def written() -> Any:
    return _written


def _written(folder: Path, suffix: str, text: str) -> Path:
    path = folder / f"costs{suffix}"
    path.write_bytes(text.encode())
    return path


@pytest.fixture(scope="session")
def refused() -> Any:
    return _refused


def _refused(path: Path, message: str, **options: Any) -> None:
    with pytest.raises(PenaltyError, match=rf"costs\.\w+:? .*{message}"):
        Penalty.load(path, **options)
