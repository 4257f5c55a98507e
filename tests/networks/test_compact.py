"""The compact network: small, of any size of image, and a quick learner."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from untrue.errors import ArgumentError
from untrue.lab.data import load
from untrue.networks import NETWORKS, build, parameter_count
from untrue.networks.compact import Residual
from untrue.networks.exits import exit_work
from untrue.networks.facts import NetworkSpec
from untrue.training import BY_NETWORK
from untrue.training.evaluation import logits_of
from untrue.training.examples import Examples
from untrue.training.loop import train_new


def test_it_has_half_a_million_parameters_and_the_stated_work() -> None:
    network = build("compact")
    assert parameter_count(network) == 495_012
    work = 0
    x = torch.rand(1, 3, 32, 32)

    def count(layer: nn.Module, given: tuple[torch.Tensor], made: torch.Tensor) -> None:
        nonlocal work
        assert isinstance(layer, nn.Conv2d | nn.Linear)
        work += layer.weight.numel() * (made.shape[2] * made.shape[3] if made.ndim == 4 else 1)

    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    assert network(x).shape == (1, 100)
    assert NETWORKS["compact"].macs == pytest.approx(work, rel=0.05)


@pytest.mark.parametrize("inputs", [(3, 32, 32), (1, 28, 28), (1, 8, 8), (3, 65, 40)])
@pytest.mark.parametrize("exits", [1, 2, 3, 4])
def test_images_of_any_size_and_exits(inputs: tuple[int, ...], exits: int) -> None:
    network = build("compact", inputs=inputs, n_classes=7, width=0.25, exits=exits)
    made = network(torch.rand(2, *inputs))
    assert [each.shape for each in (made if exits > 1 else [made])] == [(2, 7)] * exits


@pytest.mark.parametrize("exits", [2, 3, 4])
def test_exits_add_heads_to_one_and_the_same_network(exits: int) -> None:
    """First weights too: networks with more exits start from where the others do."""
    torch.manual_seed(0)
    whole = build("compact", width=0.25).eval()
    torch.manual_seed(0)
    network = build("compact", width=0.25, exits=exits).eval()
    layers = [layer for stage in network.stages for layer in stage]
    own = list(whole.children())[: len(layers)]
    assert [type(layer) for layer in layers] == [type(layer) for layer in own]
    for one, other in zip(own, layers, strict=True):
        for ours, theirs in zip(
            one.state_dict().values(), other.state_dict().values(), strict=True
        ):
            assert torch.equal(ours, theirs)
    x = torch.rand(2, 3, 32, 32)
    assert torch.equal(network.heads[-1][:2](nn.Sequential(*layers)(x)), whole[:-1](x))


def test_the_fourth_exit_lies_between_the_first_two_of_three() -> None:
    three, four = (
        exit_work(build("compact", exits=k), (3, 32, 32))  # type: ignore[arg-type]
        for k in (3, 4)
    )
    stem, second = 16 * 16 * 32 * 3 * 16, 8 * 8 * 64 * 32 * 9
    first = stem + 2 * 16 * 16 * 32 * 32 * 9 + 32 * 100
    head = 64 * 100
    assert four[:2] == (first, first + second + head)
    assert (four[0], four[2], four[3]) == (three[0], three[1] + head, three[2] + head)
    page = (Path(__file__).parents[2] / "docs" / "exits.md").read_text()
    for work in (three, four):
        *some, last = [f"{each / 1e6:.1f}" for each in work]
        assert f"{', '.join(some)} and {last} million" in " ".join(page.split())


def test_five_exits_are_too_many() -> None:
    with pytest.raises(ArgumentError, match=r"at most 4 exits; got 5. No network has so many"):
        build("compact", exits=5)
    with pytest.raises(ArgumentError, match=r"at most 3 exits; got 4. Networks that can: compact"):
        build("cnn", exits=4, inputs=(3, 32, 32), n_classes=10)


def test_images_that_are_too_small_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"takes images of 8 x 8 pixels or more; .* 6"):
        build("compact", inputs=(1, 6, 9), n_classes=2)
    with pytest.raises(ArgumentError, match="'compact' is for images"):
        build("compact", inputs=(6,), n_classes=2)


def test_a_block_starts_as_the_way_straight_through() -> None:
    block = Residual(8)
    x = torch.rand(2, 8, 4, 4)
    assert torch.equal(block(x), x)
    block.change[-1].weight.data.fill_(1.0)
    assert not torch.equal(block(x), x)


def test_it_learns_in_a_few_passes_as_it_is_trained() -> None:
    """Eight passes over 1,500 digits, in its own way but for the mirror, which digits lack."""
    data = load("mnist-5k")
    settings = dataclasses.replace(BY_NETWORK["compact"], epochs=8, augment=False, batch_size=64)
    spec = NetworkSpec("compact", (1, 28, 28), 10, width=0.25)
    examples = Examples.place(data.train_images[:1500], data.train_labels[:1500])
    network, history = train_new(spec, F.cross_entropy, examples, settings)
    right = logits_of(network, data.test_images).argmax(1) == data.test_labels
    assert history.train[-1] < 0.2
    assert right.mean() > 0.93
