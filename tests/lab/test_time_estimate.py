"""The time a sweep will take."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from untrue.lab import time_estimate
from untrue.lab.design import Setup, made_from
from untrue.lab.provenance import provenance
from untrue.lab.records import RunConfig, RunResult
from untrue.lab.time_estimate import SpeedEstimate


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


def test_stored_runs_of_the_same_network_are_scaled_to_the_images_of_a_run() -> None:
    # 100 images in 2 of at most 3 epochs took 10 s; this run has 1,000 images.
    like = dataclasses.replace(CONFIG, setup=setup(limit_train=6_000))
    results = [result(10.0), result(30.0), result(1e6, width=0.5)]
    assert time_estimate.stored(results, like, 60_000) == pytest.approx([100.0, 300.0])
    assert time_estimate.stored([result(1.0, width=0.5)], like, 60_000) == []


def test_a_guess_grows_with_the_network_and_is_wide_and_none_for_own_data() -> None:
    small, large, own, table = (
        time_estimate.guessed(dataclasses.replace(CONFIG, setup=each), 9_000, threads=1)
        for each in (
            setup(width=0.25),
            setup(network="cifar10"),
            setup(network="compact", data="patients.csv"),
            setup(network="mlp"),
        )
    )
    assert table is None
    assert small is not None
    assert large is not None
    assert 0 < small.low < large.low
    assert large.high > 10 * large.low
    assert own is None


def test_a_guess_of_a_network_for_any_size_grows_with_the_images() -> None:
    digits, cifar = (
        time_estimate.guessed(
            dataclasses.replace(CONFIG, setup=setup(network="compact", data=data)), 9_000, threads=1
        )
        for data in ("digits", "cifar100")
    )
    assert digits is not None
    assert cifar is not None
    assert 0 < 2 * digits.low < cifar.low


def simulate(
    lengths: list[float], *, jobs: int, speed: SpeedEstimate
) -> list[tuple[float, float, float]]:
    """Runs of these lengths, in seconds: the time left in truth, and as it was estimated."""
    free = [0.0] * jobs
    begins = []
    for length in lengths:
        worker = free.index(min(free))
        begins.append(free[worker])
        free[worker] += length
    end, seen, begun, ended = max(free), [], set[int](), set[int]()
    for now in np.arange(1.0, end, 1.0).tolist():
        for run, (begin, length) in enumerate(zip(begins, lengths, strict=True)):
            if begin <= now and run not in begun:
                begun.add(run)
                speed.start(str(run))
            if begin <= now < begin + length:
                speed.advance(str(run), (now - begin) / length, now)
            elif run in begun and run not in ended:
                ended.add(run)
                speed.end(str(run), length)
        left = speed.left(len(lengths) - len(begun))
        if left is not None:
            seen.append((end - now, left.low, left.high))
    return seen


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_the_first_seconds_of_the_first_run_give_a_range_that_holds(jobs: int) -> None:
    rng = np.random.default_rng(0)
    lengths = (60 * rng.uniform(0.8, 1.25, 20)).tolist()
    seen = simulate(lengths, jobs=jobs, speed=SpeedEstimate(jobs))
    first = sum(lengths) / jobs - seen[0][0]
    assert first < 10  # seconds
    inside = np.array([low <= truth <= high for truth, low, high in seen])
    assert inside.mean() > 0.95
    widest = max(high / low for _, low, high in seen[: len(seen) // 2])
    assert widest < (3 if jobs == 1 else 5)


def test_runs_that_end_correct_what_was_stored_on_a_faster_machine() -> None:
    seen = simulate([40.0] * 10, jobs=1, speed=SpeedEstimate(1, ended=[5.0, 5.0, 5.0]))
    assert seen[0][2] < 0.5 * seen[0][0]  # far too low before any of these ends
    after = [each for each in seen if each[0] < 350]
    assert all(low <= truth <= high for truth, low, high in after)


def test_a_run_that_may_stop_early_lowers_the_range_until_one_has_ended() -> None:
    speed = SpeedEstimate(1, least_share=0.1)
    speed.start("a")
    for now in range(10):
        speed.advance("a", now / 100, float(now))
    left = speed.left(9)
    assert left is not None
    assert left.low < 200 < 900 < left.high
    speed.end("a", 30.0)
    corrected = speed.left(9)
    assert corrected is not None
    assert corrected.low < 270 < corrected.high < 900


def test_nothing_is_known_before_the_first_seconds_nor_from_failures() -> None:
    speed = SpeedEstimate(2)
    assert speed.left(5) is None
    speed.start("a")
    speed.advance("a", 0.1, 0.0)
    speed.advance("a", 0.2, time_estimate.FIRST_SECONDS / 2)
    assert speed.left(5) is None
    speed.end("a", None)
    assert speed.left(4) is None
