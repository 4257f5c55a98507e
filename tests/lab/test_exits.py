"""The experiment of several exits: what is trained and kept of it, and going on after a kill."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.cli.untrue_process import run_untrue
from tests.lab.conftest import killed_and_resumed

from untrue import Penalty
from untrue.errors import ArgumentError
from untrue.exits import exit_early
from untrue.hierarchy import Hierarchy
from untrue.lab import methods, scoring
from untrue.lab.data import Dataset, load, names
from untrue.lab.exit_scores import THRESHOLDS
from untrue.lab.experiments import find
from untrue.lab.plans import GROUP_COSTS, paper_plan
from untrue.lab.records import RunConfig
from untrue.lab.splits import describe
from untrue.lab.store import Store
from untrue.lab.training import TrainedRun, train
from untrue.training.evaluation import outputs_of
from untrue.training.examples import Examples
from untrue.training.splits import limited

SMALL = {
    "data": "digits",
    "epochs": 4,
    "width": 0.5,
    "validation": 200,
    "limit_train": None,
    "limit_test": 200,
    "augment": False,
    "batch_size": 40,
    "learning_rate": 0.05,
}


@pytest.fixture(scope="module")
def grouped() -> Dataset:
    groups = {"low": list("01234"), "high": list("56789")}
    digits = load("digits")
    return dataclasses.replace(
        digits, hierarchy=Hierarchy.from_groups(groups, classes=digits.classes)
    )


@pytest.fixture(scope="module")
def configs(grouped: Dataset) -> tuple[RunConfig, ...]:
    plan = paper_plan(find("exits"), scale="smoke", overrides=SMALL)
    return plan.configs(describe(grouped))


@pytest.fixture(scope="module")
def trained(configs: tuple[RunConfig, ...], grouped: Dataset) -> TrainedRun:
    return train(configs[3], grouped)


def test_five_variants_share_a_seed(configs: tuple[RunConfig, ...]) -> None:
    found = [(c.setup.exits, c.loss, c.exit_costs) for c in configs]
    assert found == [
        (1, "cross-entropy", "same"),
        (3, "cross-entropy", "same"),
        (3, "bilinear", "same"),
        (3, "bilinear", "text"),
        (3, "soft-labels", "text"),
    ]
    assert {c.seed for c in configs} == {0}
    assert {c.score_on for c in configs} == {(GROUP_COSTS,)}
    assert configs[2].penalty == dataclasses.replace(GROUP_COSTS, normalization="max")
    assert configs[3].label == "digits bilinear alpha=0.5 exits=3 A(l) text seed=0"
    assert configs[4].label == "digits soft-labels beta=24 exits=3 growing seed=0"
    assert paper_plan(find("exits"), scale="smoke", overrides=SMALL).expected == len(configs)


def test_each_exit_has_the_penalty_that_the_variant_says(
    configs: tuple[RunConfig, ...], grouped: Dataset
) -> None:
    info = describe(grouped)
    costs = [
        [loss.penalty.cost("0", "1") for loss in methods.build(c, info).objective.losses]
        for c in configs[2:4]
    ]
    assert costs == [[0.2] * 3, pytest.approx([1 / 3, 2 / 3, 1.0])]
    growing = methods.build(configs[3], info).objective.losses
    assert {loss.penalty.cost("0", "9") for loss in growing} == {1.0}
    assert growing[0].penalty.classes == info.classes
    printed = dataclasses.replace(configs[3], exit_costs="printed")
    assert methods.build(printed, info).objective.losses[0].penalty.cost("0", "1") == 3.0


def test_four_exits_have_four_penalties(grouped: Dataset) -> None:
    plan = paper_plan(find("exits"), scale="smoke", overrides={**SMALL, "exits": 4})
    info = describe(grouped)
    one, plain, final, growing, soft = plan.configs(info)
    assert [each.setup.exits for each in (one, plain, final, growing, soft)] == [1, 4, 4, 4, 4]
    losses = methods.build(growing, info).objective.losses
    assert [loss.penalty.cost("0", "1") for loss in losses] == [0.25, 0.5, 0.75, 1.0]
    betas = [loss.beta for loss in methods.build(soft, info).objective.losses]
    assert betas == pytest.approx([6.0, 12.0, 18.0, 24.0])


def test_soft_labels_are_softer_the_earlier_the_exit(
    configs: tuple[RunConfig, ...], grouped: Dataset
) -> None:
    losses = methods.build(configs[4], describe(grouped)).objective.losses
    assert [loss.beta for loss in losses] == pytest.approx([8.0, 16.0, 24.0])
    alike = dataclasses.replace(configs[4], exit_costs="same")
    same = methods.build(alike, describe(grouped)).objective.losses
    assert [loss.beta for loss in same] == [24.0] * 3
    assert alike.run_id != configs[4].run_id
    with pytest.raises(ArgumentError, match="'soft-labels' has no penalty to read as printed"):
        dataclasses.replace(configs[4], exit_costs="printed")


def test_what_is_kept_of_a_run_is_what_its_network_says(
    trained: TrainedRun, configs: tuple[RunConfig, ...], grouped: Dataset
) -> None:
    result, info = trained.result, describe(grouped)
    labels = grouped.test_labels
    kept = limited(labels, 200)
    examples = Examples.place(grouped.test_images[kept], labels[kept])
    logits = outputs_of(trained.network, examples.inputs)
    assert len(result.exits) == 3
    for each, exit_result in zip(logits, result.exits, strict=True):
        assert np.array_equal(exit_result.confusion, scoring.count(each.numpy(), labels[kept]))
    assert np.array_equal(result.exits[-1].confusion, result.confusion)
    work = [each.work for each in result.exits]
    assert work == sorted(work)
    assert [stop.threshold for stop in result.stops] == list(THRESHOLDS)
    probs = [
        (each / exit_result.temperature).softmax(1)
        for each, exit_result in zip(logits, result.exits, strict=True)
    ]
    costs = scoring.penalty(GROUP_COSTS, info)
    for stop in result.stops:
        expected = exit_early(probs, costs, threshold=stop.threshold, work=work)
        assert stop.by_exit == tuple(expected.by_exit)
        assert stop.saved == pytest.approx(expected.saved)
        assert stop.confusion.sum() == len(kept)
        assert stop.seconds > 0
    assert result.stops[0].by_exit == (0, 0, len(kept))
    assert result.stops[-1].by_exit == (len(kept), 0, 0)
    assert result.exits[-1].confusion.trace() > 0.6 * len(kept)


def test_a_run_with_exits_survives_the_store(trained: TrainedRun, tmp_path: Path) -> None:
    with Store.write(tmp_path) as store:
        store.add(trained.result)
        again = store.result(trained.result.run_id)
    assert again is not None
    assert again.config == trained.result.config
    for ours, theirs in zip(again.exits, trained.result.exits, strict=True):
        assert (ours.work, ours.temperature) == (theirs.work, theirs.temperature)
        assert np.array_equal(ours.confusion, theirs.confusion)
    for stop, other in zip(again.stops, trained.result.stops, strict=True):
        assert (stop.threshold, stop.saved, stop.by_exit) == (
            *(other.threshold, other.saved),
            other.by_exit,
        )
        assert np.array_equal(stop.confusion, other.confusion)


def test_a_network_of_one_exit_has_none_to_tell_of(
    configs: tuple[RunConfig, ...], grouped: Dataset
) -> None:
    quick = dataclasses.replace(
        configs[0],
        setup=dataclasses.replace(
            configs[0].setup, training=dataclasses.replace(configs[0].setup.training, epochs=1)
        ),
    )
    result = train(quick, grouped).result
    assert (result.exits, result.stops) == ((), ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"exit_costs": "rising"}, "`exit_costs` must be 'same', 'text' or 'printed'"),
        ({"exits": 1}, "needs several exits and a penalty by groups; got 1 and one"),
        ({"loss": "sosr", "alpha": 0.0, "strength": 1.0}, "'sosr' is for networks with one exit"),
    ],
)
def test_configs_that_make_no_sense_are_refused(
    configs: tuple[RunConfig, ...], changes: dict[str, object], message: str
) -> None:
    changes = dict(changes)
    setup = dataclasses.replace(configs[3].setup, exits=changes.pop("exits", 3))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=message):
        dataclasses.replace(configs[3], setup=setup, **changes)  # type: ignore[arg-type]


def test_exits_belong_to_their_experiment() -> None:
    with pytest.raises(ArgumentError, match=r"`exits` must be 2 or more.*; got 1 in exits"):
        paper_plan(find("exits"), scale="smoke", overrides={"exits": 1})
    with pytest.raises(ArgumentError, match=r"1 in every other; got 3 in hierarchy"):
        paper_plan(find("hierarchy"), scale="smoke", overrides={"exits": 3})


def test_a_first_exit_trained_by_a_of_l_prefers_mistakes_inside_the_coarse_class() -> None:
    """Where nothing can be known but the group, the costs decide between inside and outside."""
    groups = {"low": ["a", "b"], "high": ["c", "d"]}
    first, last = (Penalty.for_exit(groups, number, 4) for number in (1, 4))
    p = torch.tensor([0.4, 0.3, 0.2, 0.1])
    inside, outside = (np.asarray(each.expected(p[None].numpy()))[0] for each in (first, last))
    assert inside[1] < inside[2]
    assert (inside < outside).all()


def write_tiny_cifar100(folder: Path) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, fine in (("train.bin", np.tile(np.arange(100), 3)), ("test.bin", np.arange(100))):
        coarse = np.array(names.CIFAR100_COARSE, np.uint8)[fine][:, None]
        pixels = rng.integers(0, 256, (len(fine), 3072), dtype=np.uint8)
        records = np.concatenate([coarse, fine.astype(np.uint8)[:, None], pixels], axis=1)
        (folder / name).write_bytes(records.tobytes())


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    write_tiny_cifar100(tmp_path / "data" / "cifar-100-binary")
    place = tmp_path / "runs"
    words = [
        *("run", "exits", "--scale", "smoke", "--out", str(place)),
        *("--data-dir", str(tmp_path / "data"), "--validation", "100", "--limit-train", "300"),
        *("--limit-test", "100", "--epochs", "1", "--jobs", "1", "--threads", "1"),
    ]
    before, after = killed_and_resumed(*words, place=place)
    assert 2 <= len(before) <= len(after) == 5
    assert {run_id: after[run_id] for run_id in before} == before
    report = run_untrue("report", place)
    assert report.returncode == 0, report.stderr
    assert "A(l): inside costs l/k" in report.stdout
