"""The time a sweep will take."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from untrue.lab import time_estimate
from untrue.lab.design import Setup, made_from
from untrue.lab.machine import provenance
from untrue.lab.records import RunConfig, RunResult


def setup(**values: object) -> Setup:
    return made_from(
        Setup, {"data": "mnist", "network": "mnist", "epochs": 3, "validation": 5000, **values}
    )


CONFIG = RunConfig(setup(), seed=0)


def result(seconds: float, width: float = 1.0) -> RunResult:
    return RunResult(
        config=dataclasses.replace(CONFIG, setup=setup(width=width)),
        status="ok",
        provenance=provenance(seconds, device="cpu", threads=1),
        confusion=np.eye(10, dtype=np.int64),
        train_losses=(1.0, 0.5),
        train_images=100,
    )


def test_the_cost_is_images_times_epochs() -> None:
    assert time_estimate.cost(CONFIG, 60_000) == 165_000
    assert (
        time_estimate.cost(dataclasses.replace(CONFIG, setup=setup(limit_train=6_000)), 60_000)
        == 3_000
    )


def test_the_pace_is_that_of_finished_runs_of_the_same_network() -> None:
    found = time_estimate.measured([result(10.0), result(30.0), result(1e6, width=0.5)], CONFIG)
    assert found == pytest.approx(0.1)
    assert time_estimate.measured([result(1.0, width=0.5)], CONFIG) is None


def test_a_guess_grows_with_the_network_and_shrinks_with_threads() -> None:
    small = dataclasses.replace(CONFIG, setup=setup(width=0.25))
    large = dataclasses.replace(CONFIG, setup=setup(network="cifar10"))
    assert 0 < time_estimate.guessed(small, threads=1) < time_estimate.guessed(large, threads=1)
    assert time_estimate.guessed(large, threads=64) < time_estimate.guessed(large, threads=1)
