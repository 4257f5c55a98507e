"""A data set in memory, and reading one by name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from untrue.array_types import IntArray
from untrue.errors import ArgumentError, DataError
from untrue.lab.data import builtin, names
from untrue.lab.data.download import files_of
from untrue.lab.data.facts import facts
from untrue.lab.data.formats import Bytes, read_cifar, read_idx
from untrue.lab.data.places import Files, plain_name
from untrue.lab.data.sources import FILES, IMAGES, Download, source

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Images as bytes (N, C, H, W), labels (N,) as positions in `classes`."""

    name: str
    train_images: Bytes
    train_labels: IntArray
    test_images: Bytes
    test_labels: IntArray
    classes: tuple[str, ...]
    hierarchy: Hierarchy | None = None

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        channels, height, width = self.train_images.shape[1:]
        return channels, height, width


def load(name: str, data_dir: str | Path | None = None) -> Dataset:
    """The data set called `name`: `digits`, `mnist-5k` (built in), `mnist`, `fashion-mnist`,
    `cifar10`, `cifar100`.

    Files are looked for in `data_dir`, in $UNTRUE_DATA, in the user's cache (and where Debian puts
    Fashion-MNIST), and downloaded when there are none.

    >>> digits = load("digits")
    >>> digits.train_images.shape, digits.train_images.dtype, digits.n_classes
    ((1442, 1, 8, 8), dtype('uint8'), 10)
    """
    wanted = source(name)
    if wanted is None:
        parts = builtin.digits() if name == "digits" else builtin.mnist_5k()
        return Dataset(name, *parts, names.DIGITS)
    if wanted.form == "table":
        raise ArgumentError(
            f"{name!r} is a table; experiments on images take {', '.join(IMAGES)}. Read it with "
            "untrue.lab.data.tables.load_table."
        )
    return read(wanted, files_of(wanted, data_dir))


def read(source: Download, files: Files) -> Dataset:
    """Read and check the files of a data set."""
    read_part = read_pair if source.form == "idx" else read_batches
    train, test = read_part(source, files.train), read_part(source, files.test)
    return Dataset(source.name, *train, *test, source.classes, facts(source.name).hierarchy)


def read_pair(source: Download, paths: tuple[Path, ...]) -> tuple[Bytes, IntArray]:
    """Images (N, 1, 28, 28) and labels (N,) of two IDX files."""
    images_path, labels_path = paths
    labels = read_idx(labels_path, dimensions=1)
    refuse_sibling(source, labels_path, labels)
    images = read_idx(images_path, dimensions=3)
    if images.shape[1:] != (28, 28):
        raise DataError(
            f"{images_path}: images of {source.name} are 28 x 28; "
            f"got {images.shape[1]} x {images.shape[2]}."
        )
    if not 0 < len(images) == len(labels):
        raise DataError(
            f"{images_path} holds {len(images):,} images, {labels_path} {len(labels):,} labels; "
            f"there must be as many of one as of the other, and at least one."
        )
    check_labels(labels, len(source.classes), labels_path, first_byte=8, step=1)
    return images[:, None], labels.astype(np.int64)


def refuse_sibling(source: Download, path: Path, labels: Bytes) -> None:
    """MNIST and Fashion-MNIST have files of the same names; their labels tell them apart."""
    head = b"\x00\x00\x08\x01" + len(labels).to_bytes(4, "big")
    digest = hashlib.sha256(head + labels.tobytes()).hexdigest()
    for other in FILES.values():
        if other.name != source.name and other.contents.get(plain_name(path)) == digest:
            raise DataError(f"{path} belongs to {other.name}, not to {source.name}.")


def read_batches(source: Download, paths: tuple[Path, ...]) -> tuple[Bytes, IntArray]:
    """Images (N, 3, 32, 32) and (fine) labels (N,) of CIFAR's files, one after the other."""
    label_bytes = 2 if source.form == "cifar100" else 1
    images, labels = [], []
    for path in paths:
        marks, pixels = read_cifar(path, label_bytes=label_bytes)
        fine = marks[:, -1]
        step = label_bytes + pixels[0].size
        check_labels(fine, len(source.classes), path, first_byte=label_bytes - 1, step=step)
        if label_bytes == 2:
            check_coarse(marks, path, step=step)
        images.append(pixels)
        labels.append(fine.astype(np.int64))
    # A single file, all of CIFAR-100's training images, is not copied once more.
    return (
        images[0] if len(images) == 1 else np.concatenate(images),
        np.concatenate(labels),
    )


def check_labels(labels: Bytes, n: int, path: Path, *, first_byte: int, step: int) -> None:
    if (wrong := np.flatnonzero(labels >= n)).size:
        at = int(wrong[0])
        raise DataError(
            f"{path} is corrupt: labels must be below {n}; image {at:,} has {labels[at]} "
            f"(byte {first_byte + at * step:,})."
        )


def check_coarse(marks: Bytes, path: Path, *, step: int) -> None:
    """Each record's coarse label must be the super-class of its fine one."""
    expected = np.array(names.CIFAR100_COARSE, np.uint8)[marks[:, 1]]
    if (wrong := np.flatnonzero(marks[:, 0] != expected)).size:
        at = int(wrong[0])
        raise DataError(
            f"{path} is corrupt: image {at:,} (byte {at * step:,}) has coarse label "
            f"{marks[at, 0]}, but {names.CIFAR100[marks[at, 1]]!r} belongs to {expected[at]}."
        )
