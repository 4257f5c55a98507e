"""One call gives every measure that applies, each equal to its own function."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

from untrue import Hierarchy, Penalty, metrics
from untrue.errors import ArgumentError

GROUPS = {"cats": ["lion", "lynx"], "dogs": ["wolf", "fox", "jackal"]}
NAMES = [name for group in GROUPS.values() for name in group]
TREE = Hierarchy.from_groups(GROUPS)
PENALTY = Penalty.from_groups(GROUPS, 1.0, 5.0)
ZONE = [("lion", "wolf"), ("fox", "lynx")]
SMALL = ["lynx", "jackal"]
K = len(NAMES)


def data(n: int = 400) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.full(K, 0.3), size=n)
    true = np.where(rng.random(n) < 0.6, probs.argmax(axis=1), rng.integers(K, size=n))
    return probs, true, metrics.confusion_matrix(true, probs.argmax(axis=1), K)


def full(**options: Any) -> metrics.Summary:
    probs, true, cm = data()
    return metrics.summary(
        cm,
        penalty=PENALTY,
        zone=ZONE,
        groups=GROUPS,
        hierarchy=TREE,
        subset=SMALL,
        probs=probs,
        true=true,
        **options,
    )


def test_every_number_is_that_of_its_own_function() -> None:
    probs, true, cm = data()
    found = full()
    expected = {
        "total_error": metrics.total_error(cm),
        "zone_errors": metrics.zone_errors(cm, ZONE, classes=NAMES),
        "zone_share": metrics.zone_share(cm, ZONE, classes=NAMES),
        "coarse_error": metrics.coarse_error(cm, GROUPS, classes=NAMES),
        "in_group_share": metrics.in_group_share(cm, GROUPS, classes=NAMES),
        "expected_cost": metrics.expected_cost(cm, PENALTY),
        "adjusted_expected_cost": metrics.adjusted_expected_cost(cm, PENALTY),
        "mistake_severity": metrics.mistake_severity(cm, TREE),
        "small_class_accuracy": metrics.small_class_accuracy(cm, SMALL, classes=NAMES),
        "super_class_accuracy": metrics.super_class_accuracy(
            cm, GROUPS, subset=SMALL, classes=NAMES
        ),
        "ece": metrics.ece(probs, true),
        "costliest": metrics.costliest_confusions(cm, PENALTY),
    }
    for name, value in expected.items():
        assert getattr(found, name) == value, name
    heights = found.height_at_k
    assert heights is not None
    assert list(heights) == [1, 5]  # 20 is more than there are classes
    for k, value in heights.items():
        assert value == pytest.approx(metrics.height_at_k(probs, true, TREE, k))
    assert (found.n, found.errors) == (400, cm.sum() - np.trace(cm))
    assert found.accuracy == pytest.approx(np.trace(cm) / 400)


def test_what_was_not_asked_for_is_none() -> None:
    found = metrics.summary([[3, 1], [0, 4]])
    asked = {"n", "errors", "total_error", "abstained", "coverage", "intervals"}
    for field in fields(found):
        assert (getattr(found, field.name) is None) == (field.name not in asked), field.name
    assert set(found.as_dict()) == asked - {"intervals"}


def test_intervals_hold_their_values_and_agree_with_bootstrap() -> None:
    found = full(resamples=2000)
    probs, true, cm = data()
    measures: dict[str, Any] = {
        "total_error": metrics.total_error,
        "zone_errors": lambda c: metrics.zone_errors(c, ZONE, classes=NAMES),
        "zone_share": lambda c: metrics.zone_share(c, ZONE, classes=NAMES),
        "coarse_error": lambda c: metrics.coarse_error(c, GROUPS, classes=NAMES),
        "in_group_share": lambda c: metrics.in_group_share(c, GROUPS, classes=NAMES),
        "expected_cost": lambda c: metrics.expected_cost(c, PENALTY),
        "adjusted_expected_cost": lambda c: metrics.adjusted_expected_cost(c, PENALTY),
        "mistake_severity": lambda c: metrics.mistake_severity(c, TREE),
        "hierarchical_precision": lambda c: metrics.hierarchical_precision(c, TREE),
        "hierarchical_recall": lambda c: metrics.hierarchical_recall(c, TREE),
        "hierarchical_f": lambda c: metrics.hierarchical_f(c, TREE),
        "small_class_accuracy": lambda c: metrics.small_class_accuracy(c, SMALL, classes=NAMES),
        "super_class_accuracy": lambda c: metrics.super_class_accuracy(
            c, GROUPS, subset=SMALL, classes=NAMES
        ),
    }
    by_hand = {name: metrics.bootstrap(f, cm, resamples=2000) for name, f in measures.items()}
    by_hand["ece"] = metrics.bootstrap(metrics.ece, probs, true, resamples=1000)
    for k in (1, 5):
        by_hand[f"height_at_{k}"] = metrics.bootstrap(
            lambda p, t, k=k: metrics.height_at_k(p, t, TREE, k), probs, true, resamples=1000
        )
    assert set(found.intervals) == set(by_hand)
    for name, expected in by_hand.items():
        interval = found.intervals[name]
        width = expected.high - expected.low
        assert interval.value == pytest.approx(expected.value)
        assert interval.low == pytest.approx(expected.low, abs=0.12 * width), name
        assert interval.high == pytest.approx(expected.high, abs=0.12 * width), name


def test_cells_without_examples_change_nothing() -> None:
    costs = Penalty.from_ordinal(3)
    some = metrics.Cells(3, *(np.array(each) for each in ([0, 1, 2], [0, 2, 2], [50, 20, 30])))
    more = metrics.Cells(3, *(np.array(e) for e in ([0, 0, 1, 2], [0, 2, 2, 2], [50, 0, 20, 30])))
    found, wanted = (metrics.summary(c, penalty=costs, resamples=50) for c in (more, some))
    assert found == wanted
    assert found.intervals["expected_cost"].low < found.intervals["expected_cost"].high


def test_the_same_seed_gives_the_same_summary() -> None:
    assert full(resamples=100, seed=3) == full(resamples=100, seed=3)
    assert full(resamples=100, seed=3) != full(resamples=100, seed=4)


def test_it_is_frozen_pickles_and_becomes_json() -> None:
    found = full(resamples=50)
    with pytest.raises(FrozenInstanceError):
        found.n = 3  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(found)) == found
    back = json.loads(json.dumps(found.as_dict()))
    assert back["height_at_5"] == found.as_dict()["height_at_5"]
    assert back["costliest"][0].keys() == {"true", "predicted", "count", "cost"}
    assert back["intervals"]["ece"].keys() == {"low", "high", "confidence"}


def test_it_reads_as_a_table() -> None:
    text = repr(full(resamples=50))
    assert text.startswith("Summary of 400 examples\n  errors ")
    assert repr(metrics.summary([[1, 0], [0, 0]])).startswith("Summary of 1 example\n")
    assert "  zone_share" in text
    assert "costliest confusions (true -> predicted: count, cost)" in text
    assert "coverage" not in text
    assert "[" in text.splitlines()[2]


def test_abstentions_are_reported() -> None:
    found = metrics.summary([[3, 1], [0, 4]], abstained=2)
    assert (found.n, found.abstained, found.coverage) == (8, 2, 0.8)
    assert "coverage" in repr(found)


def test_nothing_and_no_errors_are_no_trouble() -> None:
    nothing = metrics.summary(
        np.zeros((K, K), int),
        penalty=PENALTY,
        zone=ZONE,
        groups=GROUPS,
        hierarchy=TREE,
        subset=[],
        probs=np.empty((0, K)),
        true=[],
        resamples=10,
    )
    assert nothing.n == nothing.errors == nothing.zone_errors == 0
    for name in ("total_error", "expected_cost", "adjusted_expected_cost", "ece"):
        assert math.isnan(getattr(nothing, name)), name
        assert math.isnan(nothing.intervals[name].low), name
    assert "nan" in repr(nothing)
    perfect = metrics.summary(np.eye(K, dtype=int), penalty=PENALTY, zone=ZONE, resamples=10)
    assert perfect.total_error == perfect.expected_cost == 0
    assert perfect.zone_share is not None
    assert math.isnan(perfect.zone_share)
    assert perfect.costliest == ()


def test_zones_groups_and_subsets_that_can_be_read_once_are_read_once() -> None:
    _, _, cm = data()
    once = metrics.summary(
        cm,
        zone=((t, s) for t, s in [(0, 2), (3, 1)]),
        groups={"cats": iter([0, 1]), "dogs": iter([2, 3, 4])},
        subset=iter([1, 4]),
    )
    many = metrics.summary(cm, zone=[(0, 2), (3, 1)], groups=[0, 0, 1, 1, 1], subset=[1, 4])
    assert once == many


def test_classes_in_different_orders_are_refused() -> None:
    shuffled = Penalty.from_groups(GROUPS, 1.0, 5.0, classes=NAMES[::-1])
    with pytest.raises(
        ArgumentError,
        match="`penalty` and `hierarchy` have the same classes in a different order: cla",
    ):
        metrics.summary(np.eye(K, dtype=int), penalty=shuffled, hierarchy=TREE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"probs": np.full((2, K), 0.2)}, "`probs` and `true` go together"),
        ({"true": [0]}, "`probs` and `true` go together"),
        ({"probs": [[0.5, 0.5]], "true": [0]}, "one column for each of 5 classes; got 2"),
        ({"resamples": -1}, "`resamples` must be at least 0; got -1"),
        ({"abstained": 0.5}, "`abstained` must be a whole number of at least 0; got 0.5"),
        ({"hierarchy": 3}, "`hierarchy` must be an untrue.Hierarchy; got int"),
        ({"confidence": "95"}, "strictly between 0 and 1; got '95'"),
        ({"confidence": 2}, "strictly between 0 and 1; got 2"),
        ({"subset": "lynx"}, "must be a list of classes; got 'lynx'"),
        ({"penalty": np.zeros((K, K))}, "must be an untrue.Penalty; got ndarray"),
    ],
)
def test_bad_arguments_are_named(options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        metrics.summary(np.eye(K, dtype=int), **options)
