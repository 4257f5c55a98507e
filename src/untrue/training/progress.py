"""How far a training has come, and how it went. No torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """`step` of `steps` in `epoch` (from 1) of at most `epochs`, and the mean loss so far.

    validation_loss: at the end of an epoch, where validation examples are watched.
    rounds: the epochs are rounds of boosted trees.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    validation_loss: float | None = None
    rounds: bool = False

    @property
    def share(self) -> float:
        """How much is done of all epochs, 0 to 1."""
        return (self.epoch - 1 + self.step / self.steps) / self.epochs


@dataclass(frozen=True, slots=True)
class History:
    """Mean losses by epoch (`validation` is empty where none was watched), and the epoch (from 1)
    whose weights were kept."""

    train: tuple[float, ...]
    validation: tuple[float, ...]
    best_epoch: int


def duration(seconds: float) -> str:
    """Seconds as people write them.

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
