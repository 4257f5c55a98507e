"""Sweeps: nothing is made twice, a failure is a result, small samples follow their baselines."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from untrue.errors import UntrueError
from untrue.hierarchy import Hierarchy
from untrue.lab import comparison, sweep
from untrue.lab.data import Dataset, load
from untrue.lab.executor import Advanced, Event, Finished, LocalProcesses, Started, failure
from untrue.lab.experiments import Axes, Experiment, axes, find
from untrue.lab.records import RunConfig, Sweep
from untrue.lab.splits import describe, split
from untrue.lab.store import Store
from untrue.lab.training import train


@dataclasses.dataclass
class InThisProcess:
    """Trains here, one after the other; remembers what it was asked for."""

    data: Dataset
    broken: tuple[str, ...] = ()
    asked: list[str] = dataclasses.field(default_factory=list)

    def run(self, configs: Sequence[RunConfig]) -> Iterator[Event]:
        for config in configs:
            self.asked.append(config.run_id)
            yield Started(config)
            if config.label in self.broken:
                yield Finished(failure(config, "no luck", seconds=0, device="cpu", threads=1))
            else:
                trained = train(config, self.data)
                yield Finished(trained.result, trained.probs if config.is_baseline else None)


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(scope="module")
def grouped(digits: Dataset) -> Dataset:
    groups = {"low": list("01234"), "high": list("56789")}
    return dataclasses.replace(
        digits, hierarchy=Hierarchy.from_groups(groups, classes=digits.classes)
    )


def small_axes(name: str, **overrides: object) -> tuple[Experiment, Axes]:
    chosen = {"data": "digits", "network": "digits", "epochs": 1, "limit_train": 200, "width": 1.0}
    return find(name), axes(find(name), scale="smoke", overrides={**chosen, **overrides})


def go(
    store: Store,
    experiment: Experiment,
    chosen: Axes,
    executor: InThisProcess | LocalProcesses,
    data: Dataset,
    *,
    retry_failed: bool = False,
) -> tuple[Sweep, list[Event]]:
    planned = sweep.prepare(store, experiment, chosen, data, scale="smoke", command="untrue run")
    events = list(
        sweep.run(store, experiment, chosen, data, planned, executor, retry_failed=retry_failed)
    )
    return store.sweeps()[0], events


def test_what_is_there_is_not_made_again(tmp_path: Path, digits: Dataset) -> None:
    experiment, chosen = small_axes("masked-zone")
    executor = InThisProcess(digits)
    with Store.write(tmp_path) as store:
        planned, _ = go(store, experiment, chosen, executor, digits)
        assert len(executor.asked) == len(planned.configs) == 3
        go(store, experiment, chosen, executor, digits)
        assert len(executor.asked) == 3
        assert sweep.outlook(store, planned) == sweep.Outlook(3, 3, 0, 0)


def test_a_new_zone_scores_the_baseline_without_training_it(
    tmp_path: Path, digits: Dataset
) -> None:
    experiment, chosen = small_axes("masked-zone")
    executor = InThisProcess(digits)
    with Store.write(tmp_path) as store:
        go(store, experiment, chosen, executor, digits)
        more = dataclasses.replace(chosen, zone_size=(10, 30))
        planned, _ = go(store, experiment, more, executor, digits)
        assert len(executor.asked) == 5
        baseline = planned.configs[0]
        found = store.result(baseline.run_id)
        assert found is not None
        assert [spec.zone_size for spec in baseline.score_on] == [10, 30]
        fresh = train(baseline, digits).result
        for spec in baseline.score_on:
            later, at_once = found.decision(spec), fresh.decision(spec)
            assert later is not None
            assert at_once is not None
            assert np.array_equal(later, at_once)


def test_a_failed_run_is_kept_and_does_not_stop_the_others(tmp_path: Path, digits: Dataset) -> None:
    experiment, chosen = small_axes("masked-zone")
    unlucky = InThisProcess(digits, broken=("digits bilinear alpha=0.9 n=10 seed=0",))
    with Store.write(tmp_path) as store:
        planned, _ = go(store, experiment, chosen, unlucky, digits)
        assert [result.status for result in store.results(planned)] == ["ok", "failed", "ok"]
        assert sweep.outlook(store, planned) == sweep.Outlook(3, 2, 1, 0)
        lucky = InThisProcess(digits)
        go(store, experiment, chosen, lucky, digits)
        assert lucky.asked == []
        assert sweep.outlook(store, planned, retry_failed=True).todo == 1
        go(store, experiment, chosen, lucky, digits, retry_failed=True)
        assert lucky.asked == [planned.configs[1].run_id]
        assert {result.status for result in store.results(planned)} == {"ok"}


def test_small_samples_choose_their_classes_from_the_baselines(
    tmp_path: Path, grouped: Dataset
) -> None:
    experiment, chosen = small_axes("small-sample", repetitions=2)
    executor = InThisProcess(grouped)
    with Store.write(tmp_path) as store:
        planned, _ = go(store, experiment, chosen, executor, grouped)
        assert planned.expected == len(planned.configs) == len(executor.asked) == 10
        assert [config.small_count for config in planned.configs[:2]] == [None, None]
        classes = planned.configs[2].small_classes
        assert len(classes) == 2
        assert classes[0] < 5 <= classes[1]
        assert all(config.small_classes == classes for config in planned.configs[2:])
        go(store, experiment, chosen, executor, grouped)
        assert len(executor.asked) == 10


def test_small_samples_without_a_baseline_say_so(tmp_path: Path, grouped: Dataset) -> None:
    experiment, chosen = small_axes("small-sample")
    unlucky = InThisProcess(grouped, broken=("digits baseline seed=0",))
    with (
        Store.write(tmp_path) as store,
        pytest.raises(UntrueError, match="Not every baseline of this small-sample exp"),
    ):
        go(store, experiment, chosen, unlucky, grouped)


def test_processes_give_what_this_process_gives(tmp_path: Path, digits: Dataset) -> None:
    experiment, chosen = small_axes("masked-zone")
    with Store.write(tmp_path / "here") as here, Store.write(tmp_path / "there") as there:
        planned, _ = go(here, experiment, chosen, InThisProcess(digits), digits)
        _, events = go(there, experiment, chosen, LocalProcesses(2, 1), digits)
        for a, b in zip(here.results(planned), there.results(planned), strict=True):
            assert a.config == b.config
            assert np.array_equal(a.confusion, b.confusion)
            assert a.train_losses == b.train_losses
    started = [event.config.run_id for event in events if isinstance(event, Started)]
    ended = [event.result.run_id for event in events if isinstance(event, Finished)]
    assert started == [config.run_id for config in planned.configs]
    assert sorted(ended) == sorted(started)
    assert any(isinstance(event, Advanced) for event in events)


def test_a_process_that_dies_or_diverges_is_a_failed_run() -> None:
    config = RunConfig(data="digits", network="digits", seed=0, epochs=100_000)
    wild = dataclasses.replace(config, epochs=1, learning_rate=1e30)
    fine = dataclasses.replace(config, epochs=1, limit_train=100)
    events = LocalProcesses(1, 1).run([config, wild, fine])
    results = []
    killed = False
    for event in events:
        if isinstance(event, Advanced) and event.config == config and not killed:
            (child,) = multiprocessing.active_children()
            child.kill()
            killed = True
        if isinstance(event, Finished):
            results.append(event.result)
    assert [result.status for result in results] == ["failed", "failed", "ok"]
    assert "ended with signal 9" in results[0].error
    assert "Traceback" in results[1].error
    assert "DivergedError: Training stopped" in results[1].error


def test_a_baseline_is_decided_by_new_costs_raw_and_calibrated_without_training(
    tmp_path: Path, digits: Dataset
) -> None:
    info = describe(digits)
    design = comparison.Design(
        data="digits",
        network="digits",
        costs=comparison.Costs(zone_size=20),
        methods=(),
        epochs=2,
        validation=100,
        limit_train=400,
    )
    larger = dataclasses.replace(design, costs=comparison.Costs(zone_size=40))
    executor = InThisProcess(digits)
    with Store.write(tmp_path) as store:
        for each in (design, larger):
            planned = comparison.sweep(each, info, scale="smoke", command="untrue compare")
            sweep.note(
                store,
                planned,
                info,
                lambda config: digits.test_labels[split(config, digits).test],
            )
            list(sweep.make(store, planned, executor))
        (result,) = store.results()
    assert len(executor.asked) == 1
    again = train(planned.configs[0], digits).result
    (costs,) = planned.configs[0].score_on
    for calibrated in (False, True):
        scored = result.decision(costs, calibrated=calibrated)
        expected = again.decision(costs, calibrated=calibrated)
        assert scored is not None
        assert np.array_equal(scored, expected)
