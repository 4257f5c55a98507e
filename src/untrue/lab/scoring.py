"""Scores to confusion matrices, by argmax and by least expected cost. No torch."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.decision import Temperature, calibrate, calibration, decide
from untrue.errors import ArgumentError, HierarchyError, UntrueWarning
from untrue.hierarchy import Hierarchy
from untrue.lab.records import (
    HIGH,
    Confidence,
    DatasetInfo,
    Decision,
    PenaltySpec,
    Rule,
    RunResult,
    Validated,
)
from untrue.metrics import confusion_matrix, ece, expected_cost, total_error, typicality
from untrue.penalty import Penalty, TreePenalty
from untrue.tools.fitting.link import Link

# How far the free rule goes towards the costs, beside all the way: its strengths.
SHARES = (0.1, 0.25, 0.5)
Probs = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The temperature found on held-out scores, and the ECE of the test images (raw, calibrated).

    decisions: by least expected cost, from the calibrated probabilities. validated: each way to
    decide on the held-out images.
    """

    temperature: float
    ece: tuple[float, float]
    decisions: tuple[Decision, ...]
    validated: tuple[Validated, ...] = ()
    clipped: float | None = None


def penalty(spec: PenaltySpec, info: DatasetInfo) -> Penalty:
    """The penalty a run is trained or decided with, normalised by the spec.

    As a matrix, whatever its kind: another form would train to other last digits.
    """
    return Penalty.from_matrix(spec.matrix(info), info.classes).normalized(spec.normalization)


def hierarchy(spec: PenaltySpec, info: DatasetInfo) -> Hierarchy:
    """The hierarchy behind a penalty: the super-classes, or the one a matrix came from."""
    if spec.edges:
        return Hierarchy.from_edges(spec.edges, classes=info.classes)
    costs = spec.penalty(info)
    if not isinstance(costs, TreePenalty):
        raise HierarchyError(f"A penalty by a {spec.kind} has no hierarchy.")
    return costs.hierarchy


def count(probs: Probs, labels: IntArray) -> IntArray:
    """Confusion matrix (k, k) by [true, predicted] when each image gets its most probable label."""
    return confusion_matrix(labels, probs.argmax(axis=1), probs.shape[1])


def decided(
    probs: Probs,
    labels: IntArray,
    spec: PenaltySpec,
    info: DatasetInfo,
    *,
    temperature: float | None = None,
    share: float = 1.0,
) -> Decision:
    """The same when each image gets the label `argmin_j sum_i p_i A[i, j]`.

    temperature: the probabilities are brought to it first. share: the costs are softened to it.
    """
    if temperature is not None:
        probs = tempered(probs, temperature)
    predicted = decide(probs, penalty(spec, info).softened(share))
    counts = confusion_matrix(labels, predicted, probs.shape[1])
    return Decision(spec, counts, calibrated=temperature is not None, share=share)


def tempered(probs: Probs, temperature: float) -> Probs:
    """As `calibration.tempered`, in single precision."""
    # A probability that rounded to nothing keeps the logit of the least that a float32 holds.
    least = float(np.finfo(np.float32).smallest_subnormal)
    return calibration.tempered(probs, temperature, least=least).astype(np.float32)


def calibrated(
    held_back: npt.NDArray[np.floating],
    held_back_labels: IntArray,
    scores: npt.NDArray[np.floating],
    labels: IntArray,
    specs: Sequence[PenaltySpec],
    info: DatasetInfo,
    *,
    link: Link | None = None,
    shares: Sequence[float] = (),
) -> Calibration:
    """The test images decided once more at the temperature that suits the held-back scores.

    link: of a loss by costs: they are also decided on the posterior behind the scores, whose
    temperature is found in the same way, so that the costs count once. shares: they are also
    decided by the costs softened to each.
    """
    raw, watched = softmax(scores), softmax(held_back)
    found = fitted_temperature(held_back, held_back_labels)
    made = [
        decided(raw, labels, spec, info, temperature=found, share=share)
        for spec in specs
        for share in (1.0, *shares)
    ]
    calibrated_watched = tempered(watched, found)
    ways: list[tuple[Rule, Probs, float]] = [
        ("argmax", watched, 1.0),
        ("least-cost", watched, 1.0),
        ("least-cost-calibrated", calibrated_watched, 1.0),
        *(("softened-cost", calibrated_watched, share) for share in shares),
    ]
    clipped = None
    if link is not None and link.moves:
        (behind, clipped), behind_watched = link.read(scores), link.logits(held_back)
        suits = Temperature(fitted_temperature(behind_watched, held_back_labels))
        for spec in specs:
            counts = decided(np.asarray(suits(behind), np.float32), labels, spec, info).confusion
            made.append(Decision(spec, counts, calibrated=True, posterior=True))
        ways.append(("posterior", np.asarray(suits(behind_watched), np.float32), 1.0))
    return Calibration(
        found,
        (ece(raw, labels), ece(tempered(raw, found), labels)),
        tuple(made),
        tuple(
            validated(rule, probs, held_back_labels, specs[0], info, share=share)
            for rule, probs, share in ways
            if specs
        ),
        clipped,
    )


def fitted_temperature(scores: npt.NDArray[np.floating], labels: IntArray) -> float:
    """The temperature under which the labels are most probable."""
    with warnings.catch_warnings():
        # A model no better than chance: its even probabilities are the right ones.
        warnings.simplefilter("ignore", UntrueWarning)
        return calibrate(scores, labels).temperature


def softmax(scores: npt.NDArray[np.floating]) -> Probs:
    return np.asarray(Temperature(1.0)(scores), dtype=np.float32)


def confidence(probs: Probs, labels: IntArray) -> Confidence:
    """How sure the most probable labels are, by [true, predicted]."""
    answers, k = probs.argmax(axis=1), probs.shape[1]
    sure = probs[np.arange(len(probs)), answers].astype(np.float64)
    total = np.zeros((k, k))
    np.add.at(total, (labels, answers), sure)
    high = sure > HIGH
    return Confidence(total, confusion_matrix(labels[high], answers[high], k))


def validated(
    rule: Rule,
    probs: npt.NDArray[np.floating],
    labels: IntArray,
    spec: PenaltySpec,
    info: DatasetInfo,
    *,
    share: float = 1.0,
) -> Validated:
    """A way to decide, judged on validation images; "argmax" takes any scores (N, k)."""
    counts = count(probs, labels)
    if rule != "argmax":
        counts = decided(probs, labels, spec, info, share=share).confusion
    cost = float(expected_cost(counts, penalty(spec, info)))
    return Validated(rule, float(total_error(counts)), cost, share)


def typical_classes(baselines: list[RunResult], info: DatasetInfo) -> tuple[int, ...]:
    """The class of highest super-class typicality in each super-class, by class index.

    Typicality of a class: of the baselines' test errors on it, the share that goes to another
    class of its super-class. The errors of all baselines are counted together; a class without
    errors has typicality 0, and the first of equals is taken.
    """
    if not baselines:
        raise ArgumentError("Typicality needs at least one finished baseline; got none.")
    confusion = np.sum([result.confusion for result in baselines], axis=0)
    found = np.nan_to_num(typicality(confusion, info.group_of()))
    chosen = [max(members, key=lambda c: (found[c], -c)) for _, members in info.groups]
    return tuple(sorted(chosen))
