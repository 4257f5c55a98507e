"""Choose the errors your classifier makes.

State what each mistake costs (`Penalty`, `Hierarchy`), train by it (`BilinearLoss`,
`LogBilinearLoss`), decide by it (`decide`), and measure what it changed (`metrics`). Or
state what must hold, and let `tune` find a model that holds it.

Names are looked up when first used, so that a part that needs no torch does not import it.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from untrue.losses import registry
from untrue.optional import missing as _missing

__version__ = "0.2.0"

_HOME = {
    "Actions": "untrue.penalty",
    "Penalty": "untrue.penalty",
    "Budget": "untrue.budgets",
    "DecisionRule": "untrue.budgets",
    "control": "untrue.budgets",
    "Hierarchy": "untrue.hierarchy",
    "AlphaSchedule": "untrue.losses",
    "BestEpoch": "untrue.losses",
    "ExitSchedule": "untrue.losses",
    "LinearHeadLoss": "untrue.losses",
    "BudgetError": "untrue.errors",
    "decide": "untrue.decision",
    "calibrate": "untrue.decision",
    "posterior": "untrue.decision",
    "exit_early": "untrue.exits",
    "Temperature": "untrue.decision",
    "fit": "untrue.tools.fitting.fit",
    "predict": "untrue.tools.fitting.predict",
    "audit": "untrue.tools.auditing.audit",
    "audit_nodes": "untrue.tools.auditing.nodes",
    "tune": "untrue.tools.tuning.tune",
    "UntrueError": "untrue.errors",
    "UntrueWarning": "untrue.errors",
    **registry.CLASSES,
}
_MODULES = (
    "budgets",
    "decision",
    "errors",
    "exits",
    "functional",
    "hierarchy",
    "lab",
    "losses",
    "metrics",
    "networks",
    "penalty",
)
# Not in `__all__`: a star import must not ask for frameworks that are not installed. What needs
# torch is there where torch is.
_ADAPTERS = (
    "boosting",
    "jax",
    "keras",
    "lightning",
    "reference",
    "sklearn",
    "torchmetrics",
    "transformers",
)

if TYPE_CHECKING:
    from untrue import (
        budgets,
        decision,
        errors,
        exits,
        functional,
        hierarchy,
        lab,
        losses,
        metrics,
        networks,
        penalty,
    )
    from untrue.budgets import Budget, DecisionRule, control
    from untrue.decision import Temperature, calibrate, decide, posterior
    from untrue.errors import BudgetError, UntrueError, UntrueWarning
    from untrue.exits import exit_early
    from untrue.hierarchy import Hierarchy
    from untrue.losses.registry import *  # noqa: F403
    from untrue.penalty import Actions, Penalty
    from untrue.tools.auditing.audit import audit
    from untrue.tools.auditing.nodes import audit_nodes
    from untrue.tools.fitting.fit import fit
    from untrue.tools.fitting.predict import predict
    from untrue.tools.tuning.tune import tune

__all__ = [
    "Actions",
    "Budget",
    "BudgetError",
    "DecisionRule",
    "Hierarchy",
    "Penalty",
    "Temperature",
    "UntrueError",
    "UntrueWarning",
    "audit",
    "audit_nodes",
    "budgets",
    "calibrate",
    "control",
    "decide",
    "decision",
    "errors",
    "exit_early",
    "exits",
    "fit",
    "functional",
    "hierarchy",
    "lab",
    "losses",
    "metrics",
    "networks",
    "penalty",
    "posterior",
    "predict",
    "tune",
]
_BESIDE = ["AlphaSchedule", "BestEpoch", "ExitSchedule", "LinearHeadLoss"]
__all__ += sorted([*_BESIDE, *registry.CLASSES])
_BY_TORCH = {"functional", "BestEpoch", "ExitSchedule", "LinearHeadLoss", *registry.CLASSES}


def _torch_is_installed() -> bool:
    try:
        return importlib.util.find_spec("torch") is not None
    except ModuleNotFoundError:
        return False


if not _torch_is_installed():
    __all__[:] = [name for name in __all__ if name not in _BY_TORCH]


def __getattr__(name: str) -> Any:
    if name not in _HOME and name not in _MODULES and name not in _ADAPTERS:
        raise AttributeError(f"module 'untrue' has no attribute {name!r}")
    try:
        home = importlib.import_module(_HOME.get(name, f"untrue.{name}"))
        value = getattr(home, name) if name in _HOME else home
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise _missing(f"`untrue.{name}`", "torch", "torch") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_BY_TORCH})
