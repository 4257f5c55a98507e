"""What `predict` writes `audit` reads, whatever the classes are called."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from untrue import Penalty, audit
from untrue.tools.auditing.calibration import calibrate_file
from untrue.tools.fitting.predict import Predictions, write_predictions
from untrue.tools.reading.confusion_file import read_confusion_csv
from untrue.tools.reading.sources import Labels

AWKWARD = [
    "a", "a ", " a", "truth", "predicted", "(abstained)", "((abstained))", "prob_a", "file", "id",
    "0", "1", "NA", "None", "nan", "a,b", 'a"b', '"', "a\nb", "a\r\nb", "\n", " ", "\t", "ä",
    "\u2028", "true", "label", "y", "=1+1", "#",
]  # fmt: skip
NAMES = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
)


def written(classes: list[str], path: Path, *, ids: bool) -> tuple[np.ndarray, np.ndarray]:
    k, n = len(classes), 7 * len(classes)
    rng = np.random.default_rng(k)
    true = np.arange(n) % k
    probs = (rng.dirichlet(np.ones(k), n) + np.eye(k)[rng.permutation(true)] + np.eye(k)[true]) / 3
    predicted = np.where(np.arange(n) % 5 == 0, -1, probs.argmax(axis=1))
    found = Predictions(
        tuple(classes),
        predicted,
        probs,
        ("file", tuple(f"{i}.png" for i in range(n))) if ids else None,
        Labels(true.astype(np.int32), tuple(classes), "label"),
    )
    write_predictions(found, path)
    return true, predicted


@example(["a", "a "], "csv", False)
@example(["truth", "predicted"], "csv", False)
@example(["(abstained)", "((abstained))"], "csv", True)
@example(["file", "a\nb", '"'], "csv", True)
@example(["a "], "csv", False)
@given(
    st.lists(NAMES, min_size=2, max_size=5, unique=True),
    st.sampled_from(["csv", "parquet"]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_file_of_predictions_comes_back(classes: list[str], ending: str, ids: bool) -> None:
    classes = classes if len(classes) > 1 else [*classes, "b"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"p.{ending}"
        true, predicted = written(classes, path, ids=ids)
        costs = Penalty.from_ordinal(classes)
        found = audit(path, penalty=costs, resamples=5)
        given = predicted >= 0
        assert found.columns.probs == tuple(f"prob_{name}" for name in classes)
        assert found.summary.abstained == (~given).sum()
        wanted = costs.cost(true[given], predicted[given]).mean()
        assert found.summary.expected_cost == pytest.approx(wanted)
        made = calibrate_file(path, path.with_name(f"c.{ending}"))
        assert made.n == len(true)
        again = audit(path.with_name(f"c.{ending}"), penalty=costs, resamples=5)
        assert again.summary.expected_cost == found.summary.expected_cost


@pytest.mark.parametrize("classes", [["a", "a "], [" b", "a\nb", '"'], ["a", "b"]])
def test_its_confusion_matrix_comes_back_too(classes: list[str], tmp_path: Path) -> None:
    from untrue.cli import exit_code

    path = tmp_path / "p.csv"
    true, predicted = written(classes, path, ids=False)
    Penalty.from_ordinal(classes).save(tmp_path / "costs.json")
    words = ["--penalty", str(tmp_path / "costs.json"), "--out", str(tmp_path / "audit")]
    assert exit_code(["audit", str(path), *words]) == 0
    names, counts = read_confusion_csv(tmp_path / "audit/confusion.csv")
    assert list(names) == classes
    assert counts.sum() == (predicted >= 0).sum()
    assert counts.trace() == (true == predicted).sum()
