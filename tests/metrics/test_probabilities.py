"""Calibration error and height@k, against loops over examples."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from untrue import Hierarchy
from untrue.errors import ArgumentError, DataError
from untrue.metrics import ece, height_at_k, inputs, summary

TREE = Hierarchy.from_dict({"r": {"a": {"b": ["0", "1"], "2": []}, "c": ["3", "4", "5"]}})
K = 6


def random_probs(n: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(K, 0.3), size=n), rng.integers(K, size=n)


def naive_height_at_k(probs: Any, true: Any, tree: Any, k: int) -> float:
    heights = []
    for row, t in zip(probs, true, strict=True):
        ranked = sorted(range(len(row)), key=lambda j: (-row[j], j))
        heights += [tree.height(t, j) for j in ranked[:k]]
    return fmean(heights)


def naive_ece(probs: Any, true: Any, bins: int) -> float:
    total = 0.0
    for b in range(bins):
        inside = [
            (max(row), list(row).index(max(row)) == t)
            for row, t in zip(probs, true, strict=True)
            if b / bins < max(row) <= (b + 1) / bins
        ]
        if inside:
            gap = fmean([right for _, right in inside]) - fmean([c for c, _ in inside])
            total += len(inside) / len(true) * abs(gap)
    return total


@pytest.mark.parametrize("bins", [1, 2, 15, 40])
def test_ece_equals_its_loop(bins: int) -> None:
    probs, true = random_probs(300)
    assert ece(probs, true, bins) == pytest.approx(naive_ece(probs, true, bins), rel=1e-12)


def test_ece_of_the_ends() -> None:
    sure = np.eye(3)
    assert ece(sure, [0, 1, 2]) == 0
    assert ece(sure, [1, 2, 0]) == 1
    assert ece(np.full((4, 4), 0.25), [0, 0, 1, 2]) == 0.25
    assert math.isnan(ece(np.empty((0, 3)), []))
    # A confidence on an edge belongs to the bin below it.
    assert ece([[0.5, 0.5], [0.6, 0.4]], [0, 1], bins=2) == pytest.approx(0.55)


@pytest.mark.parametrize("k", [1, 2, 3, K])
def test_height_at_k_equals_its_loop(k: int) -> None:
    probs, true = random_probs(200)
    assert height_at_k(probs, true, TREE, k) == pytest.approx(
        naive_height_at_k(probs, true, TREE, k), rel=1e-12
    )
    with_ties = probs.round(1)
    assert height_at_k(with_ties, true, TREE, k) == pytest.approx(
        naive_height_at_k(with_ties, true, TREE, k), rel=1e-12
    )


def test_height_at_k_looks_at_the_order_alone() -> None:
    probs, true = random_probs(100)
    assert height_at_k(np.log(probs), true, TREE, 3) == height_at_k(probs, true, TREE, 3)
    assert math.isnan(height_at_k(np.empty((0, K)), [], TREE))


def test_tables_go_by_the_names_of_their_columns() -> None:
    probs, true = random_probs(50)
    tree = Hierarchy.from_groups({"b": ["ox", "cow"], "a": ["emu", "hen", "owl", "kea"]})
    table = pd.DataFrame(probs, columns=tree.classes).iloc[:, ::-1]
    assert height_at_k(table, true, tree, 2) == height_at_k(probs, true, tree, 2)
    cm = np.eye(K, dtype=int)
    by_name = summary(cm, hierarchy=tree, probs=table, true=true)
    by_position = summary(cm, hierarchy=tree, probs=probs, true=true)
    assert (by_name.ece, by_name.height_at_k) == (by_position.ece, by_position.height_at_k)
    with pytest.raises(ArgumentError, match="has no column of the class 'ox'"):
        height_at_k(table.rename(columns={"ox": "yak"}), true, tree)


def test_blocks_of_rows_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    probs, true = random_probs(101)
    whole = ece(probs, true), height_at_k(probs, true, TREE, 3)
    monkeypatch.setattr(inputs, "BLOCK_VALUES", 7 * K)
    assert (ece(probs, true), height_at_k(probs, true, TREE, 3)) == whole


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_tensors_of_any_precision_are_measured(dtype: torch.dtype) -> None:
    probs, true = random_probs(200)
    tensor = torch.tensor(probs).to(dtype).requires_grad_()
    rounded = tensor.detach().double().numpy()
    assert ece(tensor, torch.tensor(true)) == pytest.approx(naive_ece(rounded, true, 15))
    assert height_at_k(tensor, torch.tensor(true), TREE, 2) == height_at_k(rounded, true, TREE, 2)


@pytest.mark.parametrize(
    ("probs", "true", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.3]], [0, 0], "must sum to 1; row 1 sums to 0.8"),
        ([[1.2, -0.2]], [0], "must not be negative; row 0 holds -0.2. Logits become"),
        ([[0.5, 0.5], [np.nan, 1]], [0, 0], "must not be NaN; row 1 holds one"),
        ([[np.inf, 0]], [0], "must sum to 1; row 0 sums to inf"),
        ([0.5, 0.5], [0], r"`probs` must have shape \(N, k\).*write probs\[None\] for one example"),
        ([0.5, 0.5], [0], r"\(2,\); .* np\.stack\(\[1 - probs, probs\], axis=1\) for the second"),
        ([[0.5, 0.5]], [0, 1], "equally many rows; got 1 in `probs`, 2 in `true`"),
        ([[0.5, 0.5]], [2], r"`true` must lie in \[0, 2\)"),
        ([["a", "b"]], [0], "`probs` must hold numbers; got dtype <U1"),
    ],
)
def test_bad_probabilities_are_named_by_row(probs: Any, true: Any, message: str) -> None:
    with pytest.raises((ArgumentError, DataError), match=message):
        ece(probs, true)


def test_bad_arguments_are_named() -> None:
    probs, true = random_probs(3)
    with pytest.raises(ArgumentError, match="`bins` must be at least 1; got 0"):
        ece(probs, true, bins=0)
    with pytest.raises(ArgumentError, match="`k` must be at most the number of classes, 6; got 7"):
        height_at_k(probs, true, TREE, 7)
    with pytest.raises(ArgumentError, match="`hierarchy` must be about the 2 classes"):
        height_at_k([[0.5, 0.5]], [0], TREE)
    probs[2, 0] = np.nan
    with pytest.raises(DataError, match="must not be NaN; row 2 holds one"):
        height_at_k(probs, true, TREE, 2)
