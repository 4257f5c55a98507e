"""The examples behind a cell of the confusion matrix: the most confident, by name or by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import untrue
from untrue.tools.auditing.audit import audit
from untrue.tools.auditing.examples import NAMED, CellExamples, wrong_examples

COSTS = untrue.Penalty.from_rules(["cat", "dog"], {}, default=1.0)


def test_the_most_confident_stand_first_and_right_answers_and_abstentions_are_left_out() -> None:
    true = np.array([0, 0, 0, 1, 1])
    predicted = np.array([1, 1, 0, 0, -1])
    probs = np.array([[0.4, 0.6], [0.1, 0.9], [0.8, 0.2], [0.7, 0.3], [0.5, 0.5]])
    assert wrong_examples(true, predicted, probs, None) == (
        CellExamples(0, 1, ("row 2", "row 1")),
        CellExamples(1, 0, ("row 4",)),
    )


def test_a_full_cell_names_only_some() -> None:
    true, predicted = np.zeros(100, dtype=np.int64), np.ones(100, dtype=np.int64)
    (cell,) = wrong_examples(true, predicted, None, None)
    assert len(cell.names) == NAMED


def test_audit_names_examples_by_the_column_that_names_them(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("file,truth,predicted\na.png,cat,dog\nb.png,dog,dog\n")
    assert audit(path, penalty=COSTS, resamples=10).examples == (CellExamples(0, 1, ("a.png",)),)
    path.write_text("truth,predicted\ncat,dog\ndog,dog\n")
    assert audit(path, penalty=COSTS, resamples=10).examples == (CellExamples(0, 1, ("row 1",)),)
