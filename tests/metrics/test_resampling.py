"""Bootstrap intervals: the right width, repeatable, and honest about nothing."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from untrue import Penalty, metrics
from untrue.errors import ArgumentError
from untrue.metrics import bootstrap, ece, resampling, total_error


def test_the_interval_of_a_rate_has_the_width_of_its_standard_error() -> None:
    n, errors = 4000, 400
    found = bootstrap(total_error, [[n // 2, errors], [0, n // 2 - errors]], resamples=4000)
    rate = errors / n
    half = 1.96 * math.sqrt(rate * (1 - rate) / n)
    assert found.value == rate
    assert found.low == pytest.approx(rate - half, abs=0.1 * half)
    assert found.high == pytest.approx(rate + half, abs=0.1 * half)


def test_a_confusion_matrix_and_its_examples_give_the_same_interval() -> None:
    rng = np.random.default_rng(3)
    true = rng.integers(3, size=500)
    predicted = np.where(rng.random(500) < 0.8, true, rng.integers(3, size=500))
    penalty = Penalty.from_matrix([[0, 1, 7], [2, 0, 1], [5, 1, 0]])
    cost = partial(metrics.expected_cost, penalty=penalty)

    def of_examples(t: Any, s: Any) -> float:
        return metrics.expected_cost(metrics.confusion_matrix(t, s, 3), penalty)

    a = bootstrap(cost, metrics.confusion_matrix(true, predicted, 3), resamples=3000)
    b = bootstrap(of_examples, true, predicted, resamples=3000)
    assert a.value == b.value
    width = a.high - a.low
    assert a.low == pytest.approx(b.low, abs=0.1 * width)
    assert a.high == pytest.approx(b.high, abs=0.1 * width)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([[0.4, 0.1], [0.2, 0.3]])
    hits = 0
    for trial in range(200):
        cm = rng.multinomial(300, truth.ravel()).reshape(2, 2)
        found = bootstrap(total_error, cm, resamples=300, confidence=0.8, seed=trial)
        hits += found.low <= 0.3 <= found.high
    assert 0.7 <= hits / 200 <= 0.9


def test_the_same_seed_gives_the_same_interval_and_another_does_not() -> None:
    cm = [[900, 77], [53, 970]]
    assert bootstrap(total_error, cm, seed=1) == bootstrap(total_error, cm, seed=1)
    assert bootstrap(total_error, cm, seed=1) != bootstrap(total_error, cm, seed=2)


def test_a_higher_confidence_is_a_wider_interval() -> None:
    cm = [[90, 10], [20, 80]]
    narrow, wide = (bootstrap(total_error, cm, confidence=confidence) for confidence in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_probabilities_are_resampled_with_their_labels() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1.0] * 3, size=200)
    true = np.array([rng.choice(3, p=row) for row in probs])
    found = bootstrap(metrics.ece, probs, true, resamples=200)
    assert found.value == metrics.ece(probs, true)
    assert 0 < found.low < found.high < 0.3
    again = bootstrap(metrics.ece, torch.tensor(probs), torch.tensor(true), resamples=200)
    assert again == found


def test_many_kinds_of_cells_are_drawn_in_steps_with_the_same_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    costs = rng.random((40, 40)) * 10
    np.fill_diagonal(costs, 0)
    penalty = Penalty.from_matrix(costs)
    cm = rng.poisson(5, (40, 40)) + np.diag(rng.poisson(200, 40))
    exact = metrics.summary(cm, penalty=penalty, resamples=2000).intervals
    monkeypatch.setattr(resampling, "_MANY_KINDS", 10)
    rough = metrics.summary(cm, penalty=penalty, resamples=2000).intervals
    assert exact != rough
    for name, expected in exact.items():
        width = expected.high - expected.low
        assert rough[name].value == expected.value
        assert rough[name].low == pytest.approx(expected.low, abs=0.1 * width), name
        assert rough[name].high == pytest.approx(expected.high, abs=0.1 * width), name


def test_resamples_without_a_value_are_left_out() -> None:
    zone_share = partial(metrics.zone_share, zone=[(0, 1)])
    rare = bootstrap(zone_share, [[50, 1], [0, 50]])
    assert (rare.value, rare.low, rare.high) == (1, 1, 1)
    never = bootstrap(zone_share, [[50, 0], [0, 50]])
    assert math.isnan(never.value)
    assert math.isnan(never.low)
    assert math.isnan(never.high)
    assert math.isnan(bootstrap(total_error, [[0, 0], [0, 0]]).low)


def test_an_interval_reads_as_a_number_with_its_ends() -> None:
    assert str(metrics.Interval(0.1, 0.0512, 0.2, 0.95)) == "0.1 [0.0512, 0.2]"


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ((), {}, "needs data after the measure; got none"),
        (([[1, 0], [0, 1]],), {"confidence": 1.0}, "strictly between 0 and 1; got 1.0"),
        (([[1, 0], [0, 1]],), {"confidence": 95}, "strictly between 0 and 1; got 95"),
        (([[1, 0], [0, 1]],), {"resamples": 0}, "`resamples` must be at least 1; got 0"),
        (([1, 2], [1]), {}, r"equally many rows; got 2 in `data\[0\]`, 1 in `data\[1\]`"),
        ((3,), {}, "a confusion matrix or arrays with a row per example"),
    ],
)
def test_bad_arguments_are_named(data: Any, options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        bootstrap(total_error, *data, **options)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_probabilities_of_half_precision_are_taken_as_their_measure_takes_them(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    probs = torch.from_numpy(rng.dirichlet(np.ones(5), 200)).to(dtype)
    true = torch.from_numpy(rng.integers(5, size=200))
    found = bootstrap(ece, probs, true, resamples=20)
    assert found.value == ece(probs, true)
    assert found.low < found.high


def test_a_table_whose_columns_have_names_is_refused_since_only_its_numbers_are_drawn() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"b": [0.9, 0.2], "a": [0.1, 0.8]})
    with pytest.raises(ArgumentError, match=r"`data\[0\]` is a table, .* by position"):
        bootstrap(ece, table, [1, 0], resamples=2)
    plain = pd.DataFrame(table[["a", "b"]].to_numpy())
    assert bootstrap(ece, plain, [1, 0], resamples=2).value == pytest.approx(0.15)


@pytest.mark.parametrize("seed", [-1, 1.5, "one", 2**40])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    for run in (
        lambda: metrics.bootstrap(metrics.total_error, [[1]], resamples=2, seed=seed),
        lambda: metrics.summary([[1]], resamples=2, seed=seed),
    ):
        with pytest.raises(ArgumentError, match="`seed` must be"):
            run()
