"""A person's own table, images or arrays as a data set of the lab. No torch.

The lab's tables (`untrue.lab.named_tables`) are opened to the same form.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import warnings
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.errors import ArgumentError, DataError, UntrueWarning
from untrue.lab.records import DatasetInfo, RunConfig
from untrue.penalty.stated import sorted_labels
from untrue.tools.reading.opening import open_source
from untrue.tools.reading.sources import FolderSource, Preprocessing, Source, class_positions
from untrue.training.splits import Split, limited, split_by_share

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.15


@dataclasses.dataclass(frozen=True, slots=True)
class OwnData:
    """Where the data are and how they are read, as `open_source` takes it.

    classes: their names in the order of the penalty; empty: those found, sorted. label_names: the
    names that labels 0, 1, ... stand for; empty: labels are names.
    """

    path: Path
    target: str | None = None
    categorical: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    delimiter: str | None = None
    image_size: int | None = None
    classes: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options for reading that were given."""
        names = ("target", "categorical", "ignore", "delimiter", "image_size", "label_names")
        return tuple(name for name in names if getattr(self, name))

    def open(self) -> Opened:
        """Read all of it."""
        source = open_source(
            self.path,
            target=self.target,
            categorical=self.categorical,
            ignore=self.ignore,
            delimiter=self.delimiter,
            image_size=self.image_size,
            classes=self.label_names or None,
        )
        if source.labels is None:
            raise DataError(f"{self.path} has no labels to learn from.")
        found = {source.labels.names[code] for code in np.unique(source.labels.codes).tolist()}
        classes = self.classes or tuple(sorted_labels(found))
        labels = class_positions(source.labels, classes, str(self.path))
        return Opened(self, source, classes, labels)

    def fingerprint(self, opened: Opened) -> str:
        """Of every byte that is read and of how it is read: other inputs are other runs."""
        # The order of the classes counts, and not whether it was given or found.
        own = dataclasses.replace(self, path=Path(), classes=())
        digest = hashlib.sha256(repr((own, opened.classes)).encode())
        for name, file in _files(opened.source):
            digest.update(os.fsencode(name))
            digest.update(file.read_bytes())
        return digest.hexdigest()[:16]


class Readable(Protocol):
    """How data are read, again in each process that trains."""

    @property
    def name(self) -> str: ...

    def open(self) -> Opened: ...

    def fingerprint(self, opened: Opened) -> str: ...


@dataclasses.dataclass(frozen=True, eq=False)
class Opened:
    """Data in memory; labels (N,) are positions in `classes`."""

    own: Readable
    source: Source
    classes: tuple[str, ...]
    labels: IntArray

    def split(self, config: RunConfig) -> Split:
        """The parts of a run; the test part too is drawn by its seed, unless the data have one."""
        held_out, setup = self.source.test, config.setup
        rows = np.arange(len(self.labels))
        rest = len(rows) * (1 - TEST_SHARE)
        if setup.limit_train is not None or setup.limit_test is not None:
            if held_out is None:
                drawn = split_by_share(self.labels, test_share=TEST_SHARE, seed=config.seed)
                held_out = np.isin(rows, drawn.test)
            parts = ((rows[~held_out], setup.limit_train), (rows[held_out], setup.limit_test))
            rows = np.concatenate([part[limited(self.labels[part], most)] for part, most in parts])
            held_out = held_out[rows]
        if held_out is not None:
            rest = len(rows) - int(held_out.sum())
        share = setup.validation / rest
        if not 0 < share < 0.9:
            raise ArgumentError(
                f"`validation` must lie between 1 and 90 % of the {rest:.0f} examples to learn "
                f"from; got {setup.validation}."
            )
        found = split_by_share(
            self.labels[rows],
            test_share=TEST_SHARE,
            validation_share=share,
            held_out=held_out,
            seed=config.seed,
        )
        return Split(rows[found.train], rows[found.validation], rows[found.test])

    def inputs(self, preprocessing: Preprocessing) -> npt.NDArray[Any]:
        """All inputs. Categories that training has not seen are taken as missing."""
        with warnings.catch_warnings():
            # Each run of a comparison has parts of its own, and would warn of others.
            warnings.filterwarnings("ignore", ".*not seen in training", UntrueWarning)
            return self.source.inputs(preprocessing)

    def input_shape(self, config: RunConfig) -> tuple[int, ...]:
        """What a network is given: (channels, height, width), or (1,), a table of any width."""
        parts = self.split(config)
        if "images" not in self.source.kind:
            return (1,)
        return self.source.fit_preprocessing(parts.train).inputs

    def validation(self) -> int:
        """How many examples are held back unless a person says."""
        test = self.source.test
        rest = len(self.labels) * (1 - TEST_SHARE) if test is None else np.sum(~test)
        return max(1, round(float(rest) * VALIDATION_SHARE))

    @cached_property
    def info(self) -> DatasetInfo:
        """What the store keeps of the data."""
        test = self.source.test
        n_test = round(len(self.labels) * TEST_SHARE) if test is None else int(test.sum())
        return DatasetInfo(
            name=self.own.name,
            classes=self.classes,
            groups=(),
            fingerprint=self.own.fingerprint(self),
            train_images=len(self.labels) - n_test,
            test_images=n_test,
            drawn_test=test is None,
        )


def _files(source: Source) -> Iterable[tuple[str, Path]]:
    """Names and places of what is read; an image's folders say what class and part it is of."""
    if isinstance(source, FolderSource):
        return zip(source.images.names, source.images.files, strict=True)
    return ((source.path.name, source.path),)
