"""What a mistake costs: `penalty.cost(true, predicted)`, never negative, 0 for a right answer.

Three forms behind one contract: `DensePenalty` (a matrix), `RulesPenalty` (a default and its
exceptions) and `TreePenalty` (cost by the height of the lowest common ancestor). The last two
never hold k x k numbers. `ExamplePenalty` has costs of each example in some cells,
`Actions` are answers that need not be classes.
"""

from untrue.penalty.actions import Actions
from untrue.penalty.base import Penalty
from untrue.penalty.dense import DensePenalty
from untrue.penalty.formula_penalty import FormulaPenalty
from untrue.penalty.per_example import ExamplePenalty
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty

__all__ = [
    "Actions",
    "DensePenalty",
    "ExamplePenalty",
    "FormulaPenalty",
    "Penalty",
    "RulesPenalty",
    "TreePenalty",
]
