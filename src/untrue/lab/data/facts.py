"""What is known of the data sets without their files: classes, groups, shapes and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from untrue.lab.data import names
from untrue.lab.data.sources import BUILT_IN, source

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """A data set as it is published.

    classes: in the order of the labels. groups: super-class to classes, empty when there are none.
    image_shape: channels, height, width; of a table, the number of columns.
    """

    name: str
    about: str
    classes: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    image_shape: tuple[int, ...]
    train_images: int
    test_images: int

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The super-classes as a hierarchy; None where there are none."""
        if not self.groups:
            return None
        from untrue.hierarchy import Hierarchy

        return Hierarchy.from_groups(self.groups, classes=self.classes)


SIZES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "digits": ((1, 8, 8), 1_442, 355),
    "mnist-5k": ((1, 28, 28), 4_000, 1_000),
    "mnist": ((1, 28, 28), 60_000, 10_000),
    "fashion-mnist": ((1, 28, 28), 60_000, 10_000),
    "cifar10": ((3, 32, 32), 50_000, 10_000),
    "cifar100": ((3, 32, 32), 50_000, 10_000),
    "kdd99": ((41,), 494_021, 311_029),
    "german": ((20,), 1_000, 0),
}


def facts(name: str) -> DatasetFacts:
    """What is known of the data set called `name`. Nothing is read or fetched.

    >>> facts("fashion-mnist").classes[:2], facts("cifar10").train_images
    (('T-shirt/top', 'Trouser'), 50000)
    """
    files = source(name)
    groups = names.CIFAR100_GROUPS if name == "cifar100" else {}
    if files is None:
        return DatasetFacts(name, BUILT_IN[name], names.DIGITS, groups, *SIZES[name])
    return DatasetFacts(name, files.about, files.classes, groups, *SIZES[name])
