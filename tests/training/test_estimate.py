"""The estimate of a training: near what it then takes, and without a trace."""

from __future__ import annotations

import itertools
import time

import numpy as np
import torch
import torch.nn.functional as F

from untrue.networks import NetworkSpec
from untrue.training import Settings, suited_to
from untrue.training.estimate import seconds_per_epoch
from untrue.training.examples import Examples
from untrue.training.loop import train_new

RNG = np.random.default_rng(0)
N = 20_000
ROWS = Examples.place(RNG.normal(size=(N, 40)).astype(np.float32), RNG.integers(3, size=N))
MLP = NetworkSpec("mlp", (40,), 3)


def test_it_is_near_what_training_takes() -> None:
    settings = Settings(epochs=3, batch_size=64)
    guess = 3 * seconds_per_epoch(MLP, F.cross_entropy, ROWS, settings, watched=ROWS)
    started = time.perf_counter()
    train_new(MLP, F.cross_entropy, ROWS, settings, watched=ROWS)
    took = time.perf_counter() - started
    # The machine may be busy now and free then.
    assert took / 8 < guess < took * 8


def test_a_batch_that_is_larger_than_what_is_timed_counts_in_whole() -> None:
    images = Examples.place(
        RNG.integers(256, size=(4096, 1, 8, 8), dtype=np.uint8), RNG.integers(10, size=4096)
    )
    spec = NetworkSpec("digits", (1, 8, 8), 10)
    each = [
        seconds_per_epoch(spec, F.cross_entropy, images, Settings(epochs=1, batch_size=size))
        for size in (256, 2048)
    ]
    assert 1 / 8 < each[0] / each[1] < 8


def test_random_numbers_are_left_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    seconds_per_epoch(MLP, F.cross_entropy, ROWS, Settings(epochs=1))
    assert torch.equal(torch.rand(2), expected)


def test_more_examples_get_larger_batches_and_fewer_epochs() -> None:
    sizes = [10, 1_000, 10_000, 50_000, 400_000, 10**8]
    found = [suited_to(size) for size in sizes]
    assert found[0] == found[1] == suited_to(5_000)
    assert (found[1].batch_size, found[1].epochs, found[1].patience) == (64, 100, 10)
    for less, more in itertools.pairwise(found):
        assert less.batch_size <= more.batch_size <= 1024
        assert 100 >= less.epochs >= more.epochs >= 10
        assert less.learning_rate <= more.learning_rate
    # 340,000 rows learn in some 3,000 steps, where 64 examples a step took half a million.
    kdd = suited_to(340_000)
    assert kdd.epochs * (340_000 // kdd.batch_size) < 4_000
