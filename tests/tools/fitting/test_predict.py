"""Predictions: in the order of the data, decided as asked, and read by an audit as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from untrue import Penalty, decide
from untrue.errors import ArgumentError, DataError, PenaltyError, UntrueWarning
from untrue.tools.auditing.audit import audit
from untrue.tools.fitting.fit import fit
from untrue.tools.fitting.model import Model
from untrue.tools.fitting.predict import predict, read_data, write_predictions
from untrue.tools.reading.opening import array_source, open_source


@pytest.fixture(scope="module")
def model(patients_csv: Path, patient_costs: Penalty) -> Model:
    source = open_source(patients_csv, target="diagnosis")
    return fit(source, penalty=patient_costs, epochs=8, learning_rate=5e-3, baseline=False).model


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_rows_are_those_of_the_data_and_an_audit_reads_them(
    ending: str, model: Model, patients_csv: Path, patient_costs: Penalty, tmp_path: Path
) -> None:
    found = predict(model, read_data(model, patients_csv), decision="cost")
    out = write_predictions(found, tmp_path / f"p.{ending}")
    read = pa.csv.read_csv(out) if ending == "csv" else pa.parquet.read_table(out)
    given = pa.csv.read_csv(patients_csv)
    assert read.column_names == ["truth", "predicted", "prob_healthy", "prob_benign", "prob_tumour"]
    assert read["truth"].to_pylist() == given["diagnosis"].to_pylist()
    probs = np.stack([read[name].to_numpy() for name in read.column_names[2:]], axis=1)
    np.testing.assert_array_equal(probs, found.probs)
    wanted = decide(probs, patient_costs)
    assert read["predicted"].to_pylist() == [model.classes[i] for i in wanted]
    audited = audit(out, penalty=patient_costs, resamples=50)
    assert audited.decision is not None
    assert audited.decision.change.changed == 0
    # One row alone gets the answer it got among the others.
    pa.csv.write_csv(given.slice(7, 1), tmp_path / "one.csv")
    one = predict(model, read_data(model, tmp_path / "one.csv"))
    np.testing.assert_allclose(one.probs[0], probs[7], rtol=1e-5)


def test_argmax_and_other_costs_decide_as_asked(model: Model, patients_csv: Path) -> None:
    source = read_data(model, patients_csv)
    plain = predict(model, source)
    scores = model.scores(source.inputs(model.preprocessing))
    np.testing.assert_array_equal(plain.predicted, scores.argmax(axis=1))
    costs = Penalty.from_rules(["tumour", "healthy", "benign"], {}, default=0.0).matrix() + 0.0
    costs[0, 1:] = 50.0  # never miss a tumour; other mistakes are free
    other = Penalty.from_matrix(costs, ["tumour", "healthy", "benign"])
    found = predict(model, source, decision="cost", penalty=other)
    assert {model.classes[i] for i in found.predicted} == {"tumour"}


def test_abstaining_is_written_and_audited(
    model: Model, patients_csv: Path, patient_costs: Penalty, tmp_path: Path
) -> None:
    found = predict(model, read_data(model, patients_csv), decision="cost", abstain_cost=0.3)
    assert 0 < found.abstained < 300
    out = write_predictions(found, tmp_path / "p.csv")
    assert out.read_text().count(",(abstained),") == found.abstained
    audited = audit(out, penalty=patient_costs, resamples=50)
    assert audited.summary.abstained == found.abstained
    everything = predict(model, read_data(model, patients_csv), decision="cost")
    all_costs = audit(
        write_predictions(everything, tmp_path / "all.csv"), penalty=patient_costs, resamples=50
    )
    assert audited.summary.expected_cost is not None
    assert all_costs.summary.expected_cost is not None
    assert audited.summary.expected_cost < all_costs.summary.expected_cost


def test_data_without_labels_are_labelled_too(
    model: Model, patients_csv: Path, tmp_path: Path
) -> None:
    table = pa.csv.read_csv(patients_csv).drop_columns(["diagnosis"])
    table = table.select(table.column_names[::-1])  # in another order, with one column more
    pa.csv.write_csv(table.append_column("more", [["x"] * 300]), tmp_path / "d.csv")
    found = predict(model, read_data(model, tmp_path / "d.csv"))
    labelled = predict(model, read_data(model, patients_csv))
    assert found.truth is None
    np.testing.assert_array_equal(found.predicted, labelled.predicted)


def test_labels_with_gaps_are_not_taken_for_the_truth(
    model: Model, patients_csv: Path, tmp_path: Path
) -> None:
    table = pa.csv.read_csv(patients_csv)
    names = [None, *table["diagnosis"].to_pylist()[1:]]
    pa.csv.write_csv(
        table.drop_columns(["diagnosis"]).append_column("diagnosis", [names]), tmp_path / "d.csv"
    )
    with pytest.warns(UntrueWarning, match="column 'diagnosis' has empty cells"):
        assert read_data(model, tmp_path / "d.csv").labels is None


def test_true_classes_that_the_model_cannot_say_are_a_warning(
    model: Model, patients_csv: Path, tmp_path: Path
) -> None:
    table = pa.csv.read_csv(patients_csv)
    names = ["martian", *table["diagnosis"].to_pylist()[1:]]
    pa.csv.write_csv(
        table.drop_columns(["diagnosis"]).append_column("diagnosis", [names]), tmp_path / "d.csv"
    )
    source = read_data(model, tmp_path / "d.csv")
    with pytest.warns(UntrueWarning, match="1 class that the model does not know: martian"):
        assert len(predict(model, source).predicted) == 300


@pytest.mark.filterwarnings("error")
def test_true_labels_that_are_whole_numbers_are_known_with_a_point_and_without(
    model: Model, patients_csv: Path, tmp_path: Path
) -> None:
    table, classes = pa.csv.read_csv(patients_csv), ("1", "2", "10")
    numbered = replace(model, penalty=Penalty.equal(classes))
    codes = [float(classes[i % 3]) for i in range(table.num_rows)]
    with_point = table.set_column(3, "diagnosis", [[str(code) for code in codes]])
    pa.csv.write_csv(with_point, tmp_path / "d.csv")
    assert len(predict(numbered, read_data(numbered, tmp_path / "d.csv")).predicted) == 300


def test_an_unseen_category_is_a_warning_and_other(
    model: Model, patients_csv: Path, tmp_path: Path
) -> None:
    table = pa.csv.read_csv(patients_csv).slice(0, 10)
    changed = table.set_column(1, "city", [["Atlantis"] * 10])
    pa.csv.write_csv(changed, tmp_path / "d.csv")
    source = read_data(model, tmp_path / "d.csv")
    with pytest.warns(UntrueWarning, match=r"\('Atlantis'\) in 10 of 10 rows; they are taken as"):
        assert len(predict(model, source).predicted) == 10


def test_renamed_columns_and_text_for_numbers_are_reported(
    model: Model, patients_csv: Path, tmp_path: Path
) -> None:
    table = pa.csv.read_csv(patients_csv)
    renamed = table.rename_columns(["Age", "city", "dose", "diagnosis"])
    pa.csv.write_csv(renamed, tmp_path / "d.csv")
    with pytest.raises(DataError, match=r"lacks 1 column that the model learned from: age\..* Age"):
        read_data(model, tmp_path / "d.csv")
    pa.csv.write_csv(table.set_column(2, "dose", [["much"] * 300]), tmp_path / "d.csv")
    with pytest.raises(DataError, match="data row 1, column 'dose': 'much' is not a number"):
        read_data(model, tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decision": "best"}, "must be 'argmax', 'cost', 'tuned' or 'node'; got 'best'"),
        ({"abstain_cost": 1.0}, r"\(--abstain-cost\) belongs to the decision"),
        ({"penalty": Penalty.from_rules(["a", "b"], {})}, r"\(--penalty\) belongs to the decision"),
        ({"decision": "cost", "abstain_cost": -1.0}, "`abstain_cost` must be a number of at least"),
    ],
)
def test_options_that_do_not_go_together_are_reported(
    options: dict[str, object], message: str, model: Model, patients_csv: Path
) -> None:
    with pytest.raises(ArgumentError, match=message):
        predict(model, read_data(model, patients_csv), **options)  # type: ignore[arg-type]


def test_other_costs_must_know_the_models_classes(model: Model, patients_csv: Path) -> None:
    other = Penalty.from_rules(["healthy", "benign"], {})
    with pytest.raises(PenaltyError, match="The penalty has no class 'tumour'"):
        predict(model, read_data(model, patients_csv), decision="cost", penalty=other)


def test_true_labels_that_are_numbers_are_written_by_the_names_that_are_given(
    model: Model, patients_csv: Path, tmp_path: Path
) -> None:
    table = pa.csv.read_csv(patients_csv)
    names = ["benign", "healthy", "tumour"]
    codes = [names.index(name) for name in table["diagnosis"].to_pylist()]
    numbered = table.set_column(3, "diagnosis", pa.array(codes))
    pa.csv.write_csv(numbered, tmp_path / "d.csv")
    with pytest.warns(UntrueWarning, match=r"does not know: 0, 1, 2.*--classes NAME_OF_0"):
        predict(model, read_data(model, tmp_path / "d.csv"))
    found = predict(model, read_data(model, tmp_path / "d.csv", classes=names))
    out = write_predictions(found, tmp_path / "p.csv")
    assert pa.csv.read_csv(out)["truth"].to_pylist() == table["diagnosis"].to_pylist()


def test_data_of_another_kind_are_reported(model: Model, tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.zeros((3, 8, 8)))
    with pytest.raises(DataError, match=r"fitted to data of kind 'table'; .* is 'npz images'"):
        read_data(model, tmp_path / "d.npz")


def test_a_table_for_a_model_of_images_is_of_another_kind(
    patients_csv: Path, tmp_path: Path
) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (60, 8, 8), dtype=np.uint8)
    names = np.array(["low", "high"])[(pixels.mean(axis=(1, 2)) > 127).astype(int)]
    np.savez(tmp_path / "d.npz", X=pixels, y=names)
    model = fit(open_source(tmp_path / "d.npz"), loss="cross-entropy", epochs=1).model
    with pytest.raises(DataError, match=r"fitted to data of kind 'npz images'; .* is 'table'"):
        read_data(model, patients_csv)
    with pytest.raises(DataError, match=r"There is no file or folder"):
        read_data(model, tmp_path / "none.csv")


def test_a_value_that_overflows_is_refused_by_row_and_column(
    model: Model, patients_csv: Path, tmp_path: Path
) -> None:
    lines = patients_csv.read_text().splitlines()
    column = lines[0].replace('"', "").split(",").index("dose")
    cells = lines[3].split(",")
    for value, message in (
        ("1e300", r"data row 3, column 'dose', is 1e\+300; a number between"),
        ("inf", "data row 3, column 'dose', is infinite; a number between"),
    ):
        cells[column] = value
        new = tmp_path / "new.csv"
        new.write_text("\n".join([*lines[:3], ",".join(cells), *lines[4:]]))
        with pytest.raises(DataError, match=message):
            predict(model, read_data(model, new))
        with pytest.raises(DataError, match=message):
            open_source(new, target="diagnosis")
    cells[column] = "-1e20"
    new.write_text("\n".join([*lines[:3], ",".join(cells), *lines[4:]]))
    with pytest.warns(
        UntrueWarning, match=r"data row 3, column 'dose', is -1e\+20, more than 10,0"
    ):
        found = predict(model, read_data(model, new))
    assert np.isfinite(found.probs).all()


def test_a_network_without_an_answer_says_for_which_row(
    model: Model, patients_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of the checks: whatever the cause, no nan is written as a probability."""
    source = read_data(model, patients_csv)
    inputs = source.inputs(model.preprocessing)
    inputs[4] = np.inf
    monkeypatch.setattr(type(source), "inputs", lambda *_: inputs)
    with pytest.raises(DataError, match=r"patients\.csv: data row 5 has no finite score"):
        predict(model, source)


def test_images_beyond_single_precision_are_refused() -> None:
    images = np.zeros((4, 8, 8))
    images[2, 1, 1] = 1e300
    with pytest.raises(DataError, match=r"holds 1e\+300 at \(2, 1, 1\); images must be finite"):
        array_source(images, None, path=Path("x.npz"))


@pytest.mark.parametrize("kind", ["network", "lightgbm"])
def test_a_column_without_any_value_is_warned_of(
    kind: str, patients_csv: Path, patient_costs: Penalty, tmp_path: Path
) -> None:
    rounds = {"rounds": 3} if kind == "lightgbm" else {"epochs": 1}
    found = fit(
        open_source(patients_csv, target="diagnosis"), penalty=patient_costs, model=kind,
        baseline=False, **rounds,
    )  # fmt: skip
    table = pa.csv.read_csv(patients_csv)
    schema = found.model.preprocessing.schema
    full = [name for name in schema.numbers if not table[name].null_count]
    place = table.column_names.index(full[0])
    empty = table.set_column(place, full[0], pa.nulls(table.num_rows, pa.float64()))
    pa.parquet.write_table(empty, tmp_path / "empty.parquet")
    message = f"column '{full[0]}', which the model learned from, is empty in all"
    with pytest.warns(UntrueWarning, match=message):
        predict(found.model, tmp_path / "empty.parquet")
    # One row may have a gap.
    pa.parquet.write_table(empty.slice(0, 1), tmp_path / "one.parquet")
    assert len(predict(found.model, tmp_path / "one.parquet").predicted) == 1


def test_an_empty_column_of_an_array_is_warned_of_by_its_number() -> None:
    x, y = np.arange(200.0).reshape(100, 2), np.arange(100) > 30
    found = fit(x, y, loss="cross-entropy", model="lightgbm", rounds=3)
    with pytest.warns(UntrueWarning, match="column 'x1', which the model learned from, is empty"):
        found.predict(np.column_stack([x[:, 0], np.full(100, np.nan)]))
