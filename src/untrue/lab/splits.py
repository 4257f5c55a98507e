"""Which images a run trains on, watches and is scored on, decided by its config alone."""

from __future__ import annotations

import hashlib
from typing import Protocol

import numpy as np

from untrue.array_types import IntArray
from untrue.hierarchy import Hierarchy
from untrue.lab.data import Dataset
from untrue.lab.records import DatasetInfo, RunConfig
from untrue.training.splits import Split, hold_back, keep_few, limited


class Labelled(Protocol):
    """Anything with the labels of training and test images."""

    @property
    def train_labels(self) -> IntArray: ...

    @property
    def test_labels(self) -> IntArray: ...


def split(config: RunConfig, data: Labelled) -> Split:
    """Limits first, then the validation images, then the small classes.

    `train` and `validation` are positions in the training images, `test` in the test images. The
    validation images hold none of the small classes: who has ten images of a class has none to
    spare for watching.
    """
    labels, few = data.train_labels, config.small_classes
    pool = limited(labels, config.setup.limit_train)
    train, validation = hold_back(pool, config.setup.validation, seed=config.seed)
    if config.small_count is not None:
        train = keep_few(labels, train, few, config.small_count, seed=config.seed)
        validation = validation[~np.isin(labels[validation], few)]
    return Split(train, validation, limited(data.test_labels, config.setup.limit_test))


def describe(data: Dataset) -> DatasetInfo:
    """The names, groups and fingerprint of a data set, for the store."""
    digest = hashlib.sha256()
    for array in (data.train_images, data.train_labels, data.test_images, data.test_labels):
        digest.update(str((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return DatasetInfo(
        name=data.name,
        classes=data.classes,
        groups=groups_of(data.hierarchy, data.classes),
        fingerprint=digest.hexdigest()[:16],
        train_images=len(data.train_labels),
        test_images=len(data.test_labels),
    )


def groups_of(
    hierarchy: Hierarchy | None, classes: tuple[str, ...]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each super-class with the positions of its classes."""
    if hierarchy is None:
        return ()
    position = {name: index for index, name in enumerate(classes)}
    return tuple(
        (name, tuple(sorted(position[member] for member in members)))
        for name, members in hierarchy.groups(1).items()
    )
