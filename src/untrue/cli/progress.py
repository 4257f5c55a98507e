"""The progress of a sweep: a live display on a terminal, one line per run elsewhere."""

from __future__ import annotations

import time
from typing import Any, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from untrue.lab.executor import Advanced, Event, Finished, Started
from untrue.lab.records import RunResult
from untrue.lab.time_estimate import SpeedEstimate
from untrue.training.progress import duration

MEASURING = "measuring"


class Display(Protocol):
    """Shows the events of a sweep as they come."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: Any) -> None: ...
    def show(self, event: Event) -> None: ...


def display(console: Console, *, done: int, expected: int, speed: SpeedEstimate) -> Display:
    """The display that fits where the output goes."""
    clock = Clock(done=done, expected=expected, speed=speed)
    return LiveDisplay(console, clock) if console.is_terminal else PlainLines(console, clock)


class Clock:
    """Counts runs and shows the time left, by the speed seen."""

    def __init__(self, *, done: int, expected: int, speed: SpeedEstimate) -> None:
        self.done, self.expected = done, expected
        self.failed = 0
        self._speed = speed

    @property
    def ended(self) -> int:
        return self.done + self.failed

    def see(self, event: Event) -> None:
        """Take in what happened, at this moment."""
        if isinstance(event, Started):
            config = event.config
            self._speed.start(config.run_id, relative=self._speed.relative(config))
        elif isinstance(event, Advanced):
            self._speed.advance(event.config.run_id, event.progress.share, time.monotonic())
        else:
            well = event.result.status == "ok"
            # Its own seconds: the first run also waits for its process to start.
            seconds = None
            if well:
                relative = self._speed.relative(event.result.config)
                seconds = event.result.provenance.seconds / relative
            self._speed.end(event.result.run_id, seconds)
            self.done += well
            self.failed += not well

    def left(self) -> str | None:
        """The time left, as a range; None while nothing is known."""
        under_way = len(self._speed.under_way)
        found = self._speed.left(max(self.expected - self.ended - under_way, 0))
        return None if found is None else f"{found} left"


def outcome(result: RunResult) -> str:
    """What a run came to, in a few words."""
    if result.status == "failed":
        return f"failed: {result.reason}"
    right = result.confusion.trace() / result.confusion.sum()
    return f"{right:.2%} right, {duration(result.provenance.seconds)}"


class PlainLines:
    """One line when a run ends, and one as soon as the first run's speed is known."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console, self._clock = console, clock
        self._shown = clock.left() is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def show(self, event: Event) -> None:
        clock = self._clock
        clock.see(event)
        left = clock.left()
        if isinstance(event, Finished):
            self._shown = self._shown or left is not None
            self._say(
                f"[{clock.ended}/{clock.expected}] {event.result.config.label}: "
                f"{outcome(event.result)}; {left or 'time left not known yet'}"
            )
        elif not self._shown and left is not None:
            self._shown = True
            self._say(f"{left}, by the first seconds of the first run")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class LiveDisplay:
    """A bar for the sweep and one for each run under way, with its epoch and loss."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console, self._clock = console, clock
        self._all = Progress(
            TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._runs = Progress(
            BarColumn(bar_width=12),
            TextColumn("{task.description}"),
            TextColumn("{task.fields[where]}"),
            console=console,
        )
        self._whole = self._all.add_task(
            "all", total=clock.expected, completed=clock.done, left=clock.left() or MEASURING
        )
        self._bars: dict[str, TaskID] = {}
        self._live = Live(Group(self._all, self._runs), console=console, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.__exit__(*exception)

    def show(self, event: Event) -> None:
        self._clock.see(event)
        if isinstance(event, Started):
            label = event.config.label
            self._bars[event.config.run_id] = self._runs.add_task(label, total=1.0, where="")
        elif isinstance(event, Advanced):
            at = event.progress
            self._runs.update(
                self._bars[event.config.run_id],
                completed=at.share,
                where=f"epoch {at.epoch}/{at.epochs}, loss {at.loss:.4f}",
            )
        else:
            self._runs.remove_task(self._bars.pop(event.result.run_id))
            self._live.console.print(
                f"{event.result.config.label}: {outcome(event.result)}",
                markup=False,
                highlight=False,
            )
        self._all.update(
            self._whole,
            completed=self._clock.ended,
            left=self._clock.left() or MEASURING,
        )
