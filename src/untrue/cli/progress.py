"""The progress of a sweep: a live display on a terminal, one line per run elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from untrue.lab.executor import Advanced, Event, Finished, Started
from untrue.lab.records import RunResult
from untrue.lab.time_estimate import duration


class Display(Protocol):
    """Shows the events of a sweep as they come."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def show(self, event: Event) -> None: ...


def display(console: Console, *, done: int, expected: int, seconds_left: float) -> Display:
    """The display that fits where the output goes."""
    clock = Clock(done=done, expected=expected, estimate=seconds_left)
    return LiveDisplay(console, clock) if console.is_terminal else PlainLines(console, clock)


class Clock:
    """Counts runs and tells the time left: the first estimate, then the pace seen since."""

    def __init__(self, *, done: int, expected: int, estimate: float) -> None:
        self.done, self.expected = done, expected
        self.failed = self.finished = 0
        self._estimate, self._started = estimate, time.monotonic()

    def finish(self, result: RunResult) -> None:
        self.finished += 1
        if result.status == "ok":
            self.done += 1
        else:
            self.failed += 1

    def left(self, under_way: float = 0.0) -> str:
        """Time left, with `under_way` runs' worth of work done in unfinished runs."""
        todo = self.expected - self.done - self.failed - under_way
        work = self.finished + under_way
        elapsed = time.monotonic() - self._started
        # A run in its first moments says little: the first estimate counts as one run seen.
        whole = self.expected - self.done - self.failed + self.finished
        seconds = (elapsed + self._estimate / max(whole, 1)) / (work + 1) * todo
        return duration(max(seconds, 0.0))


def outcome(result: RunResult) -> str:
    """What a run came to, in a few words."""
    if result.status == "failed":
        return f"failed: {result.error.strip().splitlines()[-1]}"
    right = result.confusion.trace() / result.confusion.sum()
    return f"{right:.2%} right, {duration(result.provenance.seconds)}"


class PlainLines:
    """One line when a run ends."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console, self._clock = console, clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def show(self, event: Event) -> None:
        if isinstance(event, Finished):
            clock = self._clock
            clock.finish(event.result)
            self._console.print(
                f"[{clock.done + clock.failed}/{clock.expected}] {event.result.config.label}: "
                f"{outcome(event.result)}; about {clock.left()} left",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )


class LiveDisplay:
    """A bar for the sweep and one for each run under way, with its epoch and loss."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console, self._clock = console, clock
        self._all = Progress(
            TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
            BarColumn(),
            TextColumn("about {task.fields[left]} left"),
            console=console,
        )
        self._runs = Progress(
            BarColumn(bar_width=12),
            TextColumn("{task.description}"),
            TextColumn("{task.fields[where]}"),
            console=console,
        )
        self._whole = self._all.add_task(
            "all", total=clock.expected, completed=clock.done, left=clock.left()
        )
        self._bars: dict[str, TaskID] = {}
        self._live = Live(Group(self._all, self._runs), console=console, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, event: Event) -> None:
        if isinstance(event, Started):
            label = event.config.label
            self._bars[event.config.run_id] = self._runs.add_task(label, total=1.0, where="")
        elif isinstance(event, Advanced):
            at = event.progress
            self._runs.update(
                self._bars[event.config.run_id],
                completed=(at.epoch - 1 + at.step / at.steps) / at.epochs,
                where=f"epoch {at.epoch}/{at.epochs}, loss {at.loss:.4f}",
            )
        else:
            self._clock.finish(event.result)
            self._runs.remove_task(self._bars.pop(event.result.run_id))
            self._live.console.print(
                f"{event.result.config.label}: {outcome(event.result)}",
                markup=False,
                highlight=False,
            )
        under_way = sum(task.completed for task in self._runs.tasks)
        self._all.update(
            self._whole,
            completed=self._clock.done + self._clock.failed,
            left=self._clock.left(under_way),
        )
