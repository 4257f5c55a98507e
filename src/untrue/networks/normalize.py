"""Images brought to mean 0 and variance 1 inside the network: the scale is saved with it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SAMPLE = 10**7
"""Numbers that the mean and deviation of images are taken from."""


class Normalize(nn.Module):
    """Images (N, C, H, W) to mean 0 and variance 1 by channel."""

    mean: Tensor
    scale: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels, 1, 1))
        self.register_buffer("scale", torch.ones(channels, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        return (images.float() - self.mean) / self.scale


def scale_of(network: nn.Module) -> Normalize | None:
    """The part of a network that holds the scale of its images, if it has one."""
    return next((part for part in network.modules() if isinstance(part, Normalize)), None)


def learn_scale(network: nn.Module, images: Tensor) -> None:
    """Give a network with a `Normalize` the mean and deviation of images (N, H, W, C).

    Bytes count as the floats in [0, 1] that the network will see.
    """
    first = scale_of(network)
    if first is None:
        return
    sample = images[: SAMPLE // max(1, images[0].numel()) + 1].double()
    if images.dtype == torch.uint8:
        sample = sample / 255
    scale, mean = torch.std_mean(sample, dim=(0, 1, 2), correction=0)
    first.mean.copy_(mean.view(-1, 1, 1))
    first.scale.copy_(torch.where(scale > 0, scale, 1.0).view(-1, 1, 1))
