"""Own data in a comparison: read once, split by the seed, trained as `untrue fit` trains."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_wine

import untrue
from untrue.errors import ArgumentError, DataError, UntrueWarning
from untrue.lab import comparison, run_data
from untrue.lab.own_data import OwnData
from untrue.lab.records import RunConfig
from untrue.lab.run_data import OwnRunData
from untrue.lab.scoring import SHARES
from untrue.lab.training import train
from untrue.losses import registry

WINES = ("barolo", "grignolino", "barbera")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = load_wine(as_frame=True).frame
    frame["wine"] = np.array(WINES)[frame.pop("target")]
    path = tmp_path_factory.mktemp("own") / "wine.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def wine(table: Path) -> OwnRunData:
    return run_data.own(OwnData(table, target="wine", classes=WINES))


@pytest.fixture(scope="module")
def runs(wine: OwnRunData, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, ...]:
    groups = {"light": ["barolo", "barbera"], "dark": ["grignolino"]}
    penalty = untrue.Penalty.from_groups(groups, within=1.0, across=5.0).select(WINES)
    file = penalty.save(tmp_path_factory.mktemp("costs") / "tree.json")
    chosen = comparison.with_strengths(comparison.read_methods(None), "smoke", {})
    settings = wine.settings("smoke") | {"epochs": 12, "learning_rate": 0.01}
    costs = comparison.read_costs(str(file), wine.info)
    plan, _ = comparison.comparison_plan(wine.info, costs, chosen, settings)
    return plan.configs(wine.info)


def test_it_is_described_by_its_classes_and_sizes(wine: OwnRunData) -> None:
    info = wine.info
    assert (info.name, info.classes) == ("wine.csv", WINES)
    assert (info.train_images, info.test_images) == (142, 36)
    assert wine.settings("desk")["network"] == "mlp"
    assert wine.settings("desk")["validation"] == 21


def test_costs_of_own_data_must_be_given(wine: OwnRunData) -> None:
    message = r"--penalty.* `untrue penalty new`, or zone:N, .* N from 1 to 6 with 3 classes"
    with pytest.raises(ArgumentError, match=message):
        comparison.read_costs(None, wine.info)
    assert comparison.read_costs("zone:6", wine.info).zone_size == 6


def test_classes_are_those_found_unless_the_penalty_names_them(table: Path) -> None:
    assert OwnData(table, target="wine").open().classes == tuple(sorted(WINES))


def test_labels_that_are_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.zeros((12, 2)), y=np.arange(12))
    assert OwnData(tmp_path / "d.npz").open().classes == tuple(map(str, range(12)))


def test_each_seed_has_its_own_parts_and_all_of_them(
    wine: OwnRunData, runs: tuple[RunConfig, ...]
) -> None:
    here = wine.opened.split(runs[0])
    other = wine.opened.split(dataclasses.replace(runs[0], seed=1))
    assert not np.array_equal(here.test, other.test)
    every = np.sort(np.concatenate([here.train, here.validation, here.test]))
    assert np.array_equal(every, np.arange(178))
    assert len(here.validation) == runs[0].setup.validation
    assert np.array_equal(wine.labels_of(runs[0]), wine.opened.labels[here.test])


def test_every_method_trains_on_own_data(wine: OwnRunData, runs: tuple[RunConfig, ...]) -> None:
    assert len(runs) == len(registry.COMPARED)
    for config in runs:
        epochs: list[int] = []
        result = train(
            config, wine.opened, on_progress=lambda at, epochs=epochs: epochs.append(at.epoch)
        ).result
        assert result.confusion.sum() == 36
        assert result.confusion.trace() >= 24, config.label
        assert result.epochs_run == len(epochs) == len(result.validation_losses)
        usual = 0 if config.loss == "sosr" else 2
        more = len(SHARES) if config.is_baseline else config.loss in registry.MIXED
        assert len(result.decisions) == usual + more


def test_the_same_config_gives_the_same_model(
    wine: OwnRunData, runs: tuple[RunConfig, ...]
) -> None:
    first, second = (train(runs[1], wine.opened) for _ in range(2))
    assert first.probs.tobytes() == second.probs.tobytes()


def test_other_files_and_other_readings_have_other_fingerprints(
    table: Path, tmp_path: Path
) -> None:
    own = OwnData(table, target="wine")
    known = own.open().info.fingerprint
    assert own.open().info.fingerprint == known
    assert dataclasses.replace(own, ignore=("ash",)).open().info.fingerprint != known
    moved = tmp_path / table.name
    moved.write_bytes(table.read_bytes())
    assert dataclasses.replace(own, path=moved).open().info.fingerprint == known
    moved.write_text(table.read_text().replace("14.23", "14.24", 1))
    assert dataclasses.replace(own, path=moved).open().info.fingerprint != known


def test_a_process_that_reads_them_again_finds_the_same_data(table: Path) -> None:
    found = run_data.own(OwnData(table, target="wine"))
    assert found.own.open().info == found.info
    named = run_data.own(OwnData(table, target="wine", classes=tuple(sorted(WINES))))
    assert named.info == found.info
    assert run_data.own(OwnData(table, target="wine", classes=WINES)).info != found.info


def test_what_own_data_do_not_know_is_refused(
    wine: OwnRunData, runs: tuple[RunConfig, ...]
) -> None:
    wine.check(runs[0])
    for changes, message in (
        ({"limit_test": 5}, "`limit_test` has no meaning"),
        ({"network": "cnn"}, "'cnn' is for images"),
        ({"network": "mnist"}, r"'mnist' takes images of \(1, 28, 28\)"),
        ({"network": "mlq"}, "Unknown network 'mlq'; did you mean 'mlp'"),
        ({"validation": 140}, "`validation` must lie between 1 and 90 % of the 142 examples"),
    ):
        setup = dataclasses.replace(runs[0].setup, **changes)
        with pytest.raises(ArgumentError, match=message):
            wine.check(dataclasses.replace(runs[0], setup=setup))


def test_a_class_of_the_penalty_that_no_example_has_is_named(table: Path) -> None:
    more = (*WINES, "dolcetto")
    with pytest.warns(UntrueWarning, match="dolcetto"):
        found = run_data.own(OwnData(table, target="wine", classes=more))
    assert found.info.classes == more


def test_names_paths_and_neither(table: Path) -> None:
    assert run_data.named("digits").own is None
    with pytest.raises(ArgumentError, match="digits is a data set of the lab; target is for own"):
        run_data.check_unread("digits", OwnData(Path("digits"), target="wine"))
    with pytest.raises(ArgumentError, match=r"there is no 'digts'; did you mean 'digits'\?"):
        run_data.own(OwnData(Path("digts")))
    with pytest.raises(ArgumentError, match="Name the column to learn, `target`"):
        run_data.own(OwnData(table))
    with pytest.raises(DataError, match="barbera"):
        run_data.own(OwnData(table, target="wine", classes=WINES[:2]))


def test_an_image_moved_to_another_class_makes_other_data(tmp_path: Path) -> None:
    for place, grey in (("cat/1.png", 0), ("cat/2.png", 90), ("dog/3.png", 250)):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        Image.new("L", (4, 4), grey).save(tmp_path / place)
    before = OwnData(tmp_path).open().info.fingerprint
    (tmp_path / "cat/2.png").rename(tmp_path / "dog/2.png")
    assert OwnData(tmp_path).open().info.fingerprint != before
