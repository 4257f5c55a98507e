"""Fitting continues from a model's weights, and refuses where that makes no sense."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from untrue import Penalty
from untrue.cli import exit_code
from untrue.errors import ArgumentError, UntrueWarning
from untrue.tools.fitting.fit import fit
from untrue.tools.fitting.model_folder import load_model, save_model
from untrue.tools.fitting.result import FitResult
from untrue.tools.reading.opening import open_source

MODEL = {"model": "mlp", "epochs": 15, "learning_rate": 5e-3}


@pytest.fixture(scope="module")
def plain(patients_csv: Path) -> FitResult:
    return fit(open_source(patients_csv, target="diagnosis"), loss="cross-entropy", **MODEL)


def test_both_losses_go_on_from_the_weights_for_as_long(
    plain: FitResult, patients_csv: Path, patient_costs: Penalty, tmp_path: Path
) -> None:
    save_model(tmp_path / "plain", plain.model, metrics={})
    source = open_source(patients_csv, target="diagnosis")
    # The costs are in another order than the model's classes.
    classes = plain.model.classes
    costs = patient_costs.select([*reversed(classes)])
    found = fit(source, penalty=costs, start_from=tmp_path / "plain", epochs=2)
    assert found.model.classes == classes
    assert np.array_equal(found.model.penalty.matrix(), costs.select(classes).matrix())
    assert found.model.training["network"] == "mlp"
    assert found.model.training["epochs"] == 2
    assert found.model.training["learning_rate"] == MODEL["learning_rate"] / 4  # type: ignore[operator]
    assert found.baseline_history is not None
    assert len(found.history.train) == len(found.baseline_history.train) == 2
    # It is past what a new network has after so many epochs.
    new = fit(source, penalty=costs, model="mlp", epochs=2, learning_rate=5e-3 / 4)
    assert new.baseline_history is not None
    assert found.baseline_history.train[0] < 0.8 * new.baseline_history.train[0]
    record = found.model.training["start_from"]
    assert record["loss"] == "cross-entropy"
    assert len(record["weights_sha256"]) == 64
    still = fit(source, penalty=costs, start_from=plain.model, epochs=1, learning_rate=1e-12)
    inputs = source.inputs(plain.model.preprocessing)
    assert np.allclose(still.model.scores(inputs), plain.model.scores(inputs), atol=1e-4)


def test_what_cannot_be_trained_further_is_refused(
    plain: FitResult, patients_csv: Path, patient_costs: Penalty
) -> None:
    source = open_source(patients_csv, target="diagnosis")

    def go(**options: object) -> None:
        fit(source, loss="cross-entropy", start_from=plain.model, **options)  # type: ignore[arg-type]

    with pytest.raises(ArgumentError, match="has the network 'mlp'; `model` 'linear' cannot"):
        go(model="linear")
    with pytest.raises(ArgumentError, match="`rounds` belongs to boosted trees"):
        go(rounds=3)
    with pytest.raises(ArgumentError, match=r"another split \(seed 0, now 1\)"):
        go(seed=1)
    with pytest.raises(ArgumentError, match=r"another split \(train "):
        go(test_share=0.3)
    other = Penalty.equal([*plain.model.classes, "cyst"])
    with (
        pytest.warns(UntrueWarning, match="no example to learn from for cyst"),
        pytest.raises(ArgumentError, match=r"has other classes: .*; these are .*, cyst"),
    ):
        go(penalty=other)
    trees = fit(source, loss="cross-entropy", model="lightgbm", rounds=3).model
    with pytest.raises(
        ArgumentError, match="is a model of lightgbm, which cannot be trained further"
    ):
        fit(source, loss="cross-entropy", start_from=trees)


def test_other_columns_and_another_order_of_them_are_refused(
    plain: FitResult, patients_csv: Path, tmp_path: Path
) -> None:
    table = pd.read_csv(patients_csv)
    first = str(next(name for name in table.columns if name != "diagnosis"))

    def go(changed: pd.DataFrame) -> None:
        changed.to_csv(tmp_path / "changed.csv", index=False)
        source = open_source(tmp_path / "changed.csv", target="diagnosis")
        fit(source, loss="cross-entropy", start_from=plain.model)

    with pytest.raises(ArgumentError, match=f"it has {first}, .*; these have renamed, which it"):
        go(table.rename(columns={first: "renamed"}))
    with pytest.raises(ArgumentError, match=f"it has {first}, which these lack. Give the same"):
        go(table.drop(columns=first))
    with pytest.raises(ArgumentError, match="their order or kind"):
        go(table[[*reversed(table.columns)]])


def test_other_rows_in_a_split_of_the_same_sizes_are_refused(
    plain: FitResult, patients_csv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_model(tmp_path / "plain", plain.model, metrics={})
    table = pd.read_csv(patients_csv)
    changed = tmp_path / "changed.csv"

    def go(rows: pd.DataFrame) -> int:
        rows.to_csv(changed, index=False)
        command = ["fit", str(changed), "--target", "diagnosis", "--loss", "cross-entropy"]
        start = ["--start-from", str(tmp_path / "plain"), "--out", str(tmp_path / "next")]
        return exit_code([*command, *start, "--overwrite"])

    # Another name of the same rows is no other data.
    assert go(table) == 0
    other = table.copy()
    number = table.select_dtypes("number").columns[0]
    other[number] = table[number].iloc[::-1].to_numpy()
    for rows in (table.iloc[::-1], other):
        assert go(rows) == 2
        assert "learned from other rows, or from these in another order" in capsys.readouterr().err


def test_a_model_that_does_not_say_what_it_learned_from_is_refused(
    plain: FitResult, patients_csv: Path
) -> None:
    known = {name: value for name, value in plain.model.training.items() if name != "rows_sha256"}
    with pytest.raises(ArgumentError, match="does not record which rows it learned from"):
        fit(
            open_source(patients_csv, target="diagnosis"),
            loss="cross-entropy",
            start_from=replace(plain.model, training=known),
        )


def test_what_is_no_model_is_refused(patients_csv: Path) -> None:
    with pytest.raises(ArgumentError, match="`start_from` must be a model, or the folder of one"):
        fit(patients_csv, target="diagnosis", loss="cross-entropy", start_from=3)  # type: ignore[arg-type]


def test_the_command_goes_on_from_a_folder(
    plain: FitResult, patients_csv: Path, tmp_path: Path
) -> None:
    save_model(tmp_path / "plain", plain.model, metrics={})
    start, out = str(tmp_path / "plain"), tmp_path / "next"
    command = ["fit", str(patients_csv), "--target", "diagnosis", "--loss", "cross-entropy"]
    assert exit_code([*command, "--start-from", start, "--out", str(out)]) == 0
    assert load_model(out).training["epochs"] == 3
    content = json.loads((out / "model.json").read_text())
    assert content["training"]["start_from"]["loss"] == "cross-entropy"
    assert exit_code([*command, "--start-from", start, "--out", start, "--overwrite"]) == 2
