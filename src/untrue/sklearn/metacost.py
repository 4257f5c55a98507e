"""`MetaCostClassifier`: relabel the training set at least expected cost, then train as usual."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from untrue.array_types import FloatArray
from untrue.checks import check_count, check_number
from untrue.decision import decide
from untrue.errors import UntrueWarning
from untrue.penalty.stated import name_of
from untrue.sklearn.example_costs import class_costs, costs_of
from untrue.sklearn.meta import CostMetaEstimator, aligned_probs, fit_part, like, positions


def _has_probs(self: MetaCostClassifier) -> bool:
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")


class MetaCostClassifier(CostMetaEstimator):
    """Trains any classifier on labels that a bagged committee finds cheapest.

    A committee of `n_estimators` copies is trained on bootstrap samples; their mean probabilities
    p (votes, where there is no `predict_proba`) give each training example the new label
    `argmin_j sum_i p_i A[i, j]`; one last copy is trained on those labels and answers by itself.
    (P. Domingos: MetaCost: a general method for making classifiers cost-sensitive, KDD 1999.)

    estimator      a classifier; copies are fitted
    penalty        as in `CostSensitiveClassifier`, and so is `classes`
    n_estimators   size of the committee
    max_samples    size of each bootstrap sample, as a share of the data
    out_of_bag     whether an example is judged only by copies that were not trained on it: a
                   copy that was is too sure of the label it was given (the paper's q = false)
    random_state   an int makes it repeatable

    Fitted: `estimator_`, `classes_`, `penalty_`, and `labels_`, the new label of each example. The
    probabilities of `predict_proba` are those of the new labels.
    """

    def __init__(
        self,
        estimator: Any,
        penalty: Any = None,
        *,
        n_estimators: int = 50,
        max_samples: float = 1.0,
        out_of_bag: bool = False,
        random_state: Any = None,
        classes: Any = None,
    ) -> None:
        self.estimator = estimator
        self.penalty = penalty
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.out_of_bag = out_of_bag
        self.random_state = random_state
        self.classes = classes

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, cost_columns: Any = None, **params: Any
    ) -> Self:
        """Relabel and fit; every copy gets `sample_weight` and `params` too."""
        check_count("n_estimators", self.n_estimators)
        check_number("max_samples", self.max_samples, 0.0, 1.0)
        X, y = self._read_labels(X, y)
        params = self._fit_parameters(X, sample_weight, params)
        rng = check_random_state(self.random_state)
        self.classes_ = np.unique(y)
        self.penalty_ = class_costs(self.penalty, self.classes_, self.classes)
        costs = costs_of(self.penalty, self.classes_, self.classes, X, cost_columns)
        self.labels_ = y
        if len(self.classes_) > 1:
            probs = self._committee(X, y, params, rng)
            self.labels_ = self.classes_[decide(probs, costs)]
        model = _seeded(self.estimator, rng)
        if len(np.unique(self.labels_)) < min(2, len(self.classes_)):
            warnings.warn(
                f"At these costs {name_of(self.labels_[0])!r} is the cheapest answer to every "
                "training example, so that nothing else will be predicted.",
                UntrueWarning,
                stacklevel=2,
            )
            model, params = DummyClassifier(strategy="most_frequent"), {}
        self._adopt(model.fit(X, self.labels_, **params))
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(N,) Labels."""
        check_is_fitted(self)
        return like(np.asarray(self.estimator_.predict(X)), self.classes_)

    @available_if(_has_probs)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """(N, k) Probabilities of the new labels; 0 for classes that none of them names."""
        check_is_fitted(self)
        return aligned_probs(self.estimator_, X, self.classes_)

    def _committee(
        self, X: Any, y: npt.NDArray[Any], params: dict[str, Any], rng: np.random.RandomState
    ) -> FloatArray:
        """(N, k) The mean probabilities of the committee for each training example."""
        n = len(y)
        size = max(2, round(self.max_samples * n))
        out_of_bag_sum, all_sum = (np.zeros((n, len(self.classes_))) for _ in range(2))
        voters = np.zeros(n)
        for _ in range(self.n_estimators):
            rows = _bootstrap(y, size, rng)
            model = fit_part(_seeded(self.estimator, rng), X, y, params, rows)
            votes = self._votes(model, X)
            outside = np.ones(n, dtype=bool)
            outside[rows] = False
            out_of_bag_sum[outside] += votes[outside]
            all_sum += votes
            voters += outside
        mean = np.asarray(all_sum / self.n_estimators)
        if not self.out_of_bag:
            return mean
        # An example that every copy was trained on is judged by all of them.
        always_in_bag = voters == 0
        out_of_bag_mean = out_of_bag_sum / np.maximum(voters, 1)[:, None]
        return np.where(always_in_bag[:, None], mean, out_of_bag_mean)

    def _votes(self, model: Any, X: Any) -> FloatArray:
        if hasattr(model, "predict_proba"):
            return aligned_probs(model, X, self.classes_)
        answers = positions(model.predict(X), self.classes_)
        return np.eye(len(self.classes_))[answers]


def _bootstrap(y: npt.NDArray[Any], size: int, rng: np.random.RandomState) -> Any:
    """Rows drawn with replacement, drawn again while they hold one class alone."""
    while True:
        rows = rng.randint(len(y), size=size)
        if (y[rows] != y[rows[0]]).any():
            return rows


def _seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    model = clone(estimator)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=rng.randint(2**31 - 1))
    return model
