"""Configs and results as frozen records."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from untrue.errors import ArgumentError
from untrue.lab.design import Setup, made_from, option_types
from untrue.lab.records import METHODS, DatasetInfo, PenaltySpec, RunConfig, Start
from untrue.losses import registry

ZONE = PenaltySpec("zone", 1.0, 0.0, cells=((0, 1), (2, 0)), normalization="rows")
COSTS = dataclasses.replace(ZONE, inside=10.0, outside=1.0, normalization="none")


def setup(**values: object) -> Setup:
    return made_from(Setup, {"data": "digits", "network": "digits", "epochs": 2, **values})


BASELINE = RunConfig(setup(), seed=0)
TREATED = dataclasses.replace(BASELINE, loss="bilinear", alpha=0.5, penalty=ZONE)
RIVAL = dataclasses.replace(BASELINE, loss="soft-labels", strength=4.0, penalty=ZONE)
MATRIX = PenaltySpec(
    "matrix", costs=((0, 1, 2), (1, 0, 2), (2, 9, 0)), edges=(("x", "a"),), normalization="max"
)
INFO = DatasetInfo(
    name="tiny",
    classes=("a", "b", "c"),
    groups=(("x", (0, 2)), ("y", (1,))),
    fingerprint="f",
    train_images=9,
    test_images=3,
)

OTHER_VALUES = {
    "seed": 1,
    "loss": "log-bilinear",
    "alpha": 0.25,
    "penalty": dataclasses.replace(ZONE, normalization="none"),
    "small_classes": (1,),
    "small_count": 10,
    "score_on": (COSTS,),
    "calibrate": True,
    "keep_weights": True,
    "start": Start("0123456789abcdef", 12),
}
OTHER_SETUPS = {
    "data": "mnist",
    "network": "mnist",
    "epochs": 3,
    "width": 0.5,
    "batch_size": 32,
    "learning_rate": 1e-3,
    "optimizer": "sgd",
    "momentum": 0.5,
    "weight_decay": 0.1,
    "schedule": "cosine",
    "validation": 10,
    "patience": 5,
    "warmup": 0.5,
    "augment": True,
    "shift": 2,
    "limit_train": 100,
    "limit_test": 100,
    "exits": 3,
}


@pytest.mark.parametrize("field", sorted(OTHER_VALUES))
def test_the_id_depends_on_every_field_but_the_scoring(field: str) -> None:
    start = dataclasses.replace(TREATED, setup=setup(validation=20))
    changed = dataclasses.replace(start, **{field: OTHER_VALUES[field]})
    assert (changed.run_id == start.run_id) == (field in ("score_on", "calibrate", "keep_weights"))


@pytest.mark.parametrize("option", sorted(option_types(Setup)))
def test_the_id_depends_on_every_option_of_the_setup(option: str) -> None:
    changed = setup(**{"validation": 20, option: OTHER_SETUPS[option]})
    start = dataclasses.replace(TREATED, setup=setup(validation=20))
    assert dataclasses.replace(TREATED, setup=changed).run_id != start.run_id


def test_the_id_depends_on_the_strength_and_on_the_costs_of_a_matrix() -> None:
    fields = {field.name for field in dataclasses.fields(RunConfig)}
    assert fields == {*OTHER_VALUES, "setup", "strength", "exit_costs"}
    several = dataclasses.replace(
        TREATED, setup=setup(exits=2), penalty=PenaltySpec("groups", 1.0, 5.0)
    )
    kinds = ("same", "text", "printed")
    assert len({dataclasses.replace(several, exit_costs=kind).run_id for kind in kinds}) == 3
    costly = dataclasses.replace(MATRIX, costs=((0, 1, 2), (1, 0, 2), (2, 8, 0)))
    runs = [RIVAL, dataclasses.replace(RIVAL, strength=5.0)]
    runs += [dataclasses.replace(RIVAL, penalty=spec) for spec in (MATRIX, costly)]
    assert len({config.run_id for config in runs}) == 4


def test_a_field_at_its_default_does_not_rename_a_run() -> None:
    @dataclasses.dataclass(frozen=True)
    class Later(RunConfig):
        newer: str | None = None

    fields = {f.name: getattr(TREATED, f.name) for f in dataclasses.fields(TREATED)}
    assert Later(**fields).run_id == TREATED.run_id
    assert Later(**fields, newer="so").run_id != TREATED.run_id


def test_ids_are_those_of_every_process() -> None:
    names = "from untrue.lab.records import *\nfrom untrue.training import *\n"
    code = f"{names}print({TREATED!r}.run_id)"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == TREATED.run_id
    assert re.fullmatch("[0-9a-f]{16}", TREATED.run_id)


@pytest.mark.parametrize(
    "config",
    [
        BASELINE,
        dataclasses.replace(TREATED, score_on=(COSTS, ZONE), small_classes=(1, 2), small_count=0),
        dataclasses.replace(RIVAL, penalty=MATRIX, score_on=(MATRIX,)),
        dataclasses.replace(TREATED, start=Start("0123456789abcdef", 12), keep_weights=True),
    ],
)
def test_configs_survive_json(config: RunConfig) -> None:
    again = RunConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert again.run_id == config.run_id


def test_dataset_info_survives_json() -> None:
    assert DatasetInfo.from_dict(json.loads(json.dumps(INFO.to_dict()))) == INFO


def test_a_zone_costs_inside_and_outside() -> None:
    assert np.array_equal(ZONE.matrix(INFO), [[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    assert np.array_equal(COSTS.matrix(INFO), [[0, 10, 1], [1, 0, 1], [10, 1, 0]])
    assert np.array_equal(COSTS.mask(INFO), ZONE.matrix(INFO) > 0)


def test_groups_cost_less_inside() -> None:
    groups = PenaltySpec("groups", 1.0, 5.0)
    assert np.array_equal(groups.matrix(INFO), [[0, 5, 1], [5, 0, 5], [1, 5, 0]])
    assert np.array_equal(groups.mask(INFO), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_a_matrix_is_its_own_and_its_zone_is_what_costs_more_than_the_cheapest() -> None:
    assert np.array_equal(MATRIX.matrix(INFO), [[0, 1, 2], [1, 0, 2], [2, 9, 0]])
    assert np.array_equal(MATRIX.mask(INFO), [[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    alike = PenaltySpec("matrix", costs=((0, 1, 1), (1, 0, 1), (1, 1, 0)))
    assert np.array_equal(alike.mask(INFO), ~np.eye(3, dtype=bool))


def test_every_method_has_its_name_and_its_knob() -> None:
    assert METHODS[:3] == ("ce", "bilinear", "log-bilinear")
    assert (BASELINE.method, BASELINE.knob) == ("ce", None)
    assert (TREATED.method, TREATED.knob) == ("bilinear", ("alpha", 0.5))
    assert len(METHODS) == len(registry.COMPARED)
    assert (RIVAL.method, RIVAL.knob) == ("soft-labels", ("beta", 4.0))
    plain = dataclasses.replace(RIVAL, loss="conditional-softmax", strength=None)
    assert (plain.method, plain.knob) == ("conditional-softmax", None)


def test_labels_are_for_people() -> None:
    assert RIVAL.label == "digits soft-labels beta=4 n=2 seed=0"
    assert TREATED.label == "digits bilinear alpha=0.5 n=2 seed=0"
    assert BASELINE.label == "digits baseline seed=0"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "hinge"}, "`loss` must be one of cross-entropy, bilinear, log-bilinear"),
        ({"alpha": 1.5}, r"`alpha` must lie in \[0, 1\]; got 1.5"),
        ({"alpha": float("nan")}, r"`alpha` must lie in \[0, 1\]; got nan"),
        ({"alpha": 0.0}, "A baseline has loss 'cross-entropy', alpha 0 and no penalty"),
        ({"penalty": None}, "got 'bilinear', alpha 0.5, no penalty"),
        ({"loss": "cross-entropy"}, "A baseline has loss"),
        ({"seed": -1}, "`seed` must be at least 0; got -1"),
        ({"calibrate": True}, "`calibrate` needs `validation` examples; got validation 0"),
        ({"strength": 2.0}, "The loss 'bilinear' has no `strength`; got 2.0"),
        (
            {"loss": "hxe", "alpha": 0.0},
            r"'hxe' needs a positive `strength` \(its decay\); got None",
        ),
        ({"loss": "hxe", "alpha": 0.0, "strength": -1.0}, "got -1.0"),
        ({"loss": "hxe", "strength": 1.0}, "takes a penalty and no alpha; got alpha 0.5"),
        ({"loss": "focal", "alpha": 0.0, "strength": 1.0}, "'focal' takes no penalty"),
        (
            {"loss": "conditional-softmax", "alpha": 0.0, "strength": 1.0},
            "'conditional-softmax' has no `strength`",
        ),
    ],
)
def test_impossible_configs_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        dataclasses.replace(TREATED, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "`epochs` must be at least 1; got 0"),
        ({"learning_rate": -1.0}, "`learning_rate` must be positive; got -1.0"),
        ({"width": float("inf")}, "`width` must be finite and positive; got inf"),
        ({"limit_train": 0}, "`limit_train` must be at least 1; got 0"),
        ({"patience": 3}, "`patience` needs `validation` examples"),
        ({"validation": -1}, "`validation` must be at least 0; got -1"),
    ],
)
def test_impossible_setups_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        setup(**changes)
