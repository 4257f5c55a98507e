"""Run an experiment into a store: what is there already is not made again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Sequence

from untrue import networks
from untrue.errors import UntrueError
from untrue.lab import plans, scoring
from untrue.lab.data import Dataset
from untrue.lab.executor import Event, Executor, Finished
from untrue.lab.experiments import Axes, Experiment
from untrue.lab.records import DatasetInfo, RunConfig, Sweep
from untrue.lab.scoring import Labels
from untrue.lab.splits import describe, split
from untrue.lab.store import Store


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


def check(experiment: Experiment, axes: Axes, data: Dataset) -> None:
    """Refuse what cannot be trained before anything is written."""
    networks.check(axes.network, data.image_shape)
    first, *_ = plans.plan(experiment, axes, describe(data))
    split(first, data)


def prepare(
    store: Store, experiment: Experiment, axes: Axes, data: Dataset, *, scale: str, command: str
) -> Sweep:
    """Plan the sweep, note it in the store, and score finished baselines on new zones."""
    info = describe(data)
    planned = _planned(store, experiment, axes, info, scale=scale, command=command)
    note(store, planned, info, lambda config: data.test_labels[split(config, data).test])
    return planned


def note(
    store: Store, planned: Sweep, info: DatasetInfo, labels_of: Callable[[RunConfig], Labels]
) -> None:
    """Note a planned sweep, and score finished baselines on costs that are new to them.

    labels_of: the classes of a run's test images.
    """
    store.add_dataset(info)
    store.add_sweep(planned)
    _score_baselines(store, planned.configs, info, labels_of)


def outlook(store: Store, sweep: Sweep, *, retry_failed: bool = False) -> Outlook:
    """How far the sweep has come."""
    status = store.status()
    ids = {config.run_id for config in sweep.configs}
    done = sum(status.get(run_id) == "ok" for run_id in ids)
    failed = sum(status.get(run_id) == "failed" for run_id in ids)
    damaged = len(store.damaged_runs(sweep.configs))
    todo = sweep.expected - done - damaged - (0 if retry_failed else failed)
    return Outlook(sweep.expected, done, failed, todo, damaged)


def run(
    store: Store,
    experiment: Experiment,
    axes: Axes,
    data: Dataset,
    sweep: Sweep,
    executor: Executor,
    *,
    retry_failed: bool = False,
) -> Generator[Event, None, None]:
    """Make the runs that are missing; each is stored before its event is passed on.

    Failed runs of earlier calls are left alone unless `retry_failed`. A small-sample experiment
    chooses its classes once its baselines are there, and goes on.
    """
    tried: set[str] = set()
    info = describe(data)
    while True:
        yield from make(store, sweep, executor, retry_failed=retry_failed, tried=tried)
        if len(sweep.configs) >= sweep.expected:
            return
        whole = _planned(store, experiment, axes, info, scale=sweep.scale, command=sweep.command)
        if len(whole.configs) == len(sweep.configs):
            raise UntrueError(
                "Not every baseline of this small-sample experiment is there, so its classes "
                "cannot be chosen. See `untrue status`: failed runs are made again with "
                "--retry-failed, damaged ones after `untrue status --repair`."
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
    missing = [
        config
        for config in sweep.configs
        if config.run_id not in tried | damaged
        and (config.run_id not in status or (retry_failed and status[config.run_id] != "ok"))
    ]
    tried.update(config.run_id for config in missing)
    for event in executor.run(missing):
        if isinstance(event, Finished):
            store.add(event.result, probs=event.probs)
        yield event


def _planned(
    store: Store, experiment: Experiment, axes: Axes, info: DatasetInfo, *, scale: str, command: str
) -> Sweep:
    configs = plans.plan(experiment, axes, info)
    if experiment.kind == "small":
        found = [store.result(config.run_id) for config in configs]
        finished = [result for result in found if result is not None]
        good = [result for result in finished if result.status == "ok"]
        if good and len(finished) == len(configs):
            chosen = scoring.typical_classes(good, info)
            configs = plans.plan(experiment, axes, info, small_classes=chosen)
    return Sweep(
        experiment=experiment.name,
        data=info.name,
        scale=scale,
        command=command,
        expected=plans.expected(experiment, axes),
        configs=configs,
    )


def _score_baselines(
    store: Store,
    configs: Sequence[RunConfig],
    info: DatasetInfo,
    labels_of: Callable[[RunConfig], Labels],
) -> None:
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
        labels = labels_of(config)
        store.add_decisions(
            config.run_id,
            [
                scoring.decided(probs, labels, spec, info, temperature=temperature)
                for spec, temperature in missing
            ],
        )
