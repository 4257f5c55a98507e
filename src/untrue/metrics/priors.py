"""How frequent the classes are where a model is used, which need not be as in its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from untrue.array_types import ArrayOrTensor, FloatArray
from untrue.errors import ArgumentError
from untrue.hierarchy.names import by_class
from untrue.metrics.inputs import to_numpy

Priors: TypeAlias = "ArrayOrTensor | Mapping[str, float]"


def read_priors(priors: Priors, name: str, classes: Sequence[str]) -> FloatArray:
    """(k,) Shares of the classes, which sum to 1: from shares or counts, in order or by name.

    >>> read_priors({"sick": 1, "healthy": 3}, "priors", ["healthy", "sick"])
    array([0.75, 0.25])
    """
    k = len(classes)
    given: Any = priors
    if isinstance(given, Mapping):
        given = by_class(given, classes, f"`{name}`", ArgumentError)
    shares = to_numpy(given, name)
    if shares.shape != (k,) or shares.dtype.kind not in "fiu":
        raise ArgumentError(
            f"`{name}` must be {k} numbers, the share of each class, or {{class: share}}; got "
            f"dtype {shares.dtype} of shape {shares.shape}."
        )
    shares = shares.astype(np.float64)
    bad = ~(np.isfinite(shares) & (shares >= 0))
    if bad.any():
        i = int(np.argmax(bad))
        raise ArgumentError(
            f"`{name}` must be finite and not negative; class {classes[i]!r} has {shares[i]:g}."
        )
    total = shares.sum()
    if not total > 0:
        raise ArgumentError(f"`{name}` must not all be 0.")
    return np.asarray(shares / total)


def prior_shift(
    priors: Priors | None, data_priors: Priors | None, classes: Sequence[str]
) -> FloatArray | None:
    """(k,) What probabilities of data with `data_priors` are multiplied by; None for nothing.

    `p(y | x)` is proportional to `p(x | y) p(y)`, and only `p(y)` is another where a model is used.
    (Saerens, Latinne, Decaestecker, Neural Computation, 2002.)
    """
    if priors is None and data_priors is None:
        return None
    if priors is None or data_priors is None:
        raise ArgumentError(
            "`priors`, the shares of the classes where the model is used, and `data_priors`, those "
            "in the data it was trained (or calibrated) on, go together; got only one of them."
        )
    here = read_priors(priors, "priors", classes)
    there = read_priors(data_priors, "data_priors", classes)
    unseen = (here > 0) & (there == 0)
    if unseen.any():
        raise ArgumentError(
            f"`data_priors` gives class {classes[int(np.argmax(unseen))]!r} no share, so nothing "
            "was learned of it; but `priors` expects it."
        )
    return np.divide(here, there, out=np.zeros_like(here), where=there > 0)
