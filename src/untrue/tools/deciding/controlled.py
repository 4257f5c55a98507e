"""A decision rule from a file of predictions: `untrue control`. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from untrue.budgets import Budget, DecisionRule
from untrue.budgets.calibration_set import CalibrationSet, read_probs
from untrue.budgets.learn_then_test import find_rule
from untrue.penalty import Penalty
from untrue.penalty.stated import has_names, named_for, penalty_over
from untrue.tools.reading.hierarchies import stated_hierarchy
from untrue.tools.reading.probability_file import GUESSED, ReadOptions, read_probabilities


@dataclass(frozen=True, slots=True, eq=False)
class ControlledFile:
    """A rule, and the columns of the file that it was made from; notes say what was guessed."""

    source: str
    truth: str
    columns: tuple[str, ...]
    rule: DecisionRule
    notes: tuple[str, ...]


def control_file(
    path: Path,
    *,
    budgets: Iterable[Budget | str],
    penalty: Penalty | None = None,
    hierarchy: Path | None = None,
    zone_above: float | None = None,
    abstain: bool | float = False,
    confidence: float = 0.95,
    options: ReadOptions = GUESSED,
    seed: int = 0,
) -> ControlledFile:
    """`untrue.control` on the probabilities and the truth in a file.

    penalty    its classes are matched with those of the file by name
    hierarchy  a hierarchy file of the classes: what groups in budgets mean
    """
    known = penalty.classes if penalty is not None and has_names(penalty) else None
    read = read_probabilities(path, options, known=known, with_truth="needed")
    if penalty is not None:
        penalty = named_for(penalty, read.classes)
    known_hierarchy = stated_hierarchy(hierarchy, penalty, read.classes)
    assert read.truth is not None
    assert read.true is not None
    data = CalibrationSet(
        read_probs(read.probs, len(read.classes)),
        read.true,
        penalty_over(penalty, read.classes),
        answers="names",
    )
    rule = find_rule(
        data,
        budgets,
        by_cost=penalty is not None,
        confidence=confidence,
        abstain=abstain,
        groups=known_hierarchy,
        zone_above=zone_above,
        seed=seed,
    )
    return ControlledFile(str(path), read.truth, read.columns, rule, read.notes)
