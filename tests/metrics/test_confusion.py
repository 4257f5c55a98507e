"""Counting: who was taken for whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from untrue.errors import ArgumentError, DataError
from untrue.metrics import confusion, confusion_cells, confusion_matrix, total_error


def naive(true: list[int], predicted: list[int], k: int) -> list[list[int]]:
    counts = [[0] * k for _ in range(k)]
    for t, s in zip(true, predicted, strict=True):
        counts[t][s] += 1
    return counts


pairs = st.integers(1, 7).flatmap(
    lambda k: st.tuples(
        st.just(k), st.lists(st.tuples(st.integers(0, k - 1), st.integers(0, k - 1)), max_size=40)
    )
)


@given(pairs)
def test_counts_what_a_loop_counts(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    k, examples = drawn
    true, predicted = [t for t, _ in examples], [s for _, s in examples]
    cm = confusion_matrix(true, predicted, k)
    assert cm.tolist() == naive(true, predicted, k)
    assert cm.dtype == np.int64
    cells = confusion_cells(true, predicted, k)
    rebuilt = np.zeros((k, k), dtype=np.int64)
    rebuilt[cells.true, cells.predicted] = cells.count
    assert rebuilt.tolist() == cm.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "int64", "uint64"])
def test_labels_of_any_integer_type_do_not_wrap_around(dtype: str) -> None:
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(100, size=(2, 500))
    cm = confusion_matrix(true.astype(dtype), predicted.astype(dtype), 100)
    assert cm.tolist() == naive(true.tolist(), predicted.tolist(), 100)


def test_more_examples_than_a_block_are_all_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confusion, "_BLOCK", 64)
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(3, size=(2, 1001))
    assert confusion_matrix(true, predicted, 3).tolist() == naive(
        true.tolist(), predicted.tolist(), 3
    )


def test_tensors_lists_and_booleans_count_alike() -> None:
    true, predicted = [0, 1, 1, 0], [0, 1, 0, 0]
    expected = [[2, 0], [1, 1]]
    assert confusion_matrix(torch.tensor(true), torch.tensor(predicted), 2).tolist() == expected
    assert confusion_matrix(np.array(true, bool), np.array(predicted, bool), 2).tolist() == expected


def test_nothing_counted_is_a_matrix_of_zeros() -> None:
    assert confusion_matrix([], [], 2).tolist() == [[0, 0], [0, 0]]
    assert confusion_cells([], [], 2).total == 0


def test_a_hundred_thousand_classes_need_no_matrix() -> None:
    cells = confusion_cells([0, 99_999, 99_999], [0, 99_999, 5], 100_000)
    assert total_error(cells) == pytest.approx(1 / 3)


def test_what_is_left_out_may_be_answered_by_anything() -> None:
    true, predicted = [-100, 0, 1, -100], [-100, 0, 1, 7]
    assert confusion_matrix(true, predicted, 2, ignore_index=-100).tolist() == [[1, 0], [0, 1]]
    assert confusion_matrix([9, 0], [-1, 0], 2, ignore_index=9).tolist() == [[1, 0], [0, 0]]
    with pytest.raises(DataError, match=r"lie in \[-1, 2\).*; got 7 at position 1"):
        confusion_matrix([9, 0], [7, 7], 2, ignore_index=9)
    with pytest.raises(DataError, match=r"abstains \(-1\) at position 1 and 1 times in all"):
        confusion_matrix([9, 0], [-1, -1], 2, ignore_index=9)
    with pytest.raises(ArgumentError, match="must hold class indices"):
        confusion_matrix([9, 0], ["a", "b"], 2, ignore_index=9)


def test_abstentions_are_refused_unless_dropped() -> None:
    true, predicted = [0, 1, 1, 0], [0, -1, 1, -1]
    with pytest.raises(DataError, match=r"abstains \(-1\) at position 1 and 2 times in all; pass"):
        confusion_matrix(true, predicted, 2)
    assert confusion_matrix(true, predicted, 2, abstained="drop").tolist() == [[1, 0], [0, 1]]
    assert confusion_cells(true, predicted, 2, abstained="drop").total == 2
    with pytest.raises(ArgumentError, match="`abstained` must be 'error' or 'drop'; got 'skip'"):
        confusion_matrix(true, predicted, 2, abstained="skip")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("true", "predicted", "k", "message"),
    [
        ([0, 2], [0, 0], 2, r"`true` must lie in \[0, 2\) for 2 classes; got 2 at position 1"),
        ([0, -1], [0, 0], 2, r"`true` must lie in \[0, 2\) for 2 classes; got -1 at position 1"),
        ([0, 0], [-2, 0], 2, r"`predicted` must lie in \[-1, 2\).*got -2 at position 0"),
        ([0, 0], [0], 2, "equally many rows; got 2 in `true`, 1 in `predicted`"),
        ([0.0], [0], 2, r"indices \(integers\); got dtype float64. Whole .* by \.astype\(int\)"),
        ([0, 0], [0, 0.5], 2, r"`predicted` must hold .* \(integers\); row 1 is 0.5"),
        ([0, np.nan], [0, 0], 2, "`true` must hold a class in every row; row 1 is missing"),
        ([0, None], [0, 0], 2, "`true` must hold a class in every row; row 1 is missing"),
        (pd.array([0, None], "Int64"), [0, 0], 2, "`true` must hold .* row 1 is missing"),
        (np.array([0, pd.NA]), [0, 0], 2, "`true` must hold .* row 1 is missing"),
        (["a"], [0], 2, r"`true` must hold .* got dtype <U1. Turn names into indices"),
        ([[0]], [0], 2, r"`predicted` must have one entry for each example, in shape \(1, 1\)"),
        (0, 0, 2, r"`true` must have shape \(N,\); got a single value"),
        ([0], [0], 0, "`n_classes` must be at least 1; got 0"),
        ([0], [0], 2.5, "`n_classes` must be a whole number of at least 1; got 2.5"),
    ],
)
def test_bad_labels_are_named_with_their_position(
    true: Any, predicted: Any, k: Any, message: str
) -> None:
    with pytest.raises((ArgumentError, DataError), match=message):
        confusion_matrix(true, predicted, k)


@pytest.mark.parametrize(
    ("cm", "message"),
    [
        ([[1, 2, 3]], r"shape \(k, k\); got shape \(1, 3\)"),
        (np.zeros((0, 0), int), r"shape \(k, k\); got shape \(0, 0\)"),
        ([[1, -1], [0, 0]], r"none negative\); got -1 at \[0, 1\]"),
        ([[0.5, 0.5], [0, 1]], r"whole numbers.*got 0.5 at \[0, 0\]"),
        ([[1, np.nan], [0, 1]], r"whole numbers.*got nan at \[0, 1\]"),
        ([[1, np.inf], [0, 1]], r"whole numbers.*got inf at \[0, 1\]"),
        ([[1, 2], [3]], "`cm` must be an array; NumPy says: .* inhomogeneous"),
        ([["a"]], "`cm` must hold counts; got dtype <U1"),
    ],
)
def test_what_is_no_confusion_matrix_is_refused(cm: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        total_error(cm)


def test_counts_as_floats_nullable_numbers_or_tensors_are_counts() -> None:
    assert total_error([[3.0, 1.0], [0.0, 4.0]]) == 0.125
    assert total_error(pd.DataFrame([[3, 1], [0, 4]], dtype="Int64")) == 0.125
    assert total_error(torch.tensor([[3, 1], [0, 4]])) == 0.125
