"""Losses as modules with the contract of `nn.CrossEntropyLoss`: ours, and their rivals.

docs/losses.md has a card for each: paper, formula, parameters, cost, and when it wins.
"""

from untrue.losses.best_epoch import BestEpoch, KeptEpoch
from untrue.losses.bilinear import BilinearLoss, LogBilinearLoss
from untrue.losses.budgeted import BudgetedLoss, BudgetUpdate
from untrue.losses.emd import SquaredEMDLoss
from untrue.losses.hierarchical import ConditionalSoftmaxLoss, HierarchicalLoss
from untrue.losses.regression import CostRegressionLoss
from untrue.losses.schedule import AlphaSchedule
from untrue.losses.soft_labels import CostSmoothedLoss, SoftLabelLoss
from untrue.losses.weighted import ClassWeightedLoss

__all__ = [
    "AlphaSchedule",
    "BestEpoch",
    "BilinearLoss",
    "BudgetUpdate",
    "BudgetedLoss",
    "ClassWeightedLoss",
    "ConditionalSoftmaxLoss",
    "CostRegressionLoss",
    "CostSmoothedLoss",
    "HierarchicalLoss",
    "KeptEpoch",
    "LogBilinearLoss",
    "SoftLabelLoss",
    "SquaredEMDLoss",
]
