"""Layers that do what PyTorch's do, in a fraction of the time on a CPU.

Elsewhere (CUDA, evaluation) they are PyTorch's own. Stride 1 and 'same' padding only.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BLOCK = 24
"""Channels the CPU's convolutions take at a time, three vectors of eight."""


class Dropout(nn.Dropout):
    """Dropout with four decisions drawn from each random 64-bit number.

    PyTorch draws one uniform double per value, on one thread. Sixteen bits decide `p` to within
    2**-17; the kept values are divided by the share that is kept to the last digit.
    """

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0 or x.device.type != "cpu":
            return super().forward(x)
        # A new tensor laid out like x, so that the product keeps its memory format.
        kept = torch.empty_like(x)
        dropped = round(self.p * 2**16)
        words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        draws = words.view(torch.int16)[: x.numel()]
        flat = kept.as_strided((x.numel(),), (1,))
        torch.ge(draws, dropped - 2**15, out=flat)
        return x * kept.mul_(2**16 / (2**16 - dropped))


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


class FirstConv2d(nn.Conv2d):
    """A convolution over images: few input channels, and no gradient wanted for them.

    The gradient of the weights is one matrix product with shifted copies of the images, several
    times as fast as the general routine when a patch has only 25 or 27 values.
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu" or x.requires_grad or not torch.is_grad_enabled():
            return super().forward(x)
        apply: Any = _ShiftConvolution.apply
        result: Tensor = apply(x, self.weight, self.bias, self.padding[0])
        return result


class OddConv2d(nn.Conv2d):
    """A convolution whose channels do not fill the blocks a CPU works in, such as 20 to 50.

    Its kernels compute whole blocks and throw the rest away: 50 channels cost as much as 64. So
    the channels over (50 = 2 x 24 + 2) go into a convolution of their own, and for the gradient
    of the input its channels are filled up with zeros to a whole number of vectors.
    """

    def forward(self, x: Tensor) -> Tensor:
        odd = 0 < self.out_channels % BLOCK < 8 < self.out_channels
        if not odd or x.device.type != "cpu" or not torch.is_grad_enabled():
            return super().forward(x)
        apply: Any = _OddConvolution.apply
        result: Tensor = apply(x, self.weight, self.bias, self.padding[0])
        return result


class _ShiftConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, padding: int) -> Tensor:
        ctx.save_for_backward(x)
        ctx.padding, ctx.kernel = padding, weight.shape[2]
        return F.conv2d(x, weight, bias, padding=padding)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor, None]:
        (x,) = ctx.saved_tensors
        kernel, channels = ctx.kernel, x.shape[1]
        n, out, height, width = gradients[0].shape
        flat = gradients[0].permute(0, 2, 3, 1).reshape(-1, out)
        padded = F.pad(x.permute(0, 2, 3, 1), (0, 0, *(ctx.padding,) * 4)).contiguous()
        image, row, column, _ = padded.stride()
        # One row per weight, not one per patch: whole lines of an image are copied at a time.
        shifts = padded.as_strided(
            (kernel, kernel, channels, n, height, width), (row, column, 1, image, row, column)
        ).reshape(kernel * kernel * channels, -1)
        weight = (shifts @ flat).view(kernel, kernel, channels, out).permute(3, 2, 0, 1)
        return None, weight, flat.sum(0), None


class _OddConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, padding: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.padding = padding
        whole = len(weight) - len(weight) % BLOCK
        parts = [
            F.conv2d(x, weight[chosen], bias[chosen], padding=padding)
            for chosen in (slice(whole), slice(whole, None))
        ]
        return torch.cat(parts, dim=1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, weight = ctx.saved_tensors
        (gradient,) = gradients
        _, for_weight, for_bias = _general(
            gradient, x, weight, ctx.padding, mask=[False, True, True]
        )
        channels = x.shape[1]
        filled = F.pad(weight, (0, 0, 0, 0, 0, -channels % 8))
        like = x.new_empty(1).expand(len(x), channels + -channels % 8, *x.shape[2:])
        for_x, _, _ = _general(gradient, like, filled, ctx.padding, mask=[True, False, False])
        return for_x[:, :channels], for_weight, for_bias, None


def _general(
    gradient: Tensor, x: Tensor, weight: Tensor, padding: int, *, mask: list[bool]
) -> tuple[Tensor, Tensor, Tensor]:
    """PyTorch's gradients of a convolution for input, weight and bias, those in the mask."""
    pads, ones = [padding] * 2, [1, 1]
    results: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.convolution_backward(
        gradient, x, weight, [len(weight)], ones, pads, ones, False, [0, 0], 1, mask
    )
    return results
