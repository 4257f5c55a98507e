"""What estimators around another estimator share: its parameters, its classes, its metadata."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
    has_fit_parameter,
    indexable,
)

from untrue.array_types import FloatArray, IntArray
from untrue.errors import ArgumentError, DataError, nearest
from untrue.metrics.inputs import are_booleans, check_prob_rows
from untrue.penalty.stated import name_of

# Whose models give logits for probabilities when they are trained by our losses, and what helps.
REMEDIES = {
    "skorch": " Give the net predict_nonlinearity=torch.nn.Softmax(dim=-1).",
    "lightgbm": " With our objective use untrue.sklearn.BoostedClassifier.",
}


class LabelledClassifierMixin(ClassifierMixin):  # type: ignore[misc]
    """scikit-learn's classifier, whose `score` takes the labels that our `fit` takes."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of `predict(X)`."""
        return float(super().score(X, plain_labels(y), sample_weight))


class CostMetaEstimator(LabelledClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier around `self.estimator` that uses `self.penalty`."""

    estimator: Any
    penalty: Any

    def get_metadata_routing(self) -> Any:
        """What goes where when scikit-learn routes metadata: all that `fit` gets, to `fit`."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def _read_labels(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = indexable(X, plain_labels(y))
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        return X, labels

    def _fit_parameters(self, X: Any, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """What the inner estimator's `fit` gets beside X and y."""
        if sklearn.get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return dict(routed.estimator.fit)
        if sample_weight is None:
            return params
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ArgumentError(
                f"`sample_weight` was given, but {type(self.estimator).__name__}.fit takes none."
            )
        return params | {
            "sample_weight": _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        }

    def _adopt(self, fitted: Any) -> None:
        """Keep the fitted inner estimator, and what it knows about the columns."""
        self.estimator_ = fitted
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))


def plain_labels(y: Any, name: str = "y") -> Any:
    """Labels that scikit-learn reads as they are: booleans that pandas holds as objects or
    categories as plain ones, which it takes for numbers. Missing ones are refused."""
    labels = np.asarray(y)
    if labels.ndim and labels.dtype.kind == "O":
        missing = next((n for n, label in enumerate(labels.flat) if _is_missing(label)), None)
        if missing is not None:
            raise DataError(
                f"`{name}` must have a label in every row; row {missing} has none (NaN or None)."
            )
    return labels.astype(bool) if are_booleans(labels) else y


def _is_missing(label: Any) -> bool:
    number = isinstance(label, float | np.floating)
    return label is None or type(label).__name__ == "NAType" or (number and np.isnan(label))


def like(answers: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Answers 0 and 1 as False and True where the labels are so, and the reverse.

    XGBClassifier takes booleans, and answers with numbers.
    """
    kinds = {answers.dtype.kind, labels.dtype.kind}
    alike = "b" not in kinds or kinds.isdisjoint("iuf") or not np.isin(answers, (0, 1)).all()
    return answers if alike else answers.astype(labels.dtype)


def fit_part(model: Any, X: Any, y: Any, params: dict[str, Any], rows: Any) -> Any:
    """Fit a model to some rows, and to those rows of the parameters that have one per example."""
    chosen = _check_method_params(X, params=params, indices=rows)
    return model.fit(_safe_indexing(X, rows), y[rows], **chosen)


def read_probs(model: Any, X: Any) -> FloatArray:
    """(N, k) The model's probabilities; anything else, such as logits, is refused."""
    given = np.asarray(model.predict_proba(X))
    name, k = type(model).__name__, len(model.classes_)
    remedy = REMEDIES.get(type(model).__module__.partition(".")[0], "")
    if given.ndim != 2 or given.shape[1] != k:
        raise DataError(
            f"{name}.predict_proba must give probabilities of shape (N, {k}), a column for each "
            f"class; got shape {given.shape}.{remedy}"
        )
    probs = given.astype(np.float64, copy=False)
    eps = float(np.finfo(given.dtype).eps) if given.dtype.kind == "f" else 0.0
    try:
        check_prob_rows(probs.min(axis=1), probs.sum(axis=1), 0, eps)
    except DataError as error:
        raise DataError(f"{name}.predict_proba gives no probabilities: {error}{remedy}") from None
    return probs


def aligned_probs(model: Any, X: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """(N, k) The model's probabilities in the order of `classes`; 0 for one it does not know."""
    given = read_probs(model, X)
    probs = np.zeros((len(given), len(classes)))
    probs[:, positions(model.classes_, classes)] = given
    return probs


def positions(labels: npt.ArrayLike, classes: npt.NDArray[Any]) -> IntArray:
    """The position of each label in the classes, which are usually sorted, but need not be."""
    given = np.asarray(labels)
    order: IntArray = np.argsort(classes)
    found = order[np.searchsorted(classes, given, sorter=order).clip(max=len(order) - 1)]
    wrong = classes[found] != given
    if wrong.any():
        label = name_of(given[np.argmax(wrong)])
        hint = nearest(label, map(name_of, classes.tolist()))
        raise DataError(f"Label {label!r} is not among the classes{hint or '.'}")
    return np.asarray(found, dtype=np.int64)
