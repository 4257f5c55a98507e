"""Upper confidence bounds hold as often as they say, and are not needlessly loose."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from untrue import Budget, Penalty
from untrue.errors import ArgumentError
from untrue.metrics.betting import cost_bound, cost_lower_bound, cost_p_value
from untrue.metrics.bounds import (
    examples_needed,
    most_errors,
    share_bound,
    share_lower_bound,
    share_p_value,
)

K = 3


def simulate(text: str, penalty: Penalty, error: float, n: int, *, repetitions: int = 800):
    """How often each bound holds, mean upper bound and truth, with an error shared by all cells."""
    probs = (np.eye(K) * (1 - error) + (1 - np.eye(K)) * error / (K - 1)) / K
    budget = Budget.parse(text).resolve(penalty)
    draws = np.random.default_rng(0).multinomial(n, probs.ravel(), size=repetitions)
    found = [budget.judge(drawn.reshape(K, K)) for drawn in draws]
    uppers, lowers = np.array([(each.upper, each.lower) for each in found]).T
    weights = penalty.matrix() if budget.budget.kind == "cost" else budget.mask()
    truth = (probs * weights).sum() / probs[budget.of].sum()
    return (uppers >= truth).mean(), (lowers <= truth).mean(), uppers.mean(), truth


@pytest.mark.parametrize("text", ["0->1 <= 1%", "zone <= 1%", "expected cost <= 1"])
@pytest.mark.parametrize("costly", [2.0, 20.0])
@pytest.mark.parametrize(("error", "n"), [(0.002, 1000), (0.02, 200), (0.02, 2000), (0.2, 300)])
def test_the_bound_holds_in_95_of_100_cases(text, costly, error, n) -> None:
    penalty = Penalty.from_rules(K, {(0, 1): costly})
    repetitions = 200 if text.startswith("expected") else 800
    covered, above, _, _ = simulate(text, penalty, error, n, repetitions=repetitions)
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / repetitions)
    assert covered >= least
    assert above >= least


@pytest.mark.parametrize("text", ["0->1 <= 1%", "expected cost <= 1"])
def test_with_many_data_the_bound_is_tight(text) -> None:
    _, _, mean, truth = simulate(
        text, Penalty.from_rules(K, {(0, 1): 5.0}), 0.2, 20_000, repetitions=50
    )
    assert truth < mean < 1.1 * truth


def test_shares_are_those_of_the_binomial_distribution() -> None:
    stats = pytest.importorskip("scipy.stats")
    for errors, of in ((0, 20), (3, 20), (19, 20), (7, 5000)):
        upper = share_bound(errors, of, 0.95)
        assert stats.binom.cdf(errors, of, upper) == pytest.approx(0.05, rel=1e-9)
    assert share_bound(20, 20, 0.95) == share_bound(0, 0, 0.95) == 1.0


def test_p_values_and_bounds_are_two_sides_of_one_test() -> None:
    for errors, of in ((0, 20), (3, 20), (7, 5000)):
        for confidence in (0.6, 0.95, 0.999):
            p = share_p_value(errors, of, share_bound(errors, of, confidence))
            assert p == pytest.approx(1 - confidence, rel=1e-9)
    np.testing.assert_array_equal(share_p_value([0, 3, 0], [0, 3, 5], 1.0), [1.0, 0.0, 0.0])
    seen = (np.array([30, 2]), np.array([1.0, 8.0]), 400, 10.0)
    p = cost_p_value(*seen, cost_bound(*seen, 0.95))
    assert p == pytest.approx(0.05, rel=1e-6)
    assert cost_p_value(*seen, 10.0) == 0.0
    assert cost_p_value(np.zeros(0, int), np.zeros(0), 0, 10.0, 1.0) == 1.0


def test_a_bet_that_was_settled_before_wins_more_and_still_holds() -> None:
    """The capital of a bet is fair: its mean is 1 where the mean cost is the limit."""
    rng = np.random.default_rng(0)
    costs, rates, n = np.array([0.05, 1.0]), np.array([0.1, 0.005]), 200
    limit = float(costs @ rates)
    draws = rng.multinomial(n, [*rates, 1 - rates.sum()], size=4000)[:, :2]
    for bet in (None, 0.3, 0.8):
        p = np.array([cost_p_value(drawn, costs, n, 1.0, limit, bet) for drawn in draws])
        assert (p <= 0.05).mean() <= 0.05
        assert (p <= 0.3).mean() <= 0.3
    fewer = np.array([15, 0])
    assert cost_p_value(fewer, costs, n, 1.0, 0.02, 1.0) < cost_p_value(fewer, costs, n, 1.0, 0.02)


def test_costs_of_any_size_give_a_bound() -> None:
    wanted = cost_bound(np.array([3, 1]), np.array([1.0, 2.0]), 100, 5.0, 0.95)
    assert 0.05 < wanted < 0.35
    for scale in (1e-300, 1e300):
        costs = np.array([1.0, 2.0]) * scale
        upper = cost_bound(np.array([3, 1]), costs, 100, 5 * scale, 0.95)
        lower = cost_lower_bound(np.array([3, 1]), costs, 100, 5 * scale, 0.95)
        assert upper / scale == pytest.approx(wanted, rel=1e-9)
        assert 0 < lower / scale < 0.05
    assert cost_bound(np.array([5]), np.array([2.0]), 5, 2.0, 0.95) == 2.0
    assert cost_bound(np.zeros(0, int), np.zeros(0), 5, 0.0, 0.95) == 0.0
    assert cost_lower_bound(np.zeros(0, int), np.zeros(0), 5, 1.0, 0.95) == 0.0


def test_the_least_number_of_examples_is_the_least_that_shows_it() -> None:
    for greatest in (None, 1.0, 20.0):
        limit = 0.005 * (greatest or 1.0)
        n = examples_needed(limit, 0.95, greatest)
        none = np.zeros(0, int), np.zeros(0)

        def p(n: int, greatest=greatest, limit=limit, none=none) -> float:
            if greatest is None:
                return float(share_p_value(0, n, limit))
            return cost_p_value(*none, n, greatest, limit)

        assert p(n) <= 0.05 < p(n - 1)
        assert all(p(more) <= 0.05 for more in range(n, 3 * n, 17))
    assert examples_needed(0.0, 0.95) is None
    assert examples_needed(1.0, 0.95) == examples_needed(3.0, 0.95, 3.0) == 1


@pytest.mark.parametrize("limit", [0.0, 1e-300, 0.005, 0.5, 1.0])
@pytest.mark.parametrize("alpha", [1e-12, 0.05, 0.9])
def test_the_most_errors_are_the_most_that_show_it(limit, alpha) -> None:
    for of in (0, 1, 2, 60, 700):
        shown = np.flatnonzero(share_p_value(np.arange(of + 1), of, limit) <= alpha)
        assert most_errors(np.array([of]), limit, alpha) == (shown[-1] if len(shown) else -1)


def test_the_lower_bound_mirrors_the_upper() -> None:
    for errors, of in ((0, 20), (3, 20), (20, 20)):
        lower = share_lower_bound(errors, of, 0.95)
        assert lower == pytest.approx(1 - share_bound(of - errors, of, 0.95))
        assert lower <= errors / of


@pytest.mark.parametrize("confidence", [0.4, 1.0, 95, "0.95", True, float("nan")])
def test_confidence_is_checked(confidence) -> None:
    with pytest.raises(
        ArgumentError, match=r"`confidence` must lie in \[0.5, 1\), such as 0.95; got"
    ):
        share_bound(1, 10, confidence)
    with pytest.raises(ArgumentError, match="`confidence` must lie"):
        cost_bound(np.array([1]), np.array([1.0]), 10, 1.0, confidence)


def test_without_scipy_the_install_line_is_said_and_rates_still_work() -> None:
    code = """
import sys
sys.modules["scipy"] = None
import untrue
budget = untrue.Budget.parse("0->1 <= 9%").resolve(untrue.Penalty.from_rules(2, {}))
assert budget.kept([[95, 5], [0, 9]], None)
try:
    budget.kept([[95, 5], [0, 9]])
except untrue.errors.MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "untrue[lab]"' in done.stdout, done.stderr
    assert "confidence=None" in done.stdout
