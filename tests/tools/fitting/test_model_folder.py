"""A model folder: whole or refused, and free of anything that runs when it is loaded."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch

from untrue import Penalty
from untrue.errors import ArgumentError, DataError
from untrue.networks import NetworkSpec, from_spec
from untrue.networks.normalize import Normalize
from untrue.tools.fitting.link import Link
from untrue.tools.fitting.model_folder import load_model, save_model
from untrue.tools.fitting.network import NetworkPredictor
from untrue.tools.fitting.predict import predict
from untrue.tools.fitting.result import FitResult
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.sources import Source


def test_what_is_loaded_answers_as_what_was_saved(
    fitted: FitResult, saved: Path, source: Source
) -> None:
    model = load_model(saved)
    inputs = source.inputs(fitted.model.preprocessing)
    np.testing.assert_array_equal(source.inputs(model.preprocessing), inputs)
    np.testing.assert_array_equal(model.probs(inputs), fitted.model.probs(inputs))
    for name in ("kind", "penalty", "preprocessing", "temperature", "target", "training"):
        assert getattr(model, name) == getattr(fitted.model, name)
    assert model.predictor.description() == fitted.model.predictor.description()
    assert json.loads((saved / "metrics.json").read_text()) == {"share": None}


def test_it_holds_weights_and_json_and_anyone_may_read_it(saved: Path) -> None:
    names = {path.name for path in saved.iterdir()}
    assert names == {
        "model.json",
        "weights.safetensors",
        "preprocessing.json",
        "penalty.json",
        "metrics.json",
        "x",
    }
    assert {path.stat().st_mode & 0o444 for path in saved.iterdir()} == {0o444}
    assert [path.name for path in saved.parent.iterdir()] == ["model"]  # nothing temporary is left


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("spoil", [cut, flip, Path.unlink])
@pytest.mark.parametrize("name", ["weights.safetensors", "preprocessing.json", "penalty.json"])
def test_a_file_changed_cut_short_or_gone_is_named(
    name: str, spoil: Callable[[Path], None], copy: Path
) -> None:
    spoil(copy / name)
    with pytest.raises(DataError, match=rf"{name} is (not what was written|missing)"):
        load_model(copy)


def test_a_changed_description_is_refused(copy: Path) -> None:
    content = json.loads((copy / "model.json").read_text())
    content["temperature"] = 3.0
    (copy / "model.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"model\.json is not what was written with the model"):
        load_model(copy)
    cut(copy / "model.json")
    with pytest.raises(DataError, match=r"model\.json is not readable as JSON"):
        load_model(copy)
    (copy / "model.json").write_text("[1]")
    with pytest.raises(DataError, match="expected named values"):
        load_model(copy)


def test_other_white_space_in_the_description_is_no_change(copy: Path) -> None:
    content = json.loads((copy / "model.json").read_text())
    (copy / "model.json").write_text(json.dumps(content, indent=4))
    load_model(copy)


def test_costs_to_decide_by_come_back(
    fitted: FitResult, saved: Path, source: Source, tmp_path: Path
) -> None:
    costs = Penalty.from_matrix(50.0 * fitted.model.penalty.matrix(), fitted.model.classes)
    folder = save_model(tmp_path / "tuned", replace(fitted.model, decision=costs))
    model = load_model(folder)
    assert model.decision == costs
    np.testing.assert_array_equal(
        predict(model, source).predicted, predict(fitted.model, source, decision="cost").predicted
    )
    assert load_model(saved).decision is None
    with pytest.raises(ArgumentError, match="needs a model whose decision was tuned"):
        predict(fitted.model, source, decision="tuned")
    with pytest.raises(
        ArgumentError, match=r"abstain-cost\) belongs to the decision .*; the tuned"
    ):
        predict(model, source, abstain_cost=0.5)
    (folder / "decision.json").write_text((folder / "penalty.json").read_text())
    with pytest.raises(DataError, match=r"decision\.json is not what was written with the model"):
        load_model(folder)


def test_a_model_of_a_newer_version_says_so(copy: Path) -> None:
    content = json.loads((copy / "model.json").read_text())
    (copy / "model.json").write_text(json.dumps({"format": 3, "untrue": "9.1", "new": content}))
    with pytest.raises(DataError, match=r"newer untrue \(9\.1\).* pip install --upgrade untrue"):
        load_model(copy)


NETWORK = {
    "kind": "network",
    "name": "mlp",
    "n_classes": 3,
    "width": 1.0,
    "file": "weights.safetensors",
}


def reseal(folder: Path, **changes: object) -> None:
    """Put all checksums right, as whoever changes a model on purpose would."""
    content = json.loads((folder / "model.json").read_text()) | changes
    del content["checksum"]
    for name in content["files"]:
        content["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps(content))


def test_a_pickle_in_place_of_the_weights_is_never_opened(copy: Path, tmp_path: Path) -> None:
    """Even with all checksums put right, what is no safetensors file is refused unread."""

    class Trap:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
            return Path.touch, (tmp_path / "ran",)

    (copy / "weights.safetensors").write_bytes(pickle.dumps(Trap()))
    reseal(copy)
    with pytest.raises(DataError, match="is not readable as a model"):
        load_model(copy)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(copy: Path, value: float) -> None:
    weights = safetensors.torch.load_file(copy / "weights.safetensors")
    name = next(iter(weights))
    weights[name].view(-1)[0] = value
    safetensors.torch.save_file(weights, copy / "weights.safetensors")
    reseal(copy)
    with pytest.raises(DataError, match=rf"not readable as a model \(weights '{name}' must be fin"):
        load_model(copy)


def test_weights_of_another_precision_are_refused(copy: Path) -> None:
    weights = safetensors.torch.load_file(copy / "weights.safetensors")
    halves = {name: value.half() for name, value in weights.items()}
    safetensors.torch.save_file(halves, copy / "weights.safetensors")
    reseal(copy)
    with pytest.raises(DataError, match="must be finite numbers in float32"):
        load_model(copy)


@pytest.mark.parametrize(
    ("part", "value"),
    [("scale", 0.0), ("scale", -1.0), ("mean", float("nan")), ("median", float("inf"))],
)
def test_scales_of_nothing_are_refused(copy: Path, part: str, value: float) -> None:
    content = json.loads((copy / "preprocessing.json").read_text())
    content["numbers"][part][0] = value
    (copy / "preprocessing.json").write_text(json.dumps(content))
    reseal(copy)
    with pytest.raises(DataError, match="medians, means and scales must be finite, and scales pos"):
        load_model(copy)


def test_pixels_scaled_by_nothing_are_refused(fitted: FitResult, tmp_path: Path) -> None:
    shape = (1, 6, 6)
    network = from_spec(NetworkSpec("cnn", shape, 3))
    model = replace(
        fitted.model,
        kind="images",
        preprocessing=ImagePreprocessing(*shape),
        predictor=NetworkPredictor(NetworkSpec("cnn", shape, 3), network),
    )
    load_model(save_model(tmp_path / "good", model))
    assert isinstance(network[0], Normalize)
    network[0].scale.zero_()
    with pytest.raises(DataError, match="the scale of the pixels must be positive"):
        load_model(save_model(tmp_path / "bad", model))


def test_the_costs_a_model_was_trained_by_are_remembered_where_they_are_others(
    fitted: FitResult, source: Source, tmp_path: Path
) -> None:
    own = fitted.model.penalty
    others = Penalty.from_matrix(own.matrix() * 3 + 1 - np.eye(own.n_classes), list(own.classes))
    model = replace(fitted.model, link=Link("bilinear", 0.4, others))
    folder = save_model(tmp_path / "model", model)
    loaded = load_model(folder)
    assert loaded.link == model.link
    inputs = source.inputs(model.preprocessing)
    np.testing.assert_array_equal(loaded.probs(inputs), model.probs(inputs))
    assert not np.allclose(model.probs(inputs), fitted.model.probs(inputs))
    (folder / "trained.json").unlink()
    with pytest.raises(DataError, match=r"trained\.json is missing: the model is not whole"):
        load_model(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": NETWORK | {"inputs": [12_000_000]}},
        {"model": NETWORK | {"inputs": [2**62]}},
        {"model": NETWORK | {"inputs": [1e400]}},
        {"model": NETWORK | {"inputs": []}},
        {"model": []},
        {"kind": "images"},
        {"kind": ["table"]},
        {"target": 3},
        {"training": []},
        {"training": {"tuned": []}},
        {"temperature": "warm"},
        {"link": ["bilinear"]},
        {"link": {"loss": "bilinear", "alpha": 0.5, "scale": 1.0}},
    ],
)
def test_a_description_that_does_not_fit_is_refused_before_it_takes_memory(
    copy: Path, changes: dict[str, object]
) -> None:
    reseal(copy, **changes)
    with pytest.raises(DataError, match=r"model(\.json)? is not (readable as a model|what was)"):
        load_model(copy)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is no model folder: it has no model\.json"):
        load_model(tmp_path)
