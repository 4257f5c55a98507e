"""Tables in memory: learned from, answered and measured by the names of their columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import untrue
from untrue.errors import ArgumentError, DataError
from untrue.penalty import Penalty
from untrue.tools.reading.opening import open_source


@pytest.fixture(scope="module")
def patients(patients_csv: Path) -> pd.DataFrame:
    return pd.read_csv(patients_csv)


@pytest.mark.parametrize("by_name", [True, False])
def test_a_table_in_memory_is_learned_from_as_a_file_is(
    by_name: bool, patients: pd.DataFrame, patients_csv: Path, patient_costs: Penalty
) -> None:
    common = {"penalty": patient_costs, "model": "lightgbm", "rounds": 5, "baseline": False}
    from_file = untrue.fit(patients_csv, target="diagnosis", **common)
    inputs = patients.drop(columns="diagnosis")
    if by_name:
        found = untrue.fit(patients, target="diagnosis", **common)
    else:
        found = untrue.fit(inputs, patients["diagnosis"], **common)
    np.testing.assert_array_equal(found.predict(inputs), from_file.predict(patients_csv))
    turned = inputs[inputs.columns[::-1]]  # columns are found by name
    np.testing.assert_allclose(found.probs(turned), from_file.probs(patients_csv))
    with pytest.raises(DataError, match="the data lacks 1 column that the model learned from"):
        found.predict(inputs.iloc[:, 1:])


def test_a_table_needs_to_be_told_its_labels(patients: pd.DataFrame) -> None:
    with pytest.raises(ArgumentError, match=r"Name the column to learn, `target` \(--target\)"):
        untrue.fit(patients, loss="cross-entropy")
    with pytest.raises(DataError, match="two columns called 'a'"):
        untrue.fit(pd.DataFrame([[1, 2]], columns=["a", "a"]), [0], loss="cross-entropy")


def test_probabilities_in_a_table_are_read_by_the_names_of_its_columns() -> None:
    costs = Penalty.from_rules(["sick", "well"], {("sick", "well"): 20.0})
    sick = np.array([0.01, 0.3, 0.9])
    table = pd.DataFrame({"prob_well": 1 - sick, "prob_sick": sick})
    plain = np.column_stack([sick, 1 - sick])
    np.testing.assert_array_equal(untrue.decide(table, costs), untrue.decide(plain, costs))
    truth = np.array(["well", "well", "sick"])
    for penalty in (costs, None):
        found = untrue.audit(table, truth, penalty=penalty, budgets=["well->sick <= 99%"])
        assert found.summary.errors == 0


@pytest.mark.parametrize(
    ("kind", "names", "answer"),
    [
        ("float", ("0", "1"), 1),
        ("Int64", ("0", "1"), 1),
        ("Float64", ("0", "1"), 1),
        ("boolean", ("False", "True"), True),
    ],
)
def test_labels_of_pandas_that_may_have_gaps_are_whole_numbers_and_booleans(
    kind: str, names: tuple[str, ...], answer: object
) -> None:
    x = np.arange(100.0)[:, None]
    y = pd.Series(np.arange(100) > 30).astype(kind)
    for data in (x, pd.DataFrame(x, columns=["age"])):
        found = untrue.fit(data, y, loss="cross-entropy", model="lightgbm", rounds=5)
        assert found.model.classes == names
        assert found.predict(data)[-1] == answer
    y.iloc[3] = None if kind != "float" else np.nan
    with pytest.raises(DataError, match=r"class names or whole numbers; (got|row 3 has nan)"):
        untrue.fit(x, y, loss="cross-entropy", model="lightgbm", rounds=5)


def test_whole_floats_of_an_npz_are_whole_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.arange(6.0)[:, None], y=np.array([0.0, 1, 2, 0, 1, 2]))
    labels = open_source(tmp_path / "d.npz").labels
    assert labels is not None
    assert labels.names == ("0", "1", "2")
