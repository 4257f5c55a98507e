"""From a model's scores to class probabilities: what training by costs moved is moved back.

A loss with costs is least at probabilities that are moved away from costly classes.
`untrue.posterior` turns those into the class probabilities behind them, and a temperature then
calibrates these, so that a decision by costs counts the costs once. Where the scores stand for no
class probabilities (`Inverted.outside`), the model's own stay.
The most probable class by the scores themselves stays what the loss taught.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray
from untrue.decision import Temperature, invert
from untrue.decision.calibration import log_probs
from untrue.errors import DataError
from untrue.losses.registry import MIXED, MixedName
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty

# A larger share of examples without a posterior is worth a note.
MANY_OUTSIDE = 0.05


@dataclass(frozen=True, slots=True)
class Link:
    """The loss a model was trained by, its alpha, and the penalty as it was trained with.

    scale     what costs of each example were multiplied by in training; they are given beside
              scores
    formulas  that those costs are by, where they are other than the model's own

    There is nothing to undo for alpha 0, and nothing that can be undone for alpha 1.
    """

    loss: str
    alpha: float
    penalty: Penalty
    scale: float = 1.0
    formulas: FormulaPenalty | None = None

    @property
    def moves(self) -> bool:
        return self.loss in MIXED and 0.0 < self.alpha < 1.0

    def logits(
        self, scores: npt.NDArray[np.floating[Any]], each: ExamplePenalty | None = None
    ) -> FloatArray:
        """Logits (N, k) of the posterior behind scores (N, k), where there is one."""
        return self.read(scores, each)[0]

    def read(
        self, scores: npt.NDArray[np.floating[Any]], each: ExamplePenalty | None = None
    ) -> tuple[FloatArray, float]:
        """`logits`, and the share of examples whose scores stand for no class probabilities."""
        check_finite(scores, "Example")
        if not self.moves or not len(scores):
            return scores.astype(np.float64), 0.0
        probs = np.asarray(Temperature(1.0)(scores.astype(np.float64)))
        costs = self.penalty if each is None else each.scaled(self.scale)
        found = invert(probs, costs, self.alpha, cast(MixedName, self.loss))
        # Where there is no posterior, the nearest gives classes that are often true no probability
        # at all: a temperature that makes up for it flattens every other example.
        behind = np.where(found.outside[:, None], probs, found.probs)
        return log_probs(behind), float(found.outside.mean())


def class_probs(
    scores: npt.NDArray[np.floating[Any]],
    link: Link | None,
    temperature: float,
    each: ExamplePenalty | None = None,
) -> FloatArray:
    """Calibrated class probabilities (N, k), in double precision; `each`: costs of the examples."""
    check_finite(scores, "Example")
    logits = scores.astype(np.float64) if link is None else link.logits(scores, each)
    return np.asarray(Temperature(temperature)(logits), dtype=np.float64)


def many_outside(share: float, alpha: float, which: str) -> str | None:
    """A sentence where many scores, of `which` examples, stand for no class probabilities."""
    if share <= MANY_OUTSIDE:
        return None
    return (
        f"for {100 * share:.0f} % of the {which} the scores do not correspond to any class "
        f"probabilities (alpha {alpha:g}); the model's own are taken, so that costs count twice "
        "there. A smaller alpha helps"
    )


def check_finite(scores: npt.NDArray[np.floating[Any]], what: str) -> None:
    """The model has a score for every example; `what` stands before a number."""
    odd = ~np.isfinite(scores).all(axis=1)
    if odd.any():
        raise DataError(
            f"{what} {int(np.argmax(odd)) + 1} has no finite score: a value in it is too large for "
            "the model, or too far from what it learned from."
        )
