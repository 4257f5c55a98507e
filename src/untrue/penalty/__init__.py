"""What a mistake costs: `penalty[true, predicted]`, zero on the diagonal, never negative.

Three forms behind one contract: `DensePenalty` (a matrix), `RulesPenalty` (a default and its
exceptions) and `TreePenalty` (cost by the height of the lowest common ancestor). The last two
never hold k x k numbers.
"""

from untrue.penalty.base import Penalty
from untrue.penalty.dense import DensePenalty
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty

__all__ = ["DensePenalty", "Penalty", "RulesPenalty", "TreePenalty"]
