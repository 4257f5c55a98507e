"""Networks for a person's own data, built from a description that is plain JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from untrue.errors import ArgumentError, nearest

HIDDEN = (128, 64)
CHANNELS = (32, 64, 128)
NETWORKS = {
    "linear": "one layer: logistic regression",
    "mlp": "two hidden layers; the default for tables",
    "cnn": "three convolution blocks; the default for images",
}


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """name: of NETWORKS. inputs: (features,), or (channels, height, width) for images."""

    name: str
    inputs: tuple[int, ...]
    n_classes: int


def choose_network(name: str | None, inputs: tuple[int, ...], n_classes: int) -> NetworkSpec:
    """The network asked for, or the one that fits the data."""
    images = len(inputs) == 3
    name = name or ("cnn" if images else "mlp")
    if name not in NETWORKS:
        known = ", ".join(NETWORKS)
        raise ArgumentError(f"Unknown network {name!r}{nearest(name, NETWORKS)} Known: {known}.")
    if name == "cnn" and not images:
        raise ArgumentError("The network 'cnn' is for images; a table takes 'mlp' or 'linear'.")
    return NetworkSpec(name, inputs, n_classes)


class Normalize(nn.Module):
    """Pixels (N, C, H, W), bytes or floats, to floats of mean 0 and variance 1 by channel."""

    mean: Tensor
    scale: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels, 1, 1))
        self.register_buffer("scale", torch.ones(channels, 1, 1))

    def learn(self, pixels: npt.NDArray[Any]) -> None:
        """Take mean and deviation from training images (N, C, H, W)."""
        sample = pixels[: 10**7 // max(1, pixels[0].size) + 1].astype(np.float64)
        mean, scale = sample.mean(axis=(0, 2, 3)), sample.std(axis=(0, 2, 3))
        self.mean.copy_(torch.from_numpy(mean).view(-1, 1, 1))
        self.scale.copy_(torch.from_numpy(np.where(scale > 0, scale, 1.0)).view(-1, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        return (pixels.float() - self.mean) / self.scale


def build(spec: NetworkSpec) -> nn.Sequential:
    """A network from inputs (N, *spec.inputs) to logits (N, k)."""
    start = [Normalize(spec.inputs[0])] if len(spec.inputs) == 3 else []
    size = math.prod(spec.inputs)
    if spec.name == "linear":
        return nn.Sequential(*start, nn.Flatten(), nn.Linear(size, spec.n_classes))
    if spec.name == "mlp":
        layers: list[nn.Module] = [*start, nn.Flatten()]
        for units in HIDDEN:
            layers += [nn.Linear(size, units), nn.ReLU(), nn.Dropout(0.1)]
            size = units
        return nn.Sequential(*layers, nn.Linear(size, spec.n_classes))
    blocks: list[nn.Module] = [*start]
    channels, edge = spec.inputs[0], min(spec.inputs[1:])
    for width in CHANNELS:
        # Group norm, not batch norm: it does the same at training and after, for any batch.
        blocks += [
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            nn.GroupNorm(8, width),
            nn.ReLU(),
            *([nn.MaxPool2d(2)] if edge >= 4 else []),
        ]
        channels, edge = width, edge // 2 if edge >= 4 else edge
    head = [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2)]
    return nn.Sequential(*blocks, *head, nn.Linear(channels * 4, spec.n_classes))
