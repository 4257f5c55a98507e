"""Examples parted into training, validation and test, each class in proportion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError, DataError
from untrue.metrics.inputs import IntArray

FEWEST = 10


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Positions of the examples of each part, increasing."""

    train: IntArray
    validation: IntArray
    test: IntArray


def split(
    labels: IntArray,
    *,
    test_share: float = 0.2,
    validation_share: float = 0.15,
    held_out: npt.NDArray[np.bool_] | None = None,
    seed: int = 0,
) -> Split:
    """Part the examples; `held_out` marks those that are the test part already.

    Of each class, shuffled, the first go to test, the next to validation, the rest to training,
    which gets at least one.
    """
    for name, share in (("test_share", test_share), ("validation_share", validation_share)):
        if not 0 < share < 0.9:
            raise ArgumentError(f"`{name}` must lie strictly between 0 and 0.9; got {share}.")
    if len(labels) < FEWEST:
        raise DataError(f"At least {FEWEST} examples are needed to learn from; got {len(labels)}.")
    rng = np.random.default_rng(seed)
    parts: tuple[list[IntArray], ...] = ([], [], [])
    # The shares of all classes before a class decide how its own are rounded, so that many small
    # classes together get the right share too.
    owed_test, owed_validation = 0.0, 0.0
    for label in np.unique(labels).tolist():
        members = rng.permutation(np.flatnonzero(labels == label))
        given = members[held_out[members]] if held_out is not None else members[:0]
        rest = members if held_out is None else members[~held_out[members]]
        owed_test += 0.0 if held_out is not None else len(rest) * test_share
        n_test = min(round(owed_test), max(len(rest) - 1, 0))
        owed_test -= n_test
        owed_validation += (len(rest) - n_test) * validation_share
        n_validation = min(round(owed_validation), max(len(rest) - n_test - 1, 0))
        owed_validation -= n_validation
        ends = np.split(rest, [n_test, n_test + n_validation])
        for part, chosen in zip(
            parts, (ends[2], ends[1], np.concatenate([given, ends[0]])), strict=True
        ):
            part.append(chosen)
    found = Split(*(np.sort(np.concatenate(part)).astype(np.int64) for part in parts))
    for name in ("train", "validation", "test"):
        if not len(getattr(found, name)):
            raise DataError(
                f"{len(labels)} examples are too few: none is left for the {name} part."
            )
    if len(np.unique(labels[found.train])) < 2:
        raise DataError("The training part must hold at least two classes; it holds one.")
    return found
