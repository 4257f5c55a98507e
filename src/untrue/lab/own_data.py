"""A person's own table, images or arrays as a data set of the lab. No torch."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from untrue.errors import ArgumentError, DataError
from untrue.lab.records import DatasetInfo, RunConfig
from untrue.lab.scoring import Labels
from untrue.tools.reading.sources import FolderSource, Source, class_positions, open_source
from untrue.training.splits import Split, split_by_share

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
        classes = self.classes or tuple(sorted(found))
        labels = class_positions(source.labels, classes, str(self.path))
        return Opened(self, source, classes, labels)


@dataclasses.dataclass(frozen=True, eq=False)
class Opened:
    """Own data in memory; labels (N,) are positions in `classes`."""

    own: OwnData
    source: Source
    classes: tuple[str, ...]
    labels: Labels

    def split(self, config: RunConfig) -> Split:
        """The parts of a run; the test part too is drawn by its seed, unless the data have one."""
        held_out = self.source.test
        rest = len(self.labels) * (1 - TEST_SHARE)
        if held_out is not None:
            rest = len(self.labels) - int(held_out.sum())
        share = config.setup.validation / rest
        if not 0 < share < 0.9:
            raise ArgumentError(
                f"`validation` must lie between 1 and 90 % of the {rest:.0f} examples to learn "
                f"from; got {config.setup.validation}."
            )
        return split_by_share(
            self.labels,
            test_share=TEST_SHARE,
            validation_share=share,
            held_out=held_out,
            seed=config.seed,
        )

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
            fingerprint=_fingerprint(self),
            train_images=len(self.labels) - n_test,
            test_images=n_test,
        )


def _fingerprint(opened: Opened) -> str:
    """Of every byte that is read and of how it is read: other inputs are other runs."""
    own = dataclasses.replace(opened.own, path=Path())
    digest = hashlib.sha256(repr((own, opened.classes)).encode())
    for file in _files(opened.source):
        digest.update(os.fsencode(file.name))
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _files(source: Source) -> Iterator[Path]:
    yield from source.images.files if isinstance(source, FolderSource) else (source.path,)
