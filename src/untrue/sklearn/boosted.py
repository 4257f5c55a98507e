"""`BoostedClassifier`: LightGBM's or XGBoost's classifier, trained by our losses on real labels."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from untrue import boosting
from untrue.array_types import FloatArray, IntArray
from untrue.errors import ArgumentError, DataError, UntrueWarning, counted
from untrue.losses.registry import MixedName
from untrue.penalty import ExamplePenalty
from untrue.penalty.stated import name_of
from untrue.sklearn.example_costs import costs_of
from untrue.sklearn.meta import CostMetaEstimator, positions
from untrue.sklearn.trained_by_costs import check_decision, least_cost

# Training examples that are answered after training, to see whether one class is all there is.
ANSWERED = 2000
# Rows that mostly show already that some column can be split.
FEW_ROWS = 10_000
# Options of the libraries' own losses, with what does nothing there.
WITHOUT_EFFECT = {
    "scale_pos_weight": (None, 1),
    **dict.fromkeys(("is_unbalance", "unbalance", "unbalanced_sets"), (None, False)),
}
# The arguments of the libraries' `fit` for the scores to start from: of the examples to train on,
# of those to evaluate on.
STARTS = {
    "lightgbm": ("init_score", "eval_init_score"),
    "xgboost": ("base_margin", "base_margin_eval_set"),
}
OTHER_STARTS = [name for both in STARTS.values() for name in both] + [
    "base_score",
    "init_model",
    "xgb_model",
]


class BoostedClassifier(CostMetaEstimator):
    """Boosted trees that minimise `(1 - alpha) CE + alpha (cost term)`.

    Beside `LGBMClassifier(objective=boosting.lightgbm_objective(...))` it sees the labels, so that
    costs are matched by name; takes labels of any kind, which XGBoost does not; and answers with
    labels and probabilities, where LightGBM gives raw scores under an objective not its own.

    estimator   an `LGBMClassifier` or `XGBClassifier`; a copy is fitted, with our objective
    penalty     a `Penalty`, a matrix in the order of `classes_`, rules by label
                `{(true, predicted): cost, "default": 1.0}`, or None: all mistakes cost 1. A
                `FormulaPenalty` has costs of each example, by columns of X or `cost_columns`
    loss        "bilinear" (`y'Ap`) or "log-bilinear" (`-y'A log(1 - p)`)
    alpha       share of the cost term, from 0 (plain cross-entropy) to 1
    decision    "argmax": `predict` gives the likeliest class. "cost": the one of least expected
                cost, by the posterior behind the probabilities (`untrue.posterior`), so that costs
                in the loss do not count twice; alpha below 1
    classes     where labels are codes 0, 1, ... that stand for names: the names, in their order

    `fit` passes on what the estimator's `fit` takes. Examples to evaluate on (`eval_set`, or
    `eval_X` and `eval_y`) are scored by our loss unless the estimator has a metric of its own.

    The trees add to scores that are the same for every example, those of least loss by the class
    frequencies (`boosting.start_scores`), weights included: with alpha = 0 the model is that of
    the library's own objective. A start of your own, or a model to continue, is refused.
    Large costs put the start far on the side of one class, and a few trees may not leave it: `fit`
    warns if that class is all it answers.

    Fitted: `classes_`, `penalty_`, `start_scores_` (k,), the scores before the first tree, and
    `estimator_`, whose own predictions lack them.

    >>> import lightgbm
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> trees = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1)
    >>> model = BoostedClassifier(trees, {(2, 0): 10.0}).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any,
        penalty: Any = None,
        loss: MixedName = "bilinear",
        alpha: float = 0.5,
        *,
        decision: Literal["argmax", "cost"] = "argmax",
        classes: Any = None,
    ) -> None:
        self.estimator = estimator
        self.penalty = penalty
        self.loss = loss
        self.alpha = alpha
        self.decision = decision
        self.classes = classes

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, cost_columns: Any = None, **params: Any
    ) -> Self:
        """Train the trees; they get `sample_weight` and `params` too."""
        library = _library(self.estimator)
        check_decision(self.decision, self.alpha)
        X, y = self._read_labels(X, y)
        if _columns(X) == 0:
            raise DataError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        _refuse_other_start(self.estimator, params)
        params = self._fit_parameters(X, sample_weight, params)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise DataError(
                f"Boosted trees need examples of more than one class; got {len(y)} of one class."
            )
        target = positions(y, self.classes_)
        costs = costs_of(self.penalty, self.classes_, self.classes, X, cost_columns)
        # Examples to evaluate on have costs of their own, which the means of the classes stand for.
        by_code: FloatArray | ExamplePenalty
        if isinstance(costs, ExamplePenalty):
            self.penalty_ = costs.mean(target, weight=params.get("sample_weight"))
            by_code = costs
        else:
            self.penalty_, by_code = costs, costs.matrix()
        model = self._with_objective(clone(self.estimator), library, by_code)
        weight = _weight(model, target, params)
        self.start_scores_ = boosting.start_scores(
            by_code, target, self.loss, self.alpha, weight=weight
        )
        if library == "lightgbm" and params.get("eval_metric") is None:
            params = params | {"eval_metric": boosting.lightgbm_metric(**self._stated())}
        if library == "lightgbm":
            _check_splits(model, X)
        params = self._coded(params)
        self._adopt(model.fit(X, target, **params, **self._starts(library, X, params)))
        # LightGBM names the columns of arrays, too, and answers for columns in any order.
        validate_data(self, X, skip_check_array=True)
        if self.alpha > 0.0 and self.decision == "argmax":
            self._warn_of_one_answer(X, target)
        return self

    def _warn_of_one_answer(self, X: Any, target: IntArray) -> None:
        rows = np.linspace(0, len(target) - 1, min(len(target), ANSWERED)).astype(np.int64)
        answers = self.predict_proba(_safe_indexing(X, rows)).argmax(axis=1)
        only = answers[0]
        if (answers == only).all() and (target[rows] != only).any():
            warnings.warn(
                f"The trees answer {name_of(self.classes_[only])!r} to every training example "
                f"({len(rows):,} were looked at): by these costs they start far on the side of "
                "this class, and have not left it. Give more trees or a greater learning rate, or "
                "a smaller alpha or smaller costs.",
                UntrueWarning,
                stacklevel=3,
            )

    def _with_objective(self, model: Any, library: boosting.Library, costs: Any) -> Any:
        given = model.get_params()
        without = [name for name in WITHOUT_EFFECT if given.get(name) not in WITHOUT_EFFECT[name]]
        if without:
            raise ArgumentError(
                f"`{without[0]}` of the estimator has no effect on our losses: state the costs "
                "in `penalty`, or weigh examples by `sample_weight`."
            )
        stated = self._stated() | {"penalty": costs, "classes": self.penalty_.classes}
        if library == "xgboost":
            if given.get("eval_metric") is None:
                model.set_params(eval_metric=boosting.xgboost_metric(**self._stated()))
            return model.set_params(objective=boosting.xgboost_objective(**stated))
        if given.get("metric") is None:
            # LightGBM's own metric would take the raw scores for probabilities.
            model.set_params(metric="None")
        model.set_params(class_weight=self._by_code(given["class_weight"]))
        return model.set_params(objective=boosting.lightgbm_objective(**stated))

    def _stated(self) -> dict[str, Any]:
        """What a metric is given: costs by the codes of the sorted labels."""
        return {"penalty": self.penalty_.matrix(), "loss": self.loss, "alpha": self.alpha}

    def _coded(self, params: dict[str, Any]) -> dict[str, Any]:
        """The labels of the examples to evaluate on, and of their weights, as codes too."""
        coded = dict(params)
        if coded.get("eval_set") is not None:
            pairs = coded["eval_set"]
            pairs = [pairs] if isinstance(pairs, tuple) else pairs
            coded["eval_set"] = [(x, positions(y, self.classes_)) for x, y in pairs]
        if coded.get("eval_y") is not None:
            given = coded["eval_y"]
            several = isinstance(given, tuple)
            found = tuple(positions(y, self.classes_) for y in (given if several else (given,)))
            coded["eval_y"] = found if several else found[0]
        if coded.get("eval_class_weight") is not None:
            coded["eval_class_weight"] = [*map(self._by_code, coded["eval_class_weight"])]
        return coded

    def _by_code(self, class_weight: Any) -> Any:
        """LightGBM's weights of classes, with codes in place of labels."""
        if not isinstance(class_weight, dict) or not class_weight:
            return class_weight
        labels, weights = zip(*class_weight.items(), strict=True)
        return dict(zip(positions(labels, self.classes_).tolist(), weights, strict=True))

    def _starts(self, library: boosting.Library, X: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The scores to start from, of the examples to train and to evaluate on."""
        name, name_of_others = STARTS[library]
        given = params.get("eval_X")
        others = list(given) if isinstance(given, tuple) else [] if given is None else [given]
        others += [x for x, _ in params.get("eval_set") or ()]
        if not others:
            return {name: self._start(X)}
        return {name: self._start(X), name_of_others: [self._start(x) for x in others]}

    def _start(self, X: Any) -> FloatArray:
        """(N, k) The scores that rows start from; (N,), the second class's, where there are two."""
        start = self.start_scores_
        if len(start) == 2:
            return np.full(_num_samples(X), start[1] - start[0])
        return np.tile(start, (_num_samples(X), 1))

    def predict_proba(self, X: Any) -> FloatArray:
        """(N, k) Probabilities, in the order of `classes_`."""
        check_is_fitted(self)
        _columns(X)  # refuses what is no table
        validate_data(self, X, reset=False, skip_check_array=True)
        if _library(self.estimator) == "lightgbm":
            raw = self.estimator_.predict_proba(X, raw_score=True) + self._start(X)
        else:
            raw = self.estimator_.predict(X, output_margin=True, base_margin=self._start(X))
        return boosting.probs(raw)

    def predict(self, X: Any, cost_columns: Any = None) -> npt.NDArray[Any]:
        """(N,) Labels, by `decision`; by `cost_columns` or X where costs are formulas."""
        probs = self.predict_proba(X)
        if self.decision == "cost":
            costs = costs_of(self.penalty, self.classes_, self.classes, X, cost_columns)
            chosen = least_cost(probs, costs, trained_by=costs, alpha=self.alpha, loss=self.loss)
        else:
            chosen = probs.argmax(axis=1)
        return np.asarray(self.classes_[chosen])


def _refuse_other_start(estimator: Any, params: dict[str, Any]) -> None:
    given = params | {"base_score": estimator.get_params().get("base_score")}
    other = [name for name in OTHER_STARTS if given.get(name) is not None]
    if other:
        raise ArgumentError(
            f"`{other[0]}` cannot be given: the scores of a BoostedClassifier start from those of "
            "least loss by the class frequencies. For another start use the library's own "
            "interface with the objectives of untrue.boosting."
        )


def _check_splits(model: Any, X: Any) -> None:
    """Refuse data of which no column can be split, where LightGBM fails by a check of its own."""
    table = X if hasattr(X, "shape") else np.asarray(X)
    # What splits some of the rows splits all of them, and a few are sorted faster.
    if not _splits(model, _safe_indexing(table, slice(FEW_ROWS))) and not _splits(model, table):
        raise DataError(
            f"No column of X splits its {counted(_num_samples(X), 'row')} as LightGBM does, with "
            f"at least {model.get_params()['min_child_samples']} rows in a leaf of a tree. Give "
            "more rows or other columns, or a smaller `min_child_samples` to the estimator."
        )


def _splits(model: Any, table: Any) -> bool:
    import lightgbm

    params = {k: v for k, v in model.get_params().items() if isinstance(v, bool | int | float)}
    data = lightgbm.Dataset(table, params=params | {"verbosity": -1}).construct()
    return any(data.feature_num_bin(column) for column in range(data.num_feature()))


def _weight(model: Any, target: IntArray, params: dict[str, Any]) -> Any:
    """(N,) What each example counts, by `sample_weight` and LightGBM's `class_weight`; or None."""
    weight, by_class = params.get("sample_weight"), model.get_params().get("class_weight")
    if by_class is None:
        return weight
    of_class = compute_sample_weight(by_class, target)
    return of_class if weight is None else weight * of_class


def _columns(X: Any) -> int:
    """The width of a table; XGBoost would answer for another than it learned from."""
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    if len(shape) != 2:
        raise DataError(
            f"`X` must have a row for each example and a column for each feature; got shape "
            f"{tuple(shape)}. Reshape your data: X.reshape(1, -1) is one example."
        )
    return int(shape[1])


def _library(estimator: Any) -> boosting.Library:
    """By the name of the class, so that neither library is imported for the other."""
    for kind in type(estimator).__mro__:
        if kind.__name__ == "LGBMClassifier":
            return "lightgbm"
        if kind.__name__ == "XGBClassifier":
            return "xgboost"
    raise ArgumentError(
        "`estimator` must be an LGBMClassifier or an XGBClassifier; got "
        f"{type(estimator).__name__}. Another classifier with probabilities decides by costs in a "
        "CostSensitiveClassifier."
    )
