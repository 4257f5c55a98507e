"""What runs are made on: a data set of the lab, or a person's own. No torch."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from untrue import networks
from untrue.array_types import IntArray
from untrue.errors import ArgumentError, listed, nearest
from untrue.lab import boosted
from untrue.lab.compare_scales import own_settings, settings_of
from untrue.lab.data import NAMES, TABLES, Dataset, DatasetFacts, facts, load
from untrue.lab.named_tables import SIZES, NamedTable, table_settings
from untrue.lab.own_data import Opened, OwnData, Readable
from untrue.lab.records import DatasetInfo, RunConfig
from untrue.lab.splits import Labelled, describe, groups_of, split
from untrue.lab.store import FILE, Store
from untrue.tools.reading.labels import warn_of_absent


class PlannedData(Protocol):
    """Data as far as a plan needs them. own: how a process reads them again, unless they are
    images of the lab, which it knows by name."""

    @property
    def info(self) -> DatasetInfo: ...

    @property
    def own(self) -> Readable | None: ...

    def settings(self, scale: str) -> dict[str, Any]:
        """The options of a comparison's `Design` that suit the data at a scale."""
        ...

    def check(self, config: RunConfig) -> None:
        """Refuse a run that cannot be trained."""
        ...


class RunData(PlannedData, Protocol):
    """Data to train and to score on."""

    def labels_of(self, config: RunConfig) -> IntArray:
        """The classes of a run's test examples."""
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class KnownData:
    """A data set of the lab by what is known of it without its files."""

    facts: DatasetFacts
    info: DatasetInfo
    own: None = None

    def settings(self, scale: str) -> dict[str, Any]:
        return settings_of(self.facts.name, scale)

    def check(self, config: RunConfig) -> None:
        _check_images(config, self.facts.image_shape, self)

    # As many labels as there are images, the classes in turns: all that sizes are checked by.
    @property
    def train_labels(self) -> IntArray:
        return np.arange(self.facts.train_images) % len(self.facts.classes)

    @property
    def test_labels(self) -> IntArray:
        return np.arange(self.facts.test_images) % len(self.facts.classes)


@dataclasses.dataclass(frozen=True, eq=False)
class NamedData:
    """A data set that the lab knows by its name."""

    data: Dataset
    info: DatasetInfo
    own: None = None

    def settings(self, scale: str) -> dict[str, Any]:
        return settings_of(self.data.name, scale)

    def check(self, config: RunConfig) -> None:
        _check_images(config, self.data.image_shape, self.data)

    def labels_of(self, config: RunConfig) -> IntArray:
        return self.data.test_labels[split(config, self.data).test]


@dataclasses.dataclass(frozen=True, eq=False)
class OwnRunData:
    """A person's own table, images or arrays."""

    opened: Opened
    info: DatasetInfo
    own: OwnData

    def settings(self, scale: str) -> dict[str, Any]:
        images = "images" in self.opened.source.kind
        found = {"network": "cnn" if images else "mlp", "validation": self.opened.validation()}
        return {**own_settings(self.info.train_images, scale), **found}

    def check(self, config: RunConfig) -> None:
        for name in ("limit_train", "limit_test"):
            if getattr(config.setup, name) is not None:
                raise ArgumentError(f"`{name}` has no meaning for own data.")
        if boosted.is_boosted(config):
            boosted.check(config, images="images" in self.opened.source.kind)
        else:
            networks.check(config.setup.network, self.opened.input_shape(config))

    def labels_of(self, config: RunConfig) -> IntArray:
        return self.opened.labels[self.opened.split(config).test]


@dataclasses.dataclass(frozen=True, eq=False)
class TableRunData:
    """A table of the lab; opened: None as long as only a plan is made."""

    own: NamedTable
    info: DatasetInfo
    opened: Opened | None = None

    def settings(self, scale: str) -> dict[str, Any]:
        return table_settings(self.own.name, scale, self.info.train_images)

    def check(self, config: RunConfig) -> None:
        if boosted.is_boosted(config):
            boosted.check(config, images=False)
        else:
            networks.check(config.setup.network, (1,))
        if self.opened is not None:
            self.opened.split(config)

    def labels_of(self, config: RunConfig) -> IntArray:
        assert self.opened is not None
        return self.opened.labels[self.opened.split(config).test]


def _check_images(config: RunConfig, shape: tuple[int, ...], data: Labelled) -> None:
    """Refuse a run that cannot be trained on a data set of images."""
    if boosted.is_boosted(config):
        boosted.check(config, images=True)
    networks.check(config.setup.network, shape)
    split(config, data)


def table(name: str, data_dir: Path | None = None) -> TableRunData:
    """A table of the lab, read, or fetched first where it is not there."""
    reading = NamedTable(name, data_dir)
    opened = reading.open()
    return TableRunData(reading, opened.info, opened)


def known(name: str, place: Path | None = None) -> KnownData | TableRunData:
    """A data set of the lab to plan with: nothing is read or fetched.

    place: a directory of runs, if there is one. How many images its runs were made from counts:
    their files may hold a part of the data set.
    """
    found = facts(name)
    if name in TABLES:
        drawn = not found.test_images
        info = DatasetInfo(name, found.classes, (), "", *SIZES[name], drawn_test=drawn)
        return TableRunData(NamedTable(name), info)
    stored = _noted(name, place)
    if stored is not None:
        found = dataclasses.replace(
            found, train_images=stored.train_images, test_images=stored.test_images
        )
    groups = groups_of(found.hierarchy, found.classes)
    info = DatasetInfo(name, found.classes, groups, "", found.train_images, found.test_images)
    return KnownData(found, info)


def _noted(name: str, place: Path | None) -> DatasetInfo | None:
    if place is None or not (place / FILE).exists():
        return None
    with Store.read(place) as store:
        return store.dataset(name)


def named(name: str, data_dir: Path | None = None) -> NamedData:
    """A data set of the lab, read, or fetched first where it is not there."""
    loaded = load(name, data_dir)
    return NamedData(loaded, describe(loaded))


def own(reading: OwnData) -> OwnRunData:
    """A person's own data, read as `reading` says."""
    if not reading.path.exists():
        raise ArgumentError(
            f"`data` must be a data set ({', '.join(NAMES)}), or a path to your own; there is no "
            f"{str(reading.path)!r}{nearest(str(reading.path), NAMES) or '.'}"
        )
    opened = reading.open()
    warn_of_absent(opened.classes, opened.labels)
    return OwnRunData(opened, opened.info, dataclasses.replace(reading, classes=opened.classes))


def check_unread(name: str, reading: OwnData) -> None:
    """Refuse options for reading own data beside a data set of the lab."""
    if reading.options:
        raise ArgumentError(
            f"{name} is a data set of the lab; {listed(reading.options)} is for own data."
        )
