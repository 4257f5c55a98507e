"""Scores to confusion matrices, by argmax and by least expected cost. No torch."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from untrue.decision import Temperature, calibrate, decide
from untrue.errors import ArgumentError, HierarchyError, UntrueWarning
from untrue.hierarchy import Hierarchy
from untrue.lab.records import Counts, DatasetInfo, Decision, PenaltySpec, RunResult
from untrue.metrics import confusion_matrix, ece, typicality
from untrue.penalty import Penalty, TreePenalty

Probs = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The temperature found on held-out scores, and the ECE of the test images (raw, calibrated).

    decisions: by least expected cost, from the calibrated probabilities.
    """

    temperature: float
    ece: tuple[float, float]
    decisions: tuple[Decision, ...]


def penalty(spec: PenaltySpec, info: DatasetInfo) -> Penalty:
    """The penalty a run is trained or decided with, normalised as the spec says.

    As a matrix, whatever its kind: another form would train to other last digits.
    """
    return Penalty.from_matrix(spec.matrix(info), info.classes).normalized(spec.normalization)


def tree(spec: PenaltySpec, info: DatasetInfo) -> Hierarchy:
    """The tree of classes behind a penalty: the super-classes, or the one a matrix came from."""
    if spec.edges:
        return Hierarchy.from_edges(spec.edges, classes=info.classes)
    costs = spec.penalty(info)
    if not isinstance(costs, TreePenalty):
        raise HierarchyError(f"A penalty by a {spec.kind} has no tree of classes.")
    return costs.tree


def count(probs: Probs, labels: Labels) -> Counts:
    """Confusion matrix (k, k) by [true, predicted] when each image gets its most probable label."""
    return np.asarray(
        confusion_matrix(labels, probs.argmax(axis=1), probs.shape[1]), dtype=np.int64
    )


def decided(
    probs: Probs,
    labels: Labels,
    spec: PenaltySpec,
    info: DatasetInfo,
    *,
    temperature: float | None = None,
) -> Decision:
    """The same when each image gets the label `argmin_j sum_i p_i A[i, j]`.

    temperature: the probabilities are brought to it first.
    """
    if temperature is not None:
        probs = tempered(probs, temperature)
    predicted = decide(probs, penalty(spec, info))
    counts = np.asarray(confusion_matrix(labels, predicted, probs.shape[1]), dtype=np.int64)
    return Decision(spec, counts, calibrated=temperature is not None)


def tempered(probs: Probs, temperature: float) -> Probs:
    """`softmax(log p / T)`, which is `softmax(z / T)` of the logits z that gave p."""
    # A probability that rounded to nothing keeps the logit of the least that a float32 holds.
    logits = np.log(np.maximum(probs.astype(np.float64), np.finfo(np.float32).smallest_subnormal))
    return Temperature(temperature)(logits).astype(np.float32)


def calibrated(
    held_back: npt.NDArray[np.floating],
    held_back_labels: Labels,
    probs: Probs,
    labels: Labels,
    specs: Sequence[PenaltySpec],
    info: DatasetInfo,
) -> Calibration:
    """The test images decided once more at the temperature that suits the held-back scores."""
    with warnings.catch_warnings():
        # A model no better than chance: its even probabilities are the right ones.
        warnings.simplefilter("ignore", UntrueWarning)
        found = calibrate(held_back, held_back_labels).temperature
    made = tuple(decided(probs, labels, spec, info, temperature=found) for spec in specs)
    return Calibration(found, (ece(probs, labels), ece(tempered(probs, found), labels)), made)


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
