"""What the commands that train many models share: the machine, the estimate, the progress."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from untrue.checks import MOST_PROCESSES, check_count
from untrue.cli.console import say

if TYPE_CHECKING:
    from rich.console import Console

    from untrue.lab.executor import Event
    from untrue.lab.records import RunConfig, Sweep
    from untrue.lab.store import Store
    from untrue.lab.sweep import Outlook


# Seconds until the first process trains, most of them for importing torch.
START = 3.0


@contextmanager
def store_in(place: Path, *, dry_run: bool) -> Iterator[Store]:
    """The store of a directory, for this process alone; of a dry run a copy that is thrown away."""
    from untrue.lab.store import FILE, Store
    from untrue.storage import locked

    if not dry_run:
        with locked(place), Store.write(place) as store:
            yield store
        return
    with TemporaryDirectory() as elsewhere:
        if (place / FILE).exists():
            with Store.read(place) as there:
                there.copy_to(Path(elsewhere))
        with Store.write(elsewhere) as store:
            yield store


def conduct(
    console: Console,
    store: Store,
    planned: Sweep,
    events_of: Callable[[], Generator[Event, None, None]],
    *,
    jobs: int,
    threads: int,
    retry_failed: bool = False,
    dry_run: bool = False,
) -> int:
    """Say what is ahead, make the runs with their progress shown; how many failed."""
    from untrue.cli.progress import display
    from untrue.lab import sweep
    from untrue.lab.executor import Finished

    ahead = sweep.outlook(store, planned, retry_failed=retry_failed)
    seconds = estimate(store, planned, ahead.todo, jobs=jobs, threads=threads)
    say(console, greeting(planned, ahead, seconds, jobs=jobs))
    if dry_run:
        return 0
    failed = 0
    if ahead.todo:
        events = events_of()
        shown = display(console, done=ahead.done, expected=ahead.expected, seconds_left=seconds)
        try:
            with closing(events), shown:
                for event in events:
                    shown.show(event)
                    failed += isinstance(event, Finished) and event.result.status == "failed"
        except KeyboardInterrupt:
            say(console, farewell(store))
            raise
    say(console, farewell(store))
    return failed


def share_cores(jobs: int | None, threads: int | None, device: str | None) -> tuple[int, int]:
    """Runs at a time, and threads for each. Small networks use single cores best."""
    from untrue.lab.machine import cores

    for name, value in (("jobs", jobs), ("threads", threads)):
        if value is not None:
            check_count(name, value, most=MOST_PROCESSES)
    if jobs is None:
        jobs = 1 if kind_of_device(device) == "cuda" else cores()
    return jobs, threads or max(1, cores() // jobs)


def kind_of_device(device: str | None) -> str:
    """cpu, cuda, ...: checked, and picked when not given."""
    if device == "cpu":
        return device  # no need to import torch, which takes a while
    from untrue.training.machine import pick_device

    return pick_device(device).type


def estimate(store: Store, sweep: Sweep, todo: int, *, jobs: int, threads: int) -> float:
    """Seconds the runs still to make will take, at most."""
    from untrue.lab import time_estimate

    if not todo:
        return 0.0
    like: RunConfig = sweep.configs[0]
    rate = time_estimate.measured(store.results(sweep), like)
    if rate is None:
        rate = time_estimate.guessed(like, threads=threads)
    info = store.dataset(like.data)
    images = 0 if info is None else info.train_images
    return START + rate * time_estimate.cost(like, images) * todo / min(jobs, todo)


def greeting(sweep: Sweep, ahead: Outlook, seconds: float, *, jobs: int) -> str:
    from untrue.lab.time_estimate import duration

    failed = f", {ahead.failed} failed" if ahead.failed else ""
    damaged = f", {ahead.damaged} damaged" if ahead.damaged else ""
    start = (
        f"{sweep.experiment} on {sweep.data}, scale {sweep.scale}: {ahead.expected} models, "
        f"{ahead.done} done already{failed}{damaged}, {ahead.todo} to train"
    )
    if not ahead.todo:
        return f"{start}."
    about = "at most" if sweep.configs[0].patience else "about"
    return f"{start}, {jobs} at a time: {about} {duration(seconds)}."


def farewell(store: Store) -> str:
    """How the store stands, and what to type next."""
    status = list(store.status().values())
    failed = status.count("failed")
    damaged = len(store.damaged())
    found = [f"{failed} failed"] * bool(failed) + [f"{damaged} damaged"] * bool(damaged)
    note = f", {', '.join(found)} (see `untrue status {store.path.parent}`)" if found else ""
    return f"{status.count('ok')} runs are stored{note}."


def shown_command() -> str:
    """The command line as typed, to note it with the results."""
    return shlex.join(["untrue", *sys.argv[1:]])
