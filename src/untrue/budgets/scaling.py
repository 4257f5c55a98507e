"""Costs scaled on the cells of budgets, by a multiplier each: what a Lagrangian would charge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray
from untrue.budgets.regions import Block
from untrue.budgets.resolved import ResolvedBudget
from untrue.errors import ArgumentError
from untrue.penalty import DensePenalty, FormulaPenalty, Penalty, RulesPenalty, TreePenalty


def scaled_penalty(
    penalty: Penalty, budgets: Sequence[ResolvedBudget], multipliers: npt.ArrayLike
) -> Penalty:
    """`A + sum over budgets b of (m_b - 1) u_b M_b`; all multipliers 1 give the penalty itself.

    `M_b` is 1 on the budget's cells and 0 elsewhere, and `u_b` (`budget.unit`) their mean cost: on
    cells that cost the same, m multiplies that cost; free cells are charged as the average mistake.
    For an expected cost `u_b M_b` is the penalty it was resolved for: where that is A, m multiplies
    every cost.

    Rules stay rules under confusions and zones, a tree whose rows are not scaled stays a tree under
    its own zone and its own groups, and either stays itself under an expected cost. Anything else
    becomes a matrix.

    >>> p = Penalty.from_rules(["tumour", "benign"], {("tumour", "benign"): 20.0})
    >>> from untrue.budgets import Budget
    >>> scaled_penalty(p, [Budget.parse("tumour->benign <= 5%").resolve(p)], [1.5]).matrix()
    array([[ 0., 30.],
           [ 1.,  0.]])
    """
    factors = check_multipliers(multipliers, len(budgets))
    own, terms = 1.0, []
    for budget, factor in zip(budgets, factors.tolist(), strict=True):
        if factor == 1.0:
            continue
        if budget.classes != penalty.classes:
            raise ArgumentError(
                f"Budget {str(budget)!r} was resolved for other classes than the penalty's."
            )
        region = budget.region
        if budget.budget.kind == "cost" and region == penalty:
            own += (factor - 1.0) * budget.unit
        else:
            cells = region.rules(penalty.classes) if isinstance(region, Block) else region
            terms.append(((factor - 1.0) * budget.unit, cells))
    if own == 1.0 and not terms:
        return penalty
    return _sum([(own, penalty), *terms])


def scaled_formulas(
    stated: FormulaPenalty, budgets: Sequence[ResolvedBudget], multipliers: npt.ArrayLike
) -> FormulaPenalty:
    """The same for costs by columns: `(m_b - 1) u_b` is added to a formula on a budget's cells.

    >>> from untrue.budgets import Budget
    >>> base = Penalty.from_rules(["fraud", "fine"], {})
    >>> stated = FormulaPenalty(base, {("fraud", "fine"): "amount"})
    >>> budget = Budget.parse("fraud->fine <= 5%").resolve(base)
    >>> scaled_formulas(stated, [budget], [3.0]).formulas
    {('fraud', 'fine'): 'amount + 2.0'}
    """
    factors = check_multipliers(multipliers, len(budgets))
    if (factors == 1).all():
        return stated
    more = np.zeros((stated.n_classes, stated.n_classes))
    for budget, factor in zip(budgets, factors.tolist(), strict=True):
        more += (factor - 1.0) * budget.unit * budget.mask()
    names = stated.classes
    formulas: dict[tuple[str | int, str | int], str] = {}
    for (i, j), text in stated.cells():
        formulas[names[i], names[j]] = f"{text} + {float(more[i, j])!r}" if more[i, j] else text
    return FormulaPenalty(scaled_penalty(stated.base, budgets, factors), formulas)


def check_multipliers(multipliers: npt.ArrayLike, n: int) -> FloatArray:
    """(n,) Multipliers, each finite and at least 1."""
    factors = np.asarray(multipliers, dtype=np.float64)
    if factors.shape != (n,):
        raise ArgumentError(
            f"`multipliers` must be {n} numbers, one per budget; got shape {factors.shape}."
        )
    for factor in factors[~(np.isfinite(factors) & (factors >= 1.0))][:1]:
        raise ArgumentError(f"`multipliers` must be finite and 1 or more; got {factor:g}.")
    return factors


def _sum(terms: Sequence[tuple[float, Penalty]]) -> Penalty:
    """The weighted sum of penalties over the same classes, in their form where they share one."""
    first = terms[0][1]
    if isinstance(first, RulesPenalty):
        rules = [(weight, p) for weight, p in terms if isinstance(p, RulesPenalty)]
        if len(rules) == len(terms):
            return _sum_of_rules(rules)
    if isinstance(first, TreePenalty):
        trees = [
            (weight, p)
            for weight, p in terms
            if isinstance(p, TreePenalty)
            and p.hierarchy == first.hierarchy
            and np.array_equal(p.row_scale, first.row_scale)
        ]
        if len(trees) == len(terms):
            costs = np.sum([weight * p.height_costs for weight, p in trees], axis=0)
            return TreePenalty(first.hierarchy, costs, first.row_scale)
    matrix = np.sum([weight * p.matrix() for weight, p in terms], axis=0)
    return DensePenalty(first.classes, matrix)


def _sum_of_rules(terms: Sequence[tuple[float, RulesPenalty]]) -> RulesPenalty:
    k, classes = terms[0][1].n_classes, terms[0][1].classes
    codes = np.unique(np.concatenate([p.true * k + p.predicted for _, p in terms]))
    true, predicted = np.divmod(codes, k)
    costs = np.sum([weight * p.cost(true, predicted) for weight, p in terms], axis=0)
    default = np.sum([weight * p.default for weight, p in terms], axis=0)
    return RulesPenalty(classes, default, true, predicted, costs)
