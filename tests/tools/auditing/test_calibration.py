"""Calibrating a file changes its probabilities and nothing else, by examples that it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from untrue import Penalty, Temperature, calibrate, metrics
from untrue.errors import ArgumentError, DataError
from untrue.tools.auditing.audit import audit
from untrue.tools.auditing.calibration import calibrate_file, trust
from untrue.tools.reading.probability_file import ReadOptions

CLASSES = ["owl", "cat", "dog"]


def predictions(n: int, seed: int, temperature: float = 2.5) -> tuple[np.ndarray, np.ndarray]:
    """True classes, and the probabilities of a model that is too sure of itself."""
    rng = np.random.default_rng(seed)
    logits = 4.0 * rng.normal(size=(n, 3))
    honest = Temperature(temperature)(logits)
    true = (rng.random((n, 1)) > honest.cumsum(axis=1)).sum(axis=1).clip(max=2)
    return true, Temperature(1.0)(logits)


def write(path: Path, true: np.ndarray, probs: np.ndarray) -> Path:
    table = pa.table(
        {
            "id": [f"00{i}" for i in range(len(true))],
            "truth": np.array(CLASSES)[true],
            "remark": ["NA" if i % 2 else 'a, "b"' for i in range(len(true))],
            "predicted": np.array(CLASSES)[probs.argmax(axis=1)],
            **{f"prob_{name}": probs[:, j] for j, name in enumerate(CLASSES)},
        }
    )
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path)
    return path


def read(path: Path) -> pa.Table:
    text = {name: pa.string() for name in ("id", "truth", "remark", "predicted")}
    options = pa.csv.ConvertOptions(column_types=text, strings_can_be_null=False)
    if path.suffix == ".csv":
        return pa.csv.read_csv(path, convert_options=options)
    return pa.parquet.read_table(path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_probabilities_change_and_nothing_else(ending: str, tmp_path: Path) -> None:
    true, probs = predictions(600, seed=0)
    path = write(tmp_path / f"p.{ending}", true, probs)
    found = calibrate_file(path, tmp_path / f"c.{ending}")
    logits = np.log(np.maximum(probs, 1e-12))
    wanted = calibrate(logits, true)
    assert found.temperature == pytest.approx(wanted.temperature, rel=1e-4)
    assert found.low < 2.5 < found.high
    before, after = read(path), read(tmp_path / f"c.{ending}")
    assert after.column_names == before.column_names
    for name in ("id", "truth", "remark", "predicted"):
        assert after[name].to_pylist() == before[name].to_pylist()
    changed = np.stack([after[f"prob_{name}"].to_numpy() for name in CLASSES], axis=1)
    np.testing.assert_allclose(changed, wanted(logits), atol=1e-4)
    assert found.before == pytest.approx(100 * metrics.ece(probs, true), abs=0.1)
    assert found.after is not None
    assert found.after < 0.5 * found.before
    assert trust(found.n, found.known_within) is None
    costs = Penalty.from_rules(CLASSES, {("owl", "cat"): 9.0})
    audited = audit(tmp_path / f"c.{ending}", penalty=costs, resamples=20)
    assert audited.summary.ece == pytest.approx(metrics.ece(changed, true), abs=1e-3)


def test_other_examples_find_the_temperature_whatever_their_order(tmp_path: Path) -> None:
    held_out = write(tmp_path / "held.csv", *predictions(500, seed=1))
    table = read(held_out)
    pa.csv.write_csv(table.select(table.column_names[::-1]), held_out)  # classes reversed too
    true, probs = predictions(200, seed=2)
    new = read(write(tmp_path / "new.csv", true, probs)).drop_columns(["truth"])
    pa.csv.write_csv(new, tmp_path / "new.csv")
    found = calibrate_file(tmp_path / "new.csv", tmp_path / "c.csv", on=held_out)
    assert (found.n, found.before, found.after) == (500, None, None)
    assert found.low < 2.5 < found.high
    assert "held.csv" in found.fitted_to
    other = write(tmp_path / "new.csv", true, probs)
    judged = calibrate_file(other, tmp_path / "c.csv", on=held_out)
    assert judged.temperature == found.temperature
    assert judged.before is not None
    assert judged.after is not None
    assert judged.after < judged.before


def test_too_few_examples_are_said_to_be_too_few(tmp_path: Path) -> None:
    found = calibrate_file(write(tmp_path / "p.csv", *predictions(36, seed=0)), tmp_path / "c.csv")
    doubt = trust(found.n, found.known_within)
    assert doubt is not None
    assert "calibrated on 36 examples, too few to trust" in doubt


def test_codes_stand_for_the_names_that_are_given(tmp_path: Path) -> None:
    true, probs = predictions(100, seed=0)
    columns = {f"prob_{j}": probs[:, j] for j in range(3)}
    pa.csv.write_csv(pa.table({"truth": true, **columns}), tmp_path / "p.csv")
    by_code = calibrate_file(tmp_path / "p.csv", tmp_path / "c.csv")
    named = calibrate_file(
        tmp_path / "p.csv", tmp_path / "c.csv", options=ReadOptions(classes=CLASSES)
    )
    assert named.temperature == by_code.temperature
    table = pa.table({"truth": np.array(CLASSES)[true], **columns})
    pa.csv.write_csv(table, tmp_path / "p.csv")
    mixed = calibrate_file(
        tmp_path / "p.csv", tmp_path / "c.csv", options=ReadOptions(classes=CLASSES)
    )
    assert mixed.temperature == by_code.temperature


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("truth,a,b\na,.5,.5\n", {}, "no columns that are clearly probabilities"),
        ("truth,prob_a\na,1\n", {"probs": "prob_"}, "for each of at least two classes"),
        ("x,prob_a,prob_b\na,.5,.5\n", {}, "no column that is clearly the truth"),
        ("truth,prob_a,prob_b\nc,.5,.5\n", {}, "holds an unknown label 'c'"),
        ("truth,prob_a,prob_b\na,.5,.7\n", {}, "sum to 1.2, not to 1"),
        ("truth,prob_a,prob_b\na,-1,2\n", {}, "probabilities are not negative"),
        ("truth,prob_a,prob_b\na,.5,.5\n", {"probs": "a,b"}, "has no column 'a'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    text: str, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        calibrate_file(tmp_path / "p.csv", tmp_path / "c.csv", options=ReadOptions(**options))
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


def test_the_predictions_are_not_written_over(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", *predictions(30, seed=0))
    with pytest.raises(ArgumentError, match="must not be the predictions themselves"):
        calibrate_file(path, path)
    other = tmp_path / "o.csv"
    other.write_text("truth,prob_cow,prob_dog\ncow,.5,.5\n")
    with pytest.raises(DataError, match="must have the same classes; 'cat' is in one only"):
        calibrate_file(path, tmp_path / "c.csv", on=other)
