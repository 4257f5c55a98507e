"""Confusion matrices by argmax and by least expected cost, and the paper's typicality."""

from __future__ import annotations

import numpy as np
import pytest

from untrue.errors import ArgumentError
from untrue.lab import scoring
from untrue.lab.provenance import provenance
from untrue.lab.records import DatasetInfo, PenaltySpec, RunConfig, RunResult, Setup
from untrue.training import Settings

INFO = DatasetInfo("tiny", ("a", "b", "c", "d"), (("x", (0, 1)), ("y", (2, 3))), "f", 8, 8)


def test_argmax_counts_by_true_and_said() -> None:
    probs = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0, 1, 0, 0]], dtype=np.float32)
    counted = scoring.count(probs, np.array([0, 1, 1]))
    expected = np.zeros((4, 4), dtype=int)
    expected[0, 0] = expected[1, 2] = expected[1, 1] = 1
    assert np.array_equal(counted, expected)


def test_the_decision_avoids_the_zone() -> None:
    # Saying b costs 10 when the truth is a: with a at 0.3 the answer moves away from b.
    probs = np.array([[0.3, 0.5, 0.2, 0.0]], dtype=np.float32)
    costs = PenaltySpec("zone", 10.0, 1.0, cells=((0, 1),))
    assert scoring.decided(probs, np.array([1]), costs, INFO).confusion[1, 0] == 1
    free = PenaltySpec("zone", 1.0, 1.0, cells=((0, 1),))
    assert scoring.decided(probs, np.array([1]), free, INFO).confusion[1, 1] == 1


def test_training_penalties_are_normalised_as_asked() -> None:
    cells = ((0, 1), (0, 2), (3, 0))
    rows = scoring.penalty(PenaltySpec("zone", 1.0, 0.0, cells, "rows"), INFO).matrix()
    assert rows.tolist() == [[0, 0.5, 0.5, 0], [0] * 4, [0] * 4, [1, 0, 0, 0]]
    highest = scoring.penalty(PenaltySpec("groups", 1.0, 5.0, (), "max"), INFO).matrix()
    assert highest[0].tolist() == [0, 0.2, 1, 1]


def baseline(confusion: list[list[int]]) -> RunResult:
    return RunResult(
        config=RunConfig(Setup("tiny", "digits", Settings(epochs=1)), seed=0),
        status="ok",
        provenance=provenance(1.0, device="cpu", threads=1),
        confusion=np.array(confusion),
    )


def test_the_typical_class_errs_most_inside_its_group() -> None:
    # a: 1 of 4 errors inside; b: 2 of 2. c: no errors; d: 1 of 10.
    result = baseline([[6, 1, 3, 0], [2, 8, 0, 0], [0, 0, 10, 0], [9, 0, 1, 0]])
    assert scoring.typical_classes([result], INFO) == (1, 3)


def test_typicality_counts_the_errors_of_all_baselines_together() -> None:
    first = baseline([[6, 4, 0, 0], [0, 9, 1, 0], [0, 0, 9, 1], [1, 0, 0, 9]])
    second = baseline([[0, 0, 10, 0], [10, 0, 0, 0], [0, 0, 10, 0], [0, 0, 9, 1]])
    # a: 4 of 14, b: 10 of 11; c: 1 of 1, d: 9 of 10.
    assert scoring.typical_classes([first, second], INFO) == (1, 2)


def test_typicality_needs_baselines() -> None:
    with pytest.raises(ArgumentError, match="at least one finished baseline"):
        scoring.typical_classes([], INFO)


def test_confidence_is_summed_and_counted_by_cell() -> None:
    probs = np.array([[0.95, 0.05], [0.6, 0.4], [0.98, 0.02], [0.1, 0.9]], dtype=np.float32)
    found = scoring.confidence(probs, np.array([0, 0, 1, 1]))
    assert np.allclose(found.total, [[1.55, 0.0], [0.98, 0.9]])
    assert found.high.tolist() == [[1, 0], [1, 0]]


def test_the_free_rule_follows_the_costs_as_far_as_it_is_asked_to() -> None:
    # 0 is called 1 while that costs little beside what is saved elsewhere.
    info = DatasetInfo("made-up", tuple("abc"), (), "x", 1, 1)
    spec = PenaltySpec("matrix", costs=((0.0, 5.0, 1.0), (0.0, 0.0, 2.0), (1.0, 1.0, 0.0)))
    probs, labels = np.array([[0.3, 0.4, 0.3]], dtype=np.float32), np.array([0])
    answers = {
        share: int(scoring.decided(probs, labels, spec, info, share=share).confusion[0].argmax())
        for share in (0.05, 0.5, 1.0)
    }
    assert answers == {0.05: 1, 0.5: 0, 1.0: 0}
