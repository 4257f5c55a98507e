"""The paper's designs as data: axes, scales, overrides, TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from untrue.errors import ArgumentError
from untrue.lab.design import SCALES
from untrue.lab.experiments import EXPERIMENTS, find, read, read_toml
from untrue.lab.plans import paper_plan


def test_the_papers_masked_zone() -> None:
    paper = paper_plan(find("masked-zone"), scale="paper")
    setup, training = paper.design.setup, paper.design.setup.training
    assert paper.grid.alpha == (0, 0.1, 0.5, 0.9, 0.95, 0.99)
    assert paper.grid.zone_size == (10, 20, 30, 40, 50)
    assert (paper.design.repetitions, training.epochs, setup.validation) == (50, 10, 5000)
    assert (training.batch_size, training.learning_rate, setup.width) == (50, 5e-4, 1.0)
    assert training.optimizer == "adam"
    assert paper.design.normalization == "rows"
    cifar = paper_plan(find("masked-zone"), scale="paper", overrides={"data": "cifar10"}).design
    assert (cifar.setup.network, cifar.repetitions) == ("cifar10", 10)
    assert (cifar.setup.training.epochs, cifar.setup.training.patience) == (300, 20)


def test_the_papers_hierarchy_and_small_samples() -> None:
    paper = paper_plan(find("hierarchy"), scale="paper")
    assert paper.grid.alpha == (0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    assert (paper.design.repetitions, paper.design.normalization) == (10, "none")
    assert paper.design.setup.training.epochs == 300
    small = paper_plan(find("small-sample"), scale="paper").grid
    assert small.alpha == (0, 0.25, 0.5)
    assert small.small_count == (0, 10, 50)
    assert small.loss == ("bilinear",)


@pytest.mark.parametrize(
    ("overrides", "validation"),
    [
        ({"limit_train": 4000}, 333),  # of 60,000 images 5,000
        ({"limit_train": 4000, "validation": 900}, 900),
        ({"limit_train": 90_000}, 5000),
        ({"epochs": 2}, 5000),
        ({"limit_train": 5}, 1),
        ({"data": "mnist-5k", "limit_train": 100}, 0),
    ],
)
def test_a_limit_scales_the_default_validation(overrides: dict[str, Any], validation: int) -> None:
    plan = paper_plan(find("masked-zone"), scale="desk", overrides=overrides, train_images=60_000)
    assert plan.design.setup.validation == validation


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("scale", SCALES)
def test_every_experiment_has_every_scale(name: str, scale: str) -> None:
    assert paper_plan(find(name), scale=scale).design.setup.training.epochs >= 1


def test_overrides_win_over_data_and_scale() -> None:
    values = {"data": "digits", "epochs": 3, "alpha": (0.5,)}
    chosen = paper_plan(find("masked-zone"), scale="smoke", overrides=values)
    setup = chosen.design.setup
    assert (setup.network, setup.training.epochs, chosen.grid.alpha) == ("digits", 3, (0.5,))
    usual = paper_plan(find("masked-zone"), scale="smoke", overrides={"data": "digits"})
    assert usual.design.setup.training.epochs == 20


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("alpha", "0, .5,.9", (0.0, 0.5, 0.9)),
        ("alpha", 0.5, (0.5,)),
        ("alpha", [0, 0.5], (0.0, 0.5)),
        ("zone_size", "10,30", (10, 30)),
        ("loss", "bilinear", ("bilinear",)),
        ("limit_train", "10000", 10_000),
        ("width", ".25", 0.25),
        ("augment", True, True),
        ("schedule", "cosine", "cosine"),
        ("normalization", "max", "max"),
    ],
)
def test_axes_are_read_as_people_write_them(name: str, text: object, value: object) -> None:
    found = read(name, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("alpha", "0,high", "`alpha` must be a number; got 'high'"),
        ("alpha", "0,,1", "`alpha` must be a number; got ''"),
        ("epochs", "2.5", "`epochs` must be a whole number; got '2.5'"),
        ("epochs", 2.5, "`epochs` must be a whole number; got 2.5"),
        ("epochs", True, "`epochs` must be a whole number; got True"),
        ("epochs", [1, 2], r"`epochs` must be a whole number; got \[1, 2\]"),
        ("augment", "yes", "`augment` must be true or false; got 'yes'"),
        ("alhpa", "0", "Unknown axis 'alhpa'; did you mean 'alpha'"),
    ],
)
def test_what_is_no_value_is_refused(name: str, text: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        read(name, text)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"alpha": (1.5,)}, r"`alpha` must lie in \[0, 1\]; got 1.5"),
        ({"alpha": (0.5, 0.5)}, "`alpha` names a value twice: 0.5, 0.5"),
        ({"loss": ("hinge",)}, "`loss` must be one of bilinear, log-bilinear; got 'hinge'"),
        ({"loss": ("cross-entropy",)}, "The baseline .* is always trained"),
        ({"repetitions": 0}, "`repetitions` must be at least 1; got 0"),
        ({"normalization": "cols"}, "`normalization` must be 'rows', 'max' or 'none'"),
        ({"zone_size": ()}, "`zone_size` needs at least one value in masked-zone"),
        ({"small_count": (10,)}, "`small_count` has no meaning in masked-zone"),
        ({"zonesize": (10,)}, "Unknown axis 'zonesize'; did you mean 'zone_size'"),
    ],
)
def test_axes_that_cannot_be_are_refused(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        paper_plan(find("masked-zone"), scale="desk", overrides=overrides)


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r"Unknown experiment 'masked'.*masked-zone"):
        find("masked")
    with pytest.raises(ArgumentError, match="Unknown scale 'desc'; did you mean 'desk'"):
        paper_plan(find("demo"), scale="desc")


def test_a_toml_file_names_its_experiment_and_axes(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'experiment = "masked-zone"\nscale = "smoke"\nalpha = [0, 0.5]\nzone-size = [10, 30]\n'
        "limit_train = 500\n"
    )
    name, scale, values = read_toml(file)
    assert (name, scale) == ("masked-zone", "smoke")
    assert values == {"alpha": (0.0, 0.5), "zone_size": (10, 30), "limit_train": 500}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha = [0", "is not readable as TOML"),
        ("alpha = [0]", "must name its experiment"),
        ('experiment = "demo"\nalpha = ["x"]', "mine.toml: `alpha` must be a number; got 'x'"),
        ('experiment = "demo"\nalpha = []', "mine.toml: `alpha` must hold at least one value"),
        ('experiment = "demo"\nalpa = [0]', "mine.toml: Unknown axis 'alpa'"),
    ],
)
def test_a_broken_toml_file_is_said(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(ArgumentError, match=message):
        read_toml(file)


def test_a_number_past_all_floats_is_one_sentence() -> None:
    with pytest.raises(ArgumentError, match="`learning_rate` must be a number"):
        read("learning_rate", 10**400)
