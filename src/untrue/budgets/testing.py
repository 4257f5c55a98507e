"""The one look at the test part: what rules do to its examples, and which of them pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets.calibration_set import calibrated
from untrue.budgets.family import Counts, Family
from untrue.metrics.inputs import row_blocks

Probs: TypeAlias = "npt.NDArray[np.floating[Any]]"

# Values of a block of examples that is answered by all rules at a time: 8 MB.
_BLOCK = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """All paths on the test part, one after the other.

    multipliers, bets  (T, B) of every rule
    counts      of every rule
    plain       of the most probable class
    path        (T,) which path a rule is on
    p_values    (T, B)
    passed      (T,) whether the p-values of it and all before it on its path are at most alpha
    """

    multipliers: FloatArray
    bets: FloatArray
    counts: Counts
    plain: Counts
    path: IntArray
    p_values: FloatArray
    passed: BoolArray


def count_rules(
    family: Family,
    multipliers: FloatArray,
    probs: Probs,
    target: IntArray,
    temperature: float | None,
    part: IntArray | None = None,
) -> tuple[Counts, Counts]:
    """What each rule does to the examples, and what the most probable class does.

    part  positions of those that count; else all
    temperature  None: the probabilities are calibrated already

    A block of examples at a time: a copy of all would double the memory. Most get the same answer
    by every rule and are counted once.
    """
    greatest = multipliers.max(axis=0)
    total: Counts | None = None
    plain: Counts | None = None
    width = probs.shape[1] * (2 + len(family.budgets))
    chosen = np.arange(len(target)) if part is None else part
    for block in row_blocks(len(chosen), width, _BLOCK):
        rows = chosen[block]
        ready = family.on(calibrated(probs[rows], temperature), target[rows], rows)
        open_, settled, answers = ready.without_settled(greatest)
        counts = open_.counts(multipliers)
        if len(answers):
            counts = counts + settled.tally([answers]).repeated(len(multipliers))
        top = ready.tally([ready.probs.argmax(axis=1)])
        total = counts if total is None else total + counts
        plain = top if plain is None else plain + top
    assert total is not None
    assert plain is not None
    return total, plain


def gains(
    family: Family,
    one: FloatArray,
    other: FloatArray,
    probs: Probs,
    target: IntArray,
    temperature: float | None,
) -> FloatArray:
    """(N,) How much better one rule answers each example than another, in the units of scores."""
    found = np.empty(len(target))
    width = probs.shape[1] * (2 + len(family.budgets))
    every = np.arange(len(target))
    for block in row_blocks(len(target), width, _BLOCK):
        rows = every[block]
        part = family.on(calibrated(probs[rows], temperature), target[rows], rows)
        found[rows] = part.gains(one, other)
    return found
