"""From a model's scores to class probabilities: what training by costs moved is moved back.

A loss with costs is least at probabilities that are moved away from costly classes.
`untrue.posterior` turns those into the class probabilities behind them, and a temperature then
calibrates these, so that a decision by costs counts the costs once.
The most probable class by the scores themselves stays what the loss taught.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from untrue.decision import Temperature, invert
from untrue.decision.posteriors import Loss
from untrue.errors import DataError
from untrue.metrics.inputs import FloatArray
from untrue.penalty import Penalty

# What is not probable at all keeps a logarithm.
LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class Link:
    """The loss a model was trained by, its alpha, and the penalty as it was trained with.

    There is nothing to undo for alpha 0, and nothing that can be undone for alpha 1.
    """

    loss: str
    alpha: float
    penalty: Penalty

    @property
    def moves(self) -> bool:
        return self.loss in ("bilinear", "log-bilinear") and 0.0 < self.alpha < 1.0

    def logits(self, scores: npt.NDArray[np.floating[Any]]) -> FloatArray:
        """Logits (N, k) of the posterior behind scores (N, k)."""
        check_finite(scores, "Example")
        if not self.moves:
            return scores.astype(np.float64)
        probs = np.asarray(Temperature(1.0)(scores.astype(np.float64)))
        found = invert(probs, self.penalty, self.alpha, cast(Loss, self.loss)).probs
        return np.asarray(np.log(np.maximum(found, LEAST)))

    def outside(self, scores: npt.NDArray[np.floating[Any]]) -> float:
        """The share of examples whose scores stand for no class probabilities."""
        if not self.moves or not len(scores):
            return 0.0
        probs = np.asarray(Temperature(1.0)(scores.astype(np.float64)))
        return float(invert(probs, self.penalty, self.alpha, cast(Loss, self.loss)).outside.mean())


def class_probs(
    scores: npt.NDArray[np.floating[Any]], link: Link | None, temperature: float
) -> FloatArray:
    """Calibrated class probabilities (N, k), in double precision."""
    check_finite(scores, "Example")
    logits = scores.astype(np.float64) if link is None else link.logits(scores)
    return np.asarray(Temperature(temperature)(logits), dtype=np.float64)


def check_finite(scores: npt.NDArray[np.floating[Any]], what: str) -> None:
    """The model has a score for every example; `what` stands before a number."""
    odd = ~np.isfinite(scores).all(axis=1)
    if odd.any():
        raise DataError(
            f"{what} {int(np.argmax(odd)) + 1} has no finite score: a value in it is too large for "
            "the model, or too far from what it learned from."
        )
