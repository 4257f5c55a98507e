"""Test probabilities to confusion matrices, by argmax and by least expected cost. No torch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from untrue.decision import decide
from untrue.errors import ArgumentError
from untrue.lab.records import Counts, DatasetInfo, Decision, PenaltySpec, RunResult
from untrue.metrics import confusion_matrix
from untrue.penalty import Penalty

Probs = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


def penalty(spec: PenaltySpec, info: DatasetInfo) -> Penalty:
    """The penalty a run is trained or decided with, normalised as the spec says."""
    return Penalty.from_matrix(spec.matrix(info), info.classes).normalized(spec.normalization)


def count(probs: Probs, labels: Labels) -> Counts:
    """Confusion matrix (k, k) by [true, said] when each image gets its most probable label."""
    return np.asarray(
        confusion_matrix(labels, probs.argmax(axis=1), probs.shape[1]), dtype=np.int64
    )


def decided(probs: Probs, labels: Labels, spec: PenaltySpec, info: DatasetInfo) -> Decision:
    """The same when each image gets the label `argmin_j sum_i p_i A[i, j]`."""
    said = decide(probs, penalty(spec, info))
    return Decision(
        spec, np.asarray(confusion_matrix(labels, said, probs.shape[1]), dtype=np.int64)
    )


def typical_classes(baselines: list[RunResult], info: DatasetInfo) -> tuple[int, ...]:
    """The class of highest super-class typicality in each super-class, by class index.

    Typicality of a class: of the baselines' test errors on it, the share that goes to another
    class of its super-class. The errors of all baselines are counted together; a class without
    errors has typicality 0, and the first of equals is taken.
    """
    if not baselines:
        raise ArgumentError("Typicality needs at least one finished baseline; got none.")
    confusion = np.sum([result.confusion for result in baselines], axis=0)
    group = info.group_of()
    same = group[:, None] == group[None, :]
    right = np.diag(confusion)
    errors = confusion.sum(axis=1) - right
    inside = (confusion * same).sum(axis=1) - right
    typicality = inside / np.maximum(errors, 1)
    chosen = [max(members, key=lambda c: (typicality[c], -c)) for _, members in info.groups]
    return tuple(sorted(chosen))
