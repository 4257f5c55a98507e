"""The quick layers compute what PyTorch's do."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from untrue.lab.layers import Dense, Dropout, FirstConv2d, OddConv2d

FORMATS = [torch.channels_last, torch.contiguous_format]


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize(("channels", "kernel"), [(1, 5), (3, 3)])
def test_the_first_convolution_has_pytorchs_values_and_gradients(
    layout: torch.memory_format, channels: int, kernel: int
) -> None:
    torch.manual_seed(0)
    ours = FirstConv2d(channels, 6, kernel, padding=kernel // 2).double()
    plain = nn.Conv2d(channels, 6, kernel, padding=kernel // 2).double()
    plain.load_state_dict(ours.state_dict())
    ours = ours.to(memory_format=layout)
    x = torch.rand(4, channels, 9, 12, dtype=torch.float64).contiguous(memory_format=layout)
    incoming = torch.randn(4, 6, 9, 12, dtype=torch.float64)
    ours(x).backward(incoming)
    plain(x).backward(incoming)
    torch.testing.assert_close(ours(x), plain(x))
    torch.testing.assert_close(ours.weight.grad, plain.weight.grad)
    torch.testing.assert_close(ours.bias.grad, plain.bias.grad)
    assert ours.weight.grad is not None
    assert ours.weight.grad.stride() == ours.weight.stride()


def test_a_gradient_for_the_input_is_there_when_wanted() -> None:
    layer = FirstConv2d(1, 2, 3, padding=1)
    x = torch.rand(1, 1, 4, 4, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum() > 0


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("channels", [(20, 50), (3, 27), (8, 48), (5, 4), (16, 31)])
def test_odd_channels_have_pytorchs_values_and_gradients(
    layout: torch.memory_format, channels: tuple[int, int]
) -> None:
    torch.manual_seed(0)
    ours = OddConv2d(*channels, 5, padding=2).double()
    plain = nn.Conv2d(*channels, 5, padding=2).double()
    plain.load_state_dict(ours.state_dict())
    ours = ours.to(memory_format=layout)
    x = torch.randn(3, channels[0], 7, 6, dtype=torch.float64).contiguous(memory_format=layout)
    first, second = x.clone().requires_grad_(), x.clone().requires_grad_()
    incoming = torch.randn(3, channels[1], 7, 6, dtype=torch.float64)
    ours(first).backward(incoming)
    plain(second).backward(incoming)
    torch.testing.assert_close(ours(first), plain(second))
    torch.testing.assert_close(first.grad, second.grad)
    torch.testing.assert_close(ours.weight.grad, plain.weight.grad)
    torch.testing.assert_close(ours.bias.grad, plain.bias.grad)


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
