"""Make the runs of a plan into a store: what is there already is not made again."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import TYPE_CHECKING

from untrue.errors import UntrueError
from untrue.lab import scoring
from untrue.lab.executor import Event, Executor, Finished
from untrue.lab.merging import check_replaceable, same_outcome
from untrue.lab.plans import Plan
from untrue.lab.records import DatasetInfo, PenaltySpec, RunConfig, RunResult, Sweep
from untrue.lab.store import Store

if TYPE_CHECKING:
    from untrue.lab.run_data import RunData


@dataclasses.dataclass(frozen=True, slots=True)
class SweepStatus:
    """What a sweep comes to: models in all, done, failed before, still to train.

    damaged: runs that are in the store but cannot be read; they are left alone until a repair.
    again: runs to train that are done, but lack weights or scores that are asked for.
    """

    expected: int
    done: int
    failed: int
    todo: int
    damaged: int = 0
    again: int = 0


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

    The weights of a run are asked for only while something waits that continues from them.
    at_hand: runs whose weights are there, though not in this store.
    """
    planned = plan.configs(info, store.result)
    status = store.status()
    again = _incomplete(store, planned, status)
    done = {c.run_id for c in planned if status.get(c.run_id) == "ok" and c.run_id not in again}
    starts = {c.start.run_id for c in planned if c.start is not None}
    needed = {c.start.run_id for c in planned if c.start is not None and c.run_id not in done}
    ready = {run_id for run_id in starts if run_id in at_hand or store.has_weights(run_id)}
    configs = tuple(
        dataclasses.replace(c, keep_weights=False) if c.run_id in starts - needed else c
        for c in planned
        if c.start is None or c.run_id in done or c.start.run_id in ready
    )
    return Sweep(plan.name, info.name, scale, command, plan.expected, configs)


def note(store: Store, planned: Sweep, data: RunData) -> None:
    """Note a planned sweep, and score finished baselines on costs that are new to them."""
    store.add_dataset(data.info)
    store.add_sweep(planned)
    _score_baselines(store, planned.configs, data)


def status_of(store: Store, sweep: Sweep, *, retry_failed: bool = False) -> SweepStatus:
    """How far the sweep has come."""
    status = store.status()
    ids = {config.run_id for config in sweep.configs}
    again = _incomplete(store, sweep.configs, status)
    done = sum(status.get(run_id) == "ok" and run_id not in again for run_id in ids)
    failed = sum(status.get(run_id) == "failed" for run_id in ids)
    damaged = len(store.damaged_runs(sweep.configs))
    todo = sweep.expected - done - damaged - (0 if retry_failed else failed)
    return SweepStatus(sweep.expected, done, failed, todo, damaged, len(again & ids))


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
    again = _incomplete(store, sweep.configs, status)
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
            _keep(store, event)
        yield event


def _keep(store: Store, event: Finished) -> None:
    """Store a run. One that was finished before and is made again loses nothing: another experiment
    of the directory may show how it was decided."""
    result, before = event.result, store.result(event.result.run_id)
    if before is not None and before.status == "ok":
        if result.status != "ok":
            return
        if not same_outcome(before, result):
            check_replaceable(store, before)
        elif result.config.calibrate:
            result = result.with_decisions(before.decisions)
        else:  # It was made again for its weights or probabilities alone.
            result = before.with_decisions(result.decisions)
    store.add(result, probs=event.probs, weights=event.weights)


def _incomplete(store: Store, configs: Sequence[RunConfig], status: Mapping[str, str]) -> set[str]:
    """Finished runs that are made again: their weights are to be kept and are not there, their
    validation images, which are not kept, were judged by other costs, or their test images were,
    and the probabilities were left out when the run was merged."""
    # What others continue from is not shown, whatever it was judged by.
    starts = {config.start.run_id for config in configs if config.start is not None}
    found = set()
    for config in configs:
        run_id = config.run_id
        if status.get(run_id) != "ok":
            continue
        shown = run_id not in starts
        if (
            (config.keep_weights and not store.has_weights(run_id))
            or (shown and config.calibrate and not _validated(store.result(run_id), config))
            or (shown and _unscored(store, config) and store.probs(run_id) is None)
        ):
            found.add(run_id)
    return found


def _unscored(store: Store, config: RunConfig) -> list[PenaltySpec]:
    """The costs that a finished baseline was not decided by, and can be without training.

    Those of a comparison are made again instead: see `_validated`.
    """
    able = config.is_baseline and not config.calibrate
    result = store.result(config.run_id) if able else None
    if result is None or result.status != "ok":
        return []
    return [spec for spec in config.score_on if result.decision(spec) is None]


def _validated(result: RunResult | None, config: RunConfig) -> bool:
    """Whether a run knows what its validation images cost by the costs asked for."""
    if result is None or not config.score_on:
        return True
    return bool(result.validated) and result.config.score_on[:1] == config.score_on[:1]


def _score_baselines(store: Store, configs: Sequence[RunConfig], data: RunData) -> None:
    """Decide finished baselines by cost matrices they were not scored on; nothing is trained."""
    for config in configs:
        missing = _unscored(store, config)
        probs = store.probs(config.run_id) if missing else None
        if probs is None:
            continue
        labels = data.labels_of(config)
        made = [scoring.decided(probs, labels, spec, data.info) for spec in missing]
        store.add_decisions(config.run_id, made)
