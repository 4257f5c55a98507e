"""How far a training has come, and how it went. No torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """`step` of `steps` in `epoch` (from 1) of at most `epochs`, and the mean loss so far.

    validation_loss: at the end of an epoch, where validation examples are watched.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    validation_loss: float | None = None

    @property
    def epoch_ended(self) -> bool:
        return self.step == self.steps


@dataclass(frozen=True, slots=True)
class History:
    """Mean losses by epoch (`validation` is empty where none was watched), and the epoch (from 1)
    whose weights were kept."""

    train: tuple[float, ...]
    validation: tuple[float, ...]
    best_epoch: int
