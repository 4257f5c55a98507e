"""`BilinearClassifier`: a small network for tables, trained by our losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from untrue.array_types import FloatArray
from untrue.checks import check_choice, check_count, check_number
from untrue.errors import ArgumentError
from untrue.losses import registry
from untrue.metrics.probabilities import softmax
from untrue.networks.perceptron import Layers, run, start_layers
from untrue.penalty import ExamplePenalty, FormulaPenalty
from untrue.sklearn.example_costs import class_costs, costs_of
from untrue.sklearn.meta import LabelledClassifierMixin, plain_labels, positions
from untrue.sklearn.stopping import (
    Rows,
    TrainedLayers,
    TrainingStart,
    folds_of,
    train_by_folds,
    train_once,
)
from untrue.sklearn.trained_by_costs import check_decision, least_cost
from untrue.training import Settings

# Up to this many examples are one batch, where weights are exactly repetitions.
WHOLE = 2048
BATCH = 256
# Steps that small data get, at most; large data get at least this many epochs.
STEPS = 200
LEAST_EPOCHS = 20


class BilinearClassifier(LabelledClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A multi-layer perceptron that minimises `(1 - alpha) CE + alpha (cost term)`.

    penalty             what each mistake costs: a `Penalty`, a matrix in the order of `classes_`,
                        rules by label `{(true, predicted): cost, "default": 1.0}`, or None: equal
    loss                "bilinear" (`y'Ap`) or "log-bilinear" (`-y'A log(1 - p)`)
    alpha               share of the cost term, from 0 (plain cross-entropy) to 1
    hidden              widths of the hidden layers; () is logistic regression
    decision            "argmax": `predict` gives the likeliest class. "cost": the one of least
                        expected cost, by the posterior behind the probabilities
                        (`untrue.posterior`), so that costs in the loss do not count twice;
                        alpha below 1. alpha=0 has them count in deciding alone.
    learning_rate       of AdamW
    epochs              passes over the data, at most; None: as many as make 200 steps, but at
                        least 20
    batch_size          None: all examples if there are at most 2,048, else 256
    weight_decay        AdamW's
    warmup              share of `epochs` over which alpha rises from 0, against collapse
    early_stopping      train only as long as it helps on examples that are left out. Up to 2,048
                        examples: each is left out once, in 5 folds; the number of passes that did
                        best is then made over all of them. More: `validation_fraction` of them
                        is left out, and the best pass is kept. A fold ends after `patience`
                        passes without progress.
    standardize         shift and scale every column to mean 0 and variance 1 first (with the
                        weights of the examples), so that raw tables work as they are
    random_state        an int makes training repeatable
    classes             where labels are codes 0, 1, ... that stand for names (a LabelEncoder's,
                        a StackingClassifier's): the names, in the order of the codes

    Fitted: `classes_`, `penalty_` (over them), `coefs_`, `intercepts_`, `scaler_`, `n_iter_`,
    `loss_curve_`, and with early stopping `validation_curve_`, the mean loss of the examples left
    out after each pass. A fitted model predicts by NumPy.

    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BilinearClassifier({(2, 0): 10.0}, alpha=0.5, random_state=0).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        penalty: Any = None,
        loss: registry.MixedName = "bilinear",
        alpha: float = 0.5,
        hidden: Sequence[int] = (64,),
        *,
        decision: Literal["argmax", "cost"] = "argmax",
        learning_rate: float = 0.01,
        epochs: int | None = None,
        batch_size: int | None = None,
        weight_decay: float = 1.0,
        warmup: float = 0.05,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int = 20,
        standardize: bool = True,
        random_state: Any = None,
        classes: Any = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.alpha = alpha
        self.hidden = hidden
        self.decision = decision
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.warmup = warmup
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.random_state = random_state
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None, cost_columns: Any = None) -> Self:
        """Train from scratch. X (N, d), y (N,), sample_weight (N,).

        Costs of each example count in training by their means of the classes.
        """
        self._check_parameters()
        given = X
        X, y = validate_data(self, X, plain_labels(y), dtype=np.float64)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, target = np.unique(y, return_inverse=True)
        rng = check_random_state(self.random_state)
        kept = weight > 0
        self._begin(X.shape[1], rng)
        costs = costs_of(self.penalty, self.classes_, self.classes, given, cost_columns)
        if isinstance(costs, ExamplePenalty):
            self.penalty_ = costs.mean(target, weight=weight)
        self.scaler_ = self._new_scaler()
        if self.scaler_ is not None:
            self.scaler_.fit(X[kept], sample_weight=weight[kept])
        rows = self._rows(X, target, weight)
        start = self._begin_training(rng)
        batch = self._batch(len(rows))
        steps = math.ceil(len(rows) / batch)
        epochs = self.epochs or min(max(math.ceil(STEPS / steps), LEAST_EPOCHS), STEPS)
        if self.early_stopping and len(rows) <= WHOLE:
            fold = folds_of(X[kept], target[kept], weight[kept], rng)
            settings = self._settings(epochs, batch, warmup=self.warmup)
            self._keep(train_by_folds(start, rows, fold, settings))
            return self
        left_out = None
        if self.early_stopping:
            rows, left_out = rows.parted(self.validation_fraction, rng)
        settings = self._settings(epochs, batch, "cosine", warmup=self.warmup)
        self._keep(train_once(start, rows, left_out, settings))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on training by one pass over these examples, at a constant learning rate.

        The first call needs `classes`, all labels there will be. Columns are standardized by what
        has been seen so far.
        """
        self._check_parameters()
        if isinstance(self.penalty, FormulaPenalty):
            raise ArgumentError(
                "partial_fit takes costs by class; these are by columns, and their means are known "
                "only with all examples. Use fit."
            )
        first = not hasattr(self, "coefs_")
        X, y = validate_data(self, X, plain_labels(y), dtype=np.float64, reset=first)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if first:
            if classes is None:
                raise ArgumentError(
                    "`classes`, all labels, must be given to the first partial_fit."
                )
            self.classes_ = np.unique(classes)
            self.scaler_ = self._new_scaler()
            self._rng = check_random_state(self.random_state)
            self._begin(X.shape[1], self._rng)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ArgumentError(
                f"`classes` must be those of the first call, {self.classes_.tolist()}; "
                f"got {list(classes)}."
            )
        target = positions(y, self.classes_)
        kept = weight > 0
        if not kept.any():
            return self
        if self.scaler_ is not None:
            self.scaler_.partial_fit(X[kept], sample_weight=weight[kept])
        rows = self._rows(X, target, weight)
        if not hasattr(self, "_rng"):
            self._rng = check_random_state(self.random_state)
        settings = self._settings(1, self._batch(len(rows)))
        self._keep(train_once(self._begin_training(self._rng), rows, None, settings))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """(N, k) Probabilities, in the order of `classes_`, as the loss taught them."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        inputs = X if self.scaler_ is None else self.scaler_.transform(X)
        logits = run(Layers(tuple(self.coefs_), tuple(self.intercepts_)), inputs)
        return softmax(logits)

    def predict(self, X: Any, cost_columns: Any = None) -> npt.NDArray[Any]:
        """(N,) Labels, by `decision`; by `cost_columns` or X where costs are formulas."""
        probs = self.predict_proba(X)
        if self.decision == "cost":
            costs = costs_of(self.penalty, self.classes_, self.classes, X, cost_columns)
            predicted = least_cost(
                probs, costs, trained_by=self.penalty_, alpha=self.alpha, loss=self.loss
            )
        else:
            predicted = probs.argmax(axis=1)
        return np.asarray(self.classes_[predicted])

    def _begin(self, n_features: int, rng: np.random.RandomState) -> None:
        self.penalty_ = class_costs(self.penalty, self.classes_, self.classes)
        layers = start_layers([n_features, *self.hidden, len(self.classes_)], rng)
        self.coefs_, self.intercepts_ = list(layers.weights), list(layers.biases)
        self.n_iter_ = 0
        self.loss_curve_: list[float] = []
        self.__dict__.pop("validation_curve_", None)  # of an earlier fit
        self._optimizer_state: dict[str, Any] | None = None

    def _new_scaler(self) -> Any:
        return StandardScaler() if self.standardize else None

    def _batch(self, n: int) -> int:
        return min(self.batch_size or (n if n <= WHOLE else BATCH), n)

    def _rows(self, X: Any, target: Any, weight: Any) -> Rows:
        kept = weight > 0
        inputs = X[kept] if self.scaler_ is None else self.scaler_.transform(X[kept])
        return Rows(inputs, target[kept].astype(np.int64), weight[kept])

    def _settings(
        self, epochs: int, batch_size: int, schedule: str = "constant", *, warmup: float = 0.0
    ) -> Settings:
        return Settings(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=float(self.learning_rate),
            optimizer="adamw",
            weight_decay=float(self.weight_decay),
            schedule=schedule,
            patience=self.patience if self.early_stopping else 0,
            warmup=float(warmup),
        )

    def _begin_training(self, rng: np.random.RandomState) -> TrainingStart:
        loss = registry.find(self.loss).make(self.penalty_, strength=self.alpha, reduction="none")
        layers = Layers(tuple(self.coefs_), tuple(self.intercepts_))
        return TrainingStart(
            layers, loss, seed=int(rng.randint(2**31 - 1)), state=self._optimizer_state
        )

    def _keep(self, made: TrainedLayers) -> None:
        self.coefs_, self.intercepts_ = list(made.layers.weights), list(made.layers.biases)
        self.n_iter_ += len(made.losses)
        self.loss_curve_ = [*self.loss_curve_, *made.losses]
        if made.validation_losses:
            self.validation_curve_ = list(made.validation_losses)
        self._optimizer_state = made.state

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, registry.MIXED)
        check_decision(self.decision, self.alpha)
        check_number("learning_rate", self.learning_rate, 0.0, math.inf, ends=False)
        check_number("weight_decay", self.weight_decay, 0.0, math.inf)
        check_number("warmup", self.warmup, 0.0, 1.0)
        check_number("validation_fraction", self.validation_fraction, 0.0, 1.0, ends=False)
        for name in ("epochs", "batch_size"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_count("patience", self.patience)
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Sequence | np.ndarray):
            raise ArgumentError(f"`hidden` must list the widths of layers; got {self.hidden!r}.")
        for width in self.hidden:
            check_count("hidden", width)
