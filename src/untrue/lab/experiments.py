"""The paper's experiments, as data: which models to train, on what, at which scale.

An `Experiment` has a value for each option of a `Design` and of its `Grid`; a scale is other values
for some of them; the user overrides any, on the command line or in a TOML file.
`untrue.lab.plans` turns them into runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from untrue.checks import check_count, check_known, check_number
from untrue.errors import ArgumentError
from untrue.input_files import read_toml as read_toml_file
from untrue.lab.design import SCALES, Design, option_types, parse, with_given
from untrue.losses import registry
from untrue.training import BY_NETWORK


@dataclasses.dataclass(frozen=True, slots=True)
class Grid:
    """What an experiment sweeps over.

    alpha: 0 is the baseline and is always trained. zone_size: cells of a masked zone.
    small_count: training images left of each small class.
    """

    alpha: tuple[float, ...]
    loss: tuple[str, ...] = registry.MIXED
    zone_size: tuple[int, ...] = ()
    small_count: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for alpha in self.alpha:
            check_number("alpha", alpha, 0.0, 1.0)
        for loss in self.loss:
            if loss not in registry.MIXED:
                raise ArgumentError(
                    f"`loss` must be one of {', '.join(registry.MIXED)}; got {loss!r}. "
                    "The baseline (cross-entropy) is always trained."
                )
        for size in self.zone_size:
            check_count("zone_size", size)
        for count in self.small_count:
            check_count("small_count", count, least=0)
        for name in ("alpha", "loss", "zone_size", "small_count"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ArgumentError(f"`{name}` names a value twice: {', '.join(map(str, values))}.")


OPTIONS = option_types(Design, Grid)


def read(name: str, value: Any) -> Any:
    """The value of an option from what a person wrote: text ("0,.5,.9") or a TOML value.

    >>> read("alpha", "0,.5,.9"), read("zone_size", [10, 30]), read("epochs", "3")
    ((0.0, 0.5, 0.9), (10, 30), 3)
    """
    return parse(name, value, OPTIONS)


@dataclasses.dataclass(frozen=True, slots=True)
class Experiment:
    """A named design as options by name. `scales` and `by_data`: what differs from `usual`."""

    name: str
    title: str
    kind: Literal["zone", "hierarchy", "small", "exits"]
    usual: Mapping[str, Any]
    scales: Mapping[str, Mapping[str, Any]]
    by_data: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)


_LONG = {"epochs": 300, "validation": 5000, "patience": 20}
_SHORT = {"epochs": 12, "patience": 4, "width": 0.25, "repetitions": 2}
_CIFAR = {"network": "cifar10", **_LONG}
_CIFAR100 = {"data": "cifar100", "network": "cifar100", "repetitions": 10, **_LONG}
_FEW = {
    "repetitions": 1,
    "epochs": 1,
    "width": 0.125,
    "validation": 0,
    "patience": 0,
    "limit_train": 2000,
    "limit_test": 1000,
}

EXPERIMENTS: dict[str, Experiment] = {
    "masked-zone": Experiment(
        name="masked-zone",
        title="Keep the errors out of a random zone of the confusion matrix",
        kind="zone",
        usual={
            "data": "mnist",
            "network": "mnist",
            "alpha": (0.0, 0.1, 0.5, 0.9, 0.95, 0.99),
            "zone_size": (10, 20, 30, 40, 50),
            "repetitions": 50,
            "epochs": 10,
            "validation": 5000,
            "normalization": "rows",
        },
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
                "desk": {**_CIFAR, **_SHORT},
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
        usual={
            **_CIFAR100,
            "alpha": (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95),
        },
        scales={
            "paper": {},
            "desk": {"alpha": (0.0, 0.25, 0.5, 0.75), **_SHORT},
            "smoke": {"alpha": (0.0, 0.5), **_FEW},
        },
    ),
    "small-sample": Experiment(
        name="small-sample",
        title="Classes with few images, helped by their super-class",
        kind="small",
        usual={
            **_CIFAR100,
            "alpha": (0.0, 0.25, 0.5),
            "loss": ("bilinear",),
            "small_count": (0, 10, 50),
        },
        scales={
            "paper": {},
            "desk": {"alpha": (0.0, 0.5), **_SHORT},
            "smoke": {"alpha": (0.0, 0.5), "small_count": (0, 10), **_FEW},
        },
    ),
    "exits": Experiment(
        name="exits",
        title="Several exits: do early ones learn the coarse question?",
        kind="exits",
        usual={
            "data": "cifar100",
            "network": "compact",
            **BY_NETWORK["compact"].to_dict(),
            "exits": 3,
            "alpha": (0.0, 0.5),
            "loss": ("bilinear",),
            "repetitions": 3,
            "epochs": 30,
            "validation": 5000,
            "normalization": "max",
        },
        scales={
            "paper": {},
            "desk": {"epochs": 8},
            "smoke": {
                "repetitions": 1,
                "epochs": 1,
                "width": 0.25,
                "validation": 500,
                "limit_train": 2500,
                "limit_test": 1000,
            },
        },
    ),
    "demo": Experiment(
        name="demo",
        title="A masked zone on 5,000 real digits, offline, in about two minutes",
        kind="zone",
        usual={
            "data": "mnist-5k",
            "network": "mnist",
            "alpha": (0.0, 0.5, 0.9),
            "zone_size": (20,),
            "repetitions": 3,
            "epochs": 3,
            "normalization": "rows",
        },
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
    check_known("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def options(
    experiment: Experiment,
    *,
    scale: str,
    overrides: Mapping[str, Any] | None = None,
    train_images: int | None = None,
) -> dict[str, Any]:
    """Options at a scale: the paper's, then the scale's, then the data set's, then the user's.

    train_images: of the data set, when they are known; see `with_given`.
    """
    check_known("scale", scale, SCALES)
    overrides = dict(overrides or {})
    for name in overrides:
        check_known("axis", name, sorted(OPTIONS))
    for_data = experiment.by_data.get(overrides.get("data", experiment.usual["data"]), {})
    usual = {
        **experiment.usual,
        **experiment.scales[scale],
        **for_data.get("all", {}),
        **for_data.get(scale, {}),
    }
    return with_given(usual, overrides, scale=scale, train_images=train_images)


def read_toml(path: str | Path) -> tuple[str, str | None, dict[str, Any]]:
    """Experiment, scale and options from a TOML file.

    experiment = "masked-zone"
    scale = "desk"
    alpha = [0, 0.5, 0.9]
    zone_size = [10, 30]
    """
    content = read_toml_file(Path(path), ArgumentError)
    if not isinstance(content.get("experiment"), str):
        raise ArgumentError(
            f'{path} must name its experiment, as in `experiment = "masked-zone"` '
            f"({', '.join(EXPERIMENTS)})."
        )
    named = ("experiment", "scale")
    given = {n.replace("-", "_"): v for n, v in content.items() if n not in named}
    try:
        values = {name: read(name, value) for name, value in given.items()}
    except ArgumentError as error:
        raise ArgumentError(f"{path}: {error}") from error
    return content["experiment"], content.get("scale"), values
