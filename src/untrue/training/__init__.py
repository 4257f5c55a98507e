"""The one training loop: settings, splits, batches, early stopping, progress.

`untrue.training.loop.train` trains a network in place. Importing this package imports no torch.
"""

from __future__ import annotations

from untrue.training.settings import (
    BY_NETWORK,
    OPTIMIZERS,
    OWN_DATA,
    SCHEDULES,
    Settings,
    continued,
    suited_to,
)

__all__ = [
    "BY_NETWORK",
    "OPTIMIZERS",
    "OWN_DATA",
    "SCHEDULES",
    "Settings",
    "continued",
    "suited_to",
]
