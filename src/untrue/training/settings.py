"""How a network is trained, as one frozen record that is checked where it is made. No torch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, Self

from untrue.checks import check_choice, check_count, check_number

Optimizer = Literal["adam", "adamw", "sgd"]
Schedule = Literal["constant", "cosine", "one-cycle"]
OPTIMIZERS: dict[str, str] = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD"}
SCHEDULES: dict[str, str] = {
    "constant": "constant",
    "cosine": "falling to 0 along half a cosine",
    "one-cycle": "rising in a line and falling to 0 (one cycle)",
}

MOST_SHIFT = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """How to train, whatever the network, the loss, the examples and the seed.

    epochs         passes over the training examples, at most
    batch_size     examples per step; the last batch of an epoch may be smaller
    learning_rate  the greatest, where a schedule changes it
    optimizer      "adam", "adamw" or "sgd" (Nesterov's, with `momentum`)
    weight_decay   of kernels and matrices, never of biases and normalisations
    schedule       of the learning rate over all steps: "constant", "cosine" (falls to 0) or
                   "one-cycle" (rises, then falls to 0)
    patience       epochs without a better validation loss before training stops; the weights of
                   the best epoch are then kept. 0: all epochs, and the last weights
    warmup         share of the steps over which the loss's alpha rises from 0 to its value
    augment        images are mirrored or not, and moved, differently in each epoch
    shift          by this many pixels at most, where they are
    """

    epochs: int
    batch_size: int = 50
    learning_rate: float = 5e-4
    optimizer: Optimizer | str = "adam"
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Schedule | str = "constant"
    patience: int = 0
    warmup: float = 0.0
    augment: bool = False
    shift: int = 4

    def __post_init__(self) -> None:
        check_count("epochs", self.epochs)
        check_count("batch_size", self.batch_size)
        check_number("learning_rate", self.learning_rate, 0.0, ends=False)
        check_choice("optimizer", self.optimizer, tuple(OPTIMIZERS))
        check_number("momentum", self.momentum, 0.0, 0.999)
        check_number("weight_decay", self.weight_decay, 0.0)
        check_choice("schedule", self.schedule, tuple(SCHEDULES))
        check_count("patience", self.patience, least=0)
        check_number("warmup", self.warmup, 0.0, 1.0)
        check_count("shift", self.shift, least=0, most=MOST_SHIFT)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON takes them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """From `to_dict`; refuses what is not a setting."""
        return cls(**fields)

    def optimizer_line(self) -> str:
        """The optimizer with its rate, schedule and decay, for tables and sentences.

        >>> Settings(epochs=3).optimizer_line()
        'Adam 0.0005, constant'
        >>> Settings(epochs=3, optimizer="sgd", schedule="cosine").optimizer_line()
        'SGD 0.0005, falling to 0 along half a cosine, momentum 0.9'
        """
        parts = [f"{OPTIMIZERS[self.optimizer]} {self.learning_rate:g}", SCHEDULES[self.schedule]]
        if self.optimizer == "sgd":
            parts.append(f"momentum {self.momentum:g}")
        if self.weight_decay:
            parts.append(f"weight decay {self.weight_decay:g}")
        return ", ".join(parts)


OWN_DATA = Settings(
    epochs=100,
    batch_size=64,
    learning_rate=1e-3,
    optimizer="adamw",
    weight_decay=1e-4,
    patience=10,
)
"""What a person's own data are trained with unless they say otherwise; see `suited_to`."""

BY_NETWORK = {
    "compact": Settings(
        epochs=12,
        batch_size=128,
        learning_rate=0.4,
        optimizer="sgd",
        weight_decay=5e-4,
        schedule="one-cycle",
        augment=True,
        # In so few epochs it cannot learn what a wider shift teaches.
        shift=2,
    ),
    # Boosted trees: an epoch is a round.
    **dict.fromkeys(("lightgbm", "xgboost"), Settings(epochs=300, learning_rate=0.1, patience=30)),
}
"""How networks with settings of their own are trained."""


FEW_EPOCHS, SLOWER = 3, 4.0


def continued(training: Settings, given: Mapping[str, Any] | None = None) -> Settings:
    """How a training of these settings is continued: 3 epochs at a quarter of the rate, which
    falls to 0; then what was given instead.

    >>> how = continued(Settings(epochs=12, learning_rate=0.4))
    >>> how.epochs, how.learning_rate, how.schedule
    (3, 0.1, 'cosine')
    """
    usual = dataclasses.replace(
        training,
        epochs=min(FEW_EPOCHS, training.epochs),
        learning_rate=training.learning_rate / SLOWER,
        schedule="cosine",
        patience=0,
        warmup=0.0,
    )
    return dataclasses.replace(usual, **(given or {}))


def suited_to(examples: int) -> Settings:
    """`OWN_DATA` for this many training examples.

    Up to 6,400 examples get batches of 64 and up to 100 epochs. More get larger batches, so that
    an epoch stays near 100 steps, at most 1,024, with a rate that grows as the root of the batch;
    and from 30,000 on fewer epochs, at least 10: about as many examples are looked at in all.

    >>> [(s.batch_size, s.epochs, s.patience) for s in map(suited_to, (1000, 50_000, 400_000))]
    [(64, 100, 10), (512, 60, 10), (1024, 10, 3)]
    """
    batch = 2 ** round(math.log2(max(examples, 1) / 100))
    batch = min(max(batch, OWN_DATA.batch_size), 1024)
    epochs = min(max(round(3e6 / max(examples, 1)), 10), OWN_DATA.epochs)
    return dataclasses.replace(
        OWN_DATA,
        batch_size=batch,
        epochs=epochs,
        learning_rate=round(OWN_DATA.learning_rate * math.sqrt(batch / OWN_DATA.batch_size), 6),
        patience=min(max(epochs // 5, 3), OWN_DATA.patience),
    )
