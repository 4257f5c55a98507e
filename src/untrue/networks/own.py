"""Networks for a person's own data: tables with any columns, images of any size."""

from __future__ import annotations

import math

from torch import nn

from untrue.networks.exits import with_exits
from untrue.networks.facts import NetworkSpec
from untrue.networks.normalize import Normalize

HIDDEN = (128, 64)
CHANNELS = (32, 64, 128)


def build(spec: NetworkSpec) -> nn.Module:
    """A network from inputs (N, *spec.inputs) to logits (N, k), or to a list of those."""
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
    blocks: list[list[nn.Module]] = []
    channels, edge = [spec.inputs[0]], min(spec.inputs[1:])
    for count in CHANNELS:
        width = max(1, round(count * spec.width))
        # Group norm, not batch norm: it does the same at training and after, for any batch.
        blocks.append(
            [
                nn.Conv2d(channels[-1], width, 3, padding=1, bias=False),
                nn.GroupNorm(math.gcd(8, width), width),
                nn.ReLU(),
                *([nn.MaxPool2d(2)] if edge >= 4 else []),
            ]
        )
        channels.append(width)
        edge = edge // 2 if edge >= 4 else edge
    blocks[0] = [*start, *blocks[0]]
    return with_exits(blocks, channels, lambda count: _head(count, spec.n_classes), spec.exits)


def _head(channels: int, n_classes: int) -> list[nn.Module]:
    pooled = [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2)]
    return [*pooled, nn.Linear(channels * 4, n_classes)]
