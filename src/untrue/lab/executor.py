"""Where runs are made: a list of configs in, events out as they happen, failures as results.

`LocalProcesses` trains on this machine, each run in a process of its own. Anything else that
turns configs into events (a cluster, say) fits behind `Executor`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from untrue.errors import UntrueWarning
from untrue.lab.provenance import provenance
from untrue.lab.records import DatasetInfo, RunConfig, RunResult
from untrue.lab.store import Store

if TYPE_CHECKING:
    from untrue.lab.data import Dataset
    from untrue.lab.own_data import Opened, Readable
    from untrue.lab.training import TrainedRun
    from untrue.training.progress import Progress


@dataclasses.dataclass(frozen=True, slots=True)
class Started:
    """A run has begun."""

    config: RunConfig


@dataclasses.dataclass(frozen=True, slots=True)
class Advanced:
    """A run has come this far."""

    config: RunConfig
    progress: Progress


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A run has ended, well or not. A baseline brings its test probabilities (N, k), and a run
    whose weights are kept its network as safetensors."""

    result: RunResult
    probs: npt.NDArray[np.float32] | None = None
    weights: bytes | None = None


Event = Started | Advanced | Finished


class Executor(Protocol):
    """Makes runs. Closing the iterator stops what is under way."""

    def run(self, configs: Sequence[RunConfig]) -> Iterator[Event]:
        """Exactly one `Finished` for each config, in any order."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class LocalProcesses:
    """`jobs` processes with `threads` threads each. A process that dies is a failed run.

    threads is part of what decides a result to the last bit, so it never depends on how many
    runs are left. info: of the data set, which is hashed once and not by each process. own: how
    the data are read, unless they are images of the lab, known by their name. store: the
    directory that has the weights of runs that others continue from.
    """

    jobs: int
    threads: int
    info: DatasetInfo
    device: str | None = None
    data_dir: str | Path | None = None
    own: Readable | None = None
    store: Path | None = None

    def failed(self, config: RunConfig, error: str, started: float) -> Finished:
        """A run that failed with this traceback."""
        seconds, device = time.perf_counter() - started, self.device or "auto"
        result = failure(config, error, seconds=seconds, device=device, threads=self.threads)
        return Finished(result)

    def run(self, configs: Sequence[RunConfig]) -> Iterator[Event]:
        todo = deque(configs)
        workers: list[_Worker] = []
        try:
            while todo or workers:
                while todo and len(workers) < self.jobs:
                    workers.append(_Worker(self))
                for worker in workers:
                    if worker.config is None and todo:
                        worker.give(todo.popleft())
                        assert worker.config is not None
                        yield Started(worker.config)
                idle = [worker for worker in workers if worker.config is None]
                for worker in idle:
                    worker.stop()
                    workers.remove(worker)
                if not workers:
                    continue
                ready = wait([worker.pipe for worker in workers])
                for worker in [worker for worker in workers if worker.pipe in ready]:
                    event = worker.receive()
                    if event is None:
                        workers.remove(worker)
                    yield event or worker.died()
        finally:
            for worker in workers:
                worker.kill()


class _Worker:
    """One process and the run it is busy with."""

    def __init__(self, local: LocalProcesses) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_work, args=(other, local), daemon=True)
        self.process.start()
        other.close()
        self.local = local
        self.config: RunConfig | None = None
        self.started = 0.0

    def give(self, config: RunConfig) -> None:
        self.config, self.started = config, time.perf_counter()
        # If it died while idle, `receive` finds the pipe closed and reports the run as failed.
        with contextlib.suppress(OSError):
            self.pipe.send(config)

    def receive(self) -> Event | None:
        """The next event, or None when the process is gone."""
        assert self.config is not None
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return None
        if isinstance(message, Finished):
            self.config = None
            return message
        return Advanced(self.config, message)

    def died(self) -> Finished:
        assert self.config is not None
        code = self.process.exitcode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        error = f"The process of this run ended with {how}; it may have run out of memory."
        return self.local.failed(self.config, error, self.started)

    def stop(self) -> None:
        """End an idle process."""
        with contextlib.suppress(OSError):
            self.pipe.send(None)
        self.process.join()
        self.pipe.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def failure(
    config: RunConfig, error: str, *, seconds: float, device: str, threads: int
) -> RunResult:
    """The record of a run that failed with this traceback."""
    return RunResult(
        config=config,
        status="failed",
        provenance=provenance(seconds, device=device, threads=threads),
        confusion=np.zeros((0, 0), dtype=np.int64),
        error=error,
    )


def _work(pipe: Connection, local: LocalProcesses) -> None:
    """The life of a process: configs in, progress and results out."""
    # Ctrl-C reaches the whole group; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()

    import torch

    torch.set_num_threads(local.threads)
    train = _trainer(local)
    while (config := pipe.recv()) is not None:
        started = time.perf_counter()
        try:
            finished = finished_with(config, train(config, pipe.send))
        except Exception:  # noqa: BLE001 - whatever it was, it is the result of this run
            finished = local.failed(config, traceback.format_exc(), started)
        pipe.send(finished)


Train = Callable[[RunConfig, Callable[["Progress"], None]], "TrainedRun"]


def _trainer(local: LocalProcesses) -> Train:
    """Training on images of the lab by their name, or on data of one's own; read when a run first
    needs them."""
    from untrue.lab.data import load
    from untrue.lab.training import train

    @lru_cache(maxsize=1)
    def read(name: str) -> Dataset | Opened:
        with warnings.catch_warnings():
            # Said when the runs were planned.
            warnings.simplefilter("ignore", UntrueWarning)
            return load(name, local.data_dir) if local.own is None else local.own.open()

    return lambda config, report: train(
        config,
        read(config.setup.data),
        info=local.info,
        device=local.device,
        weights=starting_weights(local.store, config),
        on_progress=report,
    )


def finished_with(config: RunConfig, trained: TrainedRun) -> Finished:
    """The event of a run that ended well, with what is kept of it."""
    from untrue.networks.weights import to_bytes

    return Finished(
        trained.result,
        trained.probs if config.is_baseline else None,
        to_bytes(trained.network) if config.keep_weights and trained.network else None,
    )


def starting_weights(place: Path | None, config: RunConfig) -> bytes | None:
    """The weights that a run continues from, out of the store in a directory."""
    if config.start is None or place is None:
        return None
    with Store.read(place) as store:
        return store.weights(config.start.run_id)


def _die_with_parent() -> None:
    """A killed parent must not leave processes that train for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
