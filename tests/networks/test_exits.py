"""A network with exits: it stops for real, and says at each exit what the whole network says."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from untrue import MultiExitLoss, Penalty, Temperature, exit_early
from untrue.errors import ArgumentError
from untrue.exits import ExitRule
from untrue.networks.exits import ExitNetwork, exit_work
from untrue.training import Settings
from untrue.training.evaluation import outputs_of, staged_answers
from untrue.training.examples import Examples
from untrue.training.loop import train

COSTS = Penalty.from_groups({"fish": ["trout", "ray"], "bird": ["wren", "owl"]})


@pytest.fixture
def network() -> ExitNetwork:
    torch.manual_seed(0)
    stages = [
        nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()),
    ]
    heads = [
        nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(size, 4))
        for size in (4, 8, 8)
    ]
    return ExitNetwork(stages, heads).eval()


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randn(64, 2, 8, 8, generator=torch.Generator().manual_seed(1)) * 3


def test_it_gives_one_tensor_of_logits_an_exit(network, images) -> None:
    logits = network(images)
    assert [tuple(each.shape) for each in logits] == [(64, 4)] * 3
    assert torch.equal(logits[1], network.heads[1](network.stages[1](network.stages[0](images))))


@pytest.fixture
def rule(network, images) -> ExitRule:
    """Some stop at each exit."""
    probs = [each.softmax(1).detach() for each in network(images)]
    costs = [exit_early([each], COSTS, threshold=0).expected_cost for each in probs[:2]]
    return ExitRule(COSTS, [float(np.median(each)) for each in costs], 3)


def test_stages_run_on_the_examples_that_remain_and_answers_are_those_of_all(
    network, images, rule
) -> None:
    seen: list[int] = []
    for stage in network.stages:
        stage.register_forward_hook(lambda _module, given, _result: seen.append(len(given[0])))
    work = exit_work(network, (2, 8, 8))
    seen.clear()
    staged = network.answer(images, rule, work=work)
    n_seen, seen[:] = list(seen), []
    whole = rule([each.softmax(1).detach() for each in network(images)], work=work)
    assert staged.saved == whole.saved > 0
    assert seen == [64, 64, 64]
    assert n_seen == [64, 64 - whole.by_exit[0], whole.by_exit[2]]
    assert 0 < whole.by_exit[2] < n_seen[1] < 64
    assert np.array_equal(staged.exits, whole.exits)
    assert np.array_equal(staged.labels, whole.labels)
    assert np.allclose(staged.expected_cost, whole.expected_cost, rtol=1e-5)


def test_when_all_have_stopped_nothing_more_is_computed(network, images) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a later stage ran")

    network.stages[1].register_forward_hook(refuse)
    assert set(network.answer(images, ExitRule(COSTS, math.inf, 3)).exits) == {1}


def test_each_exit_may_have_its_temperature(network, images, rule) -> None:
    temperatures = [Temperature(t) for t in (0.5, 1.0, 2.0)]
    staged = network.answer(images, rule, calibrated=temperatures)
    logits = [each.detach() for each in network(images)]
    whole = rule([t(each) for t, each in zip(temperatures, logits, strict=True)])
    assert np.array_equal(staged.exits, whole.exits)
    assert np.array_equal(staged.labels, whole.labels)


def test_the_work_of_an_exit_counts_every_multiplication_up_to_it(network) -> None:
    convolutions = [64 * 4 * 2 * 9, 16 * 8 * 4 * 9, 4 * 8 * 8 * 9]
    heads = [4 * 4, 8 * 4, 8 * 4]
    assert exit_work(network, (2, 8, 8)) == tuple(
        float(sum(convolutions[: i + 1]) + sum(heads[: i + 1])) for i in range(3)
    )


def test_the_loop_trains_all_exits_by_a_loss_of_several(network) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 200)
    pixels = rng.normal(size=(200, 2, 8, 8)).astype(np.float32)
    pixels[np.arange(200), labels % 2] += labels[:, None, None] + 1
    examples = Examples.place(pixels, labels)
    loss = MultiExitLoss([nn.CrossEntropyLoss() for _ in range(3)], weights=(1, 1, 2))
    history = train(network, loss, examples, Settings(epochs=8, learning_rate=0.01, batch_size=20))
    assert history.train[-1] < 0.7 * history.train[0]
    outputs = outputs_of(network, examples.inputs)
    right = [float((each.argmax(1) == examples.labels).float().mean()) for each in outputs]
    assert min(right) > 0.6
    found = staged_answers(network, examples.inputs, ExitRule(COSTS, 0.5, 3))
    whole = ExitRule(COSTS, 0.5, 3)([each.softmax(1) for each in outputs])
    assert np.array_equal(found.labels, whole.labels)


def test_what_does_not_fit_is_refused(network, images) -> None:
    with pytest.raises(ArgumentError, match="`rule` is for 2 exits; the network has 3"):
        network.answer(images, ExitRule(COSTS, 0.5, 2))
    with pytest.raises(ArgumentError, match="one function per exit, 3; got 1"):
        network.answer(images, ExitRule(COSTS, 0.5, 3), calibrated=[Temperature(1.0)])
    with pytest.raises(ArgumentError, match="must be as many, one per exit; got 1 and 0"):
        ExitNetwork([nn.Identity()], [])
