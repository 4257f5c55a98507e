"""What the commands that train many models share: the machine, the estimate, the progress."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from untrue.checks import MOST_PROCESSES, check_count
from untrue.cli.console import say
from untrue.errors import counted

if TYPE_CHECKING:
    from rich.console import Console

    from untrue.cli.options import ExecutorOptions, Machine
    from untrue.lab.executor import Event, Executor
    from untrue.lab.plans import Plan
    from untrue.lab.records import DatasetInfo, RunConfig, Sweep
    from untrue.lab.run_data import KnownData, RunData
    from untrue.lab.store import Store
    from untrue.lab.sweep import SweepStatus
    from untrue.lab.time_estimate import SpeedEstimate


@contextmanager
def store_in(place: Path, *, dry_run: bool) -> Iterator[Store]:
    """The store of a directory, for this process alone; a dry run only reads it, if it is there."""
    from untrue.lab.store import FILE, Store
    from untrue.storage import locked

    if not dry_run:
        with locked(place), Store.write(place) as store:
            yield store
    elif (place / FILE).exists():
        with Store.read(place) as store:
            yield store
    else:
        with Store.memory() as store:
            yield store


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """How a sweep ended. failed: runs of this call; done: runs that are there."""

    store: Path
    failed: int
    done: int


def sweep_into(
    place: Path,
    plan: Plan,
    data: RunData | KnownData,
    machine: Machine,
    where: ExecutorOptions,
    *,
    scale: str,
    console: Console,
) -> SweepOutcome:
    """Say what is ahead and make the runs of a plan, with their progress shown.

    A dry run, which may take `KnownData`, ends before the first run and writes nothing.
    """
    from untrue.lab import sweep
    from untrue.lab.run_data import KnownData
    from untrue.lab.warm import WarmPlan, copy_starts

    info = data.info
    data.check(plan.configs(info)[0])
    with (
        room_for(place, data, machine, where) as (executor, jobs, threads),
        store_in(place, dry_run=machine.dry_run) as store,
    ):
        at_hand: list[str] = []
        if isinstance(plan, WarmPlan):
            at_hand = [config.run_id for config in plan.found]
            if not machine.dry_run:
                copy_starts(plan, store)
        planned = sweep.plan_sweep(
            store, plan, info, scale=scale, command=shown_command(), at_hand=at_hand
        )
        if not (machine.dry_run or isinstance(data, KnownData)):
            sweep.note(store, planned, data)
        ahead = sweep.status_of(store, planned, retry_failed=machine.retry_failed)
        whole = plan.configs(info, store.result)
        speed = estimate_of(store, planned, whole[-1], info, jobs=jobs)
        load = load_of(store, whole, ahead, retry_failed=machine.retry_failed)
        stored = speed.left(load)
        if stored is not None:
            how_long = f"{stored} by the runs that are stored"
        elif machine.dry_run:
            how_long = guess(whole[-1], load, info, jobs=jobs, threads=threads)
        else:
            how_long = "the time is known once the first run is under way"
        say(console, start_line(planned, ahead, how_long, jobs=jobs))
        if machine.dry_run:
            return SweepOutcome(store.path, 0, ahead.done)
        failed = 0
        if ahead.todo:
            events = sweep.run(
                store, plan, info, planned, executor, retry_failed=machine.retry_failed
            )
            failed = show(console, store, events, ahead, speed)
        say(console, end_line(store))
        return SweepOutcome(store.path, failed, sweep.status_of(store, planned).done)


@contextmanager
def room_for(
    place: Path, data: RunData | KnownData, machine: Machine, where: ExecutorOptions
) -> Iterator[tuple[Executor, int, int]]:
    """What makes the runs of a store, how many at a time, and with how many threads each."""
    from untrue.lab.executor import LocalProcesses

    cluster = where.cluster(threads=machine.threads, jobs=machine.jobs)
    if cluster is None:
        jobs, threads = share_cores(machine.jobs, machine.threads, machine.device)
        how = (machine.device, machine.data_dir, data.own, place)
        yield LocalProcesses(jobs, threads, data.info, *how), jobs, threads
        return
    from untrue.lab.ray_executor import RayExecutor
    from untrue.ray import connected

    with connected(cluster) as jobs:
        made = RayExecutor(cluster, data, machine.device, machine.data_dir, place)
        yield made, jobs, cluster.threads


def check_machine(machine: Machine, where: ExecutorOptions) -> None:
    """Refuse what makes no sense before data are read or fetched."""
    if where.cluster(threads=machine.threads, jobs=machine.jobs) is None:
        share_cores(machine.jobs, machine.threads, machine.device)


def show(
    console: Console,
    store: Store,
    events: Generator[Event, None, None],
    ahead: SweepStatus,
    speed: SpeedEstimate,
) -> int:
    """Show the events of a sweep as they come; how many runs failed."""
    from untrue.cli.progress import display
    from untrue.lab.executor import Finished

    failed = 0
    shown = display(console, done=ahead.done, expected=ahead.expected, speed=speed)
    try:
        with closing(events), shown:
            for event in events:
                shown.show(event)
                failed += isinstance(event, Finished) and event.result.status == "failed"
    except KeyboardInterrupt:
        say(console, end_line(store))
        raise
    return failed


def share_cores(jobs: int | None, threads: int | None, device: str | None) -> tuple[int, int]:
    """Runs at a time, and threads for each. Small networks use single cores best."""
    from untrue.machine import cores

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
    from untrue.training.device import pick_device

    return pick_device(device).type


def estimate_of(
    store: Store, sweep: Sweep, like: RunConfig, info: DatasetInfo, *, jobs: int
) -> SpeedEstimate:
    """How fast runs like one go, as far as the runs of a sweep in the store tell."""
    from untrue.lab.time_estimate import SpeedEstimate, least_share, stored

    seen = stored(store.results(sweep), like, info.train_images)
    return SpeedEstimate(jobs, seen, least_share(like), like)


def load_of(
    store: Store, whole: Sequence[RunConfig], ahead: SweepStatus, *, retry_failed: bool
) -> float:
    """What is to be made, in runs like the last: those that others start from take longer."""
    from untrue.lab.time_estimate import relative

    status = store.status()
    known = {run for run, state in status.items() if state == "ok" or not retry_failed}
    left = [config for config in whole if config.run_id not in known]
    extra = sum(relative(config, whole[-1]) - 1.0 for config in left)
    return max(ahead.todo + extra, 0.0) if ahead.todo else 0.0


def guess(like: RunConfig, load: float, info: DatasetInfo, *, jobs: int, threads: int) -> str:
    """The time a dry run shows: a rough guess by the network's size, marked as one."""
    from untrue.lab.time_estimate import guessed

    one = guessed(like, info.train_images, threads=threads)
    if one is None or not load:
        return "the time is measured as they run"
    return f"as a rough guess by the network's size, {one.times(max(load / jobs, 1.0))}"


def start_line(sweep: Sweep, ahead: SweepStatus, how_long: str, *, jobs: int) -> str:
    failed = f", {ahead.failed} failed" if ahead.failed else ""
    damaged = f", {ahead.damaged} damaged" if ahead.damaged else ""
    again = (
        f" ({ahead.again} of them again: their weights, or scores by these costs, were not kept)"
        if ahead.again
        else ""
    )
    start = (
        f"{sweep.experiment} on {sweep.data}, scale {sweep.scale}: "
        f"{counted(ahead.expected, 'model')}, "
        f"{ahead.done} done already{failed}{damaged}, {ahead.todo} to train{again}"
    )
    return f"{start}, {jobs} at a time: {how_long}." if ahead.todo else f"{start}."


def end_line(store: Store) -> str:
    """How the store stands, and what to type next."""
    status = list(store.status().values())
    failed = status.count("failed")
    damaged = len(store.damaged())
    found = [f"{failed} failed"] * bool(failed) + [f"{damaged} damaged"] * bool(damaged)
    note = f", {', '.join(found)} (see `untrue status {store.path.parent}`)" if found else ""
    return f"{counted(status.count('ok'), 'run')} stored{note}."


def shown_command() -> str:
    """The command line as typed, to note it with the results."""
    return shlex.join(["untrue", *sys.argv[1:]])
