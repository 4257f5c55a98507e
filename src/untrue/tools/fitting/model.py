"""A fitted model: what it takes to label data, and nothing that runs code when it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.decision import Temperature
from untrue.errors import DataError
from untrue.metrics.inputs import FloatArray, IntArray
from untrue.penalty import Penalty
from untrue.tools.fitting.learners import Predictor
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.preprocess import TablePreprocessing


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A trained model with all around it.

    kind         of data it was fitted to: "table", "images", "npz table" or "npz images"
    temperature  found on validation data; probabilities are softmax(logits / temperature)
    target       name of the label column, if the data had one
    training     how it was made, as plain JSON: loss, alpha, seed, numbers of examples
    decision     the costs it decides by, as `untrue tune` found them; None: the most probable class
    """

    kind: str
    penalty: Penalty
    preprocessing: TablePreprocessing | TableCodes | ImagePreprocessing
    predictor: Predictor
    temperature: float
    target: str | None
    training: Mapping[str, Any]
    decision: Penalty | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        return self.penalty.classes

    def probs(self, inputs: npt.NDArray[Any], *, source: str = "the data") -> FloatArray:
        """Calibrated probabilities (N, k); an example without any is an error that names it."""
        logits = self.predictor.logits(inputs)
        check_finite(logits, f"{source}: data row")
        return calibrated(logits, self.temperature)


def calibrated(logits: npt.NDArray[np.floating[Any]], temperature: float) -> FloatArray:
    """softmax(logits / temperature) in double precision."""
    check_finite(logits, "Example")
    return np.asarray(Temperature(temperature)(logits.astype(np.float64)), dtype=np.float64)


def check_finite(logits: npt.NDArray[np.floating[Any]], what: str) -> None:
    """The model has a score for every example; `what` stands before a number."""
    odd = ~np.isfinite(logits).all(axis=1)
    if odd.any():
        raise DataError(
            f"{what} {int(np.argmax(odd)) + 1} has no finite score: a value in it is too large for "
            "the model, or too far from what it learned from."
        )


def argmax(probs: FloatArray) -> IntArray:
    """The most probable class of each row."""
    return np.asarray(probs.argmax(axis=1), dtype=np.int64)
