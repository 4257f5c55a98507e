"""What mistakes cost and which classes there are, as frozen records. No torch, no files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.errors import ArgumentError
from untrue.penalty import Penalty
from untrue.penalty.zone import zone_penalty

NORMALIZATIONS = ("rows", "max", "none")


@dataclasses.dataclass(frozen=True, slots=True)
class PenaltySpec:
    """The cost of each mistake, as data: `matrix(info)` builds it.

    kind "zone": `inside` on the `cells` (true, predicted), `outside` on every other mistake.
    kind "groups": `inside` within the right group (super-class), `outside` across groups.
    kind "matrix": `costs[true][predicted]`, a person's own; `edges` (parent, child) are of the
    hierarchy it was made from, if any.
    The paper trains zones with inside=1, outside=0 and groups with inside=1, outside=5.
    """

    kind: Literal["zone", "groups", "matrix"]
    inside: float = 0.0
    outside: float = 0.0
    cells: tuple[tuple[int, int], ...] = ()
    normalization: Literal["rows", "max", "none"] = "none"
    costs: tuple[tuple[float, ...], ...] = ()
    edges: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.normalization not in NORMALIZATIONS:
            raise ArgumentError(
                f"`normalization` must be one of {', '.join(NORMALIZATIONS)}; "
                f"got {self.normalization!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return fields_of(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        pairs = {
            name: tuple(tuple(row) for row in content[name]) for name in ("cells", "costs", "edges")
        }
        return cls(**{**content, **pairs})

    @property
    def zone_size(self) -> int:
        """How many cells the zone has (0 for groups and matrices)."""
        return len(self.cells)

    def penalty(self, info: DatasetInfo) -> Penalty:
        """The costs in the form that suits them, before normalisation."""
        if self.kind == "matrix":
            return Penalty.from_matrix(np.array(self.costs, dtype=np.float64), info.classes)
        if self.kind == "groups":
            return Penalty.from_groups(
                info.groups_by_name(), self.inside, self.outside, classes=info.classes
            )
        return Penalty.from_rules(
            info.classes, dict.fromkeys(self.cells, self.inside), default=self.outside
        )

    def matrix(self, info: DatasetInfo) -> FloatArray:
        """Costs (k, k) by [true, predicted] before normalisation; zero on the diagonal."""
        return self.penalty(info).matrix()

    def mask(self, info: DatasetInfo) -> BoolArray:
        """The zone as a Boolean (k, k): the cells, the mistakes that leave the group, or those of
        a matrix that cost more than the cheapest (see `untrue.penalty.zone`)."""
        return zone_penalty(self.penalty(info)).matrix() > 0


@dataclasses.dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What a reader needs to know of a data set without opening it.

    classes: names by index. groups: (super-class name, class indices), empty when there are none.
    fingerprint: hash of every image and label, so that runs on other files are not mixed in.
    drawn_test: the data have no test part of their own, so that each seed draws one.
    """

    name: str
    classes: tuple[str, ...]
    groups: tuple[tuple[str, tuple[int, ...]], ...]
    fingerprint: str
    train_images: int
    test_images: int
    drawn_test: bool = False

    def group_of(self) -> IntArray:
        """The index of each class's group (k,)."""
        if not self.groups:
            raise ArgumentError(f"Data set {self.name!r} has no super-classes.")
        found = np.full(len(self.classes), -1, dtype=np.int64)
        for index, (_, members) in enumerate(self.groups):
            found[list(members)] = index
        return found

    def groups_by_name(self) -> dict[str, list[str]]:
        """The classes of each group, all by name."""
        if not self.groups:
            raise ArgumentError(f"Data set {self.name!r} has no super-classes.")
        return {name: [self.classes[i] for i in members] for name, members in self.groups}

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return fields_of(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        groups = tuple((name, tuple(members)) for name, members in content["groups"])
        return cls(**{**content, "classes": tuple(content["classes"]), "groups": groups})


def fields_of(record: Any) -> dict[str, Any]:
    """The fields by name. `asdict` copies every cell of every zone: a report has thousands."""
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
