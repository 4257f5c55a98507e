"""Is a setting within the budgets? Judged by upper bounds on examples, each counted once.

The development examples are judged by cross-fitting: R networks with R seeds, each answering the
examples it has not learned from. Their answers make one confusion matrix in which every example
stands once, so that the bounds (Clopper-Pearson) count examples, never the same example under
several seeds. These bounds steer the search; they are no guarantee, since the R networks share
training examples and the setting that is kept was chosen by looking. That is for the held-out part:
one rule, fixed before, each budget at the whole level, as `untrue.control` tests the rules of a
path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from untrue.budgets import ResolvedBudget, Verdict, scaled_penalty
from untrue.budgets.scaling import scaled_formulas
from untrue.decision import decide
from untrue.errors import DataError
from untrue.metrics import Cells, confusion_cells, expected_cost
from untrue.metrics.inputs import FloatArray, IntArray
from untrue.penalty import FormulaPenalty, Penalty
from untrue.tools.fitting.fit import PLAIN
from untrue.tools.fitting.model import argmax
from untrue.tools.reading.row_costs import RowCosts
from untrue.tools.tuning.trainer import Recipe

Base = Literal["argmax", "penalty", "even"]
# Beyond this many classes the costs of "even" would be a matrix too large to decide by.
MOST_CLASSES = 2000


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing to try: how the network is trained, and how its probabilities are answered.

    base         "argmax": the most probable class; "penalty": least expected cost by the penalty;
                 "even": least expected cost, all mistakes alike
    multipliers  one for each budget: how many times costlier its mistakes are in the decision
    """

    recipe: Recipe
    base: Base = "argmax"
    multipliers: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """As in "bilinear, alpha 0.5, least cost with budgets x 4"."""
        trained, parts = self.recipe, []
        if any(m != 1 for m in trained.multipliers):
            parts.append(f" (budgets x {_listed(trained.multipliers)})")
        if self.base == "argmax":
            parts.append(", most probable class")
        else:
            scaled_by = any(m != 1 for m in self.multipliers)
            costs = "even costs" if self.base == "even" else "least cost"
            times = f" with budgets x {_listed(self.multipliers)}" if scaled_by else ""
            parts.append(f", {costs}{times}")
        return trained.name + "".join(parts)


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting on the development examples.

    verdicts       of each budget
    kept           of each budget; where too few examples can prove it, whether no error was seen
    accuracy       share of right answers
    drop           the plain model's accuracy minus this, on the same examples, in points (%)
    expected_cost  of an answer, by the penalty
    met            all budgets are kept, and the drop is within its limit
    """

    setting: Setting
    verdicts: tuple[Verdict, ...]
    kept: tuple[bool, ...]
    accuracy: float
    drop: float
    expected_cost: float
    met: bool


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Knows the truth and the limits.

    provable  of each budget: whether so many examples without an error would show it
    rows      costs by columns of the data, where they are; `penalty` then has their means by class
    """

    true: IntArray
    penalty: Penalty
    budgets: tuple[ResolvedBudget, ...]
    provable: tuple[bool, ...]
    confidence: float
    max_drop: float | None
    rows: RowCosts | None = None

    @property
    def stated(self) -> Penalty | FormulaPenalty:
        """The costs as they are stated."""
        return self.penalty if self.rows is None else self.rows.stated

    def trial(self, setting: Setting, probs: FloatArray, plain: float | None = None) -> Trial:
        """Measure a setting by calibrated probabilities (N, k); `plain` is the accuracy to hold."""
        costs = decision_costs(setting, self.stated, self.budgets, self.penalty)
        predicted = answers(probs, costs, self.rows)
        cells = confusion_cells(self.true, predicted, self.penalty.n_classes)
        verdicts = tuple(budget.judge(cells, self.confidence) for budget in self.budgets)
        kept = tuple(map(is_kept, verdicts, self.provable))
        right = float((predicted == self.true).mean())
        drop = 0.0 if plain is None else 100 * (plain - right)
        within = self.max_drop is None or drop <= self.max_drop + 1e-9
        if self.rows is None:
            cost = float(expected_cost(cells, self.penalty))
        else:
            cost = float(expected_cost((self.true, predicted), self.rows.examples))
        return Trial(setting, verdicts, kept, right, drop, cost, all(kept) and within)

    def excess(self, trial: Trial) -> float:
        """How far a trial is from meeting everything: 0 when it does; 1 is twice a limit."""
        parts = [
            0.0 if kept else max(verdict.excess, 0.0)
            for verdict, kept in zip(trial.verdicts, trial.kept, strict=True)
        ]
        if self.max_drop is not None:
            # A limit of 0 points would make every drop infinitely far.
            parts.append(max(trial.drop - self.max_drop, 0.0) / max(self.max_drop, 0.1))
        return max(parts)


def is_kept(verdict: Verdict, provable: bool) -> bool:
    """By the upper bound; where no count of errors could pass, nothing but no error does.

    A mean cost, which is never nothing, is then judged by itself.
    """
    if provable or verdict.kept:
        return verdict.kept
    if verdict.budget.kind == "cost":
        return verdict.rate <= verdict.limit
    return bool(verdict.of) and verdict.errors == 0


def answers(
    probs: FloatArray, costs: Penalty | FormulaPenalty | None, rows: RowCosts | None = None
) -> IntArray:
    """The most probable class, or that of least expected cost; `rows`: of the same examples."""
    if isinstance(costs, FormulaPenalty):
        assert rows is not None
        return decide(probs, rows.of(costs))
    return argmax(probs) if costs is None else decide(probs, costs)


def decision_costs(
    setting: Setting,
    stated: Penalty | FormulaPenalty,
    budgets: Sequence[ResolvedBudget],
    by_class: Penalty | None = None,
) -> Penalty | FormulaPenalty | None:
    """The costs a setting decides by; None for the most probable class.

    stated: the costs; by_class: their means by class where they are by columns.

    By the penalty: `scaled_penalty`. Even: `1 - I + sum over budgets b of (m_b - 1) M_b`, with
    M_b one on the budget's cells, or, for an expected cost, the penalty over its mean: what
    a Lagrangian of "as many right answers as the budgets allow" charges.
    """
    if setting.base == "argmax":
        return None
    if setting.base == "penalty":
        return times(stated, budgets, setting.multipliers)
    penalty = by_class if by_class is not None else stated
    assert isinstance(penalty, Penalty)
    k = penalty.n_classes
    matrix = 1.0 - np.eye(k)
    for budget, factor in zip(budgets, setting.multipliers, strict=True):
        if factor == 1:
            continue
        if budget.budget.kind == "cost":
            own = penalty.matrix()
            matrix += (factor - 1) * own * (k * (k - 1) / own.sum())
        else:
            matrix += (factor - 1) * budget.mask()
    return Penalty.from_matrix(matrix, list(penalty.classes))


def times(
    stated: Penalty | FormulaPenalty, budgets: Sequence[ResolvedBudget], by: tuple[float, ...]
) -> Penalty | FormulaPenalty:
    """The costs with the budgets' mistakes so many times costlier."""
    if not by:
        return stated
    if isinstance(stated, FormulaPenalty):
        return scaled_formulas(stated, budgets, by)
    return scaled_penalty(stated, budgets, by)


def flawless(labels: IntArray, n_classes: int) -> Cells:
    """The confusion matrix of nothing but right answers."""
    return confusion_cells(labels, labels, n_classes)


def provable_on(labels: IntArray, budget: ResolvedBudget, confidence: float) -> bool:
    """Whether a model without any error would be shown to keep the budget by these examples."""
    return budget.judge(flawless(labels, len(budget.classes)), confidence).kept


def too_few(
    budget: ResolvedBudget, parts: Sequence[tuple[str, IntArray]], confidence: float
) -> str | None:
    """A sentence when a part, (name, labels), is too small to show the budget; else None."""
    short = [
        (name, budget.judge(flawless(labels, len(budget.classes)), confidence))
        for name, labels in parts
        if not provable_on(labels, budget, confidence)
    ]
    if not short:
        return None
    wanted = budget.examples_needed(short[0][1].limit, confidence)
    counted = budget.counted
    if wanted is None:
        return (
            f"{budget}: no number of examples can show that something never happens; it counts as "
            "kept when no error is seen."
        )
    have = " and ".join(f"{verdict.of:,} in the {name}" for name, verdict in short)
    return (
        f"{budget}: to show this at {100 * confidence:g} % takes at least {wanted:,} {counted} "
        f"without any error; there are {have}. It is judged as well as that allows, and what "
        "cannot be shown is not called proved."
    )


def seen(verdict: Verdict) -> str:
    """A rate and its bound in words: "3 of 144 (2.08 %, at most 5.30 %)"."""
    if verdict.budget.kind == "cost":
        return f"{verdict.rate:.3g} an answer (at most {verdict.upper:.3g})"
    if not verdict.of:
        return "no example"
    share = f"{100 * verdict.rate:.3g} %"
    return f"{verdict.errors:,} of {verdict.of:,} ({share}, at most {100 * verdict.upper:.3g} %)"


def findings(trial: Trial, max_drop: float | None) -> str:
    """What is kept and what is over, in a sentence."""
    parts = [
        f"{verdict.budget}: {seen(verdict)}{'' if kept else ', over'}"
        for verdict, kept in zip(trial.verdicts, trial.kept, strict=True)
    ]
    right = f"accuracy {100 * trial.accuracy:.1f} %"
    if trial.setting != Setting(Recipe()):
        right += f" ({points(-trial.drop)})"
        if max_drop is not None and trial.drop > max_drop + 1e-9:
            right += ", too great a drop"
    return "; ".join([*parts, right])


def points(change: float) -> str:
    """A change of accuracy: "-0.4 points".

    >>> points(-0.44), points(-0.04)
    ('-0.4 points', '+0.0 points')
    """
    return f"{round(change, 1) + 0.0:+.1f} points"


def described(setting: Setting, budgets: Sequence[object]) -> str:
    """A setting in words, each multiplier beside its budget."""
    recipe = setting.recipe
    how = "plain training" if recipe.loss == PLAIN else f"training by {recipe.name}"
    how += _times(recipe.multipliers, budgets, " with")
    if setting.base == "argmax":
        return f"{how}, predicting the most probable class"
    costs = "the costs of the penalty" if setting.base == "penalty" else "equal costs"
    scaled = _times(setting.multipliers, budgets, ", but with")
    return f"{how}, predicting the class of least expected cost by {costs}{scaled}"


def _times(multipliers: Sequence[float], budgets: Sequence[object], word: str) -> str:
    """As in " with the mistakes of *->8 scaled by 2.38"."""
    scaled = [
        (str(budget).partition(" <= ")[0], m)
        for m, budget in zip(multipliers, budgets, strict=False)
        if m != 1
    ]
    parts = [
        f"the costs of the penalty added, with weight {m - 1:.3g},"
        if what == "expected cost"
        else f"the mistakes of {what} {m:.3g} times as costly"
        for what, m in scaled
    ]
    return f"{word} {' and '.join(parts).removesuffix(',')}" if parts else ""


def check_seen(labels: IntArray, budgets: Sequence[ResolvedBudget], where: str) -> None:
    """Every budget has examples it is about."""
    present = np.zeros(len(budgets[0].classes), dtype=bool)
    present[np.unique(labels)] = True
    for budget in budgets:
        # A share of the answers needs answers: any example will do.
        if not budget.by_prediction and not (budget.of & present).any():
            raise DataError(
                f"Budget {str(budget)!r} is about {budget.counted}; the {where} has none."
            )


def _listed(multipliers: Sequence[float]) -> str:
    return ", ".join(f"{m:.3g}" for m in multipliers)
