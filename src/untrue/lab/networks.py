"""What is known of the networks without building one: names, inputs, work. No torch."""

from __future__ import annotations

import dataclasses

from untrue.errors import ArgumentError, nearest


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """image_shape: (channels, height, width) it takes. macs: multiplications per image, width 1."""

    image_shape: tuple[int, int, int]
    macs: float


NETWORKS = {
    "mnist": Facts((1, 28, 28), 6.5e6),
    "cifar10": Facts((3, 32, 32), 154e6),
    "cifar100": Facts((3, 32, 32), 154e6),
    "cifar10-released": Facts((3, 32, 32), 268e6),
    "digits": Facts((1, 8, 8), 26e3),
}


def check(name: str, image_shape: tuple[int, int, int] | None = None) -> None:
    """Refuse a network that does not exist, or that takes images of another shape."""
    if name not in NETWORKS:
        hint = nearest(name, NETWORKS) or "."
        raise ArgumentError(f"Unknown network {name!r}{hint} Known: {', '.join(NETWORKS)}.")
    taken = NETWORKS[name].image_shape
    if image_shape is not None and image_shape != taken:
        raise ArgumentError(
            f"Network {name!r} takes images of {taken} (channels, height, width); "
            f"these are {image_shape}."
        )
