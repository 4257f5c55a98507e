"""`CostSensitiveClassifier`: any classifier with probabilities decides by least expected cost."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MethodMapping, process_routing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from untrue.array_types import FloatArray
from untrue.decision import calibrate, decide
from untrue.decision.calibration import log_probs, tempered
from untrue.errors import ArgumentError, DataError
from untrue.penalty.stated import name_of
from untrue.sklearn.example_costs import class_costs, costs_of
from untrue.sklearn.meta import (
    CostMetaEstimator,
    aligned_probs,
    fit_part,
    like,
    positions,
    read_probs,
)


class CostSensitiveClassifier(CostMetaEstimator):
    """Predicts `argmin_j sum_i p_i A[i, j]` by the probabilities of another classifier.

    The multi-class counterpart of scikit-learn's `TunedThresholdClassifierCV`: training stays as it
    is, only the decision changes.

    estimator   a classifier with `predict_proba`; a copy is fitted. Wrap a fitted one in
                scikit-learn's `FrozenEstimator` and fit on held-out data to calibrate it alone.
    penalty     a `Penalty`, a matrix in the order of `classes_`, rules by label
                `{(true, predicted): cost, "default": 1.0}`, or None: all mistakes cost 1. A
                `FormulaPenalty` has costs of each example, by columns of X or `cost_columns`
    calibrate   whether to correct how sure the classifier is, on which this decision
                depends. One temperature is fitted to the log-probabilities of examples that the
                classifier was not trained on (`cv` folds; then it is trained on all). It never
                changes the order of the classes. For other methods give
                `CalibratedClassifierCV(...)` as the estimator and calibrate=False.
    cv          number of folds (fewer if a class has fewer examples), or a splitter; one by
                groups (`GroupKFold`) takes them from `fit(X, y, groups=...)`
    classes     where labels are codes 0, 1, ... that stand for names (a LabelEncoder's, a
                StackingClassifier's): the names, in the order of the codes

    Fitted: `estimator_`, `classes_`, `penalty_`, `temperature_` (1 if not calibrated).

    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CostSensitiveClassifier(GaussianNB(), {(2, 0): 10.0}).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any,
        penalty: Any = None,
        *,
        calibrate: bool = True,
        cv: Any = 5,
        classes: Any = None,
    ) -> None:
        self.estimator = estimator
        self.penalty = penalty
        self.calibrate = calibrate
        self.cv = cv
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit a copy of the estimator, which gets `sample_weight` and `params` too.

        `groups` among the `params` go to the splitter `cv` instead.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise ArgumentError(
                f"`estimator` must have predict_proba; {type(self.estimator).__name__} has none. "
                "Wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        X, y = self._read_labels(X, y)
        splitting = self._split_parameters(sample_weight, params)
        params = self._fit_parameters(X, sample_weight, params)
        self._adopt(clone(self.estimator).fit(X, y, **params))
        self.classes_ = like(np.asarray(self.estimator_.classes_), y)
        self.penalty_ = class_costs(self.penalty, self.classes_, self.classes)
        self.temperature_ = 1.0
        if self.calibrate and len(self.classes_) > 1:
            self.temperature_ = self._find_temperature(X, y, sample_weight, params, splitting)
        return self

    def get_metadata_routing(self) -> Any:
        """As for the estimator, and what `fit` gets for the splitter, to its `split`."""
        mapping = MethodMapping().add(caller="fit", callee="split")
        router = super().get_metadata_routing()
        return router.add(splitter=check_cv(self.cv, classifier=True), method_mapping=mapping)

    def predict_proba(self, X: Any) -> FloatArray:
        """(N, k) Probabilities, calibrated if asked, in the order of `classes_`."""
        check_is_fitted(self)
        probs = read_probs(self.estimator_, X)
        if self.temperature_ == 1.0:
            return probs
        return tempered(probs, self.temperature_)

    def predict(self, X: Any, cost_columns: Any = None) -> npt.NDArray[Any]:
        """(N,) Labels of least expected cost; by `cost_columns` or X where costs are formulas."""
        probs = self.predict_proba(X)
        costs = costs_of(self.penalty, self.classes_, self.classes, X, cost_columns)
        return np.asarray(self.classes_[decide(probs, costs)])

    def _split_parameters(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """What the splitter gets; without routing, the `groups`, which leave the `params`."""
        if not sklearn.get_config()["enable_metadata_routing"]:
            return {"groups": params.pop("groups", None)}
        return dict(
            process_routing(self, "fit", sample_weight=sample_weight, **params).splitter.split
        )

    def _find_temperature(
        self,
        X: Any,
        y: npt.NDArray[Any],
        sample_weight: Any,
        params: dict[str, Any],
        splitting: dict[str, Any],
    ) -> float:
        target = positions(y, self.classes_)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        probs = np.zeros((len(y), len(self.classes_)))
        seen = np.zeros(len(y), dtype=bool)
        for train, test in self._folds(y).split(X, y, **splitting):
            model = fit_part(clone(self.estimator), X, y, params, train)
            probs[test] = aligned_probs(model, _safe_indexing(X, test), self.classes_)
            seen[test] = True
        logits = log_probs(probs[seen])
        found = calibrate(logits, target[seen], None if weight is None else weight[seen])
        return found.temperature

    def _folds(self, y: npt.NDArray[Any]) -> Any:
        if not isinstance(self.cv, int):
            return check_cv(self.cv, y, classifier=True)
        labels, counts = np.unique(y, return_counts=True)
        if counts.min() < 2:
            raise DataError(
                f"Calibration needs 2 examples of each class; {name_of(labels[counts.argmin()])!r} "
                "has one. "
                "Give more, or set calibrate=False."
            )
        return check_cv(min(self.cv, int(counts.min())), y, classifier=True)
