"""A network's numbers as safetensors: kept, read back with checks, and taken over by another."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from untrue.errors import ArgumentError
from untrue.networks.normalize import scale_of
from untrue.optional import need

PURPOSE = "Keeping the weights of a network"


def to_bytes(network: nn.Module) -> bytes:
    """All weights and buffers, by name."""
    weights = {name: value.contiguous() for name, value in network.state_dict().items()}
    made: bytes = need("safetensors.torch", PURPOSE).save(weights)
    return made


def from_bytes(content: bytes) -> dict[str, Tensor]:
    """The tensors by name; safetensors' own error where the content is not valid."""
    found: dict[str, Tensor] = need("safetensors.torch", PURPOSE).load(content)
    return found


def check_values(network: nn.Module, kinds: Mapping[str, torch.dtype]) -> None:
    """A ValueError where a weight is not finite or not of its kind, or a variance negative."""
    for name, value in network.state_dict().items():
        if value.dtype != kinds[name] or not bool(torch.isfinite(value).all()):
            kind = str(kinds[name]).removeprefix("torch.")
            raise ValueError(f"weights {name!r} must be finite numbers in {kind}")
        if name.endswith("running_var") and bool((value < 0).any()):
            raise ValueError(f"weights {name!r} are variances and must not be negative")
    first = scale_of(network)
    if first is not None and not bool((first.scale > 0).all()):
        raise ValueError("the scale of the pixels must be positive")


def take_over(network: nn.Module, weights: Mapping[str, Tensor], *, new_head: bool = False) -> None:
    """Fill a network with the weights of another of its kind.

    new_head: its last layer keeps its first weights; so does one of another number of outputs.
    """
    own = network.state_dict()
    head = _head(network)
    other = {name for name in own if name in weights and own[name].shape != weights[name].shape}
    if own.keys() != weights.keys() or not other <= head:
        odd = sorted((own.keys() ^ weights.keys()) | (other - head))
        raise ArgumentError(
            f"The weights to start from are those of another network: {odd[0]!r} does not fit. "
            "Give the same network, width and images."
        )
    kept = head if new_head or other else set()
    taken = {name: value for name, value in weights.items() if name not in kept}
    for name, value in taken.items():
        if value.dtype != own[name].dtype or not bool(torch.isfinite(value).all()):
            raise ArgumentError(f"The weights to start from are damaged: {name!r} is not finite.")
    network.load_state_dict(taken, strict=False)


def _head(network: nn.Module) -> set[str]:
    """The names of the weights of the last layer that has any, the one that gives the outputs."""
    layers = [name for name, part in network.named_modules() if list(part.parameters(False))]
    return {
        f"{layers[-1]}.{name}" for name, _ in network.get_submodule(layers[-1]).named_parameters()
    }
