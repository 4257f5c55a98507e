"""The rules that are chosen from: least expected cost, with a multiplier for each budget.

A rule answers `argmin_j sum_i p_i (A + sum_b (m_b - 1) u_b M_b)[i, j]`, or nothing where even that
is above the price of no answer. The expected costs of the penalty A and of each budget's cells M_b
are computed once for all rules; a rule is then a weighted sum of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets.regions import Block, Region, inside
from untrue.budgets.resolved import ResolvedBudget
from untrue.budgets.scaling import scaled_penalty
from untrue.decision.least_cost import cancelled_costs, cheapest
from untrue.penalty import ExamplePenalty, Penalty

SMALL = 500


@dataclass(frozen=True, eq=False)
class Family:
    """What all rules share.

    penalty       what mistakes cost
    budgets       resolved for that penalty
    abstain_cost  price of no answer, in the units of the penalty; None: always answer
    by_cost       rules are compared by the mean cost of an answer, else by the share of right ones
    base          other costs that the rule without multipliers decides by
    each          what mistakes about each example cost, where that differs; `penalty` has the means
    """

    penalty: Penalty
    budgets: tuple[ResolvedBudget, ...]
    abstain_cost: float | None
    by_cost: bool
    base: Penalty | None = None
    each: ExamplePenalty | None = None

    @cached_property
    def _table(self) -> FloatArray | None:
        return self.penalty.matrix() if self.penalty.n_classes <= SMALL else None

    @cached_property
    def cancelled(self) -> FloatArray | None:
        costs = self.penalty if self.each is None else self.each
        return cancelled_costs(costs if self.base is None else self.base)

    def cost(self, true: IntArray, predicted: IntArray, each: ExamplePenalty | None) -> FloatArray:
        """What each answer costs: by `each`, else from a table where that is small."""
        if each is not None:
            return each.costs(true, predicted)
        if self._table is not None:
            return np.asarray(self._table[true, predicted])
        return np.asarray(self.penalty.cost(true, predicted))

    def costs(self, multipliers: FloatArray) -> Penalty:
        """The costs that a rule decides by."""
        base = self.penalty if self.base is None else self.base
        return scaled_penalty(base, self.budgets, multipliers)

    def count(
        self, target: IntArray, answers: Sequence[IntArray], each: ExamplePenalty | None = None
    ) -> Counts:
        """What answers of any kind of rule, (n,) for each, do to examples; -1 is no answer.

        Nothing is estimated: `expected` and `likely` are 0. each: costs of these examples
        """
        rules, n, n_budgets = len(answers), len(target), len(self.budgets)
        errors, of = np.zeros((2, rules, n_budgets), dtype=np.int64)
        score, total = np.zeros((2, rules))
        right, abstained = np.zeros((2, rules), dtype=np.int64)
        costly = [b for b, budget in enumerate(self.budgets) if budget.budget.kind == "cost"]
        paid: dict[int, list[tuple[FloatArray, IntArray]]] = {b: [] for b in costly}
        true_sides = [int(budget.of[target].sum()) for budget in self.budgets]
        for t, given in enumerate(answers):
            rows = np.flatnonzero(given >= 0)
            predicted, true = given[rows], target[rows]
            abstained[t], right[t] = n - len(rows), int((predicted == true).sum())
            cost = self.cost(true, predicted, None if each is None else each.take(rows))
            total[t] = cost.sum()
            silence = 0.0 if self.abstain_cost is None else self.abstain_cost * abstained[t]
            score[t] = -total[t] - silence if self.by_cost else right[t]
            for b, budget in enumerate(self.budgets):
                weight = inside(budget.region, true, predicted) if b not in paid else cost
                errors[t, b] = int((weight > 0).sum())
                of[t, b] = (
                    int(budget.of[predicted].sum()) if budget.by_prediction else true_sides[b]
                )
                if b in paid:
                    paid[b].append(np.unique(weight[weight > 0], return_counts=True))
        expected, likely = np.zeros((rules, n_budgets)), np.zeros(rules)
        return Counts(n, errors, expected, of, score, likely, right, total, abstained, paid)

    def on(
        self,
        probs: FloatArray,
        target: IntArray,
        rows: IntArray | None = None,
        *,
        estimate: bool = False,
    ) -> Part:
        """Examples, made ready to be answered by many rules; probabilities are calibrated.

        rows      their positions in `each`; else all
        estimate  also count what the probabilities expect of each rule
        """
        each = self.each if self.each is None or rows is None else self.each.take(rows)
        costs = self.penalty if each is None else each
        decided_by = costs if self.base is None else self.base
        base = np.asarray(decided_by.expected(probs))
        charges = np.stack(
            [
                base
                if budget.region is decided_by
                else budget.unit * _expected(budget.region, probs)
                for budget in self.budgets
            ]
        )
        units = np.array([b.unit for b in self.budgets])
        chances = charges / units[:, None, None] if estimate else None
        return Part(self, probs, target, base, charges, chances, each)


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What T rules do to some examples; B budgets.

    errors     (T, B) mistakes of each budget, as counted
    expected   (T, B) the same as the probabilities have it
    of         (T, B) examples or answers that they are a share of
    score      (T,) right answers, or minus the cost of all answers (where `by_cost`)
    likely     (T,) the same as the probabilities have it
    right      (T,) right answers
    cost       (T,) what all answers cost by the penalty
    abstained  (T,) examples without an answer
    paid       for each cost budget, by its position: of each rule the distinct costs above 0 that
               were paid, and how often
    """

    n: int
    errors: IntArray
    expected: FloatArray
    of: IntArray
    score: FloatArray
    likely: FloatArray
    right: IntArray
    cost: FloatArray
    abstained: IntArray
    paid: dict[int, list[tuple[FloatArray, IntArray]]]

    def __add__(self, other: Counts) -> Counts:
        """Of the same rules, on these examples and on others."""
        paid = {
            b: [_merged(*both) for both in zip(self.paid[b], other.paid[b], strict=True)]
            for b in self.paid
        }
        added = {name: one + getattr(other, name) for name, one in self._arrays().items()}
        return replace(self, n=self.n + other.n, paid=paid, **added)

    def _arrays(self) -> dict[str, Any]:
        """All that there is of each rule, but what it paid."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("n", "paid")}

    @classmethod
    def of_costs(cls, costs: Sequence[FloatArray], n_budgets: int) -> Counts:
        """From what each answer cost, (n,) for each rule: for budgets of the expected cost, of
        answers that need not be classes. None of them counts as right."""
        rules, n = len(costs), len(costs[0])
        total = np.array([float(each.sum()) for each in costs])
        errors = np.array([[int((each > 0).sum())] * n_budgets for each in costs])
        paid = [np.unique(each[each > 0], return_counts=True) for each in costs]
        none, zeros = np.zeros(rules, dtype=np.int64), np.zeros((rules, n_budgets))
        return cls(
            n=n,
            errors=errors,
            expected=zeros,
            of=np.full((rules, n_budgets), n),
            score=-total,
            likely=np.zeros(rules),
            right=none,
            cost=total,
            abstained=none,
            paid={b: list(paid) for b in range(n_budgets)},
        )

    def chosen(self, rules: IntArray) -> Counts:
        """Of these rules, in this order."""
        paid = {b: [of_rules[t] for t in rules.tolist()] for b, of_rules in self.paid.items()}
        own = {name: each[rules] for name, each in self._arrays().items()}
        return replace(self, paid=paid, **own)

    def repeated(self, times: int) -> Counts:
        """Of one rule, as if it were so many."""
        return self.chosen(np.zeros(times, dtype=np.int64))

    def joined(self, other: Counts) -> Counts:
        """Of these rules and of more, on the same examples."""
        both: dict[str, Any] = {
            name: np.concatenate([one, getattr(other, name)])
            for name, one in self._arrays().items()
        }
        paid = {b: self.paid[b] + other.paid[b] for b in self.paid}
        return replace(self, paid=paid, **both)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Examples with the expected cost of each answer: without multipliers (n, k), by budget
    (B, n, k).

    A cost budget's charge is the penalty's: its multiplier scales all costs. `chances` (B, n, k)
    are those of a budget's mistake, for estimates. `each` has the costs of these examples.
    """

    family: Family
    probs: FloatArray
    target: IntArray
    base: FloatArray
    charges: FloatArray
    chances: FloatArray | None
    each: ExamplePenalty | None = None

    def answers(self, multipliers: FloatArray) -> IntArray:
        """(n,) Classes, -1 for no answer: as `decide` gives by the scaled costs."""
        expected = self.base.copy()
        for more, charge in zip((multipliers - 1.0).tolist(), self.charges, strict=True):
            if more:
                expected += more * charge
        price = self.family.abstain_cost
        limit = math.inf if price is None else price
        return cheapest(expected, self.probs, self.probs, self.family.cancelled, limit)

    def without_settled(self, greatest: FloatArray) -> tuple[Part, Part, IntArray]:
        """(open, settled, the answers of the settled), for multipliers of at most `greatest` (B,).

        An answer that is least with no multiplier stays so, and stays cheaper than no answer, if it
        is no more costly than any other even when its own charges, and no others', are scaled most.
        """
        plain = cheapest(self.base, self.probs, self.probs, self.family.cancelled)
        rows = np.arange(len(plain))
        own = self.base[rows, plain] + (greatest - 1.0) @ self.charges[:, rows, plain]
        others = self.base.copy()
        others[rows, plain] = np.inf
        limit = self.family.abstain_cost
        rival = np.minimum(others.min(axis=1), np.inf if limit is None else limit)
        # By more than ties, which are settled by other means than costs.
        settled = own * (1 + 1e-9) < rival
        return self._rows(~settled), self._rows(settled), plain[settled]

    def _rows(self, rows: BoolArray) -> Part:
        return Part(
            self.family,
            self.probs[rows],
            self.target[rows],
            self.base[rows],
            self.charges[:, rows],
            None if self.chances is None else self.chances[:, rows],
            None if self.each is None else self.each.take(rows),
        )

    def counts(self, multipliers: FloatArray) -> Counts:
        """What each rule, a row of multipliers (T, B), does to these examples."""
        return self.tally([self.answers(each) for each in multipliers])

    def gains(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """(n,) How much better the answer of one rule is than another's, in the units of scores."""
        found = []
        for multipliers in (one, other):
            given = self.answers(multipliers)
            silent = given < 0
            if self.family.by_cost:
                paid = self.family.cost(self.target, np.maximum(given, 0), self.each)
                found.append(-np.where(silent, self.family.abstain_cost or 0.0, paid))
            else:
                found.append((given == self.target).astype(np.float64))
        return np.asarray(found[0] - found[1])

    def tally(self, answers: list[IntArray]) -> Counts:
        """The counts of answers, (n,) for each rule; with `chances` also what they expect."""
        counts = self.family.count(self.target, answers, self.each)
        if self.chances is None:
            return counts
        by_cost, abstain_cost = self.family.by_cost, self.family.abstain_cost or 0.0
        for t, given in enumerate(answers):
            rows = np.flatnonzero(given >= 0)
            predicted = given[rows]
            if by_cost:
                silence = abstain_cost * counts.abstained[t]
                counts.likely[t] = -self.base[rows, predicted].sum() - silence
            else:
                counts.likely[t] = self.probs[rows, predicted].sum()
            counts.expected[t] = self.chances[:, rows, predicted].sum(axis=1)
        return counts


def _expected(region: Region, probs: FloatArray) -> FloatArray:
    """(n, k) Chance that an answer would be a mistake of the region."""
    if not isinstance(region, Block):
        return np.asarray(region.expected(probs))
    inside_true = probs * region.true
    return np.asarray((inside_true.sum(axis=1, keepdims=True) - inside_true) * region.predicted)


def _merged(
    one: tuple[FloatArray, IntArray], two: tuple[FloatArray, IntArray]
) -> tuple[FloatArray, IntArray]:
    costs, place = np.unique(np.concatenate([one[0], two[0]]), return_inverse=True)
    counts = np.bincount(place, np.concatenate([one[1], two[1]]), len(costs))
    return costs, counts.astype(np.int64)
