"""What the mistakes in a file of predictions cost: `untrue audit`. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.atomic_files import place_text
from untrue.budgets import Budget, DecisionRule, ResolvedBudget, Verdict, resolve_all
from untrue.checks import MOST_RESAMPLES, check_count, check_seed
from untrue.decision import decide
from untrue.errors import ArgumentError, DataError, PenaltyError
from untrue.hierarchy import Hierarchy
from untrue.hierarchy.super_classes import super_classes
from untrue.metrics import Cells, Summary, confusion_cells, example_cells, summary
from untrue.metrics.pairing import PairedChange, paired_change
from untrue.metrics.probabilities import BINS, bin_of, top_label
from untrue.metrics.zones import zone_pairs
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty, TreePenalty
from untrue.penalty.zone import zone_threshold
from untrue.tools.auditing.equal_costs import (
    check_without_costs,
    counts_alike,
    equal_costs,
    never_true,
)
from untrue.tools.auditing.examples import CellExamples, wrong_examples
from untrue.tools.reading.columns import Columns
from untrue.tools.reading.prediction_file import MOST_PROBABLE
from untrue.tools.reading.prediction_table import PredictionTable
from untrue.tools.reading.predictions import predictions_of
from untrue.tools.reading.row_costs import check_by_class
from untrue.tools.writing import numbers_text

# With more probabilities than this, the heights of runners-up take longer than all the rest.
MOST_FOR_HEIGHTS = 2 * 10**7


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of about the same confidence: how many, how sure on average, how often right."""

    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class LeastCostDecision:
    """The answers of least expected cost instead of the ones given.

    change: paired, these answers minus those given.
    """

    summary: Summary
    confusion: Cells
    change: PairedChange


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What `audit` found.

    by_cost      whether mistakes have costs; else each counts 1, and nothing is measured by cost
    zone_above   errors that cost more than this are "in the zone"; None without costs
    groups       super-classes, (k,), when a hierarchy has any
    calibration  only with probabilities, as is decision, which needs costs too
    examples     errors by cell, named by the file's column of names or by row
    verdicts     on the budgets, if any were given
    notes        what the reader should know about how the file was read
    """

    source: str
    columns: Columns
    penalty: Penalty
    by_cost: bool
    zone_above: float | None
    summary: Summary
    confusion: Cells
    groups: IntArray | None
    calibration: tuple[Bin, ...] | None
    decision: LeastCostDecision | None
    examples: tuple[CellExamples, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """The numbers for other programs."""
        content: dict[str, object] = {
            "source": self.source,
            "truth": self.columns.truth,
            "predicted": self.columns.predicted,
            "probs": list(self.columns.probs or ()),
            "penalty": self.penalty.fingerprint if self.by_cost else None,
            "zone_above": self.zone_above,
            "summary": self.summary.as_dict(),
            "budgets": [
                {"budget": str(verdict.budget), "ruling": verdict.ruling, **verdict.as_dict()}
                for verdict in self.verdicts
            ],
        }
        if self.decision is not None:
            change = self.decision.change
            content["least_expected_cost"] = {
                "summary": self.decision.summary.as_dict(),
                "changed": change.changed,
                "change": change.as_dict(),
            }
        return content

    def save(self, path: str | Path) -> Path:
        """Write the numbers as JSON."""
        return place_text(Path(path), numbers_text(self.as_dict()))

    def __str__(self) -> str:
        return str(self.summary)


def audit(
    data: Any,
    y: Any = None,
    *,
    penalty: Penalty | FormulaPenalty | ExamplePenalty | None = None,
    rule: DecisionRule | None = None,
    cost_columns: Any = None,
    truth: str | None = None,
    predicted: str | None = None,
    probs: str | None = None,
    hierarchy: Hierarchy | None = None,
    delimiter: str | None = None,
    classes: Sequence[str] | None = None,
    zone_above: float | None = None,
    budgets: Iterable[Budget | str] = (),
    confidence: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> AuditResult:
    """What the mistakes of predictions cost, and what deciding by least cost would change.

    data, y  a file of predictions (.csv, .parquet); or answers (N,) or probabilities (N, k), and
             the true labels (N,)
    penalty  what mistakes cost; without it each counts 1, and nothing is measured by cost.
             Labels of a file are matched with its classes by name, and so are names in arrays;
             whole numbers there are positions, or names that are numbers; what may be both, with
             different meanings, is refused.
             With costs of each row (a `FormulaPenalty`, by columns of the file or of `cost_columns`
             beside arrays; or an `ExamplePenalty` of these), what was paid is counted by row
    rule     of `control`, in place of a penalty and budgets: whether its budgets still
             hold. Where there are probabilities and no answers, it answers
    truth, predicted, probs  columns of a file, where they are not to be guessed
    hierarchy  has the penalty's classes, in their order
    classes  the names that labels 0, 1, ... stand for; beside arrays, also the class of each column
             of probabilities, in order (scikit-learn: model.classes_)
    budgets  "good<-bad <= 5%" and the like; each gets a verdict, with `confidence` (that of the
             rule, else 95 %)
    """
    if not isinstance(penalty, Penalty | FormulaPenalty | ExamplePenalty | None):
        raise PenaltyError(
            "`penalty` must be a Penalty (Penalty.from_matrix(matrix, classes), from_rules, ...); "
            f"got {type(penalty).__name__}. For a file: untrue.Penalty.load(path)."
        )
    stated = [Budget.of(budget) for budget in budgets]
    check_rule_alone(rule, penalty, stated, hierarchy, zone_above)
    if confidence is not None and rule is None and not stated:
        raise ArgumentError(
            "`confidence` is that of the bounds of budgets, and there are none: give `budgets` "
            "(--budget) or a `rule` (--rule), or leave it out."
        )
    if rule is not None:
        known_groups = rule.meaning.groups
        hierarchy = known_groups if isinstance(known_groups, Hierarchy) else None
        penalty, zone_above = rule.penalty, rule.meaning.zone_above
    columns: dict[str, Any] = {
        "truth": truth,
        "predicted": predicted,
        "probs": probs,
        "delimiter": delimiter,
        "classes": classes,
    }
    if penalty is None:
        check_without_costs(stated, zone_above)
    by_cost = penalty is not None and not (rule is not None and counts_alike(rule.penalty))
    known = penalty or equal_costs(data, y, hierarchy, **columns)
    if confidence is None:
        confidence = 0.95 if rule is None else rule.guarantee.confidence
    check_count("resamples", resamples, most=MOST_RESAMPLES)
    check_seed(seed)
    read = predictions_of(data, y, known, cost_columns=cost_columns, **columns)
    if rule is not None and read.probs is not None:
        read = _decided(read, rule) if read.columns.predicted is None else _compared(read, rule)
    if penalty is None and hierarchy is None and classes is None:
        read = replace(read, notes=(*read.notes, *never_true(read)))
    penalty = read.penalty
    if hierarchy is None and isinstance(penalty, TreePenalty):
        hierarchy = penalty.hierarchy
    grouped = super_classes(hierarchy) if hierarchy is not None else None
    above = zone_threshold(penalty, zone_above) if by_cost else None
    check_by_class(stated, read.each)
    silent = np.bincount(read.true[read.predicted < 0], minlength=penalty.n_classes)
    if silent.sum() == len(read.predicted):
        what = "every prediction abstains" if silent.any() else "there are no examples"
        raise DataError(f"{read.source}: {what}; there is nothing to audit.")
    groups = None if grouped is None else grouped[1]
    measure = _Measure(read, hierarchy, groups, above, int(silent.sum()), resamples, seed)
    cells, found, calibration = _as_given(measure)
    return AuditResult(
        source=read.source,
        columns=read.columns,
        penalty=penalty,
        by_cost=by_cost,
        zone_above=above,
        summary=found,
        confusion=cells,
        groups=groups,
        calibration=calibration,
        decision=_by_least_cost(measure),
        examples=wrong_examples(read.true, read.predicted, read.probs, read.names),
        verdicts=tuple(
            budget.judge(cells, confidence, abstained=silent)
            for budget in _resolved(stated, rule, penalty, hierarchy, zone_above, len(read.true))
        ),
        notes=read.notes,
    )


def check_rule_alone(
    rule: object | None,
    penalty: object | None,
    budgets: Sequence[object],
    hierarchy: object | None,
    zone_above: float | None,
) -> None:
    """Refuse, beside a rule, what the rule brings itself."""
    if rule is None:
        return
    if penalty is not None:
        raise ArgumentError(
            "Give either `penalty` (--penalty) or `rule` (--rule), which brings its own costs."
        )
    if budgets or hierarchy is not None or zone_above is not None:
        raise ArgumentError(
            "`rule` (--rule) brings its own budgets and what the names in them mean: give no "
            "`budgets` (--budget), `hierarchy` (--hierarchy) or `zone_above` with it."
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Measure:
    """How answers to the examples of a file are measured; see `AuditResult`.

    above      None without costs
    abstained  how many examples have no answer
    """

    read: PredictionTable
    hierarchy: Hierarchy | None
    groups: IntArray | None
    above: float | None
    abstained: int
    resamples: int
    seed: int

    @property
    def costs(self) -> Penalty | ExamplePenalty:
        return self.read.penalty if self.read.each is None else self.read.each

    def of(self, predicted: IntArray, **more: Any) -> tuple[Cells, Summary]:
        """Of answers (N,), -1 where there is none; more: further arguments of `summary`."""
        true, penalty = self.read.true, self.read.penalty
        cells = confusion_cells(true, predicted, penalty.n_classes, abstained="drop")
        counted: Cells = cells
        costs = self.costs
        if isinstance(costs, ExamplePenalty):
            answered = np.flatnonzero(predicted >= 0)
            counted = example_cells(true[answered], predicted[answered], penalty.n_classes)
            costs = costs.take(answered)
        return cells, summary(
            counted,
            penalty=None if self.above is None else costs,
            zone=None if self.above is None else zone_pairs(cells, penalty, self.above),
            groups=self.groups,
            hierarchy=self.hierarchy,
            abstained=self.abstained,
            resamples=self.resamples,
            seed=self.seed,
            **more,
        )


def _as_given(measure: _Measure) -> tuple[Cells, Summary, tuple[Bin, ...] | None]:
    """The answers of the file, measured; with probabilities also their calibration."""
    read = measure.read
    if read.probs is None:
        return *measure.of(read.predicted), None
    few = read.probs.size <= MOST_FOR_HEIGHTS
    # Where no answer was given, its probability is not measured either.
    given = read.predicted >= 0 if measure.abstained else slice(None)
    probs, true = read.probs[given], read.true[given]
    cells, found = measure.of(read.predicted, probs=probs, true=true, top=(1, 5) if few else ())
    return cells, found, reliability(probs, true)


def _by_least_cost(measure: _Measure) -> LeastCostDecision | None:
    """The answers of least expected cost, measured; None without probabilities or costs."""
    read, costs = measure.read, measure.costs
    if read.probs is None or measure.above is None:
        return None
    best = decide(read.probs, as_small_matrix(costs) if isinstance(costs, Penalty) else costs)
    # Where no answer was given there is none to compare with.
    least = np.where(read.predicted < 0, -1, best)
    cells, found = measure.of(least)
    change = paired_change(
        read.true,
        read.predicted,
        least,
        costs,
        above=measure.above,
        resamples=measure.resamples,
        seed=measure.seed,
    )
    return LeastCostDecision(found, cells, change)


def _resolved(
    stated: Sequence[Budget],
    rule: DecisionRule | None,
    penalty: Penalty,
    hierarchy: Hierarchy | None,
    zone_above: float | None,
    examples: int,
) -> tuple[ResolvedBudget, ...]:
    """The budgets to judge: those of the rule, or those stated."""
    if rule is not None:
        return rule.resolved
    if not stated:
        return ()
    return resolve_all(stated, penalty, groups=hierarchy, zone_above=zone_above, examples=examples)


def _decided(read: PredictionTable, rule: DecisionRule) -> PredictionTable:
    """Answered by the rule, where the file has none."""
    assert read.probs is not None
    given = rule.codes(read.probs)
    silent = int((given < 0).sum())
    note = "no column of answers: the rule decides"
    note += f", and gives none in {silent:,} of {len(given):,} cases" if silent else ""
    notes = [each for each in read.notes if each != MOST_PROBABLE]
    return replace(read, predicted=given, notes=(*notes, note))


def _compared(read: PredictionTable, rule: DecisionRule) -> PredictionTable:
    """With a note where the answers are not those of the rule."""
    assert read.probs is not None
    other = int((rule.codes(read.probs) != read.predicted).sum())
    if not other:
        return read
    note = (
        f"{other:,} of {len(read.predicted):,} answers in {read.columns.predicted!r} are not those "
        "that the rule gives; what is judged are the answers there"
    )
    return replace(read, notes=(*read.notes, note))


def as_small_matrix(penalty: Penalty) -> Penalty:
    """The same costs as a matrix where that is small: one product is then the fastest way."""
    if penalty.n_classes > 500:
        return penalty
    return Penalty.from_matrix(penalty.matrix(), list(penalty.classes))


def reliability(probs: npt.NDArray[np.floating[Any]], true: IntArray) -> tuple[Bin, ...]:
    """Confidence and accuracy in the bins of the calibration error, those with answers in them."""
    confidence, correct = top_label(probs, true)
    place = bin_of(confidence, BINS)
    count = np.bincount(place, minlength=BINS)
    sure = np.bincount(place, confidence, BINS)
    right = np.bincount(place, correct, BINS)
    return tuple(
        Bin(int(count[b]), float(sure[b] / count[b]), float(right[b] / count[b]))
        for b in np.flatnonzero(count).tolist()
    )
