"""Fitting: the same twice, honest beside the plain model, and every kind of data."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits

from untrue import Penalty
from untrue.errors import ArgumentError, DataError, PenaltyError, UntrueWarning
from untrue.networks import NetworkSpec
from untrue.tools.fitting.fit import fit
from untrue.tools.fitting.learners import softmax_temperature
from untrue.tools.fitting.predict import predict, read_data
from untrue.tools.fitting.result import FitResult
from untrue.tools.fitting.setup import labels_of
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.opening import open_source

ONE: dict[str, Any] = {"epochs": 1}
QUICK: dict[str, Any] = {"epochs": 12, "patience": 4, "learning_rate": 5e-3}


@pytest.fixture(scope="module")
def fitted(patients_csv: Path, patient_costs: Penalty) -> FitResult:
    return fit(open_source(patients_csv, target="diagnosis"), penalty=patient_costs, **QUICK)


def test_every_way_is_measured_on_the_same_unseen_examples(fitted: FitResult) -> None:
    assert [variant.name for variant in fitted.variants] == [
        "cross-entropy",
        "cross-entropy + least cost",
        "bilinear, alpha 0.5",
        "bilinear, alpha 0.5 + least cost",
    ]
    assert fitted.chosen == 2
    assert {variant.summary.n for variant in fitted.variants} == {fitted.sizes[2]} == {60}
    assert sum(fitted.sizes) == 300
    plain = fitted.variants[0]
    assert plain.change is None
    for variant in fitted.variants[1:]:
        assert variant.change is not None
        assert variant.summary.expected_cost is not None
        assert plain.summary.expected_cost is not None
        difference = variant.summary.expected_cost - plain.summary.expected_cost
        assert variant.change.expected_cost.value == pytest.approx(difference)


def test_a_calibration_on_few_examples_is_not_to_be_trusted(fitted: FitResult) -> None:
    assert fitted.sizes[1] == 36
    (note,) = fitted.notes
    assert "calibrated on 36 examples, too few to trust" in note
    assert "--validation-share" in note


def test_the_costs_are_heard(fitted: FitResult) -> None:
    before, after = fitted.variants[0].summary, fitted.variants[fitted.chosen].summary
    assert fitted.zone_above == 1.0
    assert after.zone_errors is not None
    assert before.zone_errors is not None
    assert after.zone_errors < before.zone_errors
    assert after.accuracy > 0.5


def test_the_same_seed_gives_the_same_model(
    fitted: FitResult, patients_csv: Path, patient_costs: Penalty
) -> None:
    torch.manual_seed(123)  # the caller's random state must not matter, and must come back
    state = torch.get_rng_state()
    source = open_source(patients_csv, target="diagnosis")
    again = fit(source, penalty=patient_costs, **QUICK, baseline=False)
    assert torch.equal(torch.get_rng_state(), state)
    assert [variant.name for variant in again.variants] == [
        variant.name for variant in fitted.variants[2:]
    ]
    inputs = source.inputs(again.model.preprocessing)
    np.testing.assert_array_equal(again.model.probs(inputs), fitted.model.probs(inputs))
    other = fit(
        source,
        penalty=patient_costs,
        epochs=2,
        seed=1,
        baseline=False,
        loss="log-bilinear",
    )
    assert (other.model.probs(inputs) != again.model.probs(inputs)).any()


def test_without_a_penalty_only_the_plain_loss_makes_sense(patients_csv: Path) -> None:
    source = open_source(patients_csv, target="diagnosis")
    with pytest.raises(ArgumentError, match="'bilinear' needs to know what mistakes cost"):
        fit("a file that is not read yet.csv", target="diagnosis", penalty=None, **QUICK)
    found = fit(source, penalty=None, loss="cross-entropy", **ONE)
    # Deciding by least cost would give the same answers.
    assert [variant.name for variant in found.variants] == ["cross-entropy"]
    assert found.model.classes == ("benign", "healthy", "tumour")
    assert found.zone_above == 0.0  # all alike: every mistake


def test_a_model_that_learned_nothing_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "noise.npz", X=rng.normal(size=(80, 3)), y=rng.integers(4, size=80))
    source = open_source(tmp_path / "noise.npz")
    with pytest.warns(UntrueWarning, match="is no better than chance on the validation part"):
        fit(
            source,
            penalty=None,
            loss="cross-entropy",
            **ONE,
            model="linear",
        )


def test_costs_in_money_are_named_as_what_spoils_the_model() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(80, 3)), rng.integers(4, size=80)
    money = Penalty.from_rules(4, {(0, 1): 1e7}, default=2e6)
    notes = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrueWarning)  # noise: it may be no better than chance
        for loss in ("bilinear", "cross-entropy"):
            found = fit(x, y, penalty=money, loss=loss, **ONE, model="linear", baseline=False)
            notes[loss] = found.notes
    said = r"a mistake costs 2,[0-9,]{7} on average, far from 1, .* all costs by about 3,000,000"
    assert re.match(said, notes["bilinear"][0])
    assert not any("on average" in note for note in notes["cross-entropy"])
    with pytest.warns(UntrueWarning, match="by bilinear is no better than chance .*; a mistake"):
        softmax_temperature("bilinear", -np.eye(4)[y], y, notes["bilinear"][0])


def test_labels_and_costs_must_speak_of_the_same_classes(patients_csv: Path) -> None:
    source = open_source(patients_csv, target="diagnosis")
    with pytest.raises(DataError, match=r"column 'diagnosis', holds an unknown label 'tumour'"):
        fit(source, penalty=Penalty.from_rules(["healthy", "benign", "tumor"], {}), **QUICK)
    with pytest.raises(DataError, match=r"known are up, down\. Those are the classes of the costs"):
        fit(source, penalty=Penalty.from_rules(["up", "down"], {}), **QUICK)
    more = Penalty.from_rules(["healthy", "benign", "tumour", "cyst"], {})
    with pytest.warns(UntrueWarning, match="for cyst, so that .* hardly ever predict it"):
        found = fit(source, penalty=more, **ONE, baseline=False)
    assert found.model.classes[3] == "cyst"


def test_unknown_losses_and_networks_are_refused(
    patients_csv: Path, patient_costs: Penalty
) -> None:
    source = open_source(patients_csv, target="diagnosis")
    with pytest.raises(
        ArgumentError, match=r"`loss` must be .*; got 'bilinar'; did you mean 'bilinear'"
    ):
        fit(source, penalty=patient_costs, loss="bilinar")
    with pytest.raises(
        ArgumentError, match=r"Unknown model 'mpl'.* Known: lightgbm, .*linear, mlp, cnn"
    ):
        fit(source, penalty=patient_costs, model="mpl")
    with pytest.raises(ArgumentError, match="'cnn' is for images"):
        fit(source, penalty=patient_costs, model="cnn")


def test_an_npz_of_numbers_is_a_table(tmp_path: Path) -> None:
    digits = load_digits()
    np.savez(tmp_path / "d.npz", X=digits.data[:400], y=digits.target[:400])
    source = open_source(tmp_path / "d.npz")
    names = [f"digit {i}" for i in range(10)]
    costs = Penalty.from_rules(names[::-1], {}, default=1.0)
    with pytest.raises(DataError, match=r"column 'y', holds an unknown label '0'.*--classes NAME"):
        fit(source, penalty=costs)
    source = open_source(tmp_path / "d.npz", classes=names)
    found = fit(source, penalty=costs, epochs=15, learning_rate=5e-3, baseline=False)
    assert source.kind == "npz table"
    assert found.variants[0].summary.accuracy > 0.7
    answers = predict(found.model, read_data(found.model, tmp_path / "d.npz", classes=names))
    # In the order of the penalty.
    assert (9 - answers.predicted == digits.target[:400]).mean() > 0.9
    np.savez(tmp_path / "wide.npz", X=digits.data[:5, :60])
    with pytest.raises(DataError, match="the model learned from 64 columns; 'X' has 60"):
        predict(found.model, read_data(found.model, tmp_path / "wide.npz"))


def test_a_penalty_without_names_goes_by_the_sorted_labels_and_says_so(
    patients_csv: Path, patient_costs: Penalty
) -> None:
    source = open_source(patients_csv, target="diagnosis")
    ordered = patient_costs.select(["benign", "healthy", "tumour"])
    with pytest.warns(UntrueWarning, match=r"no class names.*: benign, healthy, tumour"):
        _, found = labels_of(source, Penalty.from_matrix(ordered.matrix()))
    assert found.classes == ordered.classes
    np.testing.assert_array_equal(found.matrix(), ordered.matrix())
    with pytest.raises(PenaltyError, match="is for 2 classes, but the data have 3: benign"):
        labels_of(source, Penalty.from_ordinal(2))


@pytest.mark.parametrize("layout", ["NHW", "NHWC", "NCHW"])
def test_an_npz_of_images_is_images_in_any_layout(layout: str, tmp_path: Path) -> None:
    digits = load_digits()
    images = (digits.images[:120] * 15).astype(np.uint8)
    x = {"NHW": images, "NHWC": images[..., None], "NCHW": images[:, None]}[layout]
    np.savez(tmp_path / "d.npz", X=x, y=digits.target[:120].astype(str))
    source = open_source(tmp_path / "d.npz")
    assert source.kind == "npz images"
    assert source.fit_preprocessing(np.arange(9)) == ImagePreprocessing(1, 8, 8)
    found = fit(source, penalty=None, loss="cross-entropy", **ONE)
    assert found.model.predictor.spec == NetworkSpec("cnn", (1, 8, 8), 10)


def test_a_folder_of_images_keeps_its_own_split(tmp_path: Path) -> None:
    digits = load_digits()
    for i in np.flatnonzero(digits.target < 2)[:120].tolist():
        part = "test" if i % 4 == 0 else "train"
        path = tmp_path / part / ("one" if digits.target[i] else "zero") / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((digits.images[i] * 15).astype(np.uint8)).resize((17, 19)).save(path)
    source = open_source(tmp_path)
    held_out = len(list((tmp_path / "test").rglob("*.png")))
    costs = Penalty.from_rules(["zero", "one"], {("zero", "one"): 5.0})
    found = fit(source, penalty=costs, epochs=6, learning_rate=5e-3, baseline=False)
    assert found.sizes[2] == held_out
    assert found.model.predictor.inputs == (1, 17, 17)
    assert found.variants[0].summary.accuracy > 0.9
    answers = predict(found.model, read_data(found.model, tmp_path / "test"))
    assert answers.ids is not None
    assert answers.ids[0] == "file"
    assert answers.ids[1][0].startswith("one/")
    assert answers.truth is not None
    assert [found.model.classes[i] for i in answers.predicted[:3]] == ["one"] * 3


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": [1, 2]}, "must hold an array 'X'; it holds y"),
        ({"X": [[1.0], [2.0]]}, "must hold labels as 'y'; it holds X"),
        ({"X": [[1.0], [2.0]], "y": [1, 2, 3]}, "'y' must hold 2 class names or whole numbers"),
        ({"X": [[1.0], [2.0]], "y": [1.0, 2.5]}, "or whole numbers; row 1 has 2.5"),
        ({"X": [[1.0], [2.0]], "y": [1.0, np.nan]}, "or whole numbers; row 1 has nan"),
        ({"X": [[1.0], [2.0]], "y": [np.inf, 1.0]}, "or whole numbers; row 0 has inf"),
        ({"X": ["a", "b"], "y": [1, 2]}, "'X' must hold numbers of shape"),
        ({"X": [[1.0], [np.inf]], "y": [1, 2]}, "data row 2, column 'x0', is infinite"),
        ({"X": np.zeros((2, 5, 5, 5)), "y": [1, 2]}, "must have 1 or 3 channels"),
        ({"X": np.full((2, 5, 5), np.nan), "y": [1, 2]}, "'X' holds nan at"),
        ({"X": np.array([{}, {}]), "y": [1, 2]}, "not readable as .npz with plain arrays"),
    ],
)
def test_an_npz_that_does_not_fit_is_reported(
    arrays: dict[str, object], message: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "d.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=message):
        open_source(tmp_path / "d.npz")


def test_other_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "d.npz").write_bytes(b"PK and no more")
    with pytest.raises(DataError, match=r"not readable as \.npz"):
        open_source(tmp_path / "d.npz")
    (tmp_path / "d.pkl").write_bytes(b"")
    with pytest.raises(DataError, match="neither a table"):
        open_source(tmp_path / "d.pkl")
    (tmp_path / "book.xlsx").write_bytes(b"PK")
    with pytest.raises(
        DataError, match=r"It is a spreadsheet: save the sheet with the data as CSV"
    ):
        open_source(tmp_path / "book.xlsx")
    with pytest.raises(DataError, match="There is no file or folder"):
        open_source(tmp_path / "nowhere")


@pytest.mark.parametrize("penalty", [[[0, 9, 1], [1, 0, 1], [1, 1, 0]], {("8", "9"): 9.0}])
def test_costs_as_a_matrix_or_as_rules_go_by_the_sorted_labels(penalty: Any) -> None:
    y = np.repeat([8, 9, 10], 60)
    x = y[:, None] + np.random.default_rng(0).normal(0, 0.1, size=(180, 2))
    found = fit(x, y, penalty=penalty, model="lightgbm", rounds=5)
    assert found.model.penalty.cost("8", "9") == 9.0
    assert found.model.penalty.cost("9", "8") == 1.0


@pytest.mark.parametrize("penalty", [None, 1.0 - np.eye(12)])
def test_labels_that_are_numbers_are_sorted_as_numbers(penalty: Any) -> None:
    y = np.repeat(np.arange(12), 10)
    x = y[:, None] + np.random.default_rng(0).normal(0, 0.1, size=(120, 2))
    found = fit(x, y, penalty=penalty, loss="cross-entropy", model="lightgbm", rounds=1)
    assert found.model.classes == tuple(map(str, range(12)))
