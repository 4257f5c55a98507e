"""The zone of a penalty: what costs more than the cheapest mistake that costs anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue import Penalty
from untrue.errors import ArgumentError
from untrue.penalty.zone import in_zone, zone_penalty, zone_threshold

NAMES = ["cat", "dog", "pike"]


def zone_by_hand(matrix: Any) -> Any:
    paid = sorted({cost for cost in matrix.ravel().tolist() if cost > 0})
    cheapest = paid[0] if len(paid) > 1 else 0.0
    return matrix > cheapest


@settings(deadline=None)
@given(st.data())
def test_every_form_has_the_zone_of_its_matrix(twins: Any, data: Any) -> None:
    penalty, _ = data.draw(twins)
    matrix, k = penalty.matrix(), penalty.n_classes
    expected = zone_by_hand(matrix)
    paid = matrix[matrix > 0]
    assert penalty.cheapest == (paid.min() if paid.size else 0.0)
    found = in_zone(penalty, np.arange(k)[:, None], np.arange(k))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(zone_penalty(penalty).matrix(), expected.astype(float))


@pytest.mark.parametrize(
    ("penalty", "threshold"),
    [
        (Penalty.from_rules(NAMES, {("cat", "dog"): 5.0}, default=2.0), 2.0),
        (Penalty.from_rules(NAMES, {("cat", "dog"): 5.0, ("dog", "cat"): 2.0}, default=0.0), 2.0),
        (Penalty.from_zone([("cat", "dog")], classes=NAMES), 0.0),
        (Penalty.from_rules(NAMES, {}, default=2.0), 0.0),
        (Penalty.from_zone([], classes=NAMES), 0.0),
        (Penalty.from_rules(["cat"], {}), 0.0),
    ],
)
def test_the_threshold_is_the_cheapest_cost_unless_all_cost_alike(
    penalty: Penalty, threshold: float
) -> None:
    assert zone_threshold(penalty) == threshold


def test_a_threshold_of_ones_own_is_taken_and_checked() -> None:
    penalty = Penalty.from_rules(NAMES, {("cat", "dog"): 5.0})
    assert zone_threshold(penalty, 7.0) == 7.0
    assert not zone_penalty(penalty, 7.0).matrix().any()
    with pytest.raises(ArgumentError, match="`zone_above` must be a cost of 0 or more; got -1"):
        zone_threshold(penalty, -1.0)
