"""Networks for a person's own data: tables with any columns, images of any size."""

from __future__ import annotations

import math

from torch import nn

from untrue.networks.facts import NetworkSpec
from untrue.networks.normalize import Normalize

HIDDEN = (128, 64)
CHANNELS = (32, 64, 128)


def build(spec: NetworkSpec) -> nn.Sequential:
    """A network from inputs (N, *spec.inputs) to logits (N, k)."""
    start = [Normalize(spec.inputs[0])] if len(spec.inputs) == 3 else []
    size = math.prod(spec.inputs)
    if spec.name == "linear":
        return nn.Sequential(*start, nn.Flatten(), nn.Linear(size, spec.n_classes))
    if spec.name == "mlp":
        layers: list[nn.Module] = [*start, nn.Flatten()]
        for count in HIDDEN:
            units = max(1, round(count * spec.width))
            layers += [nn.Linear(size, units), nn.ReLU(), nn.Dropout(0.1)]
            size = units
        return nn.Sequential(*layers, nn.Linear(size, spec.n_classes))
    blocks: list[nn.Module] = [*start]
    channels, edge = spec.inputs[0], min(spec.inputs[1:])
    for count in CHANNELS:
        width = max(1, round(count * spec.width))
        # Group norm, not batch norm: it does the same at training and after, for any batch.
        blocks += [
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            nn.GroupNorm(math.gcd(8, width), width),
            nn.ReLU(),
            *([nn.MaxPool2d(2)] if edge >= 4 else []),
        ]
        channels, edge = width, edge // 2 if edge >= 4 else edge
    head = [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2)]
    return nn.Sequential(*blocks, *head, nn.Linear(channels * 4, spec.n_classes))
