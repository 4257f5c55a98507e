"""Layers that do what PyTorch's do, in less time on a CPU.

Elsewhere (CUDA, evaluation) they are PyTorch's own. Stride 1 and 'same' padding only.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

VECTOR = 8
"""Channels in one vector of the CPU's convolutions."""
BLOCK = 3 * VECTOR
"""Channels they take at a time, when there are that many."""
SMALL_PATCH = 32
"""Below this many values under a kernel, a matrix product gives its gradient faster."""


class ConvBlock(nn.Conv2d):
    """A convolution, then max-pooling, ReLU and dropout, as one step of the gradient.

    `y = dropout(relu(pool(conv(x))))`. Pooling comes before ReLU: both are monotone, so the order
    is free, and a quarter (or less) of the values is left to clip. The gradient passes ReLU and
    dropout where y is positive, so neither has to be remembered; that of the bias is summed
    after the pooling.

    pool: side of the windows, 1 for no pooling. dropout: share of the outputs dropped.
    """

    def __init__(
        self, channels: int, out: int, kernel: int, *, pool: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__(channels, out, kernel, padding=kernel // 2)
        self.pool, self.dropout = pool, dropout

    def forward(self, x: Tensor) -> Tensor:
        if self.training and x.device.type == "cpu" and torch.is_grad_enabled():
            apply: Any = _ConvBlock.apply
            result: Tensor = apply(x, self.weight, self.bias, self.pool, self.dropout)
            return result
        pooled = F.max_pool2d(super().forward(x), self.pool)
        return F.dropout(F.relu(pooled), self.dropout, self.training)


class Dropout(nn.Dropout):
    """Dropout by `kept`, several times as fast as PyTorch's, which draws a double per value."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0 or x.device.type != "cpu":
            return super().forward(x)
        return x * kept(x, self.p)


class Flatten(nn.Module):
    """(N, C, H, W) to (N, H W C): the order in channels-last memory (and in Keras), no copy."""

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).flatten(1)


class Dense(nn.Module):
    """`x W + b` with W stored (in, out): its gradient `x'g` is twice as fast that way round."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        start = nn.Linear(in_features, out_features)
        self.weight = nn.Parameter(start.weight.detach().t().contiguous())
        self.bias = start.bias

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.weight)


def kept(x: Tensor, p: float) -> Tensor:
    """Factors laid out like x: 0 with probability p, else 1 / (1 - p).

    Four decisions come from each random 64-bit number. Sixteen bits decide p to within 2**-17;
    the factor is one over the share that is kept to the last digit.
    """
    factors = torch.empty_like(x)
    dropped = _dropped(p)
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    draws = words.view(torch.int16)[: x.numel()]
    torch.ge(draws, dropped - 2**15, out=factors.as_strided((x.numel(),), (1,)))
    return factors.mul_(2**16 / (2**16 - dropped))


def _dropped(p: float) -> int:
    """How many of the 2**16 draws mean that a value is dropped."""
    return round(p * 2**16)


class _ConvBlock(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, pool: int, dropout: float
    ) -> Tensor:
        y = _convolution(x, weight, bias)
        ctx.pool, ctx.dropout, ctx.before = pool, dropout, y.shape
        winners = None
        if pool > 1:
            y, winners = F.max_pool2d(y, pool, return_indices=True)
        y.relu_()
        if dropout:
            y.mul_(kept(y, dropout))
        ctx.save_for_backward(x, weight, y, winners)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, y, winners = ctx.saved_tensors
        gradient = torch.ops.aten.threshold_backward(gradients[0], y, 0)
        if ctx.dropout:
            gradient.mul_(2**16 / (2**16 - _dropped(ctx.dropout)))
        for_bias = gradient.sum((0, 2, 3))
        if winners is not None:
            gradient = _unpooled(gradient, winners, ctx.before, ctx.pool)
        for_x = _input_gradient(gradient, x, weight) if ctx.needs_input_grad[0] else None
        return for_x, _weight_gradient(gradient, x, weight), for_bias, None, None


def _convolution(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The convolution, in two parts where its channels do not fill the CPU's blocks.

    The CPU's kernels compute whole blocks and throw the rest away: 50 channels cost as much as
    64. So the remaining channels (50 = 2 x 24 + 2) go into a convolution of their own.
    """
    over = len(weight) % BLOCK
    parts = [slice(None)]
    if 0 < over < VECTOR < len(weight):
        parts = [slice(-over), slice(-over, None)]
    padding = weight.shape[2] // 2
    results = [F.conv2d(x, weight[part], bias[part], padding=padding) for part in parts]
    return results[0] if len(results) == 1 else torch.cat(results, dim=1)


def _unpooled(gradient: Tensor, winners: Tensor, shape: torch.Size, pool: int) -> Tensor:
    """The gradient before max-pooling: zero but for the winner of each window."""
    # Only its shape and layout are looked at.
    before = gradient.new_empty(shape[0], *shape[2:], shape[1]).permute(0, 3, 1, 2)
    result: Tensor = torch.ops.aten.max_pool2d_with_indices_backward(
        gradient, before, [pool] * 2, [pool] * 2, [0, 0], [1, 1], False, winners
    )
    return result


def _input_gradient(gradient: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Its channels are filled up with zeros to whole vectors, which is faster than a rest."""
    channels = x.shape[1]
    fill = -channels % VECTOR
    filled = F.pad(weight, (0, 0, 0, 0, 0, fill)) if fill else weight
    like = x.new_empty(len(x), *x.shape[2:], channels + fill).permute(0, 3, 1, 2)
    return _gradient(gradient, like, filled, of=0)[:, :channels]


def _weight_gradient(gradient: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Under a small kernel (25 or 27 values: the images) one product with shifted copies of x."""
    out, channels, kernel, _ = weight.shape
    if weight[0].numel() >= SMALL_PATCH:
        return _gradient(gradient, x, weight, of=1)
    n, _, height, width = x.shape
    padded = F.pad(x.permute(0, 2, 3, 1), (0, 0, *(kernel // 2,) * 4)).contiguous()
    image, row, column, _ = padded.stride()
    # One row per weight, not one per patch: whole lines of an image are copied at a time.
    shifts = padded.as_strided(
        (kernel, kernel, channels, n, height, width), (row, column, 1, image, row, column)
    ).reshape(kernel * kernel * channels, -1)
    flat = gradient.permute(0, 2, 3, 1).reshape(-1, out)
    return (shifts @ flat).view(kernel, kernel, channels, out).permute(3, 2, 0, 1)


def _gradient(gradient: Tensor, x: Tensor, weight: Tensor, *, of: int) -> Tensor:
    """PyTorch's gradient of a convolution, of its input (0) or its weight (1)."""
    pads, ones = [weight.shape[2] // 2] * 2, [1, 1]
    mask = [of == 0, of == 1, False]
    results: tuple[Tensor, ...] = torch.ops.aten.convolution_backward(
        gradient, x, weight, None, ones, pads, ones, False, [0, 0], 1, mask
    )
    return results[of]
