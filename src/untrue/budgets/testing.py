"""The one look at the test part: counts along the paths, p-values, and which rules pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets.calibration_set import calibrated
from untrue.budgets.family import Counts, Family
from untrue.budgets.frontier import Path
from untrue.budgets.sequence import p_values, passed_in_order
from untrue.metrics.inputs import row_blocks

Probs: TypeAlias = "npt.NDArray[np.floating[Any]]"

# Values of a block of examples that is answered by all rules at a time: 8 MB.
_BLOCK = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """All paths on the test part, one after the other.

    counts      of every rule
    plain       of the most probable class
    path        (T,) which path a rule is on
    bets        (T, B) of the paths
    p_values    (T, B)
    passed      (T,) whether the p-values of it and all before it on its path are at most alpha
    """

    counts: Counts
    plain: Counts
    path: IntArray
    bets: FloatArray
    p_values: FloatArray
    passed: BoolArray


def tested_paths(
    family: Family,
    paths: Sequence[Path],
    probs: Probs,
    target: IntArray,
    test_part: IntArray,
    *,
    temperature: float | None,
    limits: FloatArray,
    alpha: float,
) -> Tested:
    """Test every path at `alpha` over their number, each in order until a rule does not pass.

    Only the examples at the positions `test_part` are looked at, a block at a time: a copy of them
    all would double the memory. A `temperature` of None: the probabilities are calibrated already.
    """
    multipliers = np.concatenate([path.multipliers for path in paths])
    bets = np.concatenate([path.bets for path in paths])
    number = np.repeat(np.arange(len(paths)), [len(path.failing) for path in paths])
    counts, plain = count_rules(family, multipliers, probs, target, temperature, test_part)
    found = p_values(counts, limits, family.penalty.greatest, bets)
    return Tested(counts, plain, number, bets, found, passed_in_order(found, number, alpha))


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

    Most examples get the same answer by every rule and are counted once.
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
