"""The progress of trainings: one line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from untrue.cli.console import say
from untrue.training.progress import duration

if TYPE_CHECKING:
    from rich.console import Console

    from untrue.training.progress import Progress

EVERY = 10.0
"""Seconds between two lines of a training, where the output is no terminal."""


class EpochLines:
    """Shows every step forward; short trainings get one line, at their end."""

    def __init__(self, where: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._where, self._clock = where, clock
        self._status = where.status("reading") if where.is_terminal else None
        self._last: tuple[str, Progress] | None = None
        self._began = self._spoke = clock()

    def __enter__(self) -> EpochLines:
        if self._status is not None:
            self._status.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._status is not None:
            self._status.__exit__(*exception)
        self._end()

    def show(self, name: str, progress: Progress) -> None:
        if self._last is None or self._last[0] != name:
            self._end()
            self._began = self._spoke = self._clock()
        self._last = name, progress
        unit = _unit(progress)
        line = f"{name}: {unit} {progress.epoch} of at most {progress.epochs}, {_loss(progress)}"
        if self._status is not None:
            self._status.update(line)
        elif self._clock() - self._spoke >= EVERY:
            self._spoke = self._clock()
            say(self._where, f"{line}, {duration(self._clock() - self._began)}")

    def say(self, text: str) -> None:
        """A line among the progress, after that of the training before it."""
        self._end()
        say(self._where, text)

    def _end(self) -> None:
        if self._last is not None:
            name, progress = self._last
            done = f"{progress.epoch} {_unit(progress)}{'s' * (progress.epoch != 1)}"
            say(self._where, f"{name}: {done}, {_loss(progress)}")
        self._last = None


def _unit(progress: Progress) -> str:
    return "round" if progress.rounds else "epoch"


def _loss(progress: Progress) -> str:
    if progress.validation_loss is None:
        return f"step {progress.step} of {progress.steps}, loss {progress.loss:.4f}"
    return f"validation loss {progress.validation_loss:.4f}"
