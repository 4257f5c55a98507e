"""What is read of predictions, whether they are from a file or from arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.penalty import ExamplePenalty, Penalty
from untrue.tools.reading.columns import Columns


@dataclass(frozen=True, slots=True, eq=False)
class PredictionTable:
    """Predictions: classes by position (N,), -1 where it abstains; probs (N, k).

    penalty: as given, with the names of the labels where it has none of its own; the means by class
        of costs of each example, which are `each`
    """

    source: str
    columns: Columns
    true: IntArray
    predicted: IntArray
    probs: npt.NDArray[np.floating[Any]] | None
    penalty: Penalty
    names: tuple[str, ...] | None
    notes: tuple[str, ...]
    each: ExamplePenalty | None = None
