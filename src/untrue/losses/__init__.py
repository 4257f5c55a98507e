"""Losses as modules: the contract of `nn.CrossEntropyLoss`, plus `penalty` and `alpha`."""

from untrue.losses.bilinear import BilinearLoss, LogBilinearLoss
from untrue.losses.schedule import AlphaSchedule

__all__ = ["AlphaSchedule", "BilinearLoss", "LogBilinearLoss"]
