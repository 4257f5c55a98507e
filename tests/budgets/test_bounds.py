"""Upper confidence bounds hold as often as they say, and are not needlessly loose."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from untrue import Budget, Penalty
from untrue.budgets.bounds import cost_bound, share_bound
from untrue.errors import ArgumentError

K = 3


def simulate(text: str, penalty: Penalty, error: float, n: int, *, repetitions: int = 800):
    """How often the bound holds, and its mean and the truth, under an error shared by all cells."""
    probs = (np.eye(K) * (1 - error) + (1 - np.eye(K)) * error / (K - 1)) / K
    budget = Budget.parse(text).resolve(penalty)
    draws = np.random.default_rng(0).multinomial(n, probs.ravel(), size=repetitions)
    uppers = np.array([budget.upper(drawn.reshape(K, K)) for drawn in draws])
    weights = penalty.matrix() if budget.budget.kind == "cost" else budget.mask()
    truth = (probs * weights).sum() / probs[budget.of].sum()
    return (uppers >= truth).mean(), uppers.mean(), truth


@pytest.mark.parametrize("text", ["0->1 <= 1%", "zone <= 1%", "expected cost <= 1"])
@pytest.mark.parametrize("costly", [2.0, 20.0])
@pytest.mark.parametrize(("error", "n"), [(0.002, 1000), (0.02, 200), (0.02, 2000), (0.2, 300)])
def test_the_bound_holds_in_95_of_100_cases(text, costly, error, n) -> None:
    covered, _, _ = simulate(text, Penalty.from_rules(K, {(0, 1): costly}), error, n)
    # Three standard errors of 800 repetitions below 0.95.
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 800)


@pytest.mark.parametrize("text", ["0->1 <= 1%", "expected cost <= 1"])
def test_with_many_data_the_bound_is_tight(text) -> None:
    covered, mean, truth = simulate(text, Penalty.from_rules(K, {(0, 1): 5.0}), 0.2, 20_000)
    assert covered <= 0.985
    assert truth < mean < 1.1 * truth


def test_shares_are_those_of_the_binomial_distribution() -> None:
    stats = pytest.importorskip("scipy.stats")
    for errors, of in ((0, 20), (3, 20), (19, 20), (7, 5000)):
        upper = share_bound(errors, of, 0.95)
        assert stats.binom.cdf(errors, of, upper) == pytest.approx(0.05, rel=1e-9)
    assert share_bound(20, 20, 0.95) == share_bound(0, 0, 0.95) == 1.0


def test_equal_costs_give_the_bound_of_a_poisson_count() -> None:
    stats = pytest.importorskip("scipy.stats")
    for errors in (0, 1, 17):
        upper = cost_bound(np.array([errors]), np.array([4.0]), 500, 4.0, 0.95)
        assert stats.poisson.cdf(errors, upper * 500 / 4) == pytest.approx(0.05, rel=1e-9)


def test_costs_of_any_size_give_a_bound() -> None:
    stats = pytest.importorskip("scipy.stats")
    # Of mean 0.05 + 0.05 and variance 0.0007 + 0.0025.
    wanted = stats.gamma(0.1**2 / 0.0032, scale=0.0032 / 0.1).ppf(0.95)
    for scale in (1e-300, 1.0, 1e300):
        upper = cost_bound(np.array([3, 1]), np.array([1.0, 2.0]) * scale, 100, 5 * scale, 0.95)
        assert upper / scale == pytest.approx(wanted, rel=1e-9)
    assert cost_bound(np.array([5]), np.array([2.0]), 5, 2.0, 0.95) == 2.0
    assert cost_bound(np.zeros(0, int), np.zeros(0), 5, 0.0, 0.95) == 0.0


@pytest.mark.parametrize("confidence", [0.4, 1.0, 95, "0.95", True, float("nan")])
def test_confidence_is_checked(confidence) -> None:
    with pytest.raises(ArgumentError, match=r"`confidence` must lie in \[0.5, 1\), 0.95 say; got"):
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
