"""How long a sweep will take: from the runs in the store, or from the network's size. No torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np

from untrue.lab.records import RunConfig, RunResult
from untrue.networks import NETWORKS


def cost(config: RunConfig, train_images: int) -> int:
    """Images a run trains on, all epochs together (early stopping makes it fewer)."""
    setup = config.setup
    kept = min(setup.limit_train or train_images, train_images) - setup.validation
    return max(kept, 1) * setup.training.epochs


def measured(results: Iterable[RunResult], like: RunConfig) -> float | None:
    """Seconds per training image in finished runs of the same network, or None."""
    rates = [
        result.provenance.seconds / (result.train_images * result.epochs_run)
        for result in results
        if result.status == "ok" and _kind(result.config) == _kind(like)
    ]
    return sum(rates) / len(rates) if rates else None


def guessed(config: RunConfig, *, threads: int) -> float:
    """Seconds per training image on a CPU, from the network's size and this machine's speed.

    Training takes three times the work of an answer, at about the speed of matrix products that
    are too small for more than one core, and a few milliseconds of overhead per step.
    """
    setup = config.setup
    work = 3 * NETWORKS[setup.network].macs * setup.width**2
    a = np.ones((48, 48), dtype=np.float32)
    speed = 48**3 / min(_seconds_of(lambda: a @ a) for _ in range(500))
    return work / (speed * threads) + 0.003 / setup.training.batch_size


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(42), duration(170), duration(4500), duration(200_000)
    ('42 s', '3 min', '1 h 15 min', '2 days 7 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} day{'s' if days > 1 else ''} {hours} h"


def _seconds_of(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _kind(config: RunConfig) -> tuple[str, float]:
    return config.setup.network, config.setup.width
