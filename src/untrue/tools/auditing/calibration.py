"""`untrue calibrate`: probabilities in a file that match how often the answers are right.

Needs no torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.decision import Temperature, calibrate, temperature_interval
from untrue.decision.calibration import log_probs
from untrue.errors import ArgumentError, DataError, counted
from untrue.metrics import ece
from untrue.tools.reading.probability_file import (
    GUESSED,
    ProbabilityFile,
    ReadOptions,
    read_probabilities,
)
from untrue.tools.reading.tables import whole_table
from untrue.tools.writing import write_table

FOLDS = 5
# A certainty that is known to within more points than this is not to be relied on.
TOO_VAGUE = 5.0


@dataclass(frozen=True, slots=True)
class CalibratedFile:
    """What `calibrate_file` found.

    low, high     the temperatures that the examples do not contradict, at 95 %
    known_within  how far the mean certainty of an answer may be off over these, in points
    n             examples that the temperature was fitted to, of `fitted_to`
    before, after calibration errors (%), None where the file has no truth: of the file read, and of
                  the file written, whose temperature comes from other examples (`on`); without
                  these, of each fifth at the temperature of the others
    notes         what was guessed
    """

    source: str
    columns: tuple[str, ...]
    fitted_to: str
    n: int
    temperature: float
    low: float
    high: float
    known_within: float
    before: float | None
    after: float | None
    notes: tuple[str, ...]


def calibrate_file(
    path: Path,
    out: Path,
    *,
    on: Path | None = None,
    options: ReadOptions = GUESSED,
) -> CalibratedFile:
    """Write the predictions at `path` to `out`, with calibrated probabilities.

    on  predictions of examples that the model has not seen, with their truth, to find the
        temperature by; without it those at `path` are used

    One temperature for all: the order of the classes stays, and so does every other column.
    """
    read = partial(read_probabilities, options=options, known=None)
    fitted = given = read(on or path, with_truth="needed")
    if on is not None:
        given = read(path, with_truth="if there", of_single=fitted.classes)
    if set(fitted.classes) != set(given.classes):
        odd = sorted(set(fitted.classes) ^ set(given.classes))
        raise DataError(f"{on} and {path} must have the same classes; {odd[0]!r} is in one only.")
    assert fitted.true is not None
    fitted_logits, logits = log_probs(fitted.probs), log_probs(given.probs)
    found = calibrate(fitted_logits, fitted.true)
    low, high = temperature_interval(fitted_logits, fitted.true)
    _write(given, found(logits), out)
    before = after = None
    if given.true is not None:
        before = 100 * ece(Temperature(1.0)(logits), given.true)
        changed = found(logits) if on is not None else _by_folds(logits, given.true)
        after = 100 * ece(changed, given.true)
    return CalibratedFile(
        source=str(path),
        columns=given.columns,
        fitted_to=str(fitted.file.path),
        n=len(fitted.true),
        temperature=found.temperature,
        low=low,
        high=high,
        known_within=known_within(fitted_logits, low, high),
        before=before,
        after=after,
        notes=given.notes,
    )


def known_within(logits: npt.NDArray[Any], low: float, high: float) -> float:
    """Half the difference of the answers' mean probability at two temperatures, in points."""

    def certainty(temperature: float) -> float:
        if temperature == 0:
            return 1.0
        if temperature == math.inf:
            return 1 / int(logits.shape[1])
        return float(Temperature(temperature)(logits).max(axis=1).mean())

    return 50 * (certainty(low) - certainty(high))


def trust(n: int, within: float) -> str | None:
    """A sentence if the calibration cannot be relied on; else None."""
    if within <= TOO_VAGUE:
        return None
    return (
        f"the probabilities are calibrated on {counted(n, 'example')}, too few to trust: how "
        f"sure the answers are is known to within {within:.0f} points only"
    )


def _by_folds(logits: FloatArray, true: IntArray) -> FloatArray:
    """Probabilities at the temperature of the other folds, so that none is judged by itself."""
    fold = np.random.default_rng(0).permutation(len(true)) % min(FOLDS, len(true))
    probs = np.empty_like(logits)
    for number in np.unique(fold).tolist():
        own = fold == number
        others = calibrate(logits[~own], true[~own]) if not own.all() else Temperature(1.0)
        probs[own] = others(logits[own])
    return probs


def _write(given: ProbabilityFile, probs: npt.NDArray[np.floating[Any]], out: Path) -> None:
    """The file as it is, except for its probabilities."""
    if out.resolve() == given.file.path.resolve():
        raise ArgumentError(f"`--out` must not be the predictions themselves, {out}.")
    write_table(whole_table(given.file, given.by_column(probs)), out)
