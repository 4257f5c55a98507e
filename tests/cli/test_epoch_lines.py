"""Progress of trainings where there is no terminal: seldom, but never silence."""

from __future__ import annotations

import io

from rich.console import Console

from untrue.cli.epoch_lines import EVERY, EpochLines
from untrue.training.progress import Progress


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def at(epoch: int, step: int, validation_loss: float | None = None) -> Progress:
    return Progress(epoch, 20, step, 300, 0.5, validation_loss)


def test_a_long_training_speaks_now_and_then_and_a_short_one_at_its_end() -> None:
    text, clock = io.StringIO(), Clock()
    with EpochLines(Console(file=text, width=200), clock) as lines:
        lines.say("A model takes at most about 5 min here")
        lines.show("plain", at(1, 300, 0.9))
        clock.now += 0.5 * EVERY
        lines.show("plain", at(2, 300, 0.8))
        lines.show("costs", at(1, 100))
        for step in (200, 300):
            clock.now += 0.6 * EVERY
            lines.show("costs", at(1, step, 0.7 if step == 300 else None))
        clock.now += 60
        lines.show("costs", at(2, 300, 0.6))
    assert text.getvalue().splitlines() == [
        "A model takes at most about 5 min here",
        "plain: 2 epochs, validation loss 0.8000",
        "costs: epoch 1 of at most 20, validation loss 0.7000, 12 s",
        "costs: epoch 2 of at most 20, validation loss 0.6000, 72 s",
        "costs: 2 epochs, validation loss 0.6000",
    ]


def test_within_a_long_epoch_the_step_is_shown() -> None:
    text, clock = io.StringIO(), Clock()
    with EpochLines(Console(file=text, width=200), clock) as lines:
        lines.show("plain", at(1, 100))
        clock.now += EVERY
        lines.show("plain", at(1, 200))
    assert text.getvalue().splitlines() == [
        "plain: epoch 1 of at most 20, step 200 of 300, loss 0.5000, 10 s",
        "plain: 1 epoch, step 200 of 300, loss 0.5000",
    ]


def test_boosted_trees_have_rounds() -> None:
    text, clock = io.StringIO(), Clock()
    with EpochLines(Console(file=text, width=200), clock) as lines:
        clock.now += EVERY
        lines.show("plain", Progress(3, 500, 1, 1, 0.4, 0.4, rounds=True))
        clock.now += EVERY
        lines.show("plain", Progress(9, 500, 1, 1, 0.3, 0.3, rounds=True))
    assert text.getvalue().splitlines() == [
        "plain: round 9 of at most 500, validation loss 0.3000, 10 s",
        "plain: 9 rounds, validation loss 0.3000",
    ]
