"""What is known about the networks without building one: names, inputs, work. No torch."""

from __future__ import annotations

import dataclasses
from typing import Literal

from untrue.checks import check_count, check_known
from untrue.errors import ArgumentError


@dataclasses.dataclass(frozen=True, slots=True)
class NetworkFacts:
    """What a network takes and costs.

    takes      "image": (channels, height, width); "any": images, and rows of a table (features,)
    macs       multiplications for one input, at width 1; where inputs are of any size, the usual
    inputs     the one shape it takes, or None
    usual      the shape it is built for where none is given; None: it must be
    n_classes  outputs unless others are asked for; None: must be given
    least      pixels along an image's shorter edge
    exits      how many it can have, at most
    """

    takes: Literal["image", "any"]
    macs: float
    inputs: tuple[int, ...] | None = None
    n_classes: int | None = None
    exits: int = 1
    usual: tuple[int, ...] | None = None
    least: int = 1


NETWORKS = {
    "mnist": NetworkFacts("image", 6.5e6, (1, 28, 28), 10),
    "cifar10": NetworkFacts("image", 154e6, (3, 32, 32), 10),
    "cifar100": NetworkFacts("image", 154e6, (3, 32, 32), 100),
    "cifar10-released": NetworkFacts("image", 268e6, (3, 32, 32), 10),
    "digits": NetworkFacts("image", 26e3, (1, 8, 8), 10),
    "compact": NetworkFacts("image", 17e6, n_classes=100, usual=(3, 32, 32), exits=4, least=8),
    "linear": NetworkFacts("any", 1e3),
    "mlp": NetworkFacts("any", 2e4),
    "cnn": NetworkFacts("image", 2e7, exits=3),
}


@dataclasses.dataclass(frozen=True, slots=True)
class NetworkSpec:
    """All it takes to build a network: `untrue.networks.from_spec`.

    inputs  (features,), or (channels, height, width) for images
    width   factor on the channels and units of the hidden layers
    exits   1: a network that gives logits; more: one that gives a list of them, one per exit
    """

    name: str
    inputs: tuple[int, ...]
    n_classes: int
    width: float = 1.0
    exits: int = 1


def check(name: str, inputs: tuple[int, ...] | None = None) -> NetworkFacts:
    """The facts of a network; refuses one that does not exist or does not take the inputs."""
    if not isinstance(name, str):
        raise ArgumentError(
            f"`network` must be the name of a network ({', '.join(NETWORKS)}), or None for the one "
            f"that suits the data; got {repr(name)[:80]}. A classifier of scikit-learn's kind "
            "decides by costs in `untrue.sklearn.CostSensitiveClassifier(classifier, penalty)`."
        )
    check_known("network", name, NETWORKS)
    facts = NETWORKS[name]
    if inputs is None:
        return facts
    if facts.inputs is not None and inputs != facts.inputs:
        raise ArgumentError(
            f"Network {name!r} takes images of {facts.inputs} (channels, height, width); "
            f"these are {inputs}."
        )
    if facts.takes == "image" and len(inputs) != 3:
        raise ArgumentError(f"Network {name!r} is for images; a table takes 'mlp' or 'linear'.")
    if min(inputs[1:], default=facts.least) < facts.least:
        raise ArgumentError(
            f"Network {name!r} takes images of {facts.least} x {facts.least} pixels or more; "
            f"these have {inputs[1]} x {inputs[2]}."
        )
    return facts


def choose(
    name: str | None,
    inputs: tuple[int, ...],
    n_classes: int,
    *,
    width: float = 1.0,
    exits: int = 1,
) -> NetworkSpec:
    """The network asked for, or the one that suits the inputs: 'cnn' for images, else 'mlp'."""
    name = name or ("cnn" if len(inputs) == 3 else "mlp")
    check(name, inputs)
    if not 0.0 < width < float("inf"):
        raise ArgumentError(f"`width` must be positive; got {width}.")
    check_count("exits", exits)
    most = NETWORKS[name].exits
    if exits > most:
        able = [each for each, facts in NETWORKS.items() if facts.exits >= exits]
        others = f"Networks that can: {', '.join(able)}." if able else "No network has so many."
        raise ArgumentError(f"Network {name!r} has at most {most} exits; got {exits}. {others}")
    return NetworkSpec(name, tuple(inputs), n_classes, width, exits)
