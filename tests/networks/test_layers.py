"""The quick layers compute what PyTorch's do."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from untrue.networks.layers import ConvBlock, Dense, Dropout, Flatten, kept

FORMATS = [torch.channels_last, torch.contiguous_format]


def plain_block(layer: ConvBlock, x: Tensor, factors: Tensor | None = None) -> Tensor:
    """The block in PyTorch's own layers, ReLU before pooling; factors: what dropout multiplies."""
    y = F.conv2d(x, layer.weight, layer.bias, padding=layer.padding)
    y = F.max_pool2d(F.relu(y), layer.pool)
    return y if factors is None else y * factors


def gradients(y: Tensor, wanted: list[Tensor], incoming: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(y, wanted, incoming)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("pool", [1, 2, 3])
@pytest.mark.parametrize(
    ("channels", "out", "kernel"),
    # Images, one channel and three; 50 = 2 x 24 + 2 and its like; whole vectors; less than one.
    [(1, 6, 5), (3, 6, 3), (20, 50, 5), (3, 27, 5), (8, 48, 3), (5, 4, 3), (16, 31, 3)],
)
def test_a_block_has_pytorchs_values_and_gradients(
    layout: torch.memory_format, pool: int, channels: int, out: int, kernel: int
) -> None:
    torch.manual_seed(0)
    layer = ConvBlock(channels, out, kernel, pool=pool).double().to(memory_format=layout)
    x = torch.randn(3, channels, 9, 6, dtype=torch.float64).contiguous(memory_format=layout)
    wanted = [x.requires_grad_(), layer.weight, layer.bias]
    ours, plain = layer(x), plain_block(layer, x)
    incoming = torch.randn_like(plain)
    torch.testing.assert_close(ours, plain)
    for one, other in zip(
        gradients(ours, wanted, incoming), gradients(plain, wanted, incoming), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("pool", [1, 2])
def test_a_block_drops_what_it_says_and_the_gradient_with_it(pool: int) -> None:
    torch.manual_seed(0)
    layer = ConvBlock(4, 10, 3, pool=pool, dropout=0.3)
    x = torch.randn(5, 4, 8, 8).contiguous(memory_format=torch.channels_last).requires_grad_()
    wanted = [x, layer.weight, layer.bias]
    torch.manual_seed(1)
    ours = layer(x)
    torch.manual_seed(1)
    plain = plain_block(layer, x, kept(ours.detach(), 0.3))
    assert 0.6 < (ours == 0).double().mean() / (0.3 + 0.7 * 0.5 ** (pool**2)) < 1.6
    incoming = torch.randn_like(plain)
    torch.testing.assert_close(ours, plain)
    for one, other in zip(
        gradients(ours, wanted, incoming), gradients(plain, wanted, incoming), strict=True
    ):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_equal_values_in_a_window_share_no_gradient() -> None:
    """As in PyTorch: the first of them has it all. Black corners of images are such windows."""
    layer = ConvBlock(1, 3, 3, pool=2)
    nn.init.ones_(layer.bias)
    x = torch.zeros(1, 1, 4, 4)
    layer(x).sum().backward()
    assert layer.bias.grad is not None
    assert layer.bias.grad.tolist() == [4.0] * 3


def test_a_block_rests_in_evaluation() -> None:
    torch.manual_seed(0)
    layer = ConvBlock(2, 5, 3, pool=2, dropout=0.5).eval()
    x = torch.randn(2, 2, 6, 6)
    assert torch.equal(layer(x), plain_block(layer, x))


def test_weights_get_gradients_in_their_own_layout() -> None:
    """Fused Adam pairs weights and gradients by place in memory, whatever their strides."""
    for channels in (1, 20):
        layer = ConvBlock(channels, 50, 5, pool=2).to(memory_format=torch.channels_last)
        layer(torch.rand(2, channels, 8, 8)).sum().backward()
        assert layer.weight.grad is not None
        assert layer.weight.grad.stride() == layer.weight.stride()


def test_flattening_follows_channels_last_memory() -> None:
    x = torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    flat = Flatten()(x)
    assert torch.equal(flat, x.permute(0, 2, 3, 1).reshape(2, 60))
    assert flat.data_ptr() == x.data_ptr()


def test_a_dense_layer_is_pytorchs_with_its_matrix_turned() -> None:
    torch.manual_seed(0)
    ours, plain = Dense(7, 3), nn.Linear(7, 3)
    ours.weight.data.copy_(plain.weight.data.t())
    ours.bias.data.copy_(plain.bias.data)
    x = torch.randn(5, 7)
    torch.testing.assert_close(ours(x), plain(x))


@pytest.mark.parametrize("p", [0.2, 0.25, 0.5])
@pytest.mark.parametrize("layout", FORMATS)
def test_dropout_drops_the_share_and_keeps_the_mean(p: float, layout: torch.memory_format) -> None:
    torch.manual_seed(1)
    x = torch.ones(50, 20, 16, 16).contiguous(memory_format=layout).requires_grad_()
    y = Dropout(p)(x)
    n = x.numel()
    spread = 5 * (p * (1 - p) / n) ** 0.5
    assert abs((y == 0).double().mean().item() - p) < spread
    assert y.max().item() == pytest.approx(1 / (1 - p), rel=1e-4)
    assert abs(y.double().mean().item() - 1) < spread / (1 - p)
    assert y.stride() == x.stride()
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())


def test_each_of_the_four_decisions_in_a_word_is_fair() -> None:
    torch.manual_seed(2)
    dropped = torch.stack([Dropout(0.2)(torch.ones(7)) == 0 for _ in range(5_000)]).double()
    assert (dropped.mean(dim=0) - 0.2).abs().max() < 0.03
    together = torch.corrcoef(dropped.T) - torch.eye(7)
    assert together.abs().max() < 0.07


def test_dropout_rests_in_evaluation_and_follows_the_seed() -> None:
    layer = Dropout(0.5)
    x = torch.rand(3, 5)
    torch.manual_seed(3)
    first = layer(x)
    torch.manual_seed(3)
    assert torch.equal(layer(x), first)
    assert torch.equal(layer.eval()(x), x)
