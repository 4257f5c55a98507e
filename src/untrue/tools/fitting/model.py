"""A fitted model: what it takes to label data, and nothing that runs code when it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.decision import decide
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.tools.fitting.learners import Predictor
from untrue.tools.fitting.link import Link, check_finite, class_probs
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.preprocess import TablePreprocessing
from untrue.tools.reading.row_costs import RowCosts


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A trained model with all around it.

    kind         of data it was fitted to: "table", "images", "npz table" or "npz images"
    temperature  found on validation data, of the logits of the class probabilities
    target       name of the label column, if the data had one
    training     how it was made, as plain JSON: loss, alpha, seed, numbers of examples
    decision     the costs it decides by, as `untrue tune` found them; None: the most probable class
    link         what its training by costs moved, where that is undone
    costs        by columns of the data, where they are; `penalty` then has their means by class
    """

    kind: str
    penalty: Penalty
    preprocessing: TablePreprocessing | TableCodes | ImagePreprocessing
    predictor: Predictor
    temperature: float
    target: str | None
    training: Mapping[str, Any]
    decision: Penalty | FormulaPenalty | None = None
    link: Link | None = None
    costs: FormulaPenalty | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        return self.penalty.classes

    def scores(self, inputs: npt.NDArray[Any], *, source: str = "the data") -> FloatArray:
        """Scores (N, k), greatest at the most probable class; each must be finite."""
        found = self.predictor.logits(inputs)
        check_finite(found, f"{source}: data row")
        return found

    def probs(
        self,
        inputs: npt.NDArray[Any],
        each: ExamplePenalty | None = None,
        *,
        source: str = "the data",
    ) -> FloatArray:
        """Calibrated class probabilities (N, k), with what training by costs moved undone."""
        return class_probs(self.scores(inputs, source=source), self.link, self.temperature, each)


def argmax(probs: npt.NDArray[np.floating[Any]]) -> IntArray:
    """The most probable class of each row."""
    return np.asarray(probs.argmax(axis=1), dtype=np.int64)


def answers(
    probs: FloatArray, costs: Penalty | FormulaPenalty | None, rows: RowCosts | None = None
) -> IntArray:
    """The most probable class, or that of least expected cost; `rows`: of the same examples."""
    if isinstance(costs, FormulaPenalty):
        assert rows is not None
        return decide(probs, rows.of(costs))
    return argmax(probs) if costs is None else decide(probs, costs)
