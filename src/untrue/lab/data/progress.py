"""How far a download has come: a bar on a terminal, a plain line elsewhere; on stderr."""

from __future__ import annotations

import sys
from typing import Protocol


class Meter(Protocol):
    """What pooch tells of a download: the bytes in all, then those that came."""

    total: int

    def update(self, n: int) -> None: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def meter_for(name: str, host: str) -> Meter:
    return Bar(name, host) if sys.stderr.isatty() else Lines(name, host)


class Lines:
    def __init__(self, name: str, host: str) -> None:
        self.total = 0
        say(f"fetching {name} from {host}")

    def update(self, n: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def close(self) -> None:
        pass


class Bar:
    def __init__(self, name: str, host: str) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.task = self.progress.add_task(f"{name} from {host}", total=None)
        self.size = 0
        self.progress.start()

    @property
    def total(self) -> int:
        return self.size

    @total.setter
    def total(self, size: int) -> None:
        self.size = size
        self.progress.update(self.task, total=size or None)

    def update(self, n: int) -> None:
        self.progress.update(self.task, advance=n)

    def reset(self) -> None:
        self.progress.update(self.task, completed=0)

    def close(self) -> None:
        self.progress.stop()
