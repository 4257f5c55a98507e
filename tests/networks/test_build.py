"""Networks by name and spec: what can be built is built, and the rest is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import untrue
from untrue.errors import ArgumentError
from untrue.networks import NetworkSpec, build, check, choose, from_spec, parameter_count
from untrue.networks.normalize import Normalize, learn_scale
from untrue.networks.perceptron import Perceptron, run, start_layers
from untrue.training.evaluation import logits_of


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mnits", {}, "Unknown network 'mnits'; did you mean 'mnist'"),
        ("vgg", {}, "Known: mnist, cifar10, cifar100, cifar10-released, digits"),
        ("mnist", {"width": 0.0}, "`width` must be positive; got 0.0"),
        ("mnist", {"width": float("nan")}, "`width` must be positive; got nan"),
        ("mlp", {"n_classes": 3}, "Network 'mlp' takes any data: give `inputs`"),
        ("cnn", {"inputs": (3, 8, 8)}, "give `inputs`, .* and `n_classes`"),
        ("mnist", {"inputs": (3, 28, 28)}, r"takes images of \(1, 28, 28\) .*; these are \(3, 28"),
        ("cnn", {"inputs": (5,), "n_classes": 3}, "'cnn' is for images; a table takes 'mlp'"),
    ],
)
def test_what_cannot_be_built_is_named(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        build(name, **options)


def test_the_public_name_builds_the_papers_networks() -> None:
    assert parameter_count(untrue.networks.build("cifar100", width=1.0)) == 2_503_508


def test_other_numbers_of_classes() -> None:
    assert build("digits", n_classes=3)(torch.rand(1, 1, 8, 8)).shape == (1, 3)


@pytest.mark.parametrize("shape", [(1, 4, 4), (3, 9, 20), (1, 64, 64)])
@pytest.mark.parametrize("name", ["linear", "mlp", "cnn"])
@pytest.mark.parametrize("width", [0.3, 1.0])
def test_networks_take_images_of_any_size(name: str, shape: tuple[int, ...], width: float) -> None:
    network = from_spec(choose(name, shape, 7, width=width))
    pixels = np.random.default_rng(0).integers(256, size=(2, *shape), dtype=np.uint8)
    assert logits_of(network, pixels).shape == (2, 7)


def test_the_network_that_suits_the_data_is_chosen() -> None:
    assert choose(None, (12,), 3) == NetworkSpec("mlp", (12,), 3)
    assert choose(None, (3, 20, 20), 3) == NetworkSpec("cnn", (3, 20, 20), 3)
    assert check("mnist", (1, 28, 28)).macs == 6.5e6


def test_width_makes_the_hidden_layers_narrower() -> None:
    sizes = [parameter_count(build("mlp", inputs=(9,), n_classes=2, width=w)) for w in (0.5, 1.0)]
    assert sizes[0] < 0.5 * sizes[1]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_images_are_brought_to_mean_0_and_variance_1(dtype: Any) -> None:
    images = np.random.default_rng(0).integers(20, 90, size=(50, 6, 5, 3)).astype(dtype)
    images[..., 2] = 40  # a constant channel stays finite
    network = nn.Sequential(Normalize(3))
    learn_scale(network, torch.from_numpy(images))
    seen = torch.from_numpy(images).float() / (255 if dtype is np.uint8 else 1)
    made = network(seen.permute(0, 3, 1, 2))
    torch.testing.assert_close(made.mean((0, 2, 3)), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(made.std((0, 2, 3)), torch.tensor([1.0, 1, 0]), atol=1e-2, rtol=0)


def test_a_network_without_a_scale_is_left_alone() -> None:
    network = build("digits")
    before = {name: value.clone() for name, value in network.state_dict().items()}
    learn_scale(network, torch.rand(4, 8, 8, 1))
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_the_perceptron_runs_the_same_in_numpy_and_in_torch() -> None:
    rng = np.random.RandomState(0)
    layers = start_layers([5, 8, 8, 3], rng)
    x = rng.normal(size=(6, 5))
    network = Perceptron(layers)
    np.testing.assert_allclose(run(layers, x), network(torch.from_numpy(x)).detach().numpy())
    for ours, theirs in zip(network.layers().weights, layers.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
