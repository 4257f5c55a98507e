"""The paper's networks, to the parameter."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from untrue.networks import NETWORKS, build, parameter_count, place
from untrue.networks.layers import ConvBlock, Dense

PAPER = {
    "mnist": [520, 25_050, 1_225_500, 5_010],
    "cifar10": [1_792, 36_928, 73_856, 147_584, 295_168, 590_080, 257_000, 1_001_000, 10_010],
    "cifar100": [1_792, 36_928, 73_856, 147_584, 295_168, 590_080, 257_000, 1_001_000, 100_100],
}
FIXED = {name: facts.inputs for name, facts in NETWORKS.items() if facts.inputs is not None}
TOTALS = {"mnist": 1_256_080, "cifar10": 2_413_418, "cifar100": 2_503_508}


@pytest.mark.parametrize("name", PAPER)
def test_parameter_counts_are_the_papers(name: str) -> None:
    network = build(name)
    layers = [m for m in network if isinstance(m, nn.Conv2d | Dense)]
    assert [parameter_count(layer) for layer in layers] == PAPER[name]
    assert parameter_count(network) == TOTALS[name]


def test_the_released_variant_has_three_convolutions_a_block_and_one_more_dense_layer() -> None:
    network = build("cifar10-released")
    assert sum(isinstance(m, nn.Conv2d) for m in network) == 9
    assert [m.out_features for m in network if isinstance(m, Dense)] == [1000, 1000, 500, 10]


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("mnist", [0.2, 0.2]),
        ("cifar10", [0.25] * 3),
        ("cifar100", [0.25] * 5),
        ("cifar10-released", [0.25] * 3),
    ],
)
def test_dropout_is_where_the_paper_has_it(name: str, shares: list[float]) -> None:
    network = build(name)
    blocks = [m.dropout for m in network if isinstance(m, ConvBlock) and m.dropout]
    assert blocks + [m.p for m in network if isinstance(m, nn.Dropout)] == shares


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("width", [0.1, 1.0])
def test_images_go_in_and_logits_come_out(name: str, width: float) -> None:
    network = build(name, width=width)
    assert network(torch.rand(2, *FIXED[name])).shape == (
        2,
        100 if name == "cifar100" else 10,
    )


def test_the_network_is_the_plain_one_in_other_layers() -> None:
    """Same logits and gradients as in PyTorch's own layers, in its order and memory layout."""
    torch.manual_seed(0)
    network = place(build("mnist", width=0.5), torch.device("cpu"))
    conv1, conv2, dense1, out = network.conv1, network.conv2, network.dense1, network.out
    conv1.dropout = conv2.dropout = 0.0
    plain = nn.Sequential(
        nn.Conv2d(1, 10, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(10, 25, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(1225, 250),
        nn.ReLU(),
        nn.Linear(250, 10),
    )

    def turned(dense: torch.Tensor) -> torch.Tensor:
        """(H W C, out), as ours, to (out, C H W)."""
        return dense.view(7, 7, 25, 250).permute(3, 2, 0, 1).flatten(1)

    with torch.no_grad():
        for ours, theirs in ((conv1, plain[0]), (conv2, plain[3])):
            theirs.weight.copy_(ours.weight)
        plain[7].weight.copy_(turned(dense1.weight))
        plain[9].weight.copy_(out.weight.t())
        for theirs in (plain[0], plain[3], plain[7], plain[9]):
            theirs.bias.zero_()
    x, target = torch.rand(6, 1, 28, 28), torch.arange(6)
    logits = network(x), plain(x)
    torch.testing.assert_close(*logits)
    for values in logits:
        nn.functional.cross_entropy(values, target).backward()
    for ours, theirs in ((conv1, plain[0]), (conv2, plain[3])):
        torch.testing.assert_close(ours.weight.grad, theirs.weight.grad, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(ours.bias.grad, theirs.bias.grad, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(turned(dense1.weight.grad), plain[7].weight.grad)
    torch.testing.assert_close(out.weight.grad.t(), plain[9].weight.grad)


def test_first_weights_are_glorot_uniform_and_biases_zero() -> None:
    torch.manual_seed(0)
    for layer in build("mnist"):
        if isinstance(layer, nn.Conv2d | Dense):
            fans = sum(layer.weight.shape[:2]) * layer.weight[0][0].numel()
            limit = (6 / fans) ** 0.5
            assert 0.98 * limit < layer.weight.abs().max() <= limit
            assert layer.bias is not None
            assert not layer.bias.any()


def test_width_scales_the_channels() -> None:
    network = build("cifar100", width=0.25)
    assert [m.out_channels for m in network if isinstance(m, nn.Conv2d)] == [16, 16, 32, 32, 64, 64]
    assert next(m for m in network if isinstance(m, Dense)).in_features == 64


@pytest.mark.parametrize("name", FIXED)
def test_the_work_per_image_is_what_the_layers_do(name: str) -> None:
    work = 0
    x = torch.rand(1, *FIXED[name])
    for layer in build(name).eval():
        if isinstance(layer, nn.Conv2d | Dense):
            work += layer.weight.numel() * (x.shape[2] * x.shape[3] if x.ndim == 4 else 1)
        x = layer(x)
    assert NETWORKS[name].macs == pytest.approx(work, rel=0.05)
