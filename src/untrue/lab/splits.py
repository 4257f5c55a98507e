"""Which images a run trains on, watches and is scored on, decided by its config alone."""

from __future__ import annotations

import hashlib

import numpy as np

from untrue.lab.data import Dataset
from untrue.lab.records import DatasetInfo, RunConfig
from untrue.training.splits import Split, hold_back, keep_few, limited


def split(config: RunConfig, data: Dataset) -> Split:
    """Limits first, then the validation images, then the small classes.

    `train` and `validation` are positions in the training images, `test` in the test images. The
    validation images hold none of the small classes: who has ten images of a class has none to
    spare for watching.
    """
    labels, few = data.train_labels, config.small_classes
    pool = limited(labels, config.limit_train)
    train, validation = hold_back(pool, config.validation, seed=config.seed)
    if config.small_count is not None:
        train = keep_few(labels, train, few, config.small_count, seed=config.seed)
        validation = validation[~np.isin(labels[validation], few)]
    return Split(train, validation, limited(data.test_labels, config.limit_test))


def describe(data: Dataset) -> DatasetInfo:
    """The names, groups and fingerprint of a data set, for the store."""
    digest = hashlib.sha256()
    for array in (data.train_images, data.train_labels, data.test_images, data.test_labels):
        digest.update(str((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array).data)
    groups: tuple[tuple[str, tuple[int, ...]], ...] = ()
    if data.hierarchy is not None:
        position = {name: index for index, name in enumerate(data.classes)}
        groups = tuple(
            (name, tuple(sorted(position[member] for member in members)))
            for name, members in data.hierarchy.groups(1).items()
        )
    return DatasetInfo(
        name=data.name,
        classes=data.classes,
        groups=groups,
        fingerprint=digest.hexdigest()[:16],
        train_images=len(data.train_labels),
        test_images=len(data.test_labels),
    )
