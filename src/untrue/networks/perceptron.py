"""A multi-layer perceptron as plain arrays: trained in torch and float64, run in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from untrue.array_types import FloatArray


@dataclass(frozen=True, slots=True)
class Layers:
    """Weights (inputs, outputs) and biases (outputs,) of each layer; ReLU between layers."""

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]


def start_layers(sizes: Sequence[int], rng: np.random.RandomState) -> Layers:
    """Random layers from `sizes[0]` inputs to `sizes[-1]` outputs (He et al., 2015); the last is
    smaller, so that training starts with the classes about equally likely."""
    scales = [math.sqrt(2.0 / max(n, 1)) for n in sizes[:-1]]
    scales[-1] *= 0.1
    shapes = zip(sizes, sizes[1:], scales, strict=False)
    weights = tuple(rng.normal(scale=s, size=(a, b)) for a, b, s in shapes)
    return Layers(weights, tuple(np.zeros(n) for n in sizes[1:]))


def run(layers: Layers, inputs: FloatArray) -> FloatArray:
    """(N, d) -> (N, k) logits."""
    x = inputs
    for depth, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        x = (np.maximum(x, 0.0) if depth else x) @ weight + bias
    return x


class Perceptron(nn.Module):
    """The same layers to train; `layers` gives them back."""

    def __init__(self, layers: Layers) -> None:
        super().__init__()
        self.weights = nn.ParameterList([torch.tensor(w) for w in layers.weights])
        self.biases = nn.ParameterList([torch.tensor(b) for b in layers.biases])

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs
        for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.addmm(bias, x.relu() if depth else x, weight)
        return x

    def layers(self) -> Layers:
        def arrays(parameters: nn.ParameterList) -> tuple[FloatArray, ...]:
            return tuple(p.detach().cpu().numpy().copy() for p in parameters)

        return Layers(arrays(self.weights), arrays(self.biases))
