"""A fitted model: what it takes to label data, and nothing that runs code when it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from untrue.decision import Temperature
from untrue.metrics.inputs import IntArray
from untrue.penalty import Penalty
from untrue.tools.fitting.networks import NetworkSpec
from untrue.tools.fitting.training import logits_of
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.preprocess import TablePreprocessing


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A network with all around it.

    kind         of data it was fitted to: "table", "images", "npz table" or "npz images"
    temperature  found on validation data; probabilities are softmax(logits / temperature)
    target       name of the label column, if the data had one
    training     how it was made, as plain JSON: loss, alpha, seed, numbers of examples
    decision     the costs it decides by, as `untrue tune` found them; None: the most probable class
    """

    kind: str
    penalty: Penalty
    preprocessing: TablePreprocessing | ImagePreprocessing
    spec: NetworkSpec
    network: nn.Module
    temperature: float
    target: str | None
    training: Mapping[str, Any]
    decision: Penalty | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        return self.penalty.classes

    def probs(self, inputs: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Calibrated probabilities (N, k)."""
        return calibrated(logits_of(self.network, inputs), self.temperature)


def calibrated(logits: npt.NDArray[np.float32], temperature: float) -> npt.NDArray[np.float64]:
    """softmax(logits / temperature) in double precision."""
    return np.asarray(Temperature(temperature)(logits.astype(np.float64)), dtype=np.float64)


def argmax(probs: npt.NDArray[np.float64]) -> IntArray:
    """The most probable class of each row."""
    return np.asarray(probs.argmax(axis=1), dtype=np.int64)
