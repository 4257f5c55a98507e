"""Fixed-sequence testing, which `control` and exit thresholds share."""

from __future__ import annotations

import numpy as np
import pytest

from untrue import Penalty
from untrue.budgets import resolve_all, sequence
from untrue.budgets.family import Family
from untrue.metrics.betting import cost_bound, cost_p_value
from untrue.metrics.bounds import share_p_value

COSTS = Penalty.from_groups({"fish": ["trout", "ray"], "bird": ["wren", "owl"]})


def test_a_path_ends_at_the_first_rule_that_does_not_pass() -> None:
    found = np.array([[0.01], [0.04], [0.06], [0.0], [0.02], [0.03], [0.001]])
    path = np.array([0, 0, 0, 0, 1, 1, 1])
    assert sequence.passed_in_order(found, 0 * path, 0.05).tolist() == [True] * 2 + [False] * 5
    # Two paths share the level.
    assert sequence.passed_in_order(found, path, 0.05).tolist() == [
        *(True, False, False, False),
        *(True, False, False),
    ]


def test_a_rule_passes_only_if_all_its_budgets_do() -> None:
    found = np.array([[0.01, 0.01], [0.01, 0.2], [0.01, 0.01]])
    passed = sequence.passed_in_order(found, np.zeros(3, dtype=int), 0.05)
    assert passed.tolist() == [True, False, False]


def test_answers_of_any_rule_are_counted_and_tested() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 4, 300)
    right, mixed = target.copy(), np.where(rng.random(300) < 0.1, (target + 2) % 4, target)
    budgets = resolve_all(["across groups <= 15%", "expected cost <= 1"], COSTS)
    counts = Family(COSTS, budgets, None, by_cost=True).count(target, [right, mixed])
    wrong = int((mixed != target).sum())
    assert counts.errors.tolist() == [[0, 0], [wrong, wrong]]
    assert counts.of.tolist() == [[300, 300]] * 2
    assert counts.cost.tolist() == [0.0, 5.0 * wrong]
    limits = np.array([0.15, 1.0])
    bets = sequence.bets(counts, limits, COSTS.greatest)
    assert np.isnan(bets[:, 0]).all()
    assert ((bets[:, 1] > 0) & (bets[:, 1] <= 1)).all()
    found = sequence.p_values(counts, limits, COSTS.greatest, bets)
    assert found[:, 0] == pytest.approx(share_p_value([0, wrong], 300, 0.15))
    paid = (np.array([wrong]), np.array([5.0]), 300, 5.0)
    assert found[1, 1] == pytest.approx(cost_p_value(*paid, 1.0, bets[1, 1]))
    assert sequence.closest(counts, limits) == 0
    for rule in (0, 1):
        verdicts = sequence.verdicts(budgets, limits, counts, bets, rule, 0.95)
        assert [each.kept for each in verdicts] == (found[rule] <= 0.05).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_a_cost_bound_with_a_bet_is_the_limit_that_its_p_value_shows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs, counts, of = np.array([1.0, 5.0]), rng.integers(0, 12, 2), 100
    bet = float(rng.uniform(0.05, 1.0))
    bound = cost_bound(counts, costs, of, 5.0, 0.95, bet)
    assert cost_p_value(counts, costs, of, 5.0, bound * 1.0001, bet) <= 0.05
    assert cost_p_value(counts, costs, of, 5.0, bound * 0.9999, bet) > 0.05
