"""Sweeps: nothing is made twice, a failure is a result, small samples follow their baselines."""

from __future__ import annotations

import dataclasses
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from tests.lab.conftest import InThisProcess

from untrue.errors import UntrueError
from untrue.hierarchy import Hierarchy
from untrue.lab import comparison, scoring, sweep
from untrue.lab.data import Dataset, load
from untrue.lab.design import Design, made_from
from untrue.lab.executor import Advanced, Event, Finished, LocalProcesses, Started
from untrue.lab.experiments import find
from untrue.lab.plans import PaperPlan, Plan, paper_plan
from untrue.lab.records import RunConfig, Setup, Sweep
from untrue.lab.run_data import NamedData
from untrue.lab.splits import describe
from untrue.lab.store import Store
from untrue.lab.training import train
from untrue.training import Settings


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(scope="module")
def grouped(digits: Dataset) -> Dataset:
    groups = {"low": list("01234"), "high": list("56789")}
    return dataclasses.replace(
        digits, hierarchy=Hierarchy.from_groups(groups, classes=digits.classes)
    )


def small_plan(name: str, **overrides: object) -> PaperPlan:
    chosen = {"data": "digits", "network": "digits", "epochs": 1, "limit_train": 200, "width": 1.0}
    return paper_plan(find(name), scale="smoke", overrides={**chosen, **overrides})


def go(
    store: Store,
    plan: Plan,
    executor: InThisProcess | LocalProcesses,
    data: Dataset,
    *,
    retry_failed: bool = False,
) -> tuple[Sweep, list[Event]]:
    found = NamedData(data, describe(data))
    planned = sweep.plan_sweep(store, plan, found.info, scale="smoke", command="untrue run")
    sweep.note(store, planned, found)
    events = sweep.run(store, plan, found.info, planned, executor, retry_failed=retry_failed)
    made = list(events)
    return store.sweeps()[0], made


def test_what_is_there_is_not_made_again(tmp_path: Path, digits: Dataset) -> None:
    plan = small_plan("masked-zone")
    executor = InThisProcess(digits)
    with Store.write(tmp_path) as store:
        planned, _ = go(store, plan, executor, digits)
        assert len(executor.asked) == len(planned.configs) == 3
        go(store, plan, executor, digits)
        assert len(executor.asked) == 3
        assert sweep.status_of(store, planned) == sweep.SweepStatus(3, 3, 0, 0)


def test_a_new_zone_scores_the_baseline_without_training_it(
    tmp_path: Path, digits: Dataset
) -> None:
    plan = small_plan("masked-zone")
    executor = InThisProcess(digits)
    with Store.write(tmp_path) as store:
        go(store, plan, executor, digits)
        more = small_plan("masked-zone", zone_size=(10, 30))
        planned, _ = go(store, more, executor, digits)
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
    plan = small_plan("masked-zone")
    unlucky = InThisProcess(digits, broken=("digits bilinear alpha=0.9 n=10 seed=0",))
    with Store.write(tmp_path) as store:
        planned, _ = go(store, plan, unlucky, digits)
        assert [result.status for result in store.results(planned)] == ["ok", "failed", "ok"]
        assert sweep.status_of(store, planned) == sweep.SweepStatus(3, 2, 1, 0)
        lucky = InThisProcess(digits)
        go(store, plan, lucky, digits)
        assert lucky.asked == []
        assert sweep.status_of(store, planned, retry_failed=True).todo == 1
        go(store, plan, lucky, digits, retry_failed=True)
        assert lucky.asked == [planned.configs[1]]
        assert {result.status for result in store.results(planned)} == {"ok"}


def test_small_samples_choose_their_classes_from_the_baselines(
    tmp_path: Path, grouped: Dataset
) -> None:
    plan = small_plan("small-sample", repetitions=2)
    executor = InThisProcess(grouped)
    with Store.write(tmp_path) as store:
        planned, _ = go(store, plan, executor, grouped)
        assert planned.expected == len(planned.configs) == len(executor.asked) == 10
        assert [config.small_count for config in planned.configs[:2]] == [None, None]
        classes = planned.configs[2].small_classes
        assert len(classes) == 2
        assert classes[0] < 5 <= classes[1]
        assert all(config.small_classes == classes for config in planned.configs[2:])
        go(store, plan, executor, grouped)
        assert len(executor.asked) == 10


def test_small_samples_without_a_baseline_say_so(tmp_path: Path, grouped: Dataset) -> None:
    plan = small_plan("small-sample")
    unlucky = InThisProcess(grouped, broken=("digits baseline seed=0",))
    with (
        Store.write(tmp_path) as store,
        pytest.raises(UntrueError, match="Not every baseline is there that other runs"),
    ):
        go(store, plan, unlucky, grouped)


def test_processes_give_what_this_process_gives(tmp_path: Path, digits: Dataset) -> None:
    plan = small_plan("masked-zone")
    with Store.write(tmp_path / "here") as here, Store.write(tmp_path / "there") as there:
        planned, _ = go(here, plan, InThisProcess(digits), digits)
        _, events = go(there, plan, LocalProcesses(2, 1, describe(digits)), digits)
        for a, b in zip(here.results(planned), there.results(planned), strict=True):
            assert a.config == b.config
            assert np.array_equal(a.confusion, b.confusion)
            assert a.train_losses == b.train_losses
    started = [event.config.run_id for event in events if isinstance(event, Started)]
    ended = [event.result.run_id for event in events if isinstance(event, Finished)]
    assert started == [config.run_id for config in planned.configs]
    assert sorted(ended) == sorted(started)
    assert any(isinstance(event, Advanced) for event in events)


def test_a_process_that_dies_or_diverges_is_a_failed_run(digits: Dataset) -> None:
    long = Setup("digits", "digits", Settings(epochs=100_000))
    config = RunConfig(long, seed=0)
    rates = Settings(epochs=1, learning_rate=1e30)
    wild = RunConfig(dataclasses.replace(long, training=rates), seed=0)
    short = dataclasses.replace(long, training=Settings(epochs=1), limit_train=100)
    fine = RunConfig(short, seed=0)
    events = LocalProcesses(1, 1, describe(digits)).run([config, wild, fine])
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


def test_a_comparison_by_new_costs_judges_its_baseline_by_them_on_validation_images_too(
    tmp_path: Path, digits: Dataset
) -> None:
    values = {"data": "digits", "network": "digits", "epochs": 2, "validation": 100}
    design = made_from(Design, {**values, "limit_train": 400})
    executor = InThisProcess(digits)
    with Store.write(tmp_path) as store:
        first, second = (
            go(store, comparison.ComparisonPlan(design, costs, ()), executor, digits)[0]
            for costs in (comparison.CostPlan(zone_size=20), comparison.CostPlan(zone_size=40))
        )
        (result,) = store.results()
        # Nothing is missing now.
        go(
            store,
            comparison.ComparisonPlan(design, comparison.CostPlan(zone_size=40), ()),
            executor,
            digits,
        )
    assert len(executor.asked) == 2
    (config,) = second.configs
    again = train(config, digits).result
    assert result.validated == again.validated
    assert len(result.validated) == 3 + len(scoring.SHARES)
    for calibrated in (False, True):
        scored = result.decision(config.score_on[0], calibrated=calibrated)
        assert np.array_equal(scored, again.decision(config.score_on[0], calibrated=calibrated))
        # What was decided by the first costs is still there.
        (costs,) = first.configs[0].score_on
        assert result.decision(costs, calibrated=calibrated) is not None
