"""The lab's `Executor` on a Ray cluster: each run a task, the driver alone writes the store.

Data go into Ray's object store, and so to each node once. With a `data_dir` the nodes read their
own; folders of images they read at the same path as the driver. Either is checked by its hash.
"""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from untrue import ray
from untrue.errors import DataError
from untrue.lab.executor import (
    Advanced,
    Event,
    Finished,
    Started,
    failure,
    finished_with,
    starting_weights,
)
from untrue.lab.records import DatasetInfo, RunConfig
from untrue.lab.run_data import NamedData, OwnRunData, PlannedData, TableRunData
from untrue.tools.reading.sources import FolderSource

if TYPE_CHECKING:
    from untrue.lab.own_data import OwnData


Item = tuple[RunConfig, bytes | None]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """What every run needs: the data, or how a node reads them."""

    info: DatasetInfo
    device: str
    threads: int
    data: Any = None
    name: str | None = None
    data_dir: str | None = None
    own: OwnData | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class RayExecutor:
    """Runs on a cluster that is connected (`untrue.ray.connected`).

    store: the directory that has the weights of runs that others continue from; the driver reads it
    """

    cluster: ray.Cluster
    data: PlannedData
    device: str | None = None
    data_dir: Path | None = None
    store: Path | None = None

    def run(self, configs: Sequence[RunConfig]) -> Iterator[Event]:
        shared = self._shared()
        for event in ray.run(self.cluster, _train, shared, _Items(configs, self.store)):
            config = configs[event.item]
            match event:
                case ray.ItemStarted():
                    yield Started(config)
                case ray.Reported():
                    yield Advanced(config, event.message)
                case ray.Done():
                    yield event.value
                case ray.Failed():
                    yield Finished(_failed(shared, config, str(event.error), event.seconds))

    def _shared(self) -> _Shared:
        device = self.device or ("cuda" if self.cluster.gpus else "cpu")
        base = _Shared(self.data.info, device, self.cluster.threads)
        if isinstance(self.data, OwnRunData):
            opened = self.data.opened
            if isinstance(opened.source, FolderSource):
                there = dataclasses.replace(self.data.own, path=self.data.own.path.resolve())
                return dataclasses.replace(base, own=there)
            return dataclasses.replace(base, data=opened)
        if isinstance(self.data, TableRunData):
            return dataclasses.replace(base, data=self.data.opened)
        assert isinstance(self.data, NamedData)
        if self.data_dir is None:
            return dataclasses.replace(base, data=self.data.data)
        place = str(self.data_dir.resolve())
        return dataclasses.replace(base, name=self.data.data.name, data_dir=place)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Items(Sequence[Item]):
    """Each run with the weights it continues from, which are read when it is handed out."""

    configs: Sequence[RunConfig]
    store: Path | None

    def __len__(self) -> int:
        return len(self.configs)

    def __getitem__(self, index: Any) -> Any:
        config = self.configs[index]
        return config, starting_weights(self.store, config)


def _train(shared: _Shared, item: Item, report: Callable[[Any], None]) -> Finished:
    """A run, in a worker of the cluster; what it raises is its result."""
    from untrue.lab.training import train

    config, weights = item
    started = time.perf_counter()
    try:
        data = shared.data
        if data is None:
            data = _read(shared.info, shared.name, shared.data_dir, shared.own)
        trained = train(
            config,
            data,
            info=shared.info,
            device=shared.device,
            weights=weights,
            on_progress=report,
        )
    except Exception:  # noqa: BLE001 - whatever it was, it is the result of this run
        seconds = time.perf_counter() - started
        return Finished(_failed(shared, config, traceback.format_exc(), seconds))
    return finished_with(config, trained)


def _failed(shared: _Shared, config: RunConfig, error: str, seconds: float) -> Any:
    return failure(config, error, seconds=seconds, device=shared.device, threads=shared.threads)


@lru_cache(maxsize=1)
def _read(info: DatasetInfo, name: str | None, data_dir: str | None, own: OwnData | None) -> Any:
    """The data as this node has them: the driver's, to the last byte."""
    from untrue.lab.data import load
    from untrue.lab.splits import describe

    if own is not None:
        opened = own.open()
        found, what, there = opened.info.fingerprint, opened, str(own.path)
    else:
        loaded = load(str(name), data_dir)
        found, what, there = describe(loaded).fingerprint, loaded, str(data_dir)  # type: ignore[assignment]
    if found != info.fingerprint:
        raise DataError(f"{there} on this node holds other data than on the driver's machine.")
    return what
