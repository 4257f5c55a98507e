"""What a comparison is made on: a data set of the lab, or a person's own. No torch."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from untrue import networks
from untrue.errors import ArgumentError, nearest
from untrue.lab.data import NAMES, Dataset, load
from untrue.lab.own_data import Opened, OwnData
from untrue.lab.records import DatasetInfo, RunConfig
from untrue.lab.scoring import Labels
from untrue.lab.splits import describe, split
from untrue.lab.strengths import budget
from untrue.tools.reading.images import warn_of_absent
from untrue.tools.reading.tables import listed


class Subject(Protocol):
    """Data to compare on. own: how to read them again, when they are a person's."""

    info: DatasetInfo
    own: OwnData | None

    def budget(self, scale: str) -> dict[str, Any]:
        """The settings of a `Design` that suit the data at a scale."""
        ...

    def check(self, config: RunConfig) -> None:
        """Refuse a run that cannot be trained."""
        ...

    def labels_of(self, config: RunConfig) -> Labels:
        """The classes of a run's test examples."""
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class NamedSubject:
    """A data set that the lab knows by its name."""

    data: Dataset
    info: DatasetInfo
    own: None = None

    def budget(self, scale: str) -> dict[str, Any]:
        return budget(self.data.name, scale)

    def check(self, config: RunConfig) -> None:
        networks.check(config.network, self.data.image_shape)
        split(config, self.data)

    def labels_of(self, config: RunConfig) -> Labels:
        return self.data.test_labels[split(config, self.data).test]


@dataclasses.dataclass(frozen=True, eq=False)
class OwnSubject:
    """A person's own table, images or arrays."""

    opened: Opened
    info: DatasetInfo
    own: OwnData

    def budget(self, scale: str) -> dict[str, Any]:
        images = "images" in self.opened.source.kind
        found = {"network": "cnn" if images else "mlp", "validation": self.opened.validation()}
        return {**budget(None, scale), **found}

    def check(self, config: RunConfig) -> None:
        for name in ("limit_train", "limit_test"):
            if getattr(config, name) is not None:
                raise ArgumentError(f"`{name}` has no meaning for own data.")
        networks.check(config.network, self.opened.input_shape(config))

    def labels_of(self, config: RunConfig) -> Labels:
        return self.opened.labels[self.opened.split(config).test]


def find(
    data: str, *, data_dir: Path | None = None, reading: OwnData | None = None
) -> NamedSubject | OwnSubject:
    """A data set by its name, or own data by their path, read as `reading` says."""
    if data in NAMES:
        if reading is not None and reading.options:
            raise ArgumentError(
                f"{data} is a data set of the lab; {listed(reading.options)} is for own data."
            )
        loaded = load(data, data_dir)
        return NamedSubject(loaded, describe(loaded))
    path = Path(data)
    if not path.exists():
        raise ArgumentError(
            f"`data` must be a data set ({', '.join(NAMES)}), or a path to your own; there is no "
            f"{data!r}{nearest(data, NAMES) or '.'}"
        )
    own = dataclasses.replace(reading or OwnData(path), path=path)
    opened = own.open()
    warn_of_absent(opened.classes, {opened.classes[i] for i in np.unique(opened.labels)})
    return OwnSubject(opened, opened.info, dataclasses.replace(own, classes=opened.classes))
