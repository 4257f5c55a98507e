"""Large trees to test with."""

from __future__ import annotations

import numpy as np


def random_taxonomy(leaves: int, depth: int) -> list[tuple[str, str]]:
    """Edges of a tree with every leaf at this depth; the levels widen evenly; edges shuffled."""
    rng = np.random.default_rng(0)
    widths = np.geomspace(1, leaves, depth + 1).round().astype(int)
    edges = []
    for level in range(1, depth + 1):
        above = rng.integers(0, widths[level - 1], widths[level])
        above[: widths[level - 1]] = np.arange(widths[level - 1])
        edges += [(f"{level - 1}.{up}", f"{level}.{i}") for i, up in enumerate(above.tolist())]
    return [edges[i] for i in rng.permutation(len(edges))]
