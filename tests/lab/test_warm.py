"""Runs that continue from the weights of a finished one: what is trained, kept and refused."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.cli.untrue_process import run_untrue
from tests.lab.conftest import InThisProcess, killed_and_resumed
from tests.lab.test_store import INFO, RESULT

from untrue.errors import ArgumentError
from untrue.hierarchy import Hierarchy
from untrue.lab import sweep
from untrue.lab.comparison import ComparisonPlan, CostPlan, comparison_plan
from untrue.lab.data import Dataset, load
from untrue.lab.executor import Finished, finished_with
from untrue.lab.experiments import find
from untrue.lab.merging import merge
from untrue.lab.plans import GROUP_COSTS, PaperPlan, Plan, paper_plan
from untrue.lab.records import Decision, PenaltySpec, Start
from untrue.lab.run_data import NamedData
from untrue.lab.splits import describe
from untrue.lab.store import FILE, Store
from untrue.lab.training import train
from untrue.lab.warm import (
    KeptPlan,
    WarmPlan,
    copy_starts,
    find_starts,
    split_options,
    warm_plan,
    with_start,
)
from untrue.networks.weights import from_bytes, to_bytes
from untrue.report.runs.rows import collect
from untrue.storage import StorageError, entry_id
from untrue.training.evaluation import outputs_of
from untrue.training.examples import Examples

SMALL = {
    "data": "digits",
    "network": "digits",
    "epochs": 3,
    "limit_train": 600,
    "validation": 100,
    "width": 1.0,
    "repetitions": 2,
}


@pytest.fixture(scope="module")
def digits() -> Dataset:
    groups = {"low": list("01234"), "high": list("56789")}
    data = load("digits")
    return dataclasses.replace(data, hierarchy=Hierarchy.from_groups(groups, classes=data.classes))


def plan_of(name: str = "hierarchy", **overrides: object) -> PaperPlan:
    return paper_plan(find(name), scale="smoke", overrides={**SMALL, **overrides})


def go(store: Store, plan: Plan, data: Dataset) -> list[str]:
    found, executor = NamedData(data, describe(data)), InThisProcess(data, store=store)
    planned = sweep.plan_sweep(store, plan, found.info, scale="smoke", command="untrue run")
    sweep.note(store, planned, found)
    for _ in sweep.run(store, plan, found.info, planned, executor):
        pass
    return [config.label for config in executor.asked]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, digits: Dataset) -> Path:
    """Baselines of two repetitions, and what went on from them."""
    place = tmp_path_factory.mktemp("warm")
    with Store.write(place) as store:
        asked = go(store, warm_plan(plan_of(), "baseline", {"epochs": 1}), digits)
    assert asked[:2] == ["digits baseline seed=0", "digits baseline seed=1"]
    assert len(asked) == 8
    return place


def test_one_start_a_repetition_then_every_loss_from_it(made: Path, digits: Dataset) -> None:
    with Store.read(made) as store:
        (found,) = store.sweeps()
        starts = {c.seed: c for c in found.configs if c.start is None}
        continued = [c for c in found.configs if c.start is not None]
        assert len(starts) == 2
        assert len(continued) == found.expected - 2 == 6
        for config in continued:
            start = starts[config.seed]
            assert config.start is not None
            assert (config.start.run_id, config.start.epochs) == (start.run_id, 3)
            assert config.setup.training.epochs == 1
            assert config.setup.training.learning_rate == start.setup.training.learning_rate / 4
            assert "continued" in config.label
            assert store.weights(config.run_id) is None
            whole = dataclasses.replace(config, start=None)
            other = dataclasses.replace(config, start=dataclasses.replace(config.start, run_id="x"))
            assert len({config.run_id, whole.run_id, other.run_id}) == 3
        assert {c.loss for c in continued} == {"cross-entropy", "bilinear", "log-bilinear"}
        assert all(store.weights(c.run_id) for c in starts.values())
        again = store.result(continued[0].run_id)
        assert again is not None
        assert again.config.start == continued[0].start


def test_a_continued_run_is_one_trained_from_those_weights(made: Path, digits: Dataset) -> None:
    with Store.read(made) as store:
        (found,) = store.sweeps()
        config = next(c for c in found.configs if c.loss == "bilinear")
        assert config.start is not None
        weights = store.weights(config.start.run_id)
        result, start = store.result(config.run_id), store.result(config.start.run_id)
    assert weights is not None
    assert result is not None
    assert start is not None
    assert np.array_equal(train(config, digits, weights=weights).result.confusion, result.confusion)
    base = next(c for c in found.configs if c.start is None and c.seed == config.seed)
    network = train(base, digits).network
    for name, value in from_bytes(weights).items():
        assert np.array_equal(network.state_dict()[name], value)
    plain = next(c for c in found.configs if c.start and c.is_baseline and c.seed == config.seed)
    first = train(plain, digits, weights=weights).result.train_losses[0]
    assert first < start.train_losses[1]


def test_rows_compare_with_cross_entropy_that_went_on_too(made: Path) -> None:
    with Store.read(made) as store:
        (found,) = collect(store)
    assert len(found.starts) == 2
    starts = {run.run_id for run in found.starts}
    assert not starts & {row.run_id for row in found.rows}
    plain = [r for r in found.rows if r.loss == "cross-entropy" and r.decision == "argmax"]
    assert [row.epochs_run for row in plain] == [1, 1]
    assert not found.missing


def test_nothing_is_made_twice_and_lost_weights_are_made_again_for_what_needs_them(
    made: Path, digits: Dataset, tmp_path: Path
) -> None:
    (tmp_path / FILE).write_bytes((made / FILE).read_bytes())
    plan = warm_plan(plan_of(), "baseline", {"epochs": 1})
    more = warm_plan(plan_of(alpha=(0.0, 0.5, 0.9)), "baseline", {"epochs": 1})
    with Store.write(tmp_path) as store:
        assert go(store, plan, digits) == []
        start = next(c for c in store.sweeps()[0].configs if c.start is None)
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute(
            "UPDATE entries SET data = zeroblob(10) WHERE id = ?",
            (entry_id("weights", start.run_id),),
        )
        db.commit()
    with Store.write(tmp_path) as store:
        assert [entry.kind for entry in store.damaged()] == ["weights"]
        assert go(store, plan, digits) == []
        planned = sweep.plan_sweep(store, more, describe(digits), scale="smoke", command="")
        # Both starts, of which one lost its weights, and the six that are there already.
        assert sweep.status_of(store, planned).done == 7
        asked = go(store, more, digits)
        assert asked[0] == start.label
        assert all("alpha=0.9" in label for label in asked[1:])
        assert store.has_weights(start.run_id)
        assert store.damaged() == ()


def test_what_was_merged_without_weights_is_done(
    made: Path, digits: Dataset, tmp_path: Path
) -> None:
    merge([made], tmp_path, results_only=True)
    with Store.write(tmp_path) as store:
        assert go(store, warm_plan(plan_of(), "baseline", {"epochs": 1}), digits) == []


def test_a_directory_with_kept_weights_serves_another(
    made: Path, digits: Dataset, tmp_path: Path
) -> None:
    info = describe(digits)
    plan = warm_plan(plan_of(alpha=(0.0, 0.25)), str(made), {"epochs": 2}, info)
    assert plan.expected == 2 * 3
    with Store.write(tmp_path) as store:
        copy_starts(plan, store)
        asked = go(store, plan, digits)
        assert len(asked) == 6
        assert all("continued" in label for label in asked)
        (found,) = collect(store)
        assert len(found.starts) == 2
        assert {row.epochs_run for row in found.rows} == {2}


def test_starts_that_are_taken_over_keep_what_was_decided_here(
    made: Path, digits: Dataset, tmp_path: Path
) -> None:
    plan = warm_plan(plan_of(), str(made), {"epochs": 1})
    costs = PenaltySpec("zone", 3.0, 1.0, ((0, 1),))
    with Store.read(made) as other, Store.write(tmp_path) as store:
        start = other.result(plan.found[0].run_id)
        assert start is not None
        here = dataclasses.replace(start, decisions=(Decision(costs, start.confusion),))
        store.add(here)
        copy_starts(plan, store)
        assert store.has_weights(start.run_id)
        assert store.result(start.run_id).decision(costs) is not None  # type: ignore[union-attr]


def test_a_start_replaces_a_run_that_came_out_otherwise_here(
    made: Path, digits: Dataset, tmp_path: Path
) -> None:
    plan = warm_plan(plan_of(), str(made), {"epochs": 1})
    with Store.read(made) as other, Store.write(tmp_path) as store:
        start = other.result(plan.found[0].run_id)
        assert start is not None
        store.add(dataclasses.replace(start, test_loss=9.0))
        copy_starts(plan, store)
        assert store.has_weights(start.run_id)
        assert store.result(start.run_id).test_loss == start.test_loss  # type: ignore[union-attr]


@pytest.fixture
def start_in(tmp_path: Path) -> WarmPlan:
    """A plan that continues from the one run of another directory."""
    place = tmp_path / "source"
    with Store.write(place) as store:
        store.add_dataset(INFO)
        store.add(RESULT, weights=b"numbers")
    return WarmPlan(plan_of(), RESULT.config.setup, (RESULT.config,), place)


def test_a_start_is_not_replaced_under_what_continued_from_it(
    start_in: WarmPlan, tmp_path: Path
) -> None:
    here = dataclasses.replace(RESULT, test_loss=9.0)
    config = dataclasses.replace(RESULT.config, start=Start(RESULT.run_id, 2))
    with Store.write(tmp_path / "here") as store:
        store.add(here)
        store.add(dataclasses.replace(RESULT, config=config))
        with pytest.raises(StorageError, match="1 run there continues from its weights"):
            copy_starts(start_in, store)
        assert store.result(RESULT.run_id).test_loss == 9.0  # type: ignore[union-attr]


def test_no_start_comes_into_runs_of_other_files(start_in: WarmPlan, tmp_path: Path) -> None:
    with Store.write(tmp_path / "here") as store:
        store.add_dataset(dataclasses.replace(INFO, fingerprint="other"))
        with pytest.raises(StorageError, match="were made with other files of 'tiny'"):
            copy_starts(start_in, store)
        assert store.status() == {}


def test_other_costs_make_the_short_runs_again_and_not_their_starts(
    digits: Dataset, tmp_path: Path
) -> None:
    design = plan_of(epochs=1, repetitions=1).design
    asked = []
    with Store.write(tmp_path) as store:
        for size in (20, 40):
            plan = ComparisonPlan(design, CostPlan(zone_size=size), (("bilinear", (0.5,)),))
            asked.append(go(store, warm_plan(plan, "baseline", {"epochs": 1}), digits))
    assert asked[0][0] == "digits baseline seed=0"
    assert [len(labels) for labels in asked] == [3, 2]
    assert all("continued" in label for label in asked[1])


def test_weights_are_kept_only_when_asked_for(digits: Dataset, tmp_path: Path) -> None:
    plan = plan_of(alpha=(0.0,), epochs=1, repetitions=1)
    with Store.write(tmp_path) as store:
        go(store, plan, digits)
        (run,) = store.results()
        assert not store.has_weights(run.run_id)
        assert go(store, KeptPlan(plan), digits) == ["digits baseline seed=0"]
        assert store.has_weights(run.run_id)
        assert [result.run_id for result in store.results()] == [run.run_id]


@pytest.mark.parametrize(
    ("loss", "restarts"),
    [("bilinear", False), ("conditional-softmax", True), ("sosr", True), ("hxe", False)],
)
def test_a_loss_with_another_head_restarts_that_head(
    loss: str, restarts: bool, digits: Dataset
) -> None:
    plan, _ = comparison_plan(
        describe(digits),
        CostPlan(fixed=GROUP_COSTS),
        ((loss, (0.5,)) if loss != "conditional-softmax" else (loss, ()),),
        {**SMALL, "repetitions": 1, "normalization": "max"},
    )
    warm = warm_plan(plan, "baseline", {"epochs": 1, "learning_rate": 1e-9})
    start, plain, config = warm.configs(describe(digits))
    trained = train(start, digits)
    weights = to_bytes(trained.network)
    after = train(config, digits, weights=weights).network.state_dict()
    before = from_bytes(weights)
    head = [name for name in before if before[name].shape != after[name].shape]
    moved = {n for n in before if n in head or not np.allclose(before[n], after[n], atol=1e-6)}
    assert moved == ({"out.weight", "out.bias"} if restarts else set())
    same = train(plain, digits, weights=weights).network
    images = Examples.place(digits.test_images, digits.test_labels).inputs
    old, new = (outputs_of(network, images)[-1] for network in (trained.network, same))
    assert np.allclose(old, new, atol=1e-4)


@pytest.mark.parametrize("name", ["small-sample", "exits"])
def test_experiments_it_makes_no_sense_in_refuse_it(name: str) -> None:
    plan = paper_plan(find(name), scale="smoke")
    with pytest.raises(ArgumentError, match=f"`start_from` makes no sense in {name}"):
        warm_plan(plan, "baseline", {})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0.5}, r"No run in .* to start seed 0 from: .* width 0.5, .*there: digits \(wid"),
        ({"validation": 50}, "with 50 validation images of 600, the same split"),
        ({"limit_train": 500}, "with 100 validation images of 500"),
        ({"repetitions": 3}, "to start seed 2 from"),
        ({"network": "mlp"}, "network mlp"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(
    made: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        warm_plan(plan_of(**changes), str(made), {})


def test_starts_of_all_seeds_were_trained_in_one_way(tmp_path: Path) -> None:
    """One long run of one seed is no reason to refuse those that every seed has."""
    design = plan_of(repetitions=2).design

    def add(seed: int, **training: object) -> None:
        setup = dataclasses.replace(
            design.setup, training=dataclasses.replace(design.setup.training, **training)
        )
        config = dataclasses.replace(RESULT.config, setup=setup, seed=seed, score_on=())
        store.add(dataclasses.replace(RESULT, config=config), weights=b"numbers")

    with Store.write(tmp_path) as store:
        add(0, epochs=300)
        with pytest.raises(ArgumentError, match="to start seed 1 from"):
            find_starts(tmp_path, design, None)
        add(1, epochs=200)
        with pytest.raises(ArgumentError, match="trained in the same way for all of seeds 0 to 1"):
            find_starts(tmp_path, design, None)
        for seed in (0, 1):
            add(seed, epochs=5)
            add(seed, epochs=4)
        found = find_starts(tmp_path, design, None)
        assert [(c.seed, c.setup.training.epochs) for c in found] == [(0, 5), (1, 5)]
        for seed in (0, 1):
            add(seed, epochs=5, learning_rate=0.125)
        with pytest.raises(ArgumentError, match="2 ways of training with 5 epochs"):
            find_starts(tmp_path, design, None)


def test_other_files_of_the_data_are_refused(made: Path, digits: Dataset) -> None:
    other = dataclasses.replace(describe(digits), fingerprint="other")
    with pytest.raises(ArgumentError, match="was made with other files of 'digits'"):
        warm_plan(plan_of(), str(made), {}, other)


def test_weights_and_start_go_together(digits: Dataset) -> None:
    plan = warm_plan(plan_of(repetitions=1), "baseline", {"epochs": 1})
    start, continued, *_ = plan.configs(describe(digits))
    with pytest.raises(ArgumentError, match="to continue from run"):
        train(continued, digits)
    with pytest.raises(ArgumentError, match="none to continue from"):
        train(start, digits, weights=b"x")


def test_options_of_training_are_of_the_few_epochs() -> None:
    given = {"epochs": 2, "repetitions": 3, "learning_rate": 0.1}
    assert split_options(given, None) == (given, {})
    short = {"epochs": 2, "learning_rate": 0.1}
    assert split_options(given, "baseline") == ({"repetitions": 3}, short)


def test_without_a_source_a_plan_is_itself(digits: Dataset) -> None:
    plan = plan_of()
    assert with_start(plan, describe(digits), {}, None) is plan


def test_a_zone_is_the_same_with_and_without_a_start(digits: Dataset) -> None:
    info = describe(digits)
    plan = plan_of("masked-zone", zone_size=(10,), alpha=(0.0, 0.5))
    zones = [
        {(c.seed, c.penalty) for c in each.configs(info) if isinstance(c.penalty, PenaltySpec)}
        for each in (plan, warm_plan(plan, "baseline", {}))
    ]
    assert zones[0] == zones[1]


def test_a_killed_warm_start_goes_on_where_it_was(tmp_path: Path) -> None:
    place = tmp_path / "runs"
    words = [
        *("run", "masked-zone", "--data", "digits", "--scale"),
        *("smoke", "--out", str(place), "--start-from", "baseline", "--epochs", "1"),
        *("--jobs", "1", "--threads", "1"),
    ]
    before, after = killed_and_resumed(*words, place=place)
    assert len(after) == 4
    assert {run_id: after[run_id] for run_id in before} == before
    assert run_untrue("report", place).returncode == 0
    (sweep,) = json.loads((place / "report.json").read_text())["sweeps"]
    assert (sweep["done"], sweep["expected"], sweep["missing"]) == (4, 4, [])
    assert "smoke; 4 of 4 models" in (place / "report.html").read_text()


def test_finished_brings_weights_only_of_runs_that_keep_them(digits: Dataset) -> None:
    config = plan_of(epochs=1, repetitions=1).configs(describe(digits))[0]
    trained = train(config, digits)
    assert finished_with(config, trained).weights is None
    kept = dataclasses.replace(config, keep_weights=True)
    event = finished_with(kept, trained)
    assert isinstance(event, Finished)
    assert event.weights is not None
    assert kept.run_id == config.run_id
