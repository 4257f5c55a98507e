"""The quick way to answer by many rules gives what `decide` gives by each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from untrue import Penalty, decide
from untrue.budgets import resolve_all
from untrue.budgets.family import Family
from untrue.budgets.scaling import scaled_formulas
from untrue.metrics import confusion_cells, expected_cost
from untrue.penalty import FormulaPenalty

K = 5
CLASSES = [f"c{i}" for i in range(K)]
GROUPS = {"low": CLASSES[:2], "high": CLASSES[2:]}
PENALTIES = {
    "even": Penalty.from_rules(CLASSES, {}),
    "rules": Penalty.from_rules(CLASSES, {("c0", "c4"): 20.0, ("c1", "c2"): 3.0}),
    "tree": Penalty.from_groups(GROUPS),
    "dense": Penalty.from_ordinal(CLASSES, power=1.5),
    # One cost that forbids an answer.
    "never": Penalty.from_matrix(
        np.where(np.eye(K)[0][:, None] * np.eye(K)[4], 1e20, Penalty.from_ordinal(K).matrix()),
        CLASSES,
    ),
    "never, rules": Penalty.from_rules(CLASSES, {("c0", "c4"): 1e20, ("c1", "c2"): 3.0}),
}
TEXTS = ["c0->c4 <= 5%", "*->c2 <= 5%", "c3<-* <= 5%", "across groups <= 5%", "expected cost <= 1"]
MULTIPLIERS = np.array(
    [[1, 1, 1, 1, 1], [4, 1, 1, 1, 1], [1, 30, 2, 1, 1], [1e6, 2, 1, 9, 3], [1, 1, 1e7, 1e7, 1]],
    dtype=float,
)


def examples(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(K, 0.4), n)
    # Ties and sure answers too.
    probs[:20] = np.eye(K)[rng.integers(0, K, 20)]
    probs[20:40] = 1 / K
    return probs, rng.integers(0, K, n)


def family(name: str, abstain: float | None) -> Family:
    penalty = PENALTIES[name]
    return Family(
        penalty,
        resolve_all(TEXTS, penalty, groups=GROUPS if name != "tree" else None),
        abstain,
        True,
    )


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("abstain", [None, 0.5, 1.0])
def test_answers_are_those_of_decide(name, abstain) -> None:
    probs, target = examples()
    rules = family(name, abstain)
    part = rules.on(probs, target)
    for multipliers in MULTIPLIERS:
        wanted = decide(probs, rules.costs(multipliers), abstain)
        np.testing.assert_array_equal(part.answers(multipliers), wanted)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("abstain", [None, 0.5])
def test_counts_are_those_of_the_verdicts(name, abstain) -> None:
    probs, target = examples()
    rules = family(name, abstain)
    part = rules.on(probs, target)
    counts = part.counts(MULTIPLIERS)
    for t, multipliers in enumerate(MULTIPLIERS):
        given = part.answers(multipliers)
        cells = confusion_cells(target, given, K, abstained="drop")
        silent = np.bincount(target[given < 0], minlength=K)
        assert counts.abstained[t] == silent.sum()
        assert counts.right[t] == (given == target).sum()
        for b, budget in enumerate(rules.budgets):
            found = budget.judge(cells, None, abstained=silent)
            assert (counts.errors[t, b], counts.of[t, b]) == (found.errors, found.of)
        costs, times = counts.paid[4][t]
        assert costs @ times / 400 == pytest.approx(found.rate)
        total = float(expected_cost(cells, rules.penalty)) * cells.total
        assert counts.cost[t] == pytest.approx(total)
        assert counts.score[t] == pytest.approx(-total - (abstain or 0.0) * silent.sum())


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("abstain", [None, 1.0])
def test_settled_examples_have_one_answer_by_all_rules(name, abstain) -> None:
    probs, target = examples(2000)
    rules = family(name, abstain)
    part = rules.on(probs, target)
    weak = np.minimum(MULTIPLIERS, 3.0)
    open_, settled, answers = part.without_settled(weak.max(axis=0))
    assert 0 < len(answers) < len(target)
    assert len(open_.target) + len(answers) == len(target)
    for multipliers in weak:
        np.testing.assert_array_equal(settled.answers(multipliers), answers)
    both = open_.counts(weak) + settled.tally([answers]).repeated(len(weak))
    whole = part.counts(weak)
    np.testing.assert_array_equal(both.errors, whole.errors)
    np.testing.assert_array_equal(both.of, whole.of)
    np.testing.assert_allclose(both.score, whole.score)
    for (costs, times), (own, often) in zip(both.paid[4], whole.paid[4], strict=True):
        np.testing.assert_array_equal(costs, own)
        np.testing.assert_array_equal(times, often)


@pytest.mark.parametrize("name", ["rules", "tree", "dense"])
def test_answers_from_other_costs_are_those_of_decide(name) -> None:
    """Rules that start from equal costs, with budgets of a penalty."""
    probs, target = examples()
    even = PENALTIES["even"]
    rules = replace(family(name, None), base=even)
    part = rules.on(probs, target)
    np.testing.assert_array_equal(part.answers(np.ones(5)), probs.argmax(axis=1))
    for multipliers in MULTIPLIERS:
        wanted = decide(probs, rules.costs(multipliers))
        np.testing.assert_array_equal(part.answers(multipliers), wanted)
        # The costs that are paid stay those of the penalty.
        cells = confusion_cells(target, wanted, K)
        total = float(expected_cost(cells, rules.penalty)) * cells.total
        assert part.counts(multipliers[None]).cost[0] == pytest.approx(total)


def test_answers_by_the_costs_of_each_example_are_those_of_decide() -> None:
    probs, target = examples()
    amounts = {"amount": np.random.default_rng(1).gamma(2.0, 3.0, len(target))}
    stated = FormulaPenalty(PENALTIES["rules"], {("c0", "c4"): "amount", ("c3", "*"): "2 * amount"})
    each = stated.per_example(amounts)
    means = each.mean(target)
    budgets = resolve_all(TEXTS[:3], means)
    rules = Family(means, budgets, None, True, each=each)
    for rows in (np.arange(len(target)), np.arange(0, len(target), 3)):
        part = rules.on(probs[rows], target[rows], rows)
        for multipliers in MULTIPLIERS[:, :3]:
            scaled = scaled_formulas(stated, budgets, multipliers).per_example(amounts).take(rows)
            wanted = decide(probs[rows], scaled)
            np.testing.assert_array_equal(part.answers(multipliers), wanted)
            found = part.counts(multipliers[None]).cost[0]
            assert found == pytest.approx(each.take(rows).costs(target[rows], wanted).sum())
