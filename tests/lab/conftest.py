"""What several tests of the lab do: train without other processes, kill a run and go on."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.cli.untrue_process import UNTRUE, environment, run_untrue

from untrue.lab.data import Dataset
from untrue.lab.executor import Event, Finished, Started, failure, finished_with
from untrue.lab.records import RunConfig
from untrue.lab.store import FILE, Store
from untrue.lab.training import train


@dataclasses.dataclass
class InThisProcess:
    """Trains here, one after the other; remembers what it was asked for.

    broken  labels of runs that fail
    store   has the weights that runs go on from
    """

    data: Dataset
    broken: tuple[str, ...] = ()
    store: Store | None = None
    asked: list[RunConfig] = dataclasses.field(default_factory=list)

    def run(self, configs: Sequence[RunConfig]) -> Iterator[Event]:
        for config in configs:
            self.asked.append(config)
            yield Started(config)
            if config.label in self.broken:
                yield Finished(failure(config, "no luck", seconds=0, device="cpu", threads=1))
                continue
            weights = None
            if config.start is not None and self.store is not None:
                weights = self.store.weights(config.start.run_id)
            yield finished_with(config, train(config, self.data, weights=weights))


def killed_and_resumed(*words: str, place: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Kill `untrue WORDS` after two runs, then let the same command end.

    When each run in `place` was made, {run_id: time}: before going on, and after.
    """
    process = subprocess.Popen(
        [*UNTRUE, *words], stdout=subprocess.DEVNULL, start_new_session=True, env=environment()
    )
    until = time.monotonic() + 120
    while not (place / FILE).exists() or len(_finished(place)) < 2:
        assert time.monotonic() < until, "waited too long"
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = _finished(place)
    done = run_untrue(*words)
    assert done.returncode == 0, done.stderr
    return before, _finished(place)


def _finished(place: Path) -> dict[str, str]:
    with Store.read(place) as store:
        return {run.run_id: run.provenance.finished_at for run in store.results()}
