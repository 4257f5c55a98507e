"""Networks: the paper's, a compact one, and those for any data. Built by name, or from a spec.

Importing this imports no torch; building does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from untrue.errors import ArgumentError
from untrue.networks.facts import NETWORKS, NetworkFacts, NetworkSpec, check, choose
from untrue.optional import need

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = [
    "NETWORKS",
    "NetworkFacts",
    "NetworkSpec",
    "build",
    "check",
    "choose",
    "from_spec",
    "parameter_count",
    "place",
]


def build(
    name: str,
    *,
    width: float = 1.0,
    n_classes: int | None = None,
    inputs: tuple[int, ...] | None = None,
    exits: int = 1,
) -> nn.Module:
    """A network by its name, from inputs (N, *inputs) to logits (N, n_classes).

    The paper's: "mnist" (1,256,080 parameters), "cifar10" (2,413,418), "cifar100" (2,503,508: more
    dropout). "cifar10-released" is the authors' code, with three convolutions per block and one
    more dense layer; "digits" is a small one for 8 x 8 images. They take images (N, C, H, W) as
    floats in [0, 1].
    "compact" is a small residual network (0.5 million parameters), for images of any size from
    8 x 8 pixels on; (3, 32, 32) and 100 classes unless `inputs` and `n_classes` are given.
    For any data: "linear", "mlp", and "cnn" for images; these need `inputs` and `n_classes`.

    width      factor on the channels and hidden units
    n_classes  outputs, when not the paper's
    inputs     (features,) or (channels, height, width), where the network takes any
    exits      more than 1: an `untrue.networks.exits.ExitNetwork`, which gives a list of logits,
               one per exit; for "compact" (2, 3 or 4) and "cnn" (2 or 3)

    >>> sum(p.numel() for p in build("mnist").parameters())
    1256080
    """
    facts = check(name)
    inputs = inputs or facts.inputs or facts.usual
    n_classes = n_classes or facts.n_classes
    if inputs is None or n_classes is None:
        raise ArgumentError(
            f"Network {name!r} takes any data: give `inputs`, (features,) or (channels, height, "
            "width), and `n_classes`."
        )
    return from_spec(choose(name, inputs, n_classes, width=width, exits=exits))


def from_spec(spec: NetworkSpec) -> nn.Module:
    """The network of a spec, with first weights drawn from torch's random numbers."""
    check(spec.name, spec.inputs)
    need("torch", "A network", "torch")
    if spec.name in ("linear", "mlp", "cnn"):
        from untrue.networks import own

        return own.build(spec)
    if spec.name == "compact":
        from untrue.networks import compact

        return compact.build(spec)
    from untrue.networks import paper

    return paper.build(spec)


def place(network: nn.Module, device: torch.device) -> nn.Module:
    """The network on the device, in channels-last memory, where its convolutions are fastest."""
    import torch

    network = network.to(device)
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def parameter_count(network: nn.Module) -> int:
    """How many numbers the network learns."""
    return sum(parameter.numel() for parameter in network.parameters())
