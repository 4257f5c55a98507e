"""The training loop of the tools: small networks, data in memory, early stopping."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from untrue.errors import DataError

Objective = Callable[[Tensor, Tensor], Tensor]
EVALUATION_BATCH = 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """epochs: at most; it stops after `patience` epochs without a better validation loss."""

    epochs: int = 100
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    patience: int = 10
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """An epoch that ended: `epoch` of at most `epochs`, and the mean losses."""

    epoch: int
    epochs: int
    train_loss: float
    validation_loss: float


@dataclass(frozen=True, slots=True)
class History:
    """Mean losses by epoch, and the epoch (from 1) whose weights were kept."""

    train: tuple[float, ...]
    validation: tuple[float, ...]
    best_epoch: int


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Inputs (N, ...), floats or the bytes of images, and classes (N,)."""

    inputs: npt.NDArray[Any]
    labels: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers from `seed`; the caller's come back after."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def train(
    network: nn.Module,
    objective: Objective,
    examples: Examples,
    watched: Examples,
    settings: Settings,
    on_epoch: Callable[[Progress], None] | None = None,
) -> History:
    """Train in place by AdamW; ends with the weights of the least validation loss."""
    x, y = torch.from_numpy(examples.inputs), torch.from_numpy(examples.labels)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    generator = torch.Generator().manual_seed(settings.seed)
    losses: list[tuple[float, float]] = []
    best, best_epoch, kept = math.inf, 0, copy.deepcopy(network.state_dict())
    for epoch in range(1, settings.epochs + 1):
        network.train()
        total = 0.0
        for chosen in torch.split(torch.randperm(len(y), generator=generator), settings.batch_size):
            optimizer.zero_grad(set_to_none=True)
            loss = objective(network(x[chosen]), y[chosen])
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.item() * len(chosen)
        losses.append((total / len(y), mean_loss(network, objective, watched)))
        if not all(map(math.isfinite, losses[-1])):
            raise DataError(
                f"Training stopped: the loss is no longer finite in epoch {epoch}. Lower the "
                f"learning rate ({settings.learning_rate:g}) or the scale of the costs."
            )
        if on_epoch is not None:
            on_epoch(Progress(epoch, settings.epochs, *losses[-1]))
        if losses[-1][1] < best:
            best, best_epoch, kept = losses[-1][1], epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch >= settings.patience:
            break
    network.load_state_dict(kept)
    network.eval()
    return History(tuple(t for t, _ in losses), tuple(v for _, v in losses), best_epoch)


@torch.inference_mode()
def mean_loss(network: nn.Module, objective: Objective, examples: Examples) -> float:
    """The objective's mean over examples, with dropout off."""
    logits = torch.from_numpy(logits_of(network, examples.inputs))
    return float(objective(logits, torch.from_numpy(examples.labels)))


@torch.inference_mode()
def logits_of(network: nn.Module, inputs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Logits (N, k), with dropout off."""
    network.eval()
    parts = [network(part) for part in torch.split(torch.from_numpy(inputs), EVALUATION_BATCH)]
    result: npt.NDArray[np.float32] = torch.cat(parts).float().numpy()
    return result
