"""Examples in the memory of a device, and the batches of an epoch.

No loader: everything is in memory, images as bytes that become floats batch by batch, in the
channels-last layout in which convolutions are fastest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from untrue.array_types import IntArray
from untrue.errors import ArgumentError


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Inputs, classes (N,) and weights (N,) on a device.

    inputs   rows (N, features), or images (N, H, W, C) as bytes or floats
    weights  of mean 1, or None: an example of weight 2 counts as two
    """

    inputs: Tensor
    labels: Tensor
    weights: Tensor | None = None

    @classmethod
    def place(
        cls,
        inputs: npt.NDArray[Any],
        labels: IntArray,
        device: torch.device | str = "cpu",
        *,
        weights: npt.NDArray[Any] | None = None,
    ) -> Examples:
        """Arrays to a device. Rows (N, features), or images (N, C, H, W)."""
        return cls(
            input_tensor(inputs).to(device),
            torch.from_numpy(np.ascontiguousarray(labels)).to(device),
            None if weights is None else torch.from_numpy(weights).to(device),
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def device(self) -> torch.device:
        return self.labels.device


def input_tensor(inputs: npt.NDArray[Any]) -> Tensor:
    """Rows as they are, images (N, C, H, W) as (N, H, W, C)."""
    if inputs.ndim == 4:
        inputs = inputs.transpose(0, 2, 3, 1)
    return torch.from_numpy(np.ascontiguousarray(inputs))


def batches(
    examples: Examples,
    size: int,
    generator: torch.Generator,
    *,
    augment: bool = False,
    shift: int = 4,
) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
    """One epoch in random order: what the network takes, labels (B,) and weights (B,).

    The last batch may be smaller. Examples that fit into one batch keep their order, so that
    training depends on their weights alone.
    augment: each image is mirrored or not, and moved by up to `shift` pixels each way over
    black.
    """
    if augment and examples.inputs.ndim != 4:
        raise ArgumentError("`augment` is for images: a row of a table cannot be mirrored.")
    if size >= len(examples):
        parts: tuple[Any, ...] = (slice(None),)
    else:
        parts = torch.split(
            torch.randperm(len(examples), generator=generator).to(examples.device), size
        )
    for chosen in parts:
        inputs = examples.inputs[chosen]
        if augment:
            inputs = shifted(inputs, generator, shift)
        weights = None if examples.weights is None else examples.weights[chosen]
        yield network_input(inputs), examples.labels[chosen], weights


def network_input(inputs: Tensor) -> Tensor:
    """Rows as they are; images (B, H, W, C) as floats (B, C, H, W), bytes scaled to [0, 1]."""
    if inputs.ndim != 4:
        return inputs
    if inputs.dtype == torch.uint8:
        inputs = inputs.to(torch.float32).mul_(1 / 255)
    return inputs.permute(0, 3, 1, 2)


def shifted(pixels: Tensor, generator: torch.Generator, shift: int) -> Tensor:
    """Each image (B, H, W, C) mirrored or not, and moved by `shift` at most over black."""
    n, height, width, _ = pixels.shape
    draws = torch.randint(0, 2 * shift + 1, (2, n, 1), generator=generator)
    mirrored = torch.rand((n, 1), generator=generator) < 0.5
    rows = draws[0] + torch.arange(height)
    columns = draws[1] + torch.arange(width)
    columns = torch.where(mirrored, columns.flip(1), columns)
    rows, columns = rows.to(pixels.device), columns.to(pixels.device)
    padded = F.pad(pixels, (0, 0, shift, shift, shift, shift))
    each = torch.arange(n, device=pixels.device)[:, None, None]
    return padded[each, rows[:, :, None], columns[:, None, :]]
