"""Which examples of a large file to keep: all of the rare classes, some of the common ones."""

from __future__ import annotations

import numpy as np

from untrue.array_types import IntArray


def kept_of_each(counts: IntArray, most: int) -> IntArray:
    """How many examples of each class to keep: all of the small ones, equally many of the others.

    >>> kept_of_each(np.array([10, 500, 900]), 210)
    array([ 10, 100, 100])
    """
    kept = counts.astype(np.int64)
    left, room = len(counts), most
    for place in np.argsort(counts, kind="stable").tolist():
        kept[place] = min(int(counts[place]), room // left)
        room -= int(kept[place])
        left -= 1
    return kept


def drawn(true: IntArray, n_classes: int, most: int, seed: int) -> IntArray:
    """Rows to keep, ascending: at most `most`, drawn at random inside each class."""
    counts = np.bincount(true, minlength=n_classes).astype(np.int64)
    if len(true) <= most:
        return np.arange(len(true))
    rng = np.random.default_rng(seed)
    kept = kept_of_each(counts, most)
    by_class = np.argsort(true, kind="stable")
    ends = np.cumsum(counts)
    chosen = [
        rng.choice(by_class[end - count : end], size=size, replace=False)
        for end, count, size in zip(ends.tolist(), counts.tolist(), kept.tolist(), strict=True)
    ]
    return np.sort(np.concatenate(chosen))
