"""scikit-learn estimators that know what a mistake costs.

    BilinearClassifier        a small network trained by the bilinear or log-bilinear loss
    BoostedClassifier         LightGBM's or XGBoost's classifier, trained by these losses
    CostSensitiveClassifier   any classifier with probabilities, deciding by least expected cost
    MetaCostClassifier        any classifier, trained on labels made cost-minimal (Domingos 1999)
    cost_scorer               a scorer for model selection: less cost is better

Each takes its `penalty` as a `Penalty`, as a matrix in the order of the sorted labels, or as rules
by label, `{("tumour", "benign"): 20.0, "default": 1.0}`; None: all mistakes cost 1. Named
penalties are matched to the labels by name; where the labels were replaced by codes 0, 1, ...
(StackingClassifier, VotingClassifier, cross_val_predict of probabilities: in sorted order), the
names belong in `classes`, in the order of the codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from untrue.optional import missing

try:
    import sklearn as _sklearn  # noqa: F401  (the other one: scikit-learn)
except ImportError as error:
    raise missing("untrue.sklearn", "scikit-learn", "sklearn") from error

from untrue.sklearn.boosted import BoostedClassifier
from untrue.sklearn.costs import cost_scorer
from untrue.sklearn.decisions import CostSensitiveClassifier
from untrue.sklearn.metacost import MetaCostClassifier

if TYPE_CHECKING:
    from untrue.sklearn.network import BilinearClassifier

__all__ = [
    "BilinearClassifier",
    "BoostedClassifier",
    "CostSensitiveClassifier",
    "MetaCostClassifier",
    "cost_scorer",
]


def __getattr__(name: str) -> Any:
    """The one estimator that needs torch is imported when it is asked for."""
    if name != "BilinearClassifier":
        raise AttributeError(f"module 'untrue.sklearn' has no attribute {name!r}")
    try:
        from untrue.sklearn.network import BilinearClassifier
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise missing("BilinearClassifier", "torch", "torch") from error
    return BilinearClassifier
