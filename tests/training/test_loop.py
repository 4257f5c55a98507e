"""The loop: stops in time, keeps the best weights, weighs examples, warms alpha up, says no."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from untrue import BilinearLoss, Penalty
from untrue.errors import ArgumentError, DivergedError
from untrue.networks import NetworkSpec, build, from_spec
from untrue.training import Settings
from untrue.training.evaluation import logits_of, mean_loss
from untrue.training.examples import Examples
from untrue.training.loop import CHECK_EVERY, train, train_new
from untrue.training.progress import Progress

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(240, 4)).astype(np.float32)
CLASSES = (ROWS @ RNG.normal(size=(4, 3))).argmax(1)
TABLE = Examples.place(ROWS, CLASSES)
MLP = NetworkSpec("mlp", (4,), 3)
QUICK = Settings(epochs=3, batch_size=32, learning_rate=0.01)


def noise(n: int) -> Examples:
    return Examples.place(RNG.normal(size=(n, 5)).astype(np.float32), RNG.integers(3, size=n))


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("schedule", ["constant", "cosine", "one-cycle"])
def test_it_learns_with_every_optimizer_and_schedule(optimizer: str, schedule: str) -> None:
    rate = 0.1 if optimizer == "sgd" else 0.01
    settings = Settings(
        epochs=8,
        batch_size=32,
        learning_rate=rate,
        optimizer=optimizer,
        schedule=schedule,
        weight_decay=1e-4,
    )
    network, history = train_new(MLP, F.cross_entropy, TABLE, settings)
    assert history.train[-1] < 0.5 * history.train[0]
    assert (logits_of(network, ROWS).argmax(1) == CLASSES).mean() > 0.85


def test_the_same_seed_gives_the_same_weights() -> None:
    first, again = (train_new(MLP, F.cross_entropy, TABLE, QUICK, seed=4)[0] for _ in range(2))
    other, _ = train_new(MLP, F.cross_entropy, TABLE, QUICK, seed=5)
    assert np.array_equal(logits_of(first, ROWS), logits_of(again, ROWS))
    assert not np.array_equal(logits_of(first, ROWS), logits_of(other, ROWS))


def test_early_stopping_keeps_the_best_weights() -> None:
    seen: list[Progress] = []
    watched = noise(40)
    network = from_spec(NetworkSpec("mlp", (5,), 3))
    settings = Settings(epochs=200, patience=5, learning_rate=0.01)
    history = train(
        network, F.cross_entropy, noise(60), settings, watched=watched, on_progress=seen.append
    )
    assert len(history.train) == history.best_epoch + 5 < 200  # noise is soon learned by heart
    assert [at.validation_loss for at in seen if at.step == at.steps] == list(history.validation)
    assert min(history.validation) == history.validation[history.best_epoch - 1]
    assert mean_loss(network, F.cross_entropy, watched) == pytest.approx(min(history.validation))
    assert not network.training


def test_without_patience_all_epochs_are_made_and_the_last_weights_kept() -> None:
    watched = noise(40)
    network = from_spec(NetworkSpec("mlp", (5,), 3))
    settings = Settings(epochs=30, learning_rate=0.01)
    history = train(network, F.cross_entropy, noise(60), settings, watched=watched)
    assert (len(history.train), history.best_epoch) == (30, 30)
    assert min(history.validation) < history.validation[-1]
    assert mean_loss(network, F.cross_entropy, watched) == pytest.approx(history.validation[-1])
    alone = train(network, F.cross_entropy, noise(60), settings)
    assert (alone.validation, alone.best_epoch) == ((), 30)


def test_progress_is_reported_within_long_epochs_and_at_their_end() -> None:
    seen: list[Progress] = []
    settings = dataclasses.replace(QUICK, epochs=2, batch_size=1)
    history = train(
        from_spec(MLP), F.cross_entropy, TABLE, settings, watched=TABLE, on_progress=seen.append
    )
    steps = [CHECK_EVERY, 2 * CHECK_EVERY, 240]
    assert [(at.epoch, at.step) for at in seen] == [(e, s) for e in (1, 2) for s in steps]
    assert {at.steps for at in seen} == {240}
    assert [at.validation_loss is None for at in seen] == [True, True, False] * 2
    assert tuple(at.loss for at in seen if at.step == at.steps) == history.train


def test_an_example_of_weight_two_counts_as_two() -> None:
    x, y = RNG.normal(size=(30, 4)), RNG.integers(3, size=30)
    weights = RNG.integers(1, 4, size=30)
    repeated = np.repeat(np.arange(30), weights)
    settings = Settings(epochs=20, batch_size=1000, learning_rate=0.05)

    def loss(logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(logits, target, reduction="none")

    def trained(examples: Examples) -> tuple[Tensor, tuple[float, ...]]:
        torch.manual_seed(0)
        network = nn.Linear(4, 3).double()
        return network.weight, train(network, loss, examples, settings, watched=examples).validation

    ours, losses = trained(Examples.place(x, y, weights=weights / weights.mean()))
    theirs, expected = trained(Examples.place(x[repeated], y[repeated]))
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)
    assert losses == pytest.approx(expected, rel=1e-9)


def test_weights_need_the_loss_of_each_example() -> None:
    weighted = Examples.place(ROWS, CLASSES, weights=np.ones(240, np.float32))
    with pytest.raises(ArgumentError, match="reduction='none'"):
        train(from_spec(MLP), F.cross_entropy, weighted, QUICK)


def test_alpha_warms_up_and_is_full_where_epochs_are_compared() -> None:
    alphas: list[tuple[bool, float]] = []

    class Watched(BilinearLoss):
        def forward(self, logits: Tensor, target: Tensor) -> Tensor:
            alphas.append((torch.is_grad_enabled(), self.alpha))
            return super().forward(logits, target)

    loss = Watched(Penalty.from_ordinal(3), alpha=0.8)
    settings = dataclasses.replace(QUICK, epochs=4, batch_size=60, warmup=0.5)
    train(from_spec(MLP), loss, TABLE, settings, watched=TABLE)
    in_training = [alpha for training, alpha in alphas if training]
    assert in_training == pytest.approx([0.1 * min(step, 8) for step in range(16)])
    assert {alpha for training, alpha in alphas if not training} == {0.8}
    assert loss.alpha == 0.8


def test_warm_up_leaves_a_loss_without_alpha_alone() -> None:
    warm = dataclasses.replace(QUICK, warmup=0.5)
    (first, _), (second, _) = (train_new(MLP, F.cross_entropy, TABLE, s) for s in (QUICK, warm))
    assert np.array_equal(logits_of(first, ROWS), logits_of(second, ROWS))


def test_it_goes_on_with_an_optimizer_that_has_a_state() -> None:
    made: list[Any] = []
    weights = []
    for parts in ((4,), (2, 2)):
        torch.manual_seed(0)
        network = nn.Linear(4, 3)
        optimizer = torch.optim.Adam(network.parameters(), lr=1.0)
        for epochs in parts:
            settings = Settings(epochs=epochs, batch_size=240, learning_rate=0.05)
            train(network, F.cross_entropy, TABLE, settings, optimizer=optimizer)
        made.append(optimizer.param_groups[0]["lr"])
        weights.append(network.weight)
    assert made == [0.05, 0.05]
    assert torch.equal(*weights)


def test_a_network_with_several_exits_trains_them_all() -> None:
    class TwoExits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> list[Tensor]:
            return [self.first(x), self.second(x)]

    torch.manual_seed(0)
    network = TwoExits()
    single = nn.Linear(4, 3)
    single.load_state_dict(network.second.state_dict())
    settings = Settings(epochs=5, batch_size=240, learning_rate=0.1)
    history = train(network, F.cross_entropy, TABLE, settings, watched=TABLE)
    train(single, F.cross_entropy, TABLE, settings)
    # Adam does not mind that each exit has half of the loss.
    torch.testing.assert_close(network.second.weight, single.weight, rtol=1e-4, atol=1e-5)
    each = [mean_loss(part, F.cross_entropy, TABLE) for part in (network.first, network.second)]
    assert history.validation[-1] == pytest.approx(np.mean(each))
    assert np.array_equal(logits_of(network, ROWS), logits_of(network.second, ROWS))


def test_a_loss_that_runs_away_is_stopped_with_a_sentence() -> None:
    large = Examples.place(np.full((20, 2), 1e30, np.float32), np.arange(20) % 2)
    network = from_spec(NetworkSpec("linear", (2,), 2))
    settings = Settings(epochs=5, learning_rate=1e30)
    with pytest.raises(
        DivergedError,
        match=r"Training stopped: the (loss|gradient) .* at epoch 2, step 1\. Lower the learning "
        r"rate \(1e\+30\)",
    ):
        train(network, F.cross_entropy, large, settings)


def test_a_gradient_that_is_not_finite_is_named() -> None:
    class Poison(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: object, gradient: Tensor) -> Tensor:
            return gradient * float("nan")

    def poisoned(logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(Poison.apply(logits), target)

    images = Examples.place(RNG.integers(256, size=(50, 1, 8, 8), dtype=np.uint8), CLASSES[:50])
    with pytest.raises(DivergedError, match=r"the gradient of conv1\.weight is not finite"):
        train(build("digits"), poisoned, images, dataclasses.replace(QUICK, batch_size=50))


def test_a_validation_loss_that_is_not_finite_stops_too() -> None:
    broken = Examples.place(np.full((5, 4), np.inf, np.float32), CLASSES[:5])
    with pytest.raises(DivergedError, match="stopped: the validation loss is nan at epoch 1"):
        train(from_spec(MLP), F.cross_entropy, TABLE, QUICK, watched=broken)


def test_a_training_that_stops_in_the_warm_up_leaves_alpha_as_it_was() -> None:
    broken = Examples.place(np.full((5, 4), np.inf, np.float32), CLASSES[:5])
    loss = BilinearLoss(Penalty.from_ordinal(3), alpha=0.8)
    with pytest.raises(DivergedError):
        train(from_spec(MLP), loss, TABLE, dataclasses.replace(QUICK, warmup=1.0), watched=broken)
    assert loss.alpha == 0.8


def test_a_seed_that_is_none_is_refused() -> None:
    with pytest.raises(ArgumentError, match="`seed` must be at least 0; got -1"):
        train_new(MLP, F.cross_entropy, TABLE, QUICK, seed=-1)
