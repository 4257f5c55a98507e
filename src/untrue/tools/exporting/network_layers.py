"""Our networks, layer by layer, as nodes of an ONNX graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from untrue.errors import ArgumentError
from untrue.networks.compact import Residual
from untrue.networks.layers import ConvBlock, Dense, Flatten
from untrue.networks.normalize import Normalize
from untrue.tools.exporting.graph import Graph


def add_network(graph: Graph, network: nn.Module, value: str, inputs: tuple[int, ...]) -> str:
    """Logits (N, k) of inputs (N, *inputs), in float32."""
    network.eval()
    with torch.inference_mode():
        return _add(graph, network, value, torch.zeros(1, *inputs))[0]


def _add(graph: Graph, part: nn.Module, value: str, example: Tensor) -> tuple[str, Tensor]:
    """The node's value, and what the part makes of an example: later shapes come from it."""
    if isinstance(part, nn.Sequential):
        for each in part:
            value, example = _add(graph, each, value, example)
        return value, example
    after = part(example.clone())  # some layers write into what they are given
    if isinstance(part, Residual):
        changed, _ = _add(graph, part.change, value, example)
        return graph.add("Relu", graph.add("Add", value, changed)), after
    return _layer(graph, part, value, example), after


def _layer(graph: Graph, part: nn.Module, value: str, example: Tensor) -> str:
    match part:
        case Normalize():
            centred = graph.add("Sub", value, _put(graph, part.mean))
            return graph.add("Div", centred, _put(graph, part.scale))
        case nn.Flatten():
            return graph.add("Flatten", value)
        case Flatten():
            return graph.add("Flatten", graph.add("Transpose", value, perm=[0, 2, 3, 1]))
        case nn.Linear():
            weight, bias = _put(graph, part.weight), _put(graph, part.bias)
            return graph.add("Gemm", value, weight, bias, transB=1)
        case Dense():
            return graph.add("Gemm", value, _put(graph, part.weight), _put(graph, part.bias))
        case nn.ReLU():
            return graph.add("Relu", value)
        case nn.Dropout():
            return value
        case ConvBlock():
            made = _convolution(graph, part, value)
            return graph.add("Relu", made if part.pool == 1 else _pooled(graph, part.pool, made))
        case nn.Conv2d():
            return _convolution(graph, part, value)
        case nn.MaxPool2d():
            size = part.kernel_size
            return _pooled(graph, size if isinstance(size, int) else size[0], value)
        case nn.BatchNorm2d():
            kept = (part.weight, part.bias, part.running_mean, part.running_var)
            numbers = [_put(graph, each) for each in kept]
            return graph.add("BatchNormalization", value, *numbers, epsilon=part.eps)
        case nn.GroupNorm():
            return _group_norm(graph, part, value, example)
        case nn.AdaptiveAvgPool2d():
            return _mean_pool(graph, part, value, example)
    raise ArgumentError(f"A layer of kind {type(part).__name__} has no ONNX form here.")


def _put(graph: Graph, tensor: Any) -> str:
    array: npt.NDArray[Any] = tensor.detach().cpu().contiguous().numpy()
    return graph.put(array)


def _convolution(graph: Graph, part: nn.Conv2d, value: str) -> str:
    numbers = [_put(graph, part.weight)]
    if part.bias is not None:
        numbers.append(_put(graph, part.bias))
    pads = [int(each) for each in part.padding]
    return graph.add("Conv", value, *numbers, pads=pads * 2, strides=list(part.stride))


def _pooled(graph: Graph, size: int, value: str) -> str:
    return graph.add("MaxPool", value, kernel_shape=[size, size], strides=[size, size])


def _group_norm(graph: Graph, part: nn.GroupNorm, value: str, example: Tensor) -> str:
    """By the norm of instances, which older runtimes have too."""
    groups = part.num_groups
    # No size is left open: a runtime cannot find it where there are no examples.
    each_group = example[0].numel() // groups
    flat = graph.add("Reshape", value, graph.put([0, groups, each_group], np.int64))
    ones, zeros = (graph.put(np.full(groups, each, np.float32)) for each in (1.0, 0.0))
    normed = graph.add("InstanceNormalization", flat, ones, zeros, epsilon=part.eps)
    whole = graph.add("Reshape", normed, graph.put([-1, *example.shape[1:]], np.int64))
    scale, bias = (_put(graph, each.view(-1, 1, 1)) for each in (part.weight, part.bias))
    return graph.add("Add", graph.add("Mul", whole, scale), bias)


def _mean_pool(graph: Graph, part: nn.AdaptiveAvgPool2d, value: str, example: Tensor) -> str:
    """Means over windows, as one product: windows of odd maps overlap, which ONNX's do not.

    Of plain matrices, for which runtimes take no examples too.
    """
    size = part.output_size
    rows, columns = size if isinstance(size, tuple) else (size, size)
    channels, height, width = example.shape[1:]
    over_rows, over_columns = _windows(height, rows or height), _windows(width, columns or width)
    maps = graph.add("Reshape", value, graph.put([-1, height * width], np.int64))
    means = graph.add("MatMul", maps, graph.put(np.kron(over_rows, over_columns).T))
    after = [-1, channels, len(over_rows), len(over_columns)]
    return graph.add("Reshape", means, graph.put(after, np.int64))


def _windows(size: int, count: int) -> npt.NDArray[np.float32]:
    """(count, size) Each row the mean over a window, as PyTorch places them."""
    found = np.zeros((count, size), np.float32)
    for i in range(count):
        start, end = i * size // count, math.ceil((i + 1) * size / count)
        found[i, start:end] = 1 / (end - start)
    return found
