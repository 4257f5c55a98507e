"""Boosted trees in `fit`: by our objectives, stopped by the loss, kept as data and checked."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import untrue
from untrue.errors import ArgumentError, DataError
from untrue.penalty import Penalty
from untrue.tools.fitting.booster import booster_learner
from untrue.tools.fitting.learners import BoosterSettings, FitTask
from untrue.tools.fitting.model_folder import load_model
from untrue.tools.fitting.result import FitResult
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.opening import open_source
from untrue.tools.reading.sources import TableSource
from untrue.training.splits import Split

LIBRARIES = ("lightgbm", "xgboost")


@pytest.fixture(scope="module", params=LIBRARIES)
def fitted(request: pytest.FixtureRequest, patients_csv: Path, patient_costs: Penalty) -> FitResult:
    return untrue.fit(
        patients_csv,
        target="diagnosis",
        penalty=patient_costs,
        model=request.param,
        rounds=40,
        patience=10,
    )


def test_the_model_learns_and_the_round_of_least_loss_is_kept(
    fitted: FitResult,
) -> None:
    summary = fitted.variant.summary
    assert summary.accuracy > 1 / 3  # of three classes
    assert 1 <= fitted.history.best_epoch <= len(fitted.history.validation) <= 40
    best = fitted.history.best_epoch - 1
    assert fitted.history.validation[best] == min(fitted.history.validation)
    assert isinstance(fitted.model.preprocessing, TableCodes)
    assert [v.name for v in fitted.variants][:2] == ["cross-entropy", "cross-entropy + least cost"]


def test_what_is_loaded_answers_as_what_was_saved(
    fitted: FitResult, patients_csv: Path, tmp_path: Path
) -> None:
    folder = fitted.save(tmp_path / "model")
    assert not [path for path in folder.iterdir() if path.suffix in (".pkl", ".bin")]
    before = fitted.probs(patients_csv)
    np.testing.assert_allclose(untrue.predict(folder, patients_csv).probs, before, atol=1e-6)
    np.testing.assert_array_equal(
        fitted.predict(patients_csv)[:3], fitted.predict(patients_csv)[:3]
    )


def test_damaged_trees_get_a_sentence(fitted: FitResult, tmp_path: Path) -> None:
    folder = fitted.save(tmp_path / "model")
    file = folder / fitted.model.predictor.file
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(DataError, match="is not what was written with the model"):
        load_model(folder)
    content = json.loads((folder / "model.json").read_text())
    del content["checksum"]
    content["files"][file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="is not readable as a model"):
        load_model(folder)


def test_costs_act_in_training(patients_csv: Path, patient_costs: Penalty) -> None:
    found = untrue.fit(
        patients_csv, target="diagnosis", penalty=patient_costs, alpha=0.9, model="lightgbm"
    )
    plain, trained = found.variants[0].summary, found.variant.summary
    assert plain.expected_cost is not None
    assert trained.expected_cost is not None
    assert trained.expected_cost < plain.expected_cost


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_class_without_a_training_example_starts_as_one_that_has_one(library: str) -> None:
    learner = booster_learner(library, BoosterSettings(rounds=1), 3, 1, ())
    parts = Split(np.arange(80), np.arange(80, 82), np.arange(0))
    inputs, labels = np.arange(82.0)[:, None], np.array([0] * 59 + [1] * 21 + [0, 1])
    task = FitTask("cross-entropy", Penalty.from_ordinal(3), 0.5, inputs, labels, parts)
    start = learner.train(task, seed=0).predictor.start
    np.testing.assert_allclose(np.exp(start), np.array([60, 22, 1]) / 83)


def test_trees_by_costs_and_the_least_cost_decision_do_not_answer_one_class(
    tmp_path: Path,
) -> None:
    """Stopped by the cost of their answers, a tree or two were kept, and every answer was one."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(diagnosis=data.target_names[data.target])
    table.iloc[:400].to_csv(tmp_path / "bc.csv", index=False)
    costs = Penalty.from_rules(["malignant", "benign"], {("malignant", "benign"): 20.0})
    found = untrue.fit(tmp_path / "bc.csv", target="diagnosis", penalty=costs, model="lightgbm")
    table.iloc[400:].to_csv(tmp_path / "new.csv", index=False)
    decided = untrue.predict(found.model, tmp_path / "new.csv", decision="cost")
    names = np.array(decided.classes)[decided.predicted]
    assert (names == table.diagnosis.iloc[400:].to_numpy()).mean() > 0.75
    assert found.history.best_epoch > 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"model": "lightgbm", "epochs": 3},
            r"`epochs` belongs to a network; with model 'lightgbm'",
        ),
        ({"model": "xgboost", "batch_size": 3}, "`batch_size` belongs to a network"),
        ({"model": "linear", "rounds": 3}, "`rounds` belongs to boosted trees"),
        ({"model": "lightgbm", "rounds": 0}, "`rounds` must be at least 1; got 0"),
        ({"model": "lihgtgbm"}, "Unknown model 'lihgtgbm'; did you mean 'lightgbm'"),
        (
            {"epochs": 3, "rounds": 3},
            "`rounds` belongs to boosted trees, and `epochs` to a network",
        ),
        ({"epochs": 0}, "`epochs` must be at least 1; got 0"),
    ],
)
def test_what_a_model_has_not_is_refused_by_name(
    options: dict[str, object], message: str, patients_csv: Path, patient_costs: Penalty
) -> None:
    with pytest.raises(ArgumentError, match=message):
        untrue.fit(patients_csv, target="diagnosis", penalty=patient_costs, **options)


def test_a_table_takes_trees_unless_an_option_asks_for_a_network(
    patients_csv: Path, patient_costs: Penalty
) -> None:
    common = {"target": "diagnosis", "penalty": patient_costs, "baseline": False}
    heard: list[str] = []
    found = untrue.fit(patients_csv, rounds=5, tell=heard.append, **common)
    assert not any("Note" in text for text in heard)
    assert found.model.predictor.words().startswith("lightgbm, ")
    assert "boosted trees" in found.why
    found = untrue.fit(patients_csv, epochs=1, tell=heard.append, **common)
    assert (
        "Note that `epochs` belongs to a network, so one is trained. Boosted trees, the" in heard[0]
    )
    assert found.model.predictor.words().startswith("network mlp")
    assert found.why == "`epochs` belongs to a network"


def test_unseen_categories_are_gaps_with_a_warning(tmp_path: Path) -> None:
    rows = [f"{'a' if i % 2 else 'b'},{i % 2}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["kind,y", *rows]))
    found = untrue.fit(
        tmp_path / "d.csv", target="y", loss="cross-entropy", model="lightgbm", rounds=20
    )
    (tmp_path / "n.csv").write_text("kind,other\na,1\nnew,1\n")
    with pytest.warns(untrue.UntrueWarning, match=r"column 'kind'.*\('new'\) in 1 of 2 rows; they"):
        untrue.predict(found.model, tmp_path / "n.csv")


def test_both_models_learn_from_the_same_bins(
    patients_csv: Path, patient_costs: Penalty, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, real = [], lightgbm.Dataset
    monkeypatch.setattr(lightgbm, "Dataset", lambda *a, **b: made.append(a) or real(*a, **b))
    options: dict[str, Any] = {"target": "diagnosis", "model": "lightgbm", "rounds": 4}
    both = untrue.fit(patients_csv, penalty=patient_costs, **options)
    assert len(made) == 2  # training and validation
    alone = untrue.fit(patients_csv, penalty=patient_costs, **options, baseline=False)
    assert alone.model.predictor.content() == both.model.predictor.content()


def test_a_learner_that_is_sent_elsewhere_leaves_its_data_behind() -> None:
    learner = booster_learner("lightgbm", BoosterSettings(rounds=2), 2, 1, ())
    inputs, labels = np.arange(160, dtype=np.float32)[:, None], np.arange(160) // 80
    parts = Split(np.arange(0, 160, 2), np.arange(1, 160, 4), np.arange(3, 160, 4))
    task = FitTask("cross-entropy", Penalty.from_ordinal(2), 0.0, inputs, labels, parts)
    learner.train(task, seed=0)
    assert learner.last.sets is not None
    sent = pickle.loads(pickle.dumps(learner))
    assert sent == learner
    assert sent.last.sets is None


def test_values_that_were_let_go_are_read_again(patients_csv: Path, patient_costs: Penalty) -> None:
    source = open_source(patients_csv, target="diagnosis")
    assert isinstance(source, TableSource)
    numbers, text = source.features.numbers, source.features.text
    untrue.fit(source, penalty=patient_costs, model="lightgbm", rounds=2, baseline=False)
    assert source.values is None
    assert len(source) == len(numbers)
    np.testing.assert_array_equal(source.features.numbers, numbers)
    np.testing.assert_array_equal(source.features.text, text)


@pytest.mark.parametrize("loss", ["cross-entropy", "bilinear"])
def test_columns_that_no_tree_can_split_are_named_as_such(
    tmp_path: Path, loss: str, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{i},7,{i % 2}" for i in range(40)]
    (tmp_path / "few.csv").write_text("\n".join(["number,constant,y", *rows]))
    with pytest.raises(DataError, match=r"No column splits the 27 examples .* --model linear"):
        untrue.fit(tmp_path / "few.csv", target="y", loss=loss, penalty=Penalty.equal(["0", "1"]))
    assert "LightGBM" not in "".join(capfd.readouterr())
