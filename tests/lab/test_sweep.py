"""Sweeps: nothing is made twice, a failure is a result, small samples follow their baselines."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.lab.conftest import InThisProcess
from tests.lab.test_store import COSTS, FAILED, INFO, OTHER_COSTS, RESULT, same

from untrue.errors import UntrueError
from untrue.hierarchy import Hierarchy
from untrue.lab import comparison, scoring, sweep
from untrue.lab.data import Dataset, load
from untrue.lab.design import Design, made_from
from untrue.lab.executor import Advanced, Event, Finished, LocalProcesses, Started
from untrue.lab.experiments import find
from untrue.lab.merging import merge
from untrue.lab.plans import PaperPlan, Plan, paper_plan
from untrue.lab.records import Decision, RunConfig, RunResult, Setup, Start, Sweep
from untrue.lab.run_data import NamedData
from untrue.lab.splits import describe
from untrue.lab.store import Store
from untrue.lab.training import train
from untrue.storage import StorageError
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


@dataclasses.dataclass
class Answers:
    """Makes no model: every run comes out as given."""

    event: Finished

    def run(self, configs: Sequence[RunConfig]) -> Iterator[Event]:
        yield from (self.event for _ in configs)


KEPT = dataclasses.replace(RESULT.config, keep_weights=True)


def made_again(store: Store, event: Finished) -> RunResult:
    """What a store has of `RESULT`'s run after it was made again, to keep its weights."""
    planned = Sweep("masked-zone", INFO.name, "desk", "untrue run", 1, (KEPT,))
    assert sweep.status_of(store, planned).again == 1
    assert list(sweep.make(store, planned, Answers(event))) == [event]
    found = store.result(RESULT.run_id)
    assert found is not None
    return found


def test_a_finished_run_that_fails_when_it_is_made_again_stays(tmp_path: Path) -> None:
    probs = np.full((10, 2), 0.5, dtype=np.float32)
    with Store.write(tmp_path) as store:
        store.add(RESULT, probs=probs)
        found = made_again(store, Finished(dataclasses.replace(FAILED, config=KEPT)))
        assert same(found, RESULT)
        assert np.array_equal(store.probs(RESULT.run_id), probs)  # type: ignore[arg-type]


def test_a_run_that_is_made_again_for_its_weights_keeps_its_calibration(tmp_path: Path) -> None:
    plain = dataclasses.replace(
        RESULT, config=KEPT, decisions=RESULT.decisions[:1], temperature=None, ece=None
    )
    plain = dataclasses.replace(plain, validated=(), clipped=None)
    with Store.write(tmp_path) as store:
        store.add(RESULT)
        assert same(made_again(store, Finished(plain, weights=b"numbers")), RESULT)
        assert store.weights(RESULT.run_id) == b"numbers"


def test_a_run_that_comes_out_otherwise_keeps_nothing_of_the_one_before(tmp_path: Path) -> None:
    """Another processor rounds otherwise: decisions of the old model are none of the new."""
    other = Decision(OTHER_COSTS, np.array([[5, 0], [3, 2]]))
    before = dataclasses.replace(RESULT, decisions=(*RESULT.decisions, other))
    now = dataclasses.replace(RESULT, config=KEPT, test_loss=0.25)
    with Store.write(tmp_path) as store:
        store.add(before)
        found = made_again(store, Finished(now, weights=b"numbers"))
        assert found.test_loss == 0.25
        assert {decision.costs for decision in found.decisions} == {COSTS}


def test_a_start_that_comes_out_otherwise_is_refused(tmp_path: Path) -> None:
    """What continued from the old weights does not belong to the new ones."""
    start = Start(RESULT.run_id, 2)
    continued = dataclasses.replace(RESULT.config, start=start)
    now = dataclasses.replace(RESULT, config=KEPT, test_loss=0.25)
    with Store.write(tmp_path) as store:
        store.add(RESULT)
        store.add(dataclasses.replace(RESULT, config=continued))
        message = (
            r"tiny baseline seed=0 came out otherwise than in .*\(one core, 1 thread\), and 1 run "
            r"there continues from its weights.*another --out"
        )
        with pytest.raises(StorageError, match=message):
            made_again(store, Finished(now, weights=b"other"))
        assert store.result(RESULT.run_id).test_loss == RESULT.test_loss  # type: ignore[union-attr]
        assert not store.has_weights(RESULT.run_id)


def test_weights_are_not_left_beside_a_result_that_they_did_not_give(tmp_path: Path) -> None:
    calibrated = dataclasses.replace(
        RESULT.config,
        setup=dataclasses.replace(RESULT.config.setup, validation=5),
        calibrate=True,
        score_on=(OTHER_COSTS,),
    )
    before = dataclasses.replace(RESULT, config=dataclasses.replace(calibrated, score_on=(COSTS,)))
    now = dataclasses.replace(RESULT, config=calibrated, test_loss=0.25)
    planned = Sweep("compare", INFO.name, "desk", "untrue compare", 1, (calibrated,))
    with Store.write(tmp_path) as store:
        store.add(before, weights=b"numbers")
        with pytest.raises(StorageError, match="its weights are kept there"):
            list(sweep.make(store, planned, Answers(Finished(now))))
        assert store.result(before.run_id).test_loss == RESULT.test_loss  # type: ignore[union-attr]


def test_a_new_zone_trains_a_baseline_whose_probabilities_were_not_kept(
    tmp_path: Path, digits: Dataset
) -> None:
    executor = InThisProcess(digits)
    with Store.write(tmp_path / "whole") as store:
        go(store, small_plan("masked-zone"), executor, digits)
    merge([tmp_path / "whole"], tmp_path / "small", results_only=True)
    executor.asked.clear()
    with Store.write(tmp_path / "small") as store:
        go(store, small_plan("masked-zone"), executor, digits)
        assert executor.asked == []
        planned, _ = go(store, small_plan("masked-zone", zone_size=(10, 30)), executor, digits)
        assert len(executor.asked) == 3
        baseline = planned.configs[0]
        found = store.result(baseline.run_id)
        assert found is not None
        assert all(found.decision(spec) is not None for spec in baseline.score_on)
        go(store, small_plan("masked-zone", zone_size=(10, 30)), executor, digits)
        assert len(executor.asked) == 3
