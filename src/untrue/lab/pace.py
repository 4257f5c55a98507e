"""How long a sweep will take: from the runs in the store, or from a few timed steps."""

from __future__ import annotations

import time
from collections.abc import Iterable

from untrue.lab.records import RunConfig, RunResult


def cost(config: RunConfig, train_images: int) -> int:
    """Images a run trains on, all epochs together (early stopping makes it fewer)."""
    kept = min(config.limit_train or train_images, train_images) - config.validation
    return max(kept, 1) * config.epochs


def measured(results: Iterable[RunResult], like: RunConfig) -> float | None:
    """Seconds per training image in finished runs of the same network, or None."""
    rates = [
        result.provenance.seconds / (result.train_images * result.epochs_run)
        for result in results
        if result.status == "ok" and (result.config.network, result.config.width) == _kind(like)
    ]
    return sum(rates) / len(rates) if rates else None


def timed(config: RunConfig, *, device: str | None, threads: int, steps: int = 4) -> float:
    """Seconds per training image of a few steps on random images, on this machine, now."""
    import torch

    from untrue.lab import models
    from untrue.lab.training import pick_device

    chosen = pick_device(device)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        network = models.place(models.build(config.network, width=config.width), chosen)
        optimizer = torch.optim.Adam(network.parameters(), fused=True)
        images = torch.rand(config.batch_size, *models.INPUTS[config.network], device=chosen)
        images = images.to(memory_format=torch.channels_last)
        started = 0.0
        for step in range(steps + 1):
            if step == 1:
                started = time.perf_counter()
            optimizer.zero_grad()
            network(images).square().mean().backward()
            optimizer.step()
        if chosen.type == "cuda":
            torch.cuda.synchronize()
        return (time.perf_counter() - started) / (steps * config.batch_size)
    finally:
        torch.set_num_threads(before)


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(42), duration(150), duration(4500), duration(200_000)
    ('42 s', '3 min', '1 h 15 min', '2 days 8 h')
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


def _kind(config: RunConfig) -> tuple[str, float]:
    return config.network, config.width
