"""What the mistakes in a file of predictions cost: `untrue audit`. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.checks import MOST_RESAMPLES, check_count, check_seed
from untrue.decision import decide
from untrue.errors import DataError
from untrue.hierarchy import Hierarchy
from untrue.hierarchy.super_classes import super_classes
from untrue.metrics import Cells, Summary, confusion_cells, summary
from untrue.metrics.inputs import BLOCK_VALUES, IntArray
from untrue.metrics.probabilities import bin_of, top_label
from untrue.metrics.zones import zone_pairs
from untrue.penalty import Penalty, TreePenalty
from untrue.penalty.stated import class_names, named_for
from untrue.penalty.zone import zone_threshold
from untrue.tools.auditing.examples import CellExamples, wrong_examples
from untrue.tools.auditing.pairing import PairedChange, paired_change
from untrue.tools.reading.columns import Columns, choose
from untrue.tools.reading.labels import abstained_text, positions
from untrue.tools.reading.tables import (
    Kind,
    TableFile,
    codes,
    listed,
    matrix,
    open_table,
    read_table,
)

BINS = 15
# Rounded probabilities pass; what is off by more is not a probability.
SUM_SLACK = 1e-3
# The heights of runners-up of more values than this take longer than all the rest.
MOST_FOR_HEIGHTS = 2 * 10**7


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of about the same confidence: how many, how sure on average, how often right."""

    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The answers of least expected cost instead of the ones given.

    change: paired, these answers minus those given.
    """

    summary: Summary
    confusion: Cells
    change: PairedChange


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What `audit` found.

    zone_above   errors that cost more than this are "in the zone"
    groups       super-classes, (k,), when a tree has any; group_names in their order
    calibration  only with probabilities, as is decision
    examples     errors by cell, named by the file's column of names or by row
    notes        what the reader should know about how the file was read
    """

    source: str
    columns: Columns
    penalty: Penalty
    zone_above: float
    summary: Summary
    confusion: Cells
    group_names: tuple[str, ...]
    groups: IntArray | None
    calibration: tuple[Bin, ...] | None
    decision: Decision | None
    examples: tuple[CellExamples, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A file of predictions: classes by position (N,), -1 where it abstains; probs (N, k).

    penalty: as given, with the names of the labels where it has none of its own
    """

    file: TableFile
    columns: Columns
    true: IntArray
    predicted: IntArray
    probs: npt.NDArray[np.floating[Any]] | None
    penalty: Penalty
    names: tuple[str, ...] | None
    notes: tuple[str, ...]


def audit(
    path: Path,
    penalty: Penalty,
    *,
    truth: str | None = None,
    predicted: str | None = None,
    probs: str | None = None,
    tree: Hierarchy | None = None,
    delimiter: str | None = None,
    classes: Sequence[str] | None = None,
    zone_above: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> AuditResult:
    """Read predictions and measure them; `tree` has the penalty's classes, in their order.

    Labels are matched with the penalty's classes by name; classes: the names that labels 0, 1, ...
    stand for.
    """
    check_count("resamples", resamples, most=MOST_RESAMPLES)
    check_seed(seed)
    read = read_predictions(
        path,
        penalty,
        truth=truth,
        predicted=predicted,
        probs=probs,
        delimiter=delimiter,
        classes=classes,
    )
    penalty = read.penalty
    if tree is None and isinstance(penalty, TreePenalty):
        tree = penalty.tree
    grouped = super_classes(tree) if tree is not None else None
    above = zone_threshold(penalty, zone_above)
    k = penalty.n_classes
    abstained = int((read.predicted < 0).sum())
    if abstained == len(read.predicted):
        raise DataError(f"{path}: every prediction abstains; there is nothing to audit.")

    def measured(predicted: IntArray, **more: Any) -> tuple[Cells, Summary]:
        cells = confusion_cells(read.true, predicted, k, abstained="drop")
        return cells, summary(
            cells,
            penalty=penalty,
            zone=zone_pairs(cells, penalty, above),
            groups=None if grouped is None else grouped[1],
            tree=tree,
            resamples=resamples,
            seed=seed,
            **more,
        )

    calibration, decision = None, None
    if read.probs is None:
        cells, found = measured(read.predicted, abstained=abstained)
    else:
        few = read.probs.size <= MOST_FOR_HEIGHTS
        cells, found = measured(
            read.predicted,
            abstained=abstained,
            probs=read.probs,
            true=read.true,
            bins=BINS,
            top=(1, 5) if few else (),
        )
        calibration = reliability(read.probs, read.true)
        # Where no answer was given there is none to compare with.
        least = np.where(read.predicted < 0, -1, decide(read.probs, dense(penalty)))
        decided_cells, decided = measured(least, abstained=abstained)
        change = paired_change(
            read.true,
            read.predicted,
            least,
            penalty,
            above=above,
            resamples=resamples,
            seed=seed,
        )
        decision = Decision(decided, decided_cells, change)
    return AuditResult(
        source=str(path),
        columns=read.columns,
        penalty=penalty,
        zone_above=above,
        summary=found,
        confusion=cells,
        group_names=() if grouped is None else tuple(grouped[0]),
        groups=None if grouped is None else grouped[1],
        calibration=calibration,
        decision=decision,
        examples=wrong_examples(read.true, read.predicted, read.probs, read.names),
        notes=read.notes,
    )


def dense(penalty: Penalty) -> Penalty:
    """The same costs as a matrix where that is small: one product is then the fastest way."""
    if penalty.n_classes > 500:
        return penalty
    return Penalty.from_matrix(penalty.matrix(), list(penalty.classes))


def read_predictions(
    path: Path,
    penalty: Penalty,
    *,
    truth: str | None = None,
    predicted: str | None = None,
    probs: str | None = None,
    delimiter: str | None = None,
    classes: Sequence[str] | None = None,
) -> Predictions:
    """Read and check a file of predictions; `classes` as in `audit`."""
    file = open_table(path, delimiter=delimiter)
    columns = choose(file, penalty.classes, truth=truth, predicted=predicted, probs=probs)
    wanted: dict[str, Kind] = {columns.truth: "label"}
    wanted |= {columns.predicted: "label"} if columns.predicted else {}
    wanted |= dict.fromkeys(columns.probs or (), "number")
    wanted |= {columns.names: "label"} if columns.names else {}
    table = read_table(file, wanted)
    notes = list(columns.notes)
    true_codes, true_names = codes(table, columns.truth, file)
    predicted_codes, predicted_names = (
        codes(table, columns.predicted, file) if columns.predicted else (true_codes, [])
    )
    none = abstained_text(classes or penalty.classes)
    given = [name for name in predicted_names if name != none]
    answers = dict(zip(given, class_names(given, classes), strict=True))
    true_names = class_names(true_names, classes)
    named = named_for(penalty, {*true_names, *answers.values()})
    if named is not penalty:
        notes.append(
            "the penalty has no class names; its rows are taken for the labels in sorted order: "
            f"{listed(named.classes)}"
        )
        # Its columns of probabilities are found by the names.
        columns = choose(file, named.classes, truth=truth, predicted=predicted, probs=probs)
        table = read_table(file, wanted | dict.fromkeys(columns.probs or (), "number"))
    true = positions(true_codes, true_names, named.classes, column=columns.truth, source=str(path))
    scores = None
    if columns.probs is not None:
        scores = matrix(table, columns.probs, file)
        check_probs(scores, columns.probs, str(path))
    if columns.predicted is not None:
        found = positions(
            predicted_codes,
            [answers.get(name, abstained_text(named.classes)) for name in predicted_names],
            named.classes,
            column=columns.predicted,
            source=str(path),
            may_abstain=True,
        )
    else:
        assert scores is not None  # `choose` found one of the two
        found = scores.argmax(axis=1)
        notes.append("no column of predictions: the most probable class is taken for the answer")
    abstained = int((found < 0).sum())
    if abstained:
        notes.append(
            f"{abstained:,} of {len(found):,} predictions abstain; the measures are "
            "about the others"
        )
    names = None
    if columns.names:
        name_codes, name_texts = codes(table, columns.names, file)
        names = tuple(name_texts[code] for code in name_codes.tolist())
    return Predictions(file, columns, true, found, scores, named, names, tuple(notes))


def check_probs(probs: npt.NDArray[np.floating[Any]], names: tuple[str, ...], source: str) -> None:
    """Each row holds probabilities; the error names the row and the column."""
    step = max(1, BLOCK_VALUES // probs.shape[1])
    for start in range(0, len(probs), step):
        block = probs[start : start + step]
        low = block.min(axis=1)
        total = block.sum(axis=1, dtype=np.float64)
        bad = (low < 0) | (np.abs(total - 1) > SUM_SLACK)
        if not bad.any():
            continue
        row = int(np.argmax(bad))
        if low[row] < 0:
            column = int(np.argmin(block[row]))
            raise DataError(
                f"{source}: data row {start + row + 1}, column {names[column]!r}, is "
                f"{block[row, column]:g}: probabilities are not negative. Logits become "
                "probabilities by softmax."
            )
        raise DataError(
            f"{source}: the probabilities of data row {start + row + 1}, columns {names[0]!r} to "
            f"{names[-1]!r}, sum to {total[row]:.4g}, not to 1. Are they logits, percentages, or "
            "some of the columns only?"
        )


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
