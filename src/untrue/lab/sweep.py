"""Make the runs of a plan into a store: what is there already is not made again."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import TYPE_CHECKING

from untrue.errors import UntrueError
from untrue.lab import scoring
from untrue.lab.executor import Event, Executor, Finished
from untrue.lab.plans import Plan
from untrue.lab.records import DatasetInfo, RunConfig, Sweep
from untrue.lab.store import Store

if TYPE_CHECKING:
    from untrue.lab.run_data import RunData


@dataclasses.dataclass(frozen=True, slots=True)
class Outlook:
    """What a sweep comes to: models in all, done, failed before, still to train.

    damaged: runs that are in the store but cannot be read; they are left alone until a repair.
    """

    expected: int
    done: int
    failed: int
    todo: int
    damaged: int = 0


def plan_sweep(
    store: Store,
    plan: Plan,
    info: DatasetInfo,
    *,
    scale: str,
    command: str,
    at_hand: Collection[str] = (),
) -> Sweep:
    """The sweep as far as it can be planned by now: what continues from another run waits for it.

    at_hand: runs whose weights are there, though not in this store.
    """
    planned = plan.configs(info, store.result)
    starts = {config.start.run_id for config in planned if config.start is not None}
    ready = {run_id for run_id in starts if run_id in at_hand or store.has_weights(run_id)}
    configs = tuple(c for c in planned if c.start is None or c.start.run_id in ready)
    return Sweep(plan.name, info.name, scale, command, plan.expected, configs)


def note(store: Store, planned: Sweep, data: RunData) -> None:
    """Note a planned sweep, and score finished baselines on costs that are new to them."""
    store.add_dataset(data.info)
    store.add_sweep(planned)
    _score_baselines(store, planned.configs, data)


def outlook(store: Store, sweep: Sweep, *, retry_failed: bool = False) -> Outlook:
    """How far the sweep has come."""
    status = store.status()
    ids = {config.run_id for config in sweep.configs}
    again = _without_weights(store, sweep.configs, status)
    done = sum(status.get(run_id) == "ok" and run_id not in again for run_id in ids)
    failed = sum(status.get(run_id) == "failed" for run_id in ids)
    damaged = len(store.damaged_runs(sweep.configs))
    todo = sweep.expected - done - damaged - (0 if retry_failed else failed)
    return Outlook(sweep.expected, done, failed, todo, damaged)


def run(
    store: Store,
    plan: Plan,
    info: DatasetInfo,
    sweep: Sweep,
    executor: Executor,
    *,
    retry_failed: bool = False,
) -> Generator[Event, None, None]:
    """Make the runs that are missing; each is stored before its event is passed on.

    Failed runs of earlier calls are left alone unless `retry_failed`. Runs that wait for the
    results of others are planned once these are there.
    """
    tried: set[str] = set()
    while True:
        yield from make(store, sweep, executor, retry_failed=retry_failed, tried=tried)
        if len(sweep.configs) >= sweep.expected:
            return
        whole = plan_sweep(store, plan, info, scale=sweep.scale, command=sweep.command)
        if len(whole.configs) == len(sweep.configs):
            raise UntrueError(
                "Not every baseline is there that other runs of this experiment wait for. See "
                "`untrue status`: failed runs are made again with --retry-failed, damaged "
                "ones after `untrue status --repair`."
            )
        sweep = whole
        store.add_sweep(sweep)


def make(
    store: Store,
    sweep: Sweep,
    executor: Executor,
    *,
    retry_failed: bool = False,
    tried: set[str] | None = None,
) -> Generator[Event, None, None]:
    """Make the planned runs that are missing. `tried` are left out, and grows by those made.

    Damaged runs are left alone too: `untrue status --repair` drops them.
    """
    tried = set() if tried is None else tried
    status = store.status()
    damaged = {config.run_id for config in store.damaged_runs(sweep.configs)}
    again = _without_weights(store, sweep.configs, status)
    missing = [
        config
        for config in sweep.configs
        if config.run_id not in tried | damaged
        and (
            config.run_id not in status
            or config.run_id in again
            or (retry_failed and status[config.run_id] != "ok")
        )
    ]
    tried.update(config.run_id for config in missing)
    for event in executor.run(missing):
        if isinstance(event, Finished):
            store.add(event.result, probs=event.probs, weights=event.weights)
        yield event


def _without_weights(
    store: Store, configs: Sequence[RunConfig], status: Mapping[str, str]
) -> set[str]:
    """Finished runs whose weights are to be kept and are not there: they are made again."""
    kept = (c.run_id for c in configs if c.keep_weights and status.get(c.run_id) == "ok")
    return {run_id for run_id in kept if not store.has_weights(run_id)}


def _score_baselines(store: Store, configs: Sequence[RunConfig], data: RunData) -> None:
    """Decide finished baselines by cost matrices they were not scored on; nothing is trained."""
    for config in configs:
        result = store.result(config.run_id) if config.is_baseline else None
        if result is None or result.status != "ok":
            continue
        # Calibrated too where the temperature is known.
        temperatures = [None, result.temperature] if result.temperature else [None]
        missing = [
            (spec, temperature)
            for spec in config.score_on
            for temperature in temperatures
            if result.decision(spec, calibrated=temperature is not None) is None
        ]
        probs = store.probs(config.run_id) if missing else None
        if probs is None:
            continue
        labels = data.labels_of(config)
        store.add_decisions(
            config.run_id,
            [
                scoring.decided(probs, labels, spec, data.info, temperature=temperature)
                for spec, temperature in missing
            ],
        )
