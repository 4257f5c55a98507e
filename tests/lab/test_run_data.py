"""What runs are made on, and what is known of it without its files."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from untrue.errors import ArgumentError
from untrue.lab import run_data
from untrue.lab.data import IMAGES, Dataset, facts, load
from untrue.lab.design import Setup, made_from
from untrue.lab.executor import LocalProcesses, _trainer
from untrue.lab.records import RunConfig
from untrue.lab.splits import describe


def config(**values: object) -> RunConfig:
    usual = {"data": "digits", "network": "digits", "epochs": 1}
    return RunConfig(made_from(Setup, {**usual, **values}), seed=0)


@pytest.mark.parametrize("name", ["digits", "mnist-5k"])
def test_what_is_known_is_what_is_there(name: str) -> None:
    data = load(name)
    known, there = run_data.known(name), describe(data)
    assert known.info == dataclasses.replace(there, fingerprint="")
    assert known.facts.image_shape == data.image_shape


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_images_are_nothing_for_trees(library: str) -> None:
    for found in (run_data.known("digits"), run_data.named("digits")):
        with pytest.raises(ArgumentError, match=f"Model '{library}' is for tables; these are ima"):
            found.check(config(network=library))


@pytest.mark.parametrize("name", IMAGES)
def test_every_data_set_is_known_without_its_files(name: str) -> None:
    known = facts(name)
    assert known.name == name
    assert len(set(known.classes)) == len(known.classes) >= 10
    assert known.train_images > known.test_images > 0


def test_known_groups_are_those_of_the_data_set() -> None:
    pixels, labels = np.zeros((1, 3, 32, 32), dtype=np.uint8), np.zeros(1, dtype=np.int64)
    known = facts("cifar100")
    data = Dataset("cifar100", pixels, labels, pixels, labels, known.classes, known.hierarchy)
    assert run_data.known("cifar100").info.groups == describe(data).groups
    assert len(run_data.known("cifar100").info.groups) == 20


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"network": "mnist"}, r"Network 'mnist' takes images of \(1, 28, 28\)"),
        ({"validation": 1442}, "must be below the number of training images, 1442; got 1442"),
        ({"limit_train": 50, "validation": 50}, "the number of training images, 50; got 50"),
    ],
)
def test_what_cannot_be_trained_is_refused_without_the_files_too(
    values: dict[str, object], message: str
) -> None:
    for data in (run_data.known("digits"), run_data.named("digits")):
        data.check(config())
        with pytest.raises(ArgumentError, match=message):
            data.check(config(**values))


def test_a_process_that_trains_does_not_hash_the_data_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    info = run_data.named("digits").info

    def refuse(data: Dataset) -> None:
        raise AssertionError(f"{data.name} is hashed again")

    monkeypatch.setattr("untrue.lab.training.describe", refuse)
    train = _trainer(LocalProcesses(1, 1, info, "cpu"))
    assert train(config(limit_train=100), lambda progress: None).result.status == "ok"
