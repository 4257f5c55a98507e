"""The optimizer is the one asked for, and the learning rate follows its schedule."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from untrue.training import Settings
from untrue.training.optimizers import RISE, make_optimizer, rate_at


@pytest.mark.parametrize(
    ("name", "kind"),
    [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)],
)
def test_the_optimizer_is_the_one_asked_for(name: str, kind: type) -> None:
    network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Linear(2, 2))
    made = make_optimizer(network, Settings(epochs=1, optimizer=name, weight_decay=0.01))
    assert type(made) is kind
    decays = {p.ndim: group["weight_decay"] for group in made.param_groups for p in group["params"]}
    assert decays == {4: 0.01, 2: 0.01, 1: 0.0}
    assert sum(len(group["params"]) for group in made.param_groups) == 6
    if name == "sgd":
        assert {(g["momentum"], g["nesterov"]) for g in made.param_groups} == {(0.9, True)}


def test_weights_that_are_frozen_are_left_out() -> None:
    network = nn.Linear(2, 2)
    network.weight.requires_grad_(False)
    made = make_optimizer(network, Settings(epochs=1))
    assert [len(group["params"]) for group in made.param_groups] == [1]


def test_schedules() -> None:
    def rates(schedule: str) -> list[float]:
        settings = Settings(epochs=1, learning_rate=2.0, schedule=schedule)
        return [rate_at(settings, step, 100) for step in range(100)]

    assert rates("constant") == [2.0] * 100
    cosine = rates("cosine")
    assert cosine == sorted(cosine, reverse=True)
    assert cosine[0] == 2.0
    assert cosine[50] == pytest.approx(1.0)
    cycle = rates("one-cycle")
    peak = cycle.index(max(cycle))
    assert math.isclose(peak, 100 * RISE, abs_tol=1)
    assert max(cycle) == pytest.approx(2.0, rel=0.05)
    assert cycle[:peak] == sorted(cycle[:peak])
    assert cycle[peak:] == sorted(cycle[peak:], reverse=True)
    assert 0 < cycle[0] < 0.1
    assert 0 < cycle[-1] < 0.1
