"""Training: reproducible, paired, stopped in time, and able to learn."""

from __future__ import annotations

import dataclasses
import importlib.util

import numpy as np
import pytest
import torch

from untrue.errors import ArgumentError, DivergedError
from untrue.lab.data import Dataset, load
from untrue.lab.design import Setup, made_from
from untrue.lab.plans import zone
from untrue.lab.records import RunConfig
from untrue.lab.splits import describe
from untrue.lab.training import TrainedRun, train
from untrue.training.progress import Progress


def setup(**values: object) -> Setup:
    return made_from(
        Setup, {"data": "digits", "network": "digits", "epochs": 2, "limit_train": 400, **values}
    )


BASELINE = RunConfig(setup(), seed=0)


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(scope="module")
def treated(digits: Dataset) -> RunConfig:
    spec = zone(describe(digits), 10, 0, "rows")
    return dataclasses.replace(BASELINE, loss="log-bilinear", alpha=0.5, penalty=spec)


def weights(trained: TrainedRun) -> list[torch.Tensor]:
    return list(trained.network.state_dict().values())


@pytest.mark.parametrize("augment", [False, True])
def test_the_same_config_gives_the_same_bits(
    digits: Dataset, treated: RunConfig, augment: bool
) -> None:
    config = dataclasses.replace(treated, setup=setup(augment=augment, validation=50, patience=2))
    first = train(config, digits)
    torch.rand(100)
    np.random.default_rng().random()
    second = train(config, digits)
    assert first.probs.tobytes() == second.probs.tobytes()
    assert first.result.train_losses == second.result.train_losses
    assert first.result.validation_losses == second.result.validation_losses
    for a, b in zip(weights(first), weights(second), strict=True):
        assert torch.equal(a, b)


def test_dropout_networks_are_reproducible_too() -> None:
    small = setup(data="mnist-5k", network="mnist", epochs=1, width=0.2, limit_train=300)
    config = RunConfig(small, seed=3)
    data = load("mnist-5k")
    assert train(config, data).probs.tobytes() == train(config, data).probs.tobytes()


def test_another_seed_gives_another_model(digits: Dataset) -> None:
    other = dataclasses.replace(BASELINE, seed=1)
    assert not np.array_equal(train(BASELINE, digits).probs, train(other, digits).probs)


def test_the_callers_random_numbers_are_left_alone(digits: Dataset) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    train(dataclasses.replace(BASELINE, setup=setup(epochs=1, limit_train=50)), digits)
    assert torch.equal(torch.rand(3), expected)
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_tiny_alpha_is_nearly_the_baseline_of_its_seed(
    digits: Dataset, treated: RunConfig
) -> None:
    # Same first weights, same order: what differs is the loss alone.
    near = train(dataclasses.replace(treated, alpha=1e-6), digits)
    assert np.abs(near.probs - train(BASELINE, digits).probs).max() < 1e-3


def test_a_result_carries_all_that_a_report_needs(digits: Dataset, treated: RunConfig) -> None:
    assert treated.penalty is not None
    costs = dataclasses.replace(treated.penalty, inside=10.0, outside=1.0, normalization="none")
    seen: list[Progress] = []
    result = train(
        dataclasses.replace(treated, score_on=(costs,)), digits, on_progress=seen.append
    ).result
    assert result.status == "ok"
    assert result.confusion.sum() == len(digits.test_labels)
    assert np.array_equal(result.confusion.sum(axis=1), np.bincount(digits.test_labels))
    scored = result.decision(costs)
    assert scored is not None
    assert np.array_equal(scored.sum(axis=1), np.bincount(digits.test_labels))
    assert (result.epochs_run, result.best_epoch, result.train_images) == (2, 2, 400)
    assert result.test_loss is not None
    assert result.parameters == 17_258
    assert result.confidence is not None
    assert np.array_equal(result.confidence.total > 0, result.confusion > 0)
    assert (result.confidence.total <= result.confusion).all()
    assert result.train_confusion is not None
    assert result.train_confusion.sum() == len(digits.test_labels)
    packages = {"untrue", "torch", "numpy", "lightgbm", "xgboost"}
    installed = {name for name in packages if importlib.util.find_spec(name) is not None}
    assert dict(result.provenance.versions).keys() == {"python"} | installed
    assert result.provenance.device == "cpu"
    assert [(at.epoch, at.step, at.steps) for at in seen] == [(1, 8, 8), (2, 8, 8)]
    assert tuple(at.loss for at in seen) == result.train_losses


def test_training_learns(digits: Dataset) -> None:
    config = RunConfig(setup(epochs=15, limit_train=None), seed=0)
    result = train(config, digits).result
    assert result.confusion.trace() / result.confusion.sum() > 0.93
    assert result.train_losses[-1] < result.train_losses[0] / 4


def test_early_stopping_returns_the_best_weights(digits: Dataset) -> None:
    # With a rate far too high the validation loss soon stops falling.
    values = {"validation": 100, "patience": 2, "learning_rate": 0.03}
    config = dataclasses.replace(BASELINE, setup=setup(epochs=40, **values))
    result = train(config, digits).result
    losses = result.validation_losses
    assert result.epochs_run < 40
    assert result.epochs_run == result.best_epoch + 2
    assert losses[result.best_epoch - 1] == min(losses)
    shorter = setup(epochs=result.best_epoch, **values)
    again = train(dataclasses.replace(config, setup=shorter), digits).result
    assert np.array_equal(again.confusion, result.confusion)


def test_a_loss_that_runs_away_is_stopped_with_a_sentence(digits: Dataset) -> None:
    config = dataclasses.replace(BASELINE, setup=setup(learning_rate=1e30))
    with pytest.raises(
        DivergedError,
        match=r"Training stopped: the (loss|gradient) .* at epoch 1, step 8\. "
        r"Lower the learning rate \(1e\+30\)",
    ):
        train(config, digits)


def test_a_network_for_other_images_is_refused(digits: Dataset) -> None:
    with pytest.raises(ArgumentError, match=r"Network 'mnist' takes images of \(1, 28, 28\)"):
        train(dataclasses.replace(BASELINE, setup=setup(network="mnist")), digits)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_is_reproducible(digits: Dataset) -> None:
    first, second = (train(BASELINE, digits, device="cuda") for _ in range(2))
    assert first.probs.tobytes() == second.probs.tobytes()


def test_real_mnist_moves_errors_out_of_the_zone() -> None:
    """The paper's claim in small, on real digits: the zone holds fewer errors, at a high alpha."""
    data = load("mnist-5k")
    info = describe(data)
    spec = zone(info, 20, 0, "rows")
    small = setup(data="mnist-5k", network="mnist", width=0.3, limit_train=1500)
    baseline = RunConfig(small, seed=0)
    config = dataclasses.replace(baseline, loss="bilinear", alpha=0.97, penalty=spec)
    mask = spec.mask(info)
    before = (train(baseline, data).result.confusion * mask).sum()
    after = (train(config, data).result.confusion * mask).sum()
    assert after < before / 2
