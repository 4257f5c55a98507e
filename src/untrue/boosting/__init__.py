"""Objectives and metrics for LightGBM and XGBoost: boosted trees trained by what a mistake costs.

One object serves both interfaces of a library, because the arguments show which one is calling:

    params = {"objective": lightgbm_objective(penalty), "num_class": k}
    booster = lightgbm.train(params, data, feval=lightgbm_metric(penalty))
    model = lightgbm.LGBMClassifier(objective=lightgbm_objective(penalty))

    params = {"objective": "multi:softprob", "num_class": k}
    booster = xgboost.train(params, data, obj=xgboost_objective(penalty))
    model = xgboost.XGBClassifier(objective=xgboost_objective(penalty))

Class names. A Booster takes codes 0, 1, ... in the order of the penalty's classes, as a loss does.
An estimator takes labels and numbers them itself (`LGBMClassifier` in sorted order) before an
objective sees any: a penalty with class names then needs `classes`, and is refused without.
`untrue.sklearn.BoostedClassifier` sees the labels and matches them by name.

Costs of each example (`penalty.per_example`) are those of the rows of the data trained on; a metric
takes those of the data it is evaluated on.

Under an objective that is not its own LightGBM predicts raw scores: `probs(raw)` makes them
probabilities. XGBoost does so by itself if "multi:softprob" is named beside `obj`.

Both libraries take one second derivative per class. That of the cost terms can be negative, and a
tree that divides by it fails; so they get `reference.hessian_bounds`, which lies above it, is
never negative and is the cross-entropy's own at alpha = 0. It is scaled as the library scales its
own (LightGBM by k / (k - 1), XGBoost by 2) and at least 1e-16, XGBoost's floor.

With alpha = 0 the trees are those of the library's objective up to rounding, if both start from
the same scores. The libraries' own objectives start from the class frequencies, all others from 0,
so that a rare class keeps too high a probability. Give each row `start_scores` as LightGBM's
`init_score` or XGBoost's `base_margin`, also where you evaluate, and add them to what LightGBM
predicts. `BoostedClassifier` does so by itself.

A loss with `1 - alpha` before the cross-entropy has smaller second derivatives too. With alpha near
1 lower what is compared with their sum (LightGBM's `min_sum_hessian_in_leaf`, XGBoost's
`min_child_weight`, the L2 penalty of both), or state larger costs at a moderate alpha.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from untrue import newton, reference
from untrue.array_types import FloatArray, IntArray
from untrue.boosting.calls import read_call, read_codes, two_columns
from untrue.checks import check_choice, check_number
from untrue.errors import ArgumentError, DataError, counted
from untrue.losses.registry import MIXED, MixedName
from untrue.metrics.inputs import check_same_length
from untrue.metrics.layouts import read_weight
from untrue.metrics.probabilities import softmax
from untrue.optional import missing
from untrue.penalty import ExamplePenalty, Penalty
from untrue.penalty.stated import has_names, penalty_of_codes

__all__ = [
    "lightgbm_metric",
    "lightgbm_objective",
    "probs",
    "start_scores",
    "xgboost_metric",
    "xgboost_objective",
]

Measure = Literal["loss", "cost"]
Library = Literal["lightgbm", "xgboost"]

LEAST_HESSIAN = 1e-16  # smaller second derivatives count as this: XGBoost's own floor
LEAST_SHARE = 1e-15  # a rarer class starts as if it were so frequent: LightGBM's own floor


def lightgbm_objective(
    penalty: Penalty | ExamplePenalty | Any,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
    *,
    classes: Sequence[Any] | None = None,
) -> Objective:
    """An objective for `lightgbm.train` (as `params["objective"]`) and for `LGBMClassifier`.

    penalty: a `Penalty` or a (k, k) matrix whose classes are in the order of the codes 0, 1, ...
    With `classes`, the labels in the order of their codes (of an `LGBMClassifier`: sorted), a
    penalty with names is matched by name, and rules by label, `{(true, predicted): cost}`, may be
    given. An estimator with a penalty that has names needs `classes`.

    >>> objective = lightgbm_objective(Penalty.from_ordinal(3), alpha=0.5)
    >>> gradient, hessian = objective(np.array([0.0]), np.array([[2.0, 1.0, 0.0]]))
    >>> gradient.round(3).tolist() == np.float32([[-0.309, 0.193, 0.116]]).tolist()
    True
    """
    costs, unmatched = _read_penalty(penalty, classes)
    k = _n_classes(costs)
    _check("lightgbm", loss, alpha)
    scale = k / (k - 1) if k > 1 else 1.0
    return Objective(costs, loss, float(alpha), scale, unmatched)


def xgboost_objective(
    penalty: Penalty | ExamplePenalty | Any,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
    *,
    classes: Sequence[Any] | None = None,
) -> Objective:
    """An objective for `xgboost.train(..., obj=)` and `XGBClassifier(objective=)`.

    Arguments as in `lightgbm_objective`.
    """
    costs, unmatched = _read_penalty(penalty, classes)
    _check("xgboost", loss, alpha)
    return Objective(costs, loss, float(alpha), 2.0, unmatched)


def lightgbm_metric(
    penalty: Penalty | ExamplePenalty | Any,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
    *,
    measure: Measure = "loss",
    raw: bool = True,
    classes: Sequence[Any] | None = None,
) -> Metric:
    """A metric for `lightgbm.train(..., feval=)` and `LGBMClassifier.fit(..., eval_metric=)`.

    measure: "loss", the mean loss; "cost", the mean cost of predicting the class of greatest score.
    Lower is better; sample weights count in the mean. raw: whether the metric will see raw scores,
    as it does beside our objectives; False beside the library's own, which hands out probabilities.
    """
    return _metric("lightgbm", penalty, loss, alpha, measure, raw=raw, classes=classes)


def xgboost_metric(
    penalty: Penalty | ExamplePenalty | Any,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
    *,
    measure: Measure = "loss",
    raw: bool = True,
    classes: Sequence[Any] | None = None,
) -> Metric:
    """A metric for `xgboost.train(..., custom_metric=)` and `XGBClassifier(eval_metric=)`.

    Arguments as in `lightgbm_metric`.
    """
    return _metric("xgboost", penalty, loss, alpha, measure, raw=raw, classes=classes)


def probs(raw: npt.ArrayLike) -> FloatArray:
    """Raw scores (N, k), or (N,) of two classes, to probabilities (N, k) for `untrue.decide`.

    >>> probs([[0.0, 0.0]])
    array([[0.5, 0.5]])
    """
    scores = np.asarray(raw, np.float64)
    if scores.ndim not in (1, 2):
        raise ArgumentError(f"`raw` must have shape (N, k) or (N,); got {scores.shape}.")
    logits = two_columns(scores) if scores.ndim == 1 or scores.shape[1] == 1 else scores
    return softmax(logits)


def start_scores(
    penalty: Penalty | ExamplePenalty | Any,
    target: npt.ArrayLike,
    loss: MixedName = "bilinear",
    alpha: float = 0.5,
    *,
    weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """(k,) Where boosting should start: the scores of least mean loss that are the same for all.

    With alpha = 0 they are the logarithms of the class frequencies, and so they are with alpha = 1,
    where the least loss may be at infinite scores. target (N,): codes in the order of the penalty's
    classes; weight (N,): what an example counts; 2 is a row given twice.

    >>> start = start_scores(Penalty.from_ordinal(3), [0, 0, 1, 2], alpha=0.0)
    >>> probs([start])
    array([[0.5 , 0.25, 0.25]])
    """
    costs, _ = _read_penalty(penalty, None)
    _check(None, loss, alpha)
    labels = read_codes(np.asarray(target).reshape(-1), _n_classes(costs))
    weights = np.ones(len(labels)) if weight is None else read_weight(weight)
    check_same_length(target=labels, weight=weights)
    if not weights.any():
        raise DataError("There must be at least one example, and one of a `weight` above 0.")
    shares = np.bincount(labels, weights, minlength=_n_classes(costs)) / weights.sum()
    plain = np.asarray(np.log(np.maximum(shares, LEAST_SHARE)))
    if not 0.0 < alpha < 1.0:
        return plain
    by_example = isinstance(costs, ExamplePenalty)
    means = weights @ _rows(costs, labels) / weights.sum() if by_example else shares @ costs

    # All examples together are one whose target has the weights `shares`.
    def value(scores: FloatArray) -> tuple[float, FloatArray]:
        one = (scores[None], shares[None], means[None])
        found = reference.losses(*one, loss=loss, alpha=alpha)
        return float(found[0]), reference.gradients(*one, loss=loss, alpha=alpha)[0]

    least = minimize(value, plain, jac=True, method="BFGS", options={"gtol": 1e-9})
    return np.asarray(least.x - least.x.mean())


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """`(gradient, hessian)` of a loss by raw scores, example weights included.

    A Booster calls it with `(scores, data)`, an estimator with `(labels, scores, weights)`; both
    arrays have the shape of the scores, (N, k) or (N,) for two classes with a single score.

    costs (k, k), true class first, or those of each example; scale: how much the library enlarges
    the second derivatives of its own multi-class objective (not of its binary one); unmatched:
    class names that an estimator's labels must be matched with, by `classes`, before it may call
    """

    costs: FloatArray | ExamplePenalty
    loss: MixedName
    alpha: float
    scale: float
    unmatched: tuple[str, ...] = ()

    # XGBoost looks for an argument named `sample_weight`, LightGBM counts arguments.
    def __call__(
        self, first: Any, second: Any, sample_weight: Any = None
    ) -> tuple[newton.Singles, newton.Singles]:
        call = read_call(
            first, second, sample_weight, _n_classes(self.costs), raw=True, unmatched=self.unmatched
        )
        costs = self.costs if not isinstance(self.costs, ExamplePenalty) else None
        gradient, bound = newton.newton_terms(
            call.logits,
            call.target,
            _rows(self.costs, call.target) if costs is None else costs,
            by_example=costs is None,
            loss=self.loss,
            alpha=self.alpha,
            scale=1.0 if call.single else self.scale,
            weight=call.weight,
            least=LEAST_HESSIAN,
        )
        if call.single:
            gradient, bound = gradient[:, 1:], bound[:, 1:]
        return gradient.reshape(call.shape), bound.reshape(call.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """The mean loss, or the mean cost of the greatest score's class, as the library needs it.

    Called as an `Objective`. LightGBM gets `(name, value, False)`, an XGBoost Booster
    `(name, value)`, an XGBoost estimator the value (it reads the name from `__name__`).
    """

    library: Library
    costs: FloatArray | ExamplePenalty
    loss: MixedName
    alpha: float
    measure: Measure
    raw: bool
    unmatched: tuple[str, ...] = ()

    @property
    def __name__(self) -> str:
        return f"{self.loss}-loss" if self.measure == "loss" else "cost"

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> Any:
        k = _n_classes(self.costs)
        call = read_call(first, second, sample_weight, k, raw=self.raw, unmatched=self.unmatched)
        rows = _rows(self.costs, call.target)
        if self.measure == "cost":
            values = np.take_along_axis(rows, call.logits.argmax(1)[:, None], axis=1)[:, 0]
        else:
            values = reference.losses(
                call.logits, call.target, rows, loss=self.loss, alpha=self.alpha
            )
        counts = len(values) > 0 if call.weight is None else bool(call.weight.any())
        value = float(np.average(values, weights=call.weight)) if counts else float("nan")
        if self.library == "lightgbm":
            return self.__name__, value, False
        return (self.__name__, value) if call.by_booster else value


def _read_penalty(
    penalty: Any, classes: Sequence[Any] | None
) -> tuple[FloatArray | ExamplePenalty, tuple[str, ...]]:
    """The costs over the codes, and the names that labels have yet to be matched with."""
    costs = penalty_of_codes(penalty, classes)
    by_class = costs.base if isinstance(costs, ExamplePenalty) else costs
    unmatched = by_class.classes if classes is None and has_names(by_class) else ()
    return costs if isinstance(costs, ExamplePenalty) else costs.matrix(), unmatched


def _n_classes(costs: FloatArray | ExamplePenalty) -> int:
    return costs.n_classes if isinstance(costs, ExamplePenalty) else len(costs)


def _rows(costs: FloatArray | ExamplePenalty, target: IntArray) -> FloatArray:
    """(N, k) What each answer costs each example."""
    if not isinstance(costs, ExamplePenalty):
        return np.asarray(costs[target])
    if len(costs) != len(target):
        raise DataError(
            f"The costs are of {counted(len(costs), 'example')}, but the data have "
            f"{counted(len(target), 'row')}: costs of each example go with the rows they were "
            "made for (`take` has some of them)."
        )
    return costs.rows(target)


def _metric(
    library: Library,
    penalty: Any,
    loss: MixedName,
    alpha: float,
    measure: Measure,
    *,
    raw: bool,
    classes: Sequence[Any] | None,
) -> Metric:
    costs, unmatched = _read_penalty(penalty, classes)
    _check(library, loss, alpha)
    check_choice("measure", measure, get_args(Measure))
    return Metric(library, costs, loss, float(alpha), measure, raw, unmatched)


def _check(library: Library | None, loss: MixedName, alpha: float) -> None:
    if library is not None and importlib.util.find_spec(library) is None:
        raise missing("untrue.boosting", library, "boosting")
    check_choice("loss", loss, MIXED)
    check_number("alpha", alpha, 0.0, 1.0)
