"""The paper's experiments, as data: which models to train, on what, at which scale.

An `Experiment` is a set of axes with a value each; a scale is another set of values for some of
them; the user overrides any, on the command line or in a TOML file. `untrue.lab.plans` turns the
axes into runs.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from untrue.checks import MOST_REPETITIONS, check_count, check_seed
from untrue.errors import ArgumentError, nearest
from untrue.input_files import read_toml as read_toml_file
from untrue.lab.records import NORMALIZATIONS
from untrue.losses import registry

Scale = Literal["smoke", "desk", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)


@dataclasses.dataclass(frozen=True, slots=True)
class Axes:
    """Everything that can be set in an experiment. Tuples are swept over.

    alpha: 0 is the baseline and is always trained. zone_size: cells of a masked zone.
    small_count: training images left of each small class. normalization: of the penalty used in
    training. The others are as in `RunConfig`; repetition r has the seed `seed + r`.
    """

    data: str
    network: str
    alpha: tuple[float, ...]
    loss: tuple[str, ...] = registry.MIXED
    zone_size: tuple[int, ...] = ()
    small_count: tuple[int, ...] = ()
    repetitions: int = 1
    seed: int = 0
    epochs: int = 1
    batch_size: int = 50
    learning_rate: float = 5e-4
    width: float = 1.0
    validation: int = 0
    patience: int = 0
    augment: bool = False
    optimizer: str = "adam"
    weight_decay: float = 0.0
    schedule: str = "constant"
    limit_train: int | None = None
    limit_test: int | None = None
    normalization: str = "none"

    def __post_init__(self) -> None:
        for alpha in self.alpha:
            if not 0.0 <= alpha <= 1.0:
                raise ArgumentError(f"`alpha` must lie in [0, 1]; got {alpha:g}.")
        for loss in self.loss:
            if loss not in registry.MIXED:
                raise ArgumentError(
                    f"`loss` must be one of {', '.join(registry.MIXED)}; got {loss!r}. "
                    "The baseline (cross-entropy) is always trained."
                )
        check_count("repetitions", self.repetitions, most=MOST_REPETITIONS)
        check_seed(self.seed)
        if self.normalization not in NORMALIZATIONS:
            raise ArgumentError(
                f"`normalization` must be one of {', '.join(NORMALIZATIONS)}; "
                f"got {self.normalization!r}."
            )
        for size in self.zone_size:
            check_count("zone_size", size)
        for count in self.small_count:
            check_count("small_count", count, least=0)
        for name in ("alpha", "loss", "zone_size", "small_count"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ArgumentError(f"`{name}` names a value twice: {', '.join(map(str, values))}.")


@dataclasses.dataclass(frozen=True, slots=True)
class Experiment:
    """A named design. `scales` and `by_data` hold what differs from `axes`."""

    name: str
    title: str
    kind: Literal["zone", "hierarchy", "small"]
    axes: Axes
    scales: Mapping[str, Mapping[str, Any]]
    by_data: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)


_CIFAR = {"network": "cifar10", "epochs": 300, "validation": 5000, "patience": 20}

EXPERIMENTS: dict[str, Experiment] = {
    "masked-zone": Experiment(
        name="masked-zone",
        title="Keep the errors out of a random zone of the confusion matrix",
        kind="zone",
        axes=Axes(
            data="mnist",
            network="mnist",
            alpha=(0.0, 0.1, 0.5, 0.9, 0.95, 0.99),
            zone_size=(10, 20, 30, 40, 50),
            repetitions=50,
            epochs=10,
            validation=5000,
            normalization="rows",
        ),
        scales={
            "paper": {},
            "desk": {
                "alpha": (0.0, 0.5, 0.9, 0.99),
                "zone_size": (10, 30, 50),
                "repetitions": 3,
                "epochs": 3,
            },
            "smoke": {
                "alpha": (0.0, 0.9),
                "zone_size": (10,),
                "repetitions": 1,
                "epochs": 1,
                "validation": 0,
                "limit_train": 2000,
                "limit_test": 1000,
            },
        },
        by_data={
            "cifar10": {
                "paper": {**_CIFAR, "repetitions": 10},
                "desk": {**_CIFAR, "epochs": 12, "patience": 4, "width": 0.25, "repetitions": 2},
                "smoke": {"network": "cifar10", "width": 0.25},
            },
            "digits": {"all": {"network": "digits", "validation": 0, "epochs": 20}},
            "mnist-5k": {"all": {"validation": 0}},
        },
    ),
    "hierarchy": Experiment(
        name="hierarchy",
        title="Keep the errors inside the right super-class",
        kind="hierarchy",
        axes=Axes(
            data="cifar100",
            network="cifar100",
            alpha=(0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95),
            repetitions=10,
            epochs=300,
            validation=5000,
            patience=20,
        ),
        scales={
            "paper": {},
            "desk": {
                "alpha": (0.0, 0.25, 0.5, 0.75),
                "repetitions": 2,
                "epochs": 12,
                "patience": 4,
                "width": 0.25,
            },
            "smoke": {
                "alpha": (0.0, 0.5),
                "repetitions": 1,
                "epochs": 1,
                "width": 0.125,
                "validation": 0,
                "patience": 0,
                "limit_train": 2000,
                "limit_test": 1000,
            },
        },
    ),
    "small-sample": Experiment(
        name="small-sample",
        title="Classes with few images, helped by their super-class",
        kind="small",
        axes=Axes(
            data="cifar100",
            network="cifar100",
            alpha=(0.0, 0.25, 0.5),
            loss=("bilinear",),
            small_count=(0, 10, 50),
            repetitions=10,
            epochs=300,
            validation=5000,
            patience=20,
        ),
        scales={
            "paper": {},
            "desk": {
                "alpha": (0.0, 0.5),
                "repetitions": 2,
                "epochs": 12,
                "patience": 4,
                "width": 0.25,
            },
            "smoke": {
                "alpha": (0.0, 0.5),
                "small_count": (0, 10),
                "repetitions": 1,
                "epochs": 1,
                "width": 0.125,
                "validation": 0,
                "patience": 0,
                "limit_train": 2000,
                "limit_test": 1000,
            },
        },
    ),
    "demo": Experiment(
        name="demo",
        title="A masked zone on 5,000 real digits, offline, in about two minutes",
        kind="zone",
        axes=Axes(
            data="mnist-5k",
            network="mnist",
            alpha=(0.0, 0.5, 0.9),
            zone_size=(20,),
            repetitions=3,
            epochs=3,
            normalization="rows",
        ),
        scales={
            "paper": {"repetitions": 10, "epochs": 10},
            "desk": {},
            "smoke": {"repetitions": 1, "epochs": 1, "limit_train": 1000},
        },
        by_data={"digits": {"all": {"network": "digits", "epochs": 20}}},
    ),
}


def find(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise ArgumentError(_unknown("experiment", name, EXPERIMENTS))
    return EXPERIMENTS[name]


def axes(experiment: Experiment, *, scale: str, overrides: Mapping[str, Any] | None = None) -> Axes:
    """The axes at a scale: the paper's, then the scale's, then the data set's, then the user's."""
    if scale not in SCALES:
        raise ArgumentError(_unknown("scale", scale, SCALES))
    overrides = dict(overrides or {})
    known = {field.name for field in dataclasses.fields(Axes)}
    for name in overrides:
        if name not in known:
            raise ArgumentError(_unknown("axis", name, sorted(known)))
    chosen = {**experiment.scales[scale]}
    for_data = experiment.by_data.get(overrides.get("data", experiment.axes.data), {})
    chosen.update(for_data.get("all", {}))
    chosen.update(for_data.get(scale, {}))
    chosen.update(overrides)
    result = dataclasses.replace(experiment.axes, **chosen)
    used = {"zone": "zone_size", "small": "small_count"}.get(experiment.kind)
    for name in ("zone_size", "small_count"):
        if name == used and not getattr(result, name):
            raise ArgumentError(f"`{name}` needs at least one value in {experiment.name}.")
        if name != used and getattr(result, name):
            raise ArgumentError(f"`{name}` has no meaning in {experiment.name}.")
    return result


def with_scaled_validation(
    experiment: Experiment,
    chosen: Axes,
    *,
    scale: str,
    overrides: Mapping[str, Any],
    train_images: int,
) -> Axes:
    """The axes with as large a share to validate on of the images that the user's limit leaves.

    Unchanged where the user set no limit, or the number of validation images as well.
    """
    if chosen.limit_train is None or "limit_train" not in overrides or "validation" in overrides:
        return chosen
    others = {name: value for name, value in overrides.items() if name != "limit_train"}
    usual = axes(experiment, scale=scale, overrides=others)
    whole = min(usual.limit_train or train_images, train_images)
    scaled = scaled_validation(usual.validation, limit=chosen.limit_train, whole=whole)
    return dataclasses.replace(chosen, validation=scaled)


def scaled_validation(usual: int, *, limit: int, whole: int) -> int:
    """How many of `limit` images to validate on, where it is `usual` of `whole`.

    >>> scaled_validation(5000, limit=4000, whole=60_000)
    333
    """
    if not 0 < limit < whole:
        return usual
    return max(round(usual * limit / whole), min(usual, 1))


def read_toml(path: str | Path) -> tuple[str, str | None, dict[str, Any]]:
    """Experiment, scale and axes from a TOML file.

    experiment = "masked-zone"
    scale = "desk"
    alpha = [0, 0.5, 0.9]
    zone_size = [10, 30]
    """
    given_file = read_toml_file(Path(path), ArgumentError)
    if not isinstance(given_file.get("experiment"), str):
        raise ArgumentError(
            f'{path} must name its experiment, as in `experiment = "masked-zone"` '
            f"({', '.join(EXPERIMENTS)})."
        )
    given = {
        n.replace("-", "_"): v for n, v in given_file.items() if n not in ("experiment", "scale")
    }
    try:
        values = {name: parse(name, value) for name, value in given.items()}
    except ArgumentError as error:
        raise ArgumentError(f"{path}: {error}") from error
    return given_file["experiment"], given_file.get("scale"), values


def parse(name: str, value: Any) -> Any:
    """The value of an axis from what a person wrote: text ("0,.5,.9") or a TOML value.

    >>> parse("alpha", "0,.5,.9"), parse("zone_size", [10, 30]), parse("epochs", "3")
    ((0.0, 0.5, 0.9), (10, 30), 3)
    """
    kinds = get_type_hints(Axes)
    if name not in kinds:
        raise ArgumentError(_unknown("axis", name, sorted(kinds)))
    kind = kinds[name]
    if isinstance(kind, types.UnionType):
        kind = get_args(kind)[0]
    if get_args(kind):
        items = value.split(",") if isinstance(value, str) else value
        items = items if isinstance(items, list) else [items]
        return tuple(_single(name, item, get_args(kind)[0]) for item in items)
    return _single(name, value, kind)


def _single(name: str, value: Any, kind: type) -> Any:
    value = value.strip() if isinstance(value, str) else value
    # A TOML `true` is no number, and 2.5 is no count.
    right = isinstance(value, bool) == (kind is bool) and not (
        isinstance(value, float) and kind is int
    )
    try:
        if right and not isinstance(value, list | dict):
            return kind(value)
    except ValueError:
        pass
    wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a name"}[kind]
    raise ArgumentError(f"`{name}` must be {wanted}; got {value!r}.")


def _unknown(what: str, name: object, known: Iterable[str]) -> str:
    known = list(known)
    hint = nearest(str(name), known) or "."
    return f"Unknown {what} {name!r}{hint} Known: {', '.join(known)}."
