"""One thing that may be tried: how a model is trained, and the costs its answers are decided by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from untrue.budgets import ResolvedBudget, scaled_penalty
from untrue.budgets.scaling import scaled_formulas
from untrue.penalty import FormulaPenalty, Penalty
from untrue.tools.fitting.setup import PLAIN
from untrue.tools.tuning.trainer import Recipe

Base = Literal["equal", "penalty"]


@dataclass(frozen=True, slots=True)
class Setting:
    """How a model is trained, and how its class probabilities are answered.

    base         "equal": all mistakes cost the same, so the most probable class is answered;
                 "penalty": least expected cost by the penalty
    multipliers  one for each budget: how many times costlier its mistakes are in the decision;
                 none where all are 1
    """

    recipe: Recipe
    base: Base = "equal"
    multipliers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if all(m == 1 for m in self.multipliers):
            object.__setattr__(self, "multipliers", ())

    @property
    def name(self) -> str:
        """As in "bilinear, alpha 0.5, least cost with budgets x 4"."""
        trained, parts = self.recipe, []
        if any(m != 1 for m in trained.multipliers):
            parts.append(f" (budgets x {_listed(trained.multipliers)})")
        if self.base == "equal" and not self.multipliers:
            parts.append(", most probable class")
        else:
            costs = "equal costs" if self.base == "equal" else "least cost"
            times = f" with budgets x {_listed(self.multipliers)}" if self.multipliers else ""
            parts.append(f", {costs}{times}")
        return trained.name + "".join(parts)


def equal_budgets(
    budgets: Sequence[ResolvedBudget], penalty: Penalty
) -> tuple[ResolvedBudget, ...]:
    """The same budgets where a mistake costs 1: that is what their multipliers scale.

    An expected cost is charged by the penalty over its mean.
    """
    k = penalty.n_classes
    mean = float(penalty.row_sums().sum()) / (k * (k - 1))
    scale = 1.0 / mean if mean else 1.0
    return tuple(
        replace(budget, unit=scale if budget.budget.kind == "cost" else 1.0) for budget in budgets
    )


def decision_costs(
    setting: Setting,
    stated: Penalty | FormulaPenalty,
    budgets: Sequence[ResolvedBudget],
    penalty: Penalty,
) -> Penalty | FormulaPenalty | None:
    """The costs that a setting decides by; None: a plain model's most probable class.

    stated: the costs; penalty: by class, which is their means where they are by columns.
    """
    if setting.base == "penalty":
        return times(stated, budgets, setting.multipliers)
    if setting == Setting(Recipe()):
        return None
    equal = Penalty.equal(penalty.classes)
    if not setting.multipliers:
        return equal
    return scaled_penalty(equal, equal_budgets(budgets, penalty), setting.multipliers)


def times(
    stated: Penalty | FormulaPenalty, budgets: Sequence[ResolvedBudget], by: tuple[float, ...]
) -> Penalty | FormulaPenalty:
    """The costs with the budgets' mistakes costlier by the multipliers."""
    if not by:
        return stated
    if isinstance(stated, FormulaPenalty):
        return scaled_formulas(stated, budgets, by)
    return scaled_penalty(stated, budgets, by)


def described(setting: Setting, budgets: Sequence[object]) -> str:
    """A setting in words, each multiplier beside its budget."""
    recipe = setting.recipe
    how = "plain training" if recipe.loss == PLAIN else f"training by {recipe.name}"
    how += _times(recipe.multipliers, budgets, " with")
    if setting.base == "equal" and not setting.multipliers:
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
        else f"the mistakes of {what} {_factor(m)} times as costly"
        for what, m in scaled
    ]
    return f"{word} {' and '.join(parts).removesuffix(',')}" if parts else ""


def _factor(value: float) -> str:
    """Three digits, and more where they would read as 1."""
    return f"{value:.3g}" if f"{value:.3g}" != "1" else f"{value:.6g}"


def _listed(multipliers: Sequence[float]) -> str:
    return ", ".join(f"{m:.3g}" for m in multipliers)
