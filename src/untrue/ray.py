"""Work on a Ray cluster: a function and a list of items in, events as they happen out.

    with connected(Cluster("auto", threads=2)) as slots:
        for event in run(cluster, work, shared, items):
            ...

`work(shared, item, report)` is a function of a module that every node has. `shared` goes into Ray's
object store: it travels to a node once, and arrays in it are read there without a copy. What a
worker or a node that dies had in progress is done again elsewhere. Nothing is written here: the
caller alone keeps results.

Ray's processes trust each other, and send each other pickles. Connect only to a cluster of your
own, on a network that strangers do not reach.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import socket
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from untrue.checks import MOST_PROCESSES, check_count
from untrue.errors import ArgumentError, UntrueError, UntrueWarning
from untrue.machine import NUMERICAL, versions
from untrue.optional import need

AUTO = "auto"
PURPOSE = "The executor ray"
# How often a run is started again elsewhere when its worker or its node dies.
RETRIES = 3
# Seconds: between polls of the cluster, between a worker's reports, until a host counts as dead.
PATIENCE, REPORT_EVERY, REACH = 0.2, 0.5, 5.0
# What decides numbers, and what must be the same for pickles to be read.
COMPARED = (*NUMERICAL, "ray")

Work = Callable[[Any, Any, Callable[[Any], None]], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Cluster:
    """Where a cluster is, and what each item of work takes of it.

    address  "auto", the cluster of this machine, or HOST:PORT of its head
    threads  cores of an item; gpus: of an item, 0.5 for two on one
    jobs     items at a time; None: as many as there is room for
    """

    address: str = AUTO
    threads: int = 1
    gpus: float = 0.0
    jobs: int | None = None

    def __post_init__(self) -> None:
        check_count("threads", self.threads, most=MOST_PROCESSES)
        if self.jobs is not None:
            check_count("jobs", self.jobs, most=MOST_PROCESSES)
        whole = float(self.gpus).is_integer()
        if not 0 <= self.gpus <= 64 or (self.gpus > 1 and not whole):
            raise ArgumentError(
                f"`gpus` must be a share of one GPU or a whole number of them; got {self.gpus}."
            )
        host, _, port = self.address.rpartition(":")
        if self.address != AUTO and not (host and port.isdecimal() and 0 < int(port) < 2**16):
            raise ArgumentError(f"`address` must be auto or HOST:PORT; got {self.address!r}.")


@dataclasses.dataclass(frozen=True, slots=True)
class ItemStarted:
    """A worker has started an item."""

    item: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Reported:
    """What `report` was last called with."""

    item: int
    message: Any


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Done:
    """An item is done."""

    item: int
    value: Any


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """The work raised `error`, or its workers died `RETRIES` times more."""

    item: int
    error: Exception
    seconds: float


Event = ItemStarted | Reported | Done | Failed


class MismatchError(UntrueError, RuntimeError):
    """A node with other versions than the driver's."""


@contextmanager
def connected(cluster: Cluster) -> Iterator[int]:
    """Connect for a while; how many items there is room for at once. One sentence if it cannot."""
    ray = need("ray", PURPOSE, "ray")
    if cluster.address != AUTO:
        _check_reachable(cluster.address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of Ray to come
        try:
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # noqa: BLE001 - Ray has no one kind of error for this
            raise UntrueError(_why_not(cluster.address, error)) from None
    try:
        yield room(cluster)
    finally:
        ray.shutdown()


def room(cluster: Cluster) -> int:
    """How many items fit at once; an error where no node can ever take one."""
    ray = need("ray", PURPOSE, "ray")
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    fits = 0
    for each in nodes:
        cores, gpus = int(each.get("CPU", 0)), each.get("GPU", 0.0)
        fits += min(cores // cluster.threads, int(gpus / cluster.gpus) if cluster.gpus else cores)
    if not fits:
        most = max((int(each.get("CPU", 0)) for each in nodes), default=0)
        wanted = f"{cluster.threads} cores" + f" and {cluster.gpus:g} GPUs" * bool(cluster.gpus)
        raise ArgumentError(
            f"No node of the cluster has {wanted}, as a run wants; the largest of its "
            f"{len(nodes)} has {most} cores. Give fewer `threads` or `gpus`."
        )
    return min(fits, cluster.jobs or fits)


def run(
    cluster: Cluster, work: Work, shared: Any, items: Sequence[Any]
) -> Generator[Event, None, None]:
    """Exactly one `Done` or `Failed` for each item, in any order; `ItemStarted` comes before it.

    A node with other versions ends it all. What is running when the iterator is closed ends with
    the connection: a cluster stops the workers of a driver that has left.
    """
    ray = need("ray", PURPOSE, "ray")
    options: dict[str, Any] = {"num_cpus": cluster.threads, "num_gpus": cluster.gpus}
    task = ray.remote(_task).options(max_retries=RETRIES, **options)
    progress_actor, data, ours = _progress_actor(ray), ray.put(shared), versions(COMPARED)
    todo = deque(range(len(items)))
    running: dict[Any, tuple[int, float]] = {}
    started: set[int] = set()
    try:
        while todo or running:
            # As many again wait in Ray's own queue, so that no worker waits for us.
            width = cluster.jobs or 2 * _slots(ray, cluster)
            while todo and len(running) < width:
                item = todo.popleft()
                made = task.remote(
                    work, data, items[item], item, progress_actor, cluster.threads, ours
                )
                running[made] = (item, time.perf_counter())
            ready, _ = ray.wait(list(running), num_returns=1, timeout=PATIENCE)
            at_work = {item for item, _ in running.values()}
            for item, messages in _read(ray, progress_actor).items():
                if item in at_work:
                    if item not in started:
                        started.add(item)
                        yield ItemStarted(item)
                    yield from (Reported(item, message) for message in messages)
            for each in ready:
                item, since = running.pop(each)
                if item not in started:
                    started.add(item)
                    yield ItemStarted(item)
                yield _outcome(ray, each, item, time.perf_counter() - since)
    finally:
        # Not `ray.cancel`: a result that comes in at that moment aborts the driver (Ray 2.60).
        with suppress(Exception):
            ray.kill(progress_actor)


def check_versions(ours: tuple[tuple[str, str], ...], theirs: tuple[tuple[str, str], ...]) -> None:
    """A row must not depend on where it was made."""
    found = dict(theirs)
    for name, version in ours:
        if found.get(name) != version:
            raise MismatchError(
                f"Node {socket.gethostname()} has {name} {found.get(name, 'none')}, this machine "
                f"{version}: rows would not compare. Install the same versions everywhere."
            )


def _task(
    work: Work,
    shared: Any,
    argument: Any,
    item: int,
    progress_actor: Any,
    threads: int,
    ours: tuple[tuple[str, str], ...],
) -> tuple[Any, list[str]]:
    """One item, in a worker: what the work gives, and our warnings, for the driver to show.

    Other versions are an answer and not raised: Ray would write to the terminal about each task
    whose error arrives after the first has ended it all.
    """
    try:
        check_versions(ours, versions(COMPARED))
    except MismatchError as error:
        return error, []
    os.environ["OMP_NUM_THREADS"] = str(threads)  # boosted trees ask for it
    if importlib.util.find_spec("torch") is not None:
        importlib.import_module("torch").set_num_threads(threads)
    last = 0.0

    def report(message: Any) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= REPORT_EVERY:
            last = now
            progress_actor.report.remote(item, message)

    progress_actor.start.remote(item)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UntrueWarning)
        value = work(shared, argument, report)
    return value, [str(each.message) for each in caught if each.category is UntrueWarning]


class _ProgressActor:
    """An actor beside the driver that holds the last message of each item until it is read."""

    def __init__(self) -> None:
        self.messages: dict[int, list[Any]] = {}

    def start(self, item: int) -> None:
        self.messages.setdefault(item, [])

    def report(self, item: int, message: Any) -> None:
        self.messages[item] = [message]

    def read(self) -> dict[int, list[Any]]:
        messages, self.messages = self.messages, {}
        return messages


def _progress_actor(ray: Any) -> Any:
    strategies = need("ray.util.scheduling_strategies", PURPOSE, "ray")
    # Beside the driver: that node's end is the end of the driver too.
    here = ray.get_runtime_context().get_node_id()
    place = strategies.NodeAffinitySchedulingStrategy(here, soft=False)
    return ray.remote(_ProgressActor).options(num_cpus=0, scheduling_strategy=place).remote()


def _read(ray: Any, progress_actor: Any) -> dict[int, list[Any]]:
    """Progress is for the eye: where it cannot be read, the work continues."""
    try:
        messages: dict[int, list[Any]] = ray.get(progress_actor.read.remote(), timeout=5 * REACH)
    except ray.exceptions.RayError:
        return {}
    return messages


def _slots(ray: Any, cluster: Cluster) -> int:
    """As `room`, while nodes come and go; work waits where there is none."""
    cores = ray.cluster_resources().get("CPU", 0.0)
    return max(1, int(cores) // cluster.threads)


def _outcome(ray: Any, made: Any, item: int, seconds: float) -> Event:
    try:
        value, texts = ray.get(made)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause if isinstance(error.cause, Exception) else error
        if isinstance(cause, ImportError) or "failed to import" in str(cause):
            what = str(cause).strip().splitlines()[-1]
            raise MismatchError(
                f"A node cannot load what a run needs ({what}). Install the same untrue on every "
                "node."
            ) from None
        return Failed(item, cause, seconds)
    except ray.exceptions.RayError as error:
        text = str(error).strip().partition("\n")[0].rstrip(".")
        why = f"Its worker or node died {RETRIES + 1} times ({type(error).__name__}: {text})."
        return Failed(item, UntrueError(why), seconds)
    if isinstance(value, MismatchError):
        raise value
    for text in texts:
        warnings.warn(text, UntrueWarning, stacklevel=2)
    return Done(item, value)


def _check_reachable(address: str) -> None:
    """Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH).close()
    except OSError as error:
        raise UntrueError(
            f"No Ray cluster answers at {address} ({error.strerror or error}). Is the head up "
            f"(`ray start --head --port {port}`), and reachable from here?"
        ) from None


def _why_not(address: str, error: Exception) -> str:
    text = " ".join(str(error).split())
    if "ersion mismatch" in text:
        return f"The cluster at {address} has other versions than this machine: {text}"
    if address == AUTO:
        return (
            "No Ray cluster runs on this machine. Start one with `ray start --head`, or name its "
            "head with --address HOST:PORT."
        )
    return f"The Ray cluster at {address} takes no connection from here: {text}"
