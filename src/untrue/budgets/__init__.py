"""Error budgets: how often a kind of mistake may happen, stated in words and checked by counts.

`Budget.parse("tumour->benign <= 0.5%")` reads a budget; `budget.resolve(penalty)` finds
the cells of a confusion matrix that it is about, gives its rate with an upper confidence bound, and
judges. `scaled_penalty` makes a budget's mistakes costlier, by a multiplier each. Needs no torch.
"""

from untrue.budgets.budget import Budget
from untrue.budgets.guarantee import Guarantee, TestedRule
from untrue.budgets.learn_then_test import control
from untrue.budgets.resolved import ResolvedBudget, resolve_all
from untrue.budgets.rule import DecisionRule
from untrue.budgets.scaling import scaled_penalty
from untrue.budgets.verdict import Verdict

__all__ = [
    "Budget",
    "DecisionRule",
    "Guarantee",
    "ResolvedBudget",
    "TestedRule",
    "Verdict",
    "control",
    "resolve_all",
    "scaled_penalty",
]
