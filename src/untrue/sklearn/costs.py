"""`cost_scorer`: select models by what their mistakes cost."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.metrics._scorer import _Scorer
from sklearn.utils import assert_all_finite
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from untrue.errors import DataError, PenaltyError, UntrueWarning, listed, nearest
from untrue.penalty import ExamplePenalty, FormulaPenalty
from untrue.penalty.arrays import table_columns
from untrue.penalty.stated import DEFAULT, class_names, name_of
from untrue.sklearn.example_costs import costs_of
from untrue.sklearn.meta import like, plain_labels


def cost_scorer(penalty: Any = None, *, classes: Sequence[Any] | None = None) -> Any:
    """A scorer for `GridSearchCV` and the like: minus the mean cost of the predictions.

    penalty: as in the estimators. Labels are those seen in truth and predictions, so that a fold
    may lack some; a matrix without class names needs them all there, or `classes`, all labels in
    the order of its rows. With `classes` a rule for an unknown name is an error, and labels may be
    codes 0, 1, ... for these names; without, a rule that looks like a misspelt label gives
    a warning. A `FormulaPenalty`, with costs by columns, takes them from X where it is a table, or
    as `cost_columns`, which scikit-learn routes: `.set_score_request(cost_columns=True)`.

    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = [[0], [1], [2]], ["a", "b", "b"]
    >>> says_b = DummyClassifier(strategy="constant", constant="b").fit(X, y)
    >>> float(cost_scorer({("a", "b"): 6.0})(says_b, X, y))
    -2.0
    """
    return CostScorer(mean_cost, -1, {"penalty": penalty, "classes": classes}, "predict")


class CostScorer(_Scorer):  # type: ignore[misc]
    """scikit-learn's scorer, which also hands `cost_columns` to a `predict` that asks for them."""

    def _score(
        self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any
    ) -> float:
        penalty = self._kwargs["penalty"]
        columns = kwargs.get("cost_columns")
        if columns is None and isinstance(penalty, FormulaPenalty) and table_columns(X):
            kwargs["cost_columns"] = X
        elif columns is not None and _asks_for_columns(estimator):
            predicted = estimator.predict(X, cost_columns=columns)
            return -mean_cost(y_true, predicted, **{**self._kwargs, **kwargs})
        return float(super()._score(method_caller, estimator, X, y_true, **kwargs))


def _asks_for_columns(estimator: Any) -> bool:
    if not sklearn.get_config()["enable_metadata_routing"]:
        return False
    routing = get_routing_for_object(estimator)
    return bool(routing.consumes(method="predict", params=["cost_columns"]))


def mean_cost(
    y_true: Any,
    y_pred: Any,
    *,
    penalty: Any = None,
    classes: Sequence[Any] | None = None,
    sample_weight: Any = None,
    cost_columns: Any = None,
) -> float:
    """Mean of `penalty[true, predicted]` over labels (N,), weighted if asked."""
    y_true, y_pred = _read_labels(y_true, "y_true"), _read_labels(y_pred, "y_pred")
    check_consistent_length(y_true, y_pred)
    y_pred = like(y_pred, y_true)
    true, predicted = y_true.tolist(), y_pred.tolist()
    if not true:
        raise DataError("There must be at least one label to score; got none.")
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, y_true, ensure_non_negative=True)
    # A fold may lack labels. Those that may be names or codes are then names, as `classes` are.
    known_first = () if classes is None else class_names(classes)
    names = class_names([*true, *predicted], classes, beside=known_first)
    labels = _labels(y_true, y_pred, penalty) if classes is None else classes
    found = costs_of(penalty, labels, None, y_true, cost_columns)
    pairs = names[: len(true)], names[len(true) :]
    each = found.costs(*pairs) if isinstance(found, ExamplePenalty) else found.cost(*pairs)
    return float(np.average(each, weights=sample_weight))


def _read_labels(labels: Any, name: str) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = column_or_1d(np.asarray(plain_labels(labels, name)))
    assert_all_finite(found, input_name=name)
    return found


def _labels(y_true: Any, y_pred: Any, penalty: Any) -> list[Any]:
    """The labels seen, in order, and those that rules name beside them."""
    seen = np.unique(np.concatenate([y_true, y_pred])).tolist()
    if not isinstance(penalty, Mapping):
        return list(seen)
    named = [
        name for pair in penalty if pair != DEFAULT and isinstance(pair, tuple) for name in pair
    ]
    known = {name_of(label) for label in seen}
    rules = dict.fromkeys(map(name_of, named))
    if rules and known.isdisjoint(rules):
        raise PenaltyError(
            f"No rule of `penalty` is about a label: it has rules for {listed([*rules])}, and the "
            f"labels are {listed(sorted(known))}."
        )
    for name in rules:
        # A fold may lack a class, so a name that is not there is no error; one that looks
        # misspelt gives a warning.
        hint = "" if name in known else nearest(name, known)
        if hint:
            warnings.warn(
                f"`penalty` has a rule for {name!r}, which is not a label{hint}",
                UntrueWarning,
                stacklevel=2,
            )
    return list({name_of(label): label for label in [*seen, *named]}.values())
