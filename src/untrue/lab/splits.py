"""Which images a run trains on, watches and is scored on, decided by its config alone."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError
from untrue.lab.data import Dataset
from untrue.lab.records import DatasetInfo, RunConfig

Indices = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Positions in the training images (`train`, `validation`) and in the test images (`test`)."""

    train: Indices
    validation: Indices
    test: Indices


def split(config: RunConfig, data: Dataset) -> Split:
    """Limits first, then the validation images, then the small classes.

    The validation images hold none of the small classes: who has ten images of a class has none
    to spare for watching.
    """
    labels = data.train_labels
    pool = _limited(labels, config.limit_train)
    if config.validation >= len(pool):
        raise ArgumentError(
            f"`validation` must be below the number of training images, {len(pool)}; "
            f"got {config.validation}."
        )
    pool = np.random.default_rng([config.seed, 1]).permutation(pool)
    validation, train = np.sort(pool[: config.validation]), np.sort(pool[config.validation :])
    if config.small_count is not None:
        train = _cut_small(config, labels, train)
        validation = validation[~np.isin(labels[validation], config.small_classes)]
    return Split(train, validation, _limited(data.test_labels, config.limit_test))


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


def _limited(labels: Indices, limit: int | None) -> Indices:
    """`limit` positions, as many of each class as its share; the same ones whatever the seed."""
    if limit is None or limit >= len(labels):
        return np.arange(len(labels))
    order = np.random.default_rng(0).permutation(len(labels))
    # The place of each image among those of its class, as a share of the class: cutting the
    # images with the smallest shares takes every class evenly.
    place = np.empty(len(labels))
    for label in np.unique(labels):
        members = order[labels[order] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.sort(order[np.argsort(place[order], kind="stable")[:limit]])


def _cut_small(config: RunConfig, labels: Indices, train: Indices) -> Indices:
    """Keep `small_count` images of each small class, repeated up to the class's old number."""
    rng = np.random.default_rng([config.seed, 2])
    small = np.isin(labels[train], config.small_classes)
    parts = [train[~small]]
    for label in config.small_classes:
        members = train[labels[train] == label]
        if config.small_count:
            kept = rng.choice(members, size=min(config.small_count, len(members)), replace=False)
            parts.append(np.resize(kept, len(members)))
    return np.concatenate(parts)
