"""The paper's networks, with its exact parameter counts at width 1.

All convolutions keep the size; each `ConvBlock` is one with the pooling, ReLU and dropout after it.
Weights start as in the authors' Keras code: Glorot uniform, biases zero.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn

from untrue.networks.facts import NetworkSpec
from untrue.networks.layers import ConvBlock, Dense, Dropout, Flatten


def build(spec: NetworkSpec) -> nn.Sequential:
    """A network from images (N, C, H, W), floats in [0, 1], to logits (N, k)."""
    name, k = spec.name, spec.n_classes

    def units(count: int) -> int:
        return max(1, round(count * spec.width))

    if name == "digits":
        layers = _digits(units(16), units(64), k)
    elif name == "mnist":
        layers = _mnist(units(20), units(50), units(500), k)
    else:
        released = name == "cifar10-released"
        layers = _cifar(
            channels=[units(64), units(128), units(256)],
            convolutions=3 if released else 2,
            dense=[units(1000), units(1000), *([units(500)] if released else [])],
            dense_dropout=0.25 if name == "cifar100" else 0.0,
            n_classes=k,
        )
    network = nn.Sequential(layers)
    for module in network.modules():
        if isinstance(module, nn.Conv2d | Dense):
            # Drawn as (out, in), the order of PyTorch's own layers.
            dense = isinstance(module, Dense)
            drawn = torch.empty_like(module.weight.t() if dense else module.weight)
            drawn = nn.init.xavier_uniform_(drawn.contiguous())
            module.weight.data.copy_(drawn.t() if dense else drawn)
            nn.init.zeros_(module.bias)  # type: ignore[arg-type]
    return network


Layers = OrderedDict[str, nn.Module]


def _digits(channels: int, dense: int, n_classes: int) -> Layers:
    return OrderedDict(
        conv1=ConvBlock(1, channels, 3, pool=2),
        flatten=Flatten(),
        dense1=Dense(channels * 16, dense),
        dense_relu1=nn.ReLU(),
        out=Dense(dense, n_classes),
    )


def _mnist(first: int, second: int, dense: int, n_classes: int) -> Layers:
    return OrderedDict(
        conv1=ConvBlock(1, first, 5, pool=2, dropout=0.2),
        conv2=ConvBlock(first, second, 5, pool=2, dropout=0.2),
        flatten=Flatten(),
        dense1=Dense(second * 49, dense),
        dense_relu1=nn.ReLU(),
        out=Dense(dense, n_classes),
    )


def _cifar(
    *,
    channels: list[int],
    convolutions: int,
    dense: list[int],
    dense_dropout: float,
    n_classes: int,
) -> Layers:
    layers: Layers = OrderedDict()
    before = 3
    for block, count in enumerate(channels, start=1):
        for place in range(1, convolutions):
            layers[f"conv{block}_{place}"] = ConvBlock(before, count, 3)
            before = count
        # The last pool takes the whole 8 x 8 map.
        pool = 2 if block < len(channels) else 8
        last = ConvBlock(before, count, 3, pool=pool, dropout=0.25)
        layers[f"conv{block}_{convolutions}"] = last
    layers["flatten"] = Flatten()
    for place, count in enumerate(dense, start=1):
        layers[f"dense{place}"] = Dense(before, count)
        layers[f"dense_relu{place}"] = nn.ReLU()
        if dense_dropout:
            layers[f"dense_dropout{place}"] = Dropout(dense_dropout)
        before = count
    layers["out"] = Dense(before, n_classes)
    return layers
