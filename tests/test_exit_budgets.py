"""Thresholds of exits that are found for budgets: shown to keep them, or refused with a reason."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.exit_probs import COSTS, GROUPS, WORK, drawn

from untrue import Actions, Hierarchy, Penalty, exit_early
from untrue.budgets import sequence
from untrue.errors import ArgumentError, BudgetError
from untrue.exits import find_exit_rule
from untrue.metrics import confusion_matrix
from untrue.metrics.bounds import share_p_value


def test_a_budget_of_the_expected_cost_is_kept_by_answers_at_inner_nodes() -> None:
    tree = Hierarchy.from_groups(GROUPS)
    nodes = Actions.from_hierarchy(tree, lambda h, own: float(h) if own < h else 0.3 * own)
    assert nodes.greatest == nodes.matrix().max() == 2.0
    held_out, labels = drawn(3000, seed=1, sharp=3)
    probs, true = drawn(10_000, seed=2, sharp=3)
    found = exit_early(
        probs, nodes, budget="expected cost <= 0.35", held_out=(held_out, labels), work=WORK
    )
    (verdict,) = found.rule.verdicts
    assert found.rule.shown
    assert found.saved > 0.1
    assert verdict.rate < verdict.upper <= 0.35
    assert nodes.cost(true, found.labels).mean() <= 0.35
    assert {"fish", "bird"} & {nodes.actions[label] for label in found.labels[found.exits == 1]}
    last = exit_early(held_out, nodes, threshold=0.0).labels
    paid = nodes.cost(labels, last)[sequence.split(3000, 0.1, 0)[1]].mean()
    with pytest.raises(BudgetError, match=f"an answer of the last exit alone costs {paid:.3g}"):
        find_exit_rule(held_out, labels, nodes, "expected cost <= 0.05")


def test_a_budget_finds_the_largest_threshold_that_can_be_shown_to_keep_it() -> None:
    held_out, labels = drawn(4000, seed=1, sharp=3)
    probs, true = drawn(20_000, seed=2, sharp=3)
    found = exit_early(
        probs, COSTS, budget="across groups <= 10%", held_out=(held_out, labels), work=WORK
    )
    rule = found.rule
    (verdict,) = rule.verdicts
    assert verdict.upper <= 0.10
    assert rule.confidence == 0.95
    assert found.saved > 0.2
    confusion = confusion_matrix(true, found.labels, 4)
    assert (confusion[:2, 2:].sum() + confusion[2:, :2].sum()) / 20_000 < 0.10
    tight = find_exit_rule(held_out, labels, COSTS, "across groups <= 6%")
    assert tight.threshold < rule.threshold
    again = find_exit_rule(held_out, labels, COSTS, "across groups <= 10%")
    assert again.threshold == rule.threshold


def across_groups(true, labels) -> float:
    return float((np.asarray(true) // 2 != np.asarray(labels) // 2).mean())


class Population:
    """Examples with what every exit answers, so that a threshold's true rates are known."""

    def __init__(self, size: int) -> None:
        self.probs, self.true = drawn(size, seed=3, sharp=3)
        alone = [exit_early([each], COSTS, threshold=0.0) for each in self.probs]
        self.labels = np.stack([each.labels for each in alone])
        self.costs = np.stack([each.expected_cost for each in alone])

    def answers(self, threshold: float, rows=slice(None)):
        stops = self.costs[:, rows] < threshold
        stops[-1] = True
        return np.take_along_axis(self.labels[:, rows], stops.argmax(axis=0)[None], axis=0)[0]

    def rates(self, threshold: float) -> dict[str, float]:
        """The true rate of each budget that the tests state."""
        found = self.answers(threshold)
        of_trout = self.true == 0
        return {
            "across groups": across_groups(self.true, found),
            "expected cost": float(COSTS.cost(self.true, found).mean()),
            "trout->*": float((found[of_trout] != 0).mean()),
        }


@pytest.fixture(scope="module")
def population() -> Population:
    return Population(6000)


@pytest.mark.parametrize(
    "budget",
    [
        {"across groups": 0.085},
        {"expected cost": 0.6},
        {"across groups": 0.10, "trout->*": 0.20},
    ],
    ids=str,
)
def test_a_threshold_found_for_a_budget_breaks_it_as_seldom_as_promised(
    population: Population, budget: dict[str, float]
) -> None:
    """Of many draws of held-out examples, at most 5 % (and chance) give a rule that breaks it."""
    texts = [
        f"{name} <= {limit}" if "cost" in name else f"{name} <= {100 * limit:g}%"
        for name, limit in budget.items()
    ]
    rng = np.random.default_rng(4)
    broken, found, saving, trials = 0, 0, 0, 80
    for trial in range(trials):
        rows = rng.choice(6000, 700)
        held_out = [each[rows] for each in population.probs]
        try:
            rule = find_exit_rule(held_out, population.true[rows], COSTS, texts, seed=trial)
        except BudgetError:
            continue
        rates = population.rates(rule.threshold)
        found += 1
        saving += rule.threshold > 0.1
        broken += any(rates[name] > limit for name, limit in budget.items())
    assert broken <= 0.05 * trials + 2 * math.sqrt(0.05 * 0.95 * trials)
    assert found > 0.8 * trials
    assert saving > 0.5 * trials


def test_the_largest_threshold_by_the_rates_seen_would_break_budgets(
    population: Population,
) -> None:
    """The population is one in which the guarantee has to be earned."""
    rng = np.random.default_rng(4)
    broken = 0
    for _ in range(100):
        rows = rng.choice(6000, 700)
        kept = [
            each
            for each in np.linspace(0.0, 3.0, 61)
            if across_groups(population.true[rows], population.answers(each, rows)) <= 0.08
        ]
        broken += population.rates(max(kept, default=0.0))["across groups"] > 0.08
    assert broken > 25


def test_thresholds_are_tested_in_order_by_the_p_values_of_control(population: Population) -> None:
    """The same again, by hand: the part that tests, and the first threshold that does not pass."""
    rule = find_exit_rule(population.probs, population.true, COSTS, "across groups <= 8%", seed=7)
    _, rows = sequence.split(6000, 0.1, 7)
    assert len(rows) == 5400

    def p_value(threshold: float) -> float:
        wrong = across_groups(population.true[rows], population.answers(threshold, rows))
        return float(share_p_value(round(wrong * len(rows)), len(rows), 0.08))

    (verdict,) = rule.verdicts
    assert rule.shown
    assert verdict.of == len(rows)
    assert p_value(rule.threshold) <= 0.05
    more = np.linspace(1.3 * rule.threshold, 3 * rule.threshold, 20)
    assert max(map(p_value, more)) > 0.05
    assert verdict.kept


def test_of_a_cost_budget_verdict_and_test_agree() -> None:
    """Both use the bet that was settled on the examples that chose the thresholds."""
    rules = []
    for seed in range(8):
        held_out, labels = drawn(400, seed=seed, sharp=3)
        rules.append(find_exit_rule(held_out, labels, COSTS, "expected cost <= 0.75", seed=seed))
    assert {(rule.shown, rule.verdicts[0].kept) for rule in rules} == {(True, True)}


def test_a_budget_that_the_last_exit_cannot_keep_is_refused_with_the_closest_rule() -> None:
    held_out, labels = drawn(300)
    expected = (
        r"No threshold can be shown to keep across groups <= 0.1% with 95 %: of 300 examples 240 "
        r"are in the test part; 2,995 are needed there, .* The last exit alone keeps "
        r"trout->owl <= 50%. The closest threshold is"
    )
    with pytest.raises(BudgetError, match=expected) as e:
        find_exit_rule(held_out, labels, COSTS, ["across groups <= 0.1%", "trout->owl <= 50%"])
    assert len(e.value.closest.verdicts) == 2
    assert not e.value.closest.shown


def test_what_the_last_exit_lacks_is_said_with_its_errors() -> None:
    held_out, labels = drawn(300)
    with pytest.raises(BudgetError, match=r"the last exit alone has \d+ such errors in 270") as e:
        find_exit_rule(held_out, labels, COSTS, "across groups <= 5%")
    assert e.value.closest.verdicts[0].of == 270
    with pytest.raises(BudgetError, match="an answer of the last exit alone costs"):
        find_exit_rule(held_out, labels, COSTS, "expected cost <= 0.2")


def test_the_closest_rule_may_be_one_that_stops_early() -> None:
    """Here the first exit is the better one, though the last is tested first."""
    (first, *_, last), labels = drawn(500, seed=6, sharp=3)
    with pytest.raises(BudgetError) as e:
        find_exit_rule([last, first], labels, COSTS, "across groups <= 4%")
    assert e.value.closest.threshold > 0


def test_the_share_that_chooses_thresholds_can_be_set() -> None:
    held_out, labels = drawn(1000, seed=5, sharp=3)
    for share, tested in ((None, 900), (0.5, 500)):
        rule = find_exit_rule(
            held_out, labels, COSTS, "across groups <= 20%", path_share=share, seed=1
        )
        assert rule.verdicts[0].of == tested
    with pytest.raises(ArgumentError, match="`path_share`"):
        find_exit_rule(held_out, labels, COSTS, "across groups <= 20%", path_share=1.0)
    with pytest.raises(ArgumentError, match="`seed`"):
        find_exit_rule(held_out, labels, COSTS, "across groups <= 20%", seed=-1)
    with pytest.raises(ArgumentError, match="at least 2 examples"):
        find_exit_rule([held_out[0][:1]], labels[:1], COSTS, "across groups <= 20%")


def test_an_example_stops_where_it_does_among_others() -> None:
    rng = np.random.default_rng(10)
    kinds = rng.dirichlet(np.ones(6), size=5)  # as of a small tree: many cost the same
    costs = Penalty.from_matrix(rng.uniform(0, 3, (6, 6)) * (1 - np.eye(6)))
    probs = [kinds[rng.integers(0, 5, 300)] for _ in range(2)]
    rule = find_exit_rule(probs, rng.integers(0, 6, 300), costs, "*->* <= 99%")
    alone = [rule([each[n : n + 1] for each in probs]).exits[0] for n in range(40)]
    assert np.array_equal(alone, rule(probs).exits[:40])


def test_expected_costs_are_budgets_too() -> None:
    held_out, labels = drawn(3000, seed=5, sharp=3)
    rule = find_exit_rule(held_out, labels, COSTS, "expected cost <= 0.6", confidence=0.9)
    assert rule.threshold > 0
    assert rule.verdicts[0].upper <= 0.6
