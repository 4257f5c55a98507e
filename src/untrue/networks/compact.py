"""A small modern network: residual, batch-normalised, made to learn much in a minute of one core.

    images -> 4 x 4 convolution of stride 2 -> three stages -> mean over the map -> classes

A stage is a residual block of two 3 x 3 convolutions, y = relu(x + bn(conv(relu(bn(conv(x)))))),
before the second and third stage comes a 3 x 3 convolution of stride 2. Each convolution has
the same work, since channels double as the map's edges halve. The last scale of a block starts
at zero (Goyal et al., 2017), so that the network starts shallow.

Exits come after the stages, the last ones first to get one; a fourth comes after the convolution
that opens the second stage. After the first convolution of all it would see no more than edges.
"""

from __future__ import annotations

from torch import Tensor, nn

from untrue.networks.exits import with_exits
from untrue.networks.facts import NetworkSpec
from untrue.networks.normalize import Normalize

CHANNELS = (32, 64, 128)


def build(spec: NetworkSpec) -> nn.Module:
    """A network from images (N, *spec.inputs) to logits (N, k), or to a list of those."""
    channels = [max(1, round(count * spec.width)) for count in CHANNELS]
    before = [spec.inputs[0], *channels]
    blocks: list[list[nn.Module]] = []
    for place, count in enumerate(channels):
        kernel = 3 if place else 4
        blocks.append([*_convolved(before[place], count, kernel, stride=2), Residual(count)])
    blocks[0] = [Normalize(spec.inputs[0]), *blocks[0]]
    if spec.exits > len(blocks):
        blocks[1:2] = [blocks[1][:-1], blocks[1][-1:]]
        channels.insert(1, channels[1])
    return with_exits(blocks, channels, lambda count: _head(count, spec.n_classes), spec.exits)


class Residual(nn.Module):
    """Two convolutions, added to their input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        last = nn.BatchNorm2d(channels)
        nn.init.zeros_(last.weight)
        second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.change = nn.Sequential(*_convolved(channels, channels, 3), second, last)

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = self.change(x)
        return (x + changed).relu_()


def _convolved(before: int, count: int, kernel: int, *, stride: int = 1) -> list[nn.Module]:
    convolution = nn.Conv2d(before, count, kernel, stride, padding=1, bias=False)
    return [convolution, nn.BatchNorm2d(count), nn.ReLU(inplace=True)]


def _head(channels: int, n_classes: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, n_classes)]
