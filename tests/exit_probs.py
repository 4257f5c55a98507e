"""Probabilities of several exits, drawn; what the tests of exits share."""

from __future__ import annotations

import numpy as np

from untrue import Penalty

GROUPS = {"fish": ["trout", "ray"], "bird": ["wren", "owl"]}
COSTS = Penalty.from_groups(GROUPS)
WORK = (1.0, 3.0, 10.0)


def drawn(n: int, *, exits: int = 3, seed: int = 0, sharp: float = 1.0):
    """Probabilities of ever surer exits, and labels that the last exit's are true of."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 4)) * 3 * sharp
    noise = rng.normal(size=(exits, n, 4)) * np.linspace(2, 0, exits)[:, None, None]
    probs = [_softmax(logits * (i + 1) / exits + noise[i]) for i in range(exits)]
    labels = np.array([rng.choice(4, p=row) for row in probs[-1]])
    return probs, labels


def _softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
