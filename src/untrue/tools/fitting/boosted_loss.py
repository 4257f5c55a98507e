"""The loss of boosted trees on the validation part, and when they should stop."""

from __future__ import annotations

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.losses.registry import CROSS_ENTROPY
from untrue.penalty import ExamplePenalty
from untrue.tools.fitting.learners import BoosterSettings, Tell
from untrue.training.progress import Progress

# A probability counts as at most this in the log-bilinear loss of a round.
CERTAIN = 1 - 1e-12


class LossByRound:
    """The mean loss on the validation part by round, and when to stop."""

    def __init__(
        self,
        loss: str,
        costs: FloatArray | ExamplePenalty,
        alpha: float,
        labels: IntArray,
        how: BoosterSettings,
        tell: Tell | None,
    ) -> None:
        self._loss, self._alpha = loss, 0.0 if loss == CROSS_ENTROPY else alpha
        self._labels, self._how, self._tell = labels, how, tell
        self._rows = None
        if self._alpha:
            self._rows = costs.rows(labels) if isinstance(costs, ExamplePenalty) else costs[labels]
        self.values: list[float] = []
        self.best = 0

    def see(self, scores: FloatArray) -> bool:
        """Note a round's scores (n, k); True when training should stop."""
        value = self._mean(scores)
        self.values.append(value)
        done = len(self.values)
        if not self.best or value < self.values[self.best - 1]:
            self.best = done
        if self._tell is not None:
            self._tell(Progress(done, self._how.rounds, 1, 1, value, value, rounds=True))
        return self.over

    def _mean(self, scores: FloatArray) -> float:
        """To the digits that a comparison of rounds needs, and fast; see `untrue.reference`."""
        shifted = scores - scores.max(axis=1, keepdims=True)
        weights = np.exp(shifted)
        total = weights.sum(axis=1)
        own = np.take_along_axis(shifted, self._labels[:, None], axis=1)[:, 0]
        value = (1 - self._alpha) * float((np.log(total) - own).mean())
        if self._rows is None:
            return value
        probs = weights / total[:, None]
        if self._loss == "log-bilinear":
            probs = -np.log1p(-np.minimum(probs, CERTAIN))
        return value + self._alpha * float((self._rows * probs).sum(axis=1).mean())

    @property
    def over(self) -> bool:
        """Whether training should stop: `patience` rounds have brought nothing."""
        return len(self.values) - self.best >= self._how.patience
