"""What the runs of an experiment or a comparison share, as frozen records. No torch.

A `Setup` is how every model is trained; a `Design` repeats it with several seeds. The paper's
experiments (`untrue.lab.plans`) and the comparison (`untrue.lab.comparison`) each make run configs
from a design. People set the fields by their names alone ("epochs", "width"), whichever record
they stand in: `option_types` and `made_from` know where.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, Self, TypeGuard, TypeVar, get_args, get_origin, get_type_hints

from untrue.checks import (
    MOST_REPETITIONS,
    WIDEST,
    check_choice,
    check_count,
    check_known,
    check_number,
    check_seed,
)
from untrue.errors import ArgumentError
from untrue.lab.specs import NORMALIZATIONS
from untrue.training import BY_NETWORK, Settings

Scale = Literal["smoke", "desk", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Setup:
    """How a model is trained, but for its objective and its seed.

    data: name of the data set. network, width: see `untrue.networks.build`.
    validation: training examples held back.
    limit_train, limit_test: only this many images, drawn class by class with the seed 0.
    exits: of the network; each is trained.
    """

    data: str
    network: str
    training: Settings
    width: float = 1.0
    validation: int = 0
    limit_train: int | None = None
    limit_test: int | None = None
    exits: int = 1

    def __post_init__(self) -> None:
        check_count("exits", self.exits)
        check_number("width", self.width, 0.0, ends=False)
        check_number("width", self.width, 0.0, WIDEST)
        check_count("validation", self.validation, least=0)
        for name in ("limit_train", "limit_test"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.training.patience and not self.validation:
            raise ArgumentError("`patience` needs `validation` examples; got validation 0.")

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        return cls(**{**content, "training": Settings.from_dict(content["training"])})


@dataclasses.dataclass(frozen=True, slots=True)
class Design:
    """A setup, repeated. Repetition r has the seed `seed + r`.

    normalization: of the penalty used in training.
    """

    setup: Setup
    repetitions: int = 1
    seed: int = 0
    normalization: Literal["rows", "max", "none"] = "none"

    def __post_init__(self) -> None:
        check_count("repetitions", self.repetitions, most=MOST_REPETITIONS)
        check_seed(self.seed)
        check_choice("normalization", self.normalization, NORMALIZATIONS)

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.repetitions)


def with_given(
    usual: Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    scale: str,
    train_images: int | None = None,
) -> dict[str, Any]:
    """Usual options of a scale under those that were given.

    A network that has its own way of being trained brings it; a quick look stays quick. A limit on
    the training images alone leaves the same share of them to validate on, where it is known how
    many there are.

    >>> usual = {"validation": 5000}
    >>> with_given(usual, {"limit_train": 4000}, scale="desk", train_images=60_000)
    {'validation': 333, 'limit_train': 4000}
    """
    usual = {**usual, **_network_options(given.get("network"), scale)}
    found = {**usual, **given}
    limit, validation = given.get("limit_train"), usual.get("validation", 0)
    if train_images is not None and limit is not None and "validation" not in given:
        whole = min(usual.get("limit_train") or train_images, train_images)
        if 0 < limit < whole:
            found["validation"] = max(round(validation * limit / whole), min(validation, 1))
    return found


def _network_options(network: str | None, scale: str) -> dict[str, Any]:
    """How a network is trained, all of the images included, where it has a way of its own."""
    if network not in BY_NETWORK:
        return {}
    found = {**BY_NETWORK[network].to_dict(), "width": 1.0}
    if scale == "smoke":
        del found["epochs"]
        return found
    return {**found, "limit_train": None, "limit_test": None}


def option_types(*records: type) -> dict[str, Any]:
    """The type of each field by its name, those of records within records in their place.

    >>> option_types(Design)["epochs"], option_types(Design)["repetitions"]
    (<class 'int'>, <class 'int'>)
    """
    found: dict[str, Any] = {}
    for record in records:
        for name, kind in get_type_hints(record).items():
            found |= option_types(kind) if _is_record(kind) else {name: kind}
    return found


def made_from(record: type[T], values: Mapping[str, Any]) -> T:
    """A record from values by name, its records within from the same values.

    >>> made_from(Design, {"data": "mnist", "network": "mnist", "epochs": 3, "seed": 7}).seeds
    range(7, 8)
    """
    given: dict[str, Any] = {}
    for name, kind in get_type_hints(record).items():
        if _is_record(kind):
            given[name] = made_from(kind, values)
        elif name in values:
            given[name] = values[name]
    return record(**given)


def _is_record(kind: Any) -> TypeGuard[type]:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def parse(name: str, value: Any, types_by_name: Mapping[str, Any]) -> Any:
    """The value of an option from what a person wrote: text ("0,.5,.9") or a TOML value."""
    check_known("axis", name, sorted(types_by_name))
    hint = types_by_name[name]
    if get_origin(hint) is tuple:
        items = value.split(",") if isinstance(value, str) else value
        items = items if isinstance(items, list) else [items]
        if not items:
            raise ArgumentError(f"`{name}` must hold at least one value; got []. Or leave it out.")
        return tuple(_single(name, item, get_args(hint)[0]) for item in items)
    # The first of `int | None`; words to choose from are text.
    kind = hint if isinstance(hint, type) else get_args(hint)[0]
    return _single(name, value, kind if isinstance(kind, type) else str)


def _single(name: str, value: Any, kind: type) -> Any:
    value = value.strip() if isinstance(value, str) else value
    # A TOML `true` is no number, and 2.5 is no count.
    right = isinstance(value, bool) == (kind is bool) and not (
        isinstance(value, float) and kind is int
    )
    try:
        if right and not isinstance(value, list | dict):
            return kind(value)
    except (ValueError, OverflowError):
        pass
    wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a name"}[kind]
    raise ArgumentError(f"`{name}` must be {wanted}; got {value!r}.")
