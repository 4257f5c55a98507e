"""Which examples a training learns from, watches and is measured on. No torch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from untrue.array_types import BoolArray, IntArray
from untrue.checks import check_number, check_seed
from untrue.errors import ArgumentError, DataError

FEWEST = 10


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Positions of the examples of each part."""

    train: IntArray
    validation: IntArray
    test: IntArray


def split_by_share(
    labels: IntArray,
    *,
    test_share: float = 0.2,
    validation_share: float = 0.15,
    held_out: BoolArray | None = None,
    seed: int = 0,
) -> Split:
    """Split the examples class by class; `held_out` marks those that are the test part already.

    Of each class, shuffled, the first go to test, the next to validation, the rest to training,
    which gets at least one.
    """
    for name, share in (("test_share", test_share), ("validation_share", validation_share)):
        check_number(name, share, 0, 0.9, ends=False)
    check_seed(seed)
    if len(labels) < FEWEST:
        raise DataError(f"At least {FEWEST} examples are needed to learn from; got {len(labels)}.")
    rng = np.random.default_rng(seed)
    parts: tuple[list[IntArray], ...] = ([], [], [])
    # The shares of all classes before a class decide how its own are rounded, so that many small
    # classes together get the right share too.
    owed_test, owed_validation = 0.0, 0.0
    for label in np.unique(labels).tolist():
        members = rng.permutation(np.flatnonzero(labels == label))
        given = members[held_out[members]] if held_out is not None else members[:0]
        rest = members if held_out is None else members[~held_out[members]]
        owed_test += 0.0 if held_out is not None else len(rest) * test_share
        n_test = min(round(owed_test), max(len(rest) - 1, 0))
        owed_test -= n_test
        owed_validation += (len(rest) - n_test) * validation_share
        n_validation = min(round(owed_validation), max(len(rest) - n_test - 1, 0))
        owed_validation -= n_validation
        ends = np.split(rest, [n_test, n_test + n_validation])
        for part, chosen in zip(
            parts, (ends[2], ends[1], np.concatenate([given, ends[0]])), strict=True
        ):
            part.append(chosen)
    found = Split(*(np.sort(np.concatenate(part)).astype(np.int64) for part in parts))
    for name in ("train", "validation", "test"):
        if not len(getattr(found, name)):
            different = len(np.unique(labels))
            many = f" They have {different} different labels: is the target a number or a key?"
            raise DataError(
                f"{len(labels)} examples are too few: none is left for the {name} part."
                f"{many if different > len(labels) / 3 else ''}"
            )
    if len(np.unique(labels)) < 2:
        raise DataError(
            f"All {len(labels):,} examples have the same label, and there must be at least two "
            "classes to tell apart. Is this the column to learn?"
        )
    if len(np.unique(labels[found.train])) < 2:
        raise DataError("The training part must hold at least two classes; it holds one.")
    return found


def hold_back(pool: IntArray, validation: int, *, seed: int) -> tuple[IntArray, IntArray]:
    """(train, validation): `validation` of the positions in `pool`, drawn at random."""
    if validation >= len(pool):
        raise ArgumentError(
            f"`validation` must be below the number of training images, {len(pool)}; "
            f"got {validation}."
        )
    shuffled = np.random.default_rng([seed, 1]).permutation(pool)
    return np.sort(shuffled[validation:]), np.sort(shuffled[:validation])


def limited(labels: IntArray, limit: int | None) -> IntArray:
    """`limit` positions, as many of each class as its share; the same ones whatever the seed."""
    if limit is None or limit >= len(labels):
        return np.arange(len(labels))
    order = np.random.default_rng(0).permutation(len(labels))
    # The place of each example among those of its class, as a share of the class: cutting those
    # with the smallest shares takes every class evenly.
    place = np.empty(len(labels))
    for label in np.unique(labels):
        members = order[labels[order] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.sort(order[np.argsort(place[order], kind="stable")[:limit]])


def keep_few(
    labels: IntArray, train: IntArray, classes: Collection[int], count: int, *, seed: int
) -> IntArray:
    """`train` with `count` examples left of each of `classes`, repeated up to the old number."""
    rng = np.random.default_rng([seed, 2])
    parts = [train[~np.isin(labels[train], list(classes))]]
    for label in classes:
        members = train[labels[train] == label]
        if count:
            kept = rng.choice(members, size=min(count, len(members)), replace=False)
            parts.append(np.resize(kept, len(members)))
    return np.concatenate(parts)
