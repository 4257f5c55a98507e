"""The device, its memory and its random numbers, set for a training and put back after."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import torch

from untrue.errors import ArgumentError


def pick_device(wanted: str | None = None) -> torch.device:
    """The device asked for, or CUDA when there is one, or the CPU."""
    if wanted is None or wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise ArgumentError(f"`device` {wanted!r} cannot be used here: {reason}") from error
    return device


def keep_memory() -> None:
    """Let the C library keep what a step frees, for the next step to use again.

    glibc hands free memory back to the system, page by page in and out at every step (a tenth of
    the time), until it has seen a block near its limit of 32 MB allocated and freed.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)


@contextlib.contextmanager
def reproducible(seed: int, device: torch.device) -> Iterator[None]:
    """Seeded, deterministic kernels; the caller's random state and settings come back after."""
    cuda = device.type == "cuda"
    if cuda:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    strict = torch.are_deterministic_algorithms_enabled()
    memory: Any = torch.utils.deterministic
    fill = memory.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[device] if cuda else []):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        # Safe here, since nothing reads memory it has not written; filling it costs time.
        memory.fill_uninitialized_memory = False
        # Weights of dead units sink into denormal numbers, which a CPU handles slowly.
        flushed = bool(torch.tensor(1e-39) * 0.5 == 0)  # torch does not tell what is set
        torch.set_flush_denormal(True)
        try:
            yield
        finally:
            torch.set_flush_denormal(flushed)
            memory.fill_uninitialized_memory = fill
            torch.use_deterministic_algorithms(strict)
