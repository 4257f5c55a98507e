"""Model outputs with known rates: four classes in the plane, two of them close."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from untrue import DecisionRule
from untrue.metrics import confusion_cells

SHARES = np.array([0.1, 0.2, 0.3, 0.4])
CENTRES = np.array([[0.0, 0.0], [1.8, 0.3], [0.5, 2.6], [2.8, 2.2]])


@dataclass(frozen=True, eq=False)
class Pool:
    """Draws with replacement make the rates of the pool the true ones, exactly."""

    probs: np.ndarray
    target: np.ndarray
    classes: tuple[str, ...] = ("tumour", "cyst", "scar", "benign")

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rows = rng.integers(0, len(self.target), n)
        return self.probs[rows], self.target[rows]

    def over(self, rule: DecisionRule) -> bool:
        """Whether a true rate is above its limit."""
        given = rule.codes(self.probs)
        k = len(self.classes)
        cells = confusion_cells(self.target, given, k, abstained="drop")
        silent = np.bincount(self.target[given < 0], minlength=k)
        seen = [budget.judge(cells, None, abstained=silent) for budget in rule.resolved]
        return any(verdict.of and verdict.rate > verdict.limit for verdict in seen)

    def accuracy(self, rule: DecisionRule) -> float:
        return float((rule.codes(self.probs) == self.target).mean())


@pytest.fixture(scope="session")
def pool() -> Pool:
    """A model that is too sure of itself."""
    rng = np.random.default_rng(0)
    target = rng.choice(4, size=8000, p=SHARES)
    x = CENTRES[target] + rng.normal(size=(8000, 2))
    scores = 1.7 * (np.log(SHARES) - ((x[:, None] - CENTRES) ** 2).sum(axis=2) / 2)
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    return Pool(weight / weight.sum(axis=1, keepdims=True), target)
