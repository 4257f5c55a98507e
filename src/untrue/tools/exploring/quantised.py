"""Probabilities as one byte each, by their square roots, and back.

A byte c stands for (c / 255)^2, and a row is divided by its sum: steps are fine where probabilities
are small, which is where costly mistakes are decided. The page computes with exactly these numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray

Codes = npt.NDArray[np.uint8]
GREATEST = 255


def quantised(probs: FloatArray) -> Codes:
    """(N, k) Codes of probabilities.

    >>> quantised(np.array([[1.0, 0.0], [0.5, 0.5], [0.0001, 0.9999]])).tolist()
    [[255, 0], [180, 180], [3, 255]]
    """
    codes: Codes = np.rint(GREATEST * np.sqrt(np.clip(probs, 0.0, 1.0))).astype(np.uint8)
    return codes


def restored(codes: Codes) -> FloatArray:
    """(N, k) The probabilities that codes stand for; each row sums to 1.

    >>> restored(np.array([[255, 0], [180, 180]], dtype=np.uint8)).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    squares = codes.astype(np.float64) ** 2
    found: FloatArray = squares / squares.sum(axis=1, keepdims=True)
    return found
