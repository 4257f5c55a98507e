"""The bilinear losses for Keras 3, in `keras.ops`: for every backend, and saved with the model.

BilinearLoss     (1 - alpha) CE + alpha  y' A p
LogBilinearLoss  (1 - alpha) CE - alpha  y' A log(1 - p)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from untrue.checks import check_number
from untrue.errors import ArgumentError, MissingDependencyError, PenaltyError
from untrue.optional import missing
from untrue.penalty import ExamplePenalty, Penalty

try:
    import keras
    from keras import ops
except ImportError as error:
    if error.name is None or error.name.partition(".")[0] == "keras":
        raise missing("untrue.keras", "keras", "frameworks") from error
    raise MissingDependencyError(
        f"untrue.keras needs a backend of Keras, and {error.name} is missing: install it, or set "
        "KERAS_BACKEND to torch or jax before Keras is imported."
    ) from error

__all__ = ["BilinearLoss", "LogBilinearLoss"]


class MixedLoss(keras.losses.Loss):
    """What both losses share.

    penalty  a `Penalty`, or a (C, C) matrix of costs, true class first
    alpha    share of the cost term, 0 (cross-entropy) to 1; a compiled model keeps the one it has
    classes  the names of the classes, where the penalty is a matrix
    label_smoothing  as in Keras's own losses; it touches the cross-entropy alone
    from_logits  as in Keras's own losses; True is all there is
    options  those of `keras.losses.Loss`: reduction, name, dtype

    `y_pred` are logits (..., C): no softmax at the end of the model. `y_true` are class indices
    (...) or (..., 1), or probabilities (..., C). An index that is no class gives nan, even if its
    sample weight is 0: give padding any class.
    """

    def __init__(
        self,
        penalty: Penalty | Any,
        alpha: float = 0.5,
        *,
        classes: Sequence[str] | None = None,
        label_smoothing: float = 0.0,
        from_logits: bool = True,
        **options: Any,
    ) -> None:
        if from_logits is not True:
            raise ArgumentError(
                f"`from_logits` must be True; got {from_logits!r}. These losses are computed from "
                "logits: leave the softmax out of the model's last layer."
            )
        super().__init__(**options)
        if isinstance(penalty, ExamplePenalty):
            raise PenaltyError(
                "`penalty` must hold costs by class here; got an ExamplePenalty, costs of each "
                "example: `untrue.BilinearLoss` takes those, in torch."
            )
        if not isinstance(penalty, Penalty):
            penalty = Penalty.from_matrix(penalty, classes)
        self.penalty = penalty
        self.alpha = check_number("alpha", alpha, 0.0, 1.0)
        self.label_smoothing = check_number("label_smoothing", label_smoothing, 0.0, 1.0)

    @property
    def dtype(self) -> str:
        """What is computed in: Keras brings class indices to it, which 16 bits do not all hold."""
        given: str = super().dtype
        return given if given in ("float32", "float64") else "float32"

    def term(self, rows: Any, logits: Any) -> Any:
        """(...) What the probabilities of each example cost, by its costs (..., C)."""
        raise NotImplementedError

    def call(self, y_true: Any, y_pred: Any) -> Any:
        k = self.penalty.n_classes
        z, y = ops.convert_to_tensor(y_pred), ops.convert_to_tensor(y_true)
        shape = tuple(z.shape)
        if shape[-1:] != (k,):
            raise ArgumentError(f"The penalty is for {k} classes, but `y_pred` has shape {shape}.")
        if len(y.shape) == len(shape) and y.shape[-1] == 1 and k > 1:
            y = ops.squeeze(y, -1)
        # Keras makes class indices floats before a loss sees them; only the shapes differ.
        soft = len(y.shape) == len(shape)
        if tuple(y.shape) != (shape if soft else shape[:-1]):
            raise ArgumentError(
                f"`y_true` must be class indices of shape {shape[:-1]} or probabilities of shape "
                f"{shape}; got shape {tuple(y.shape)}."
            )
        costs = ops.convert_to_tensor(self.penalty.matrix(), dtype=z.dtype)
        log_p = ops.log_softmax(z, axis=-1)
        if soft:
            y = ops.cast(y, z.dtype)
            smooth = (1.0 - self.label_smoothing) * y + self.label_smoothing / k
            ce = -ops.sum(ops.where(smooth == 0.0, 0.0, smooth * log_p), axis=-1)
            return self._mix(ce, ops.matmul(y, costs), z)
        index = ops.cast(y, "int32")
        is_class = ops.logical_and(index >= 0, index < k)
        is_class = ops.logical_and(is_class, ops.cast(index, y.dtype) == y)  # 0.7 is none
        index = ops.where(is_class, index, 0)
        ce = -ops.squeeze(ops.take_along_axis(log_p, ops.expand_dims(index, -1), axis=-1), -1)
        if self.label_smoothing > 0.0:
            even = -ops.mean(log_p, axis=-1)
            ce = (1.0 - self.label_smoothing) * ce + self.label_smoothing * even
        losses = self._mix(ce, ops.take(costs, index, axis=0), z)
        return ops.where(is_class, losses, float("nan"))

    def _mix(self, ce: Any, rows: Any, logits: Any) -> Any:
        """What has no share is left out: it may be infinite, which times 0 would be nan."""
        if self.alpha == 0.0:
            return ce
        term = self.term(rows, logits)
        return term if self.alpha == 1.0 else (1.0 - self.alpha) * ce + self.alpha * term

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "penalty": self.penalty.matrix().tolist(),
            "alpha": self.alpha,
            "classes": list(self.penalty.classes),
            "label_smoothing": self.label_smoothing,
            "dtype": self.dtype,
        }


@keras.saving.register_keras_serializable(package="untrue")
class BilinearLoss(MixedLoss):
    """`(1 - alpha) CE + alpha y'Ap`: controls where wrong weight goes. See `MixedLoss`."""

    def term(self, rows: Any, logits: Any) -> Any:
        return ops.sum(rows * ops.softmax(logits, axis=-1), axis=-1)


@keras.saving.register_keras_serializable(package="untrue")
class LogBilinearLoss(MixedLoss):
    """`(1 - alpha) CE - alpha y'A log(1 - p)`: controls confident costly errors."""

    def term(self, rows: Any, logits: Any) -> Any:
        if self.penalty.n_classes == 1:  # nothing to confuse, and log(1 - p) is -inf
            return ops.zeros_like(logits[..., 0])
        # A class that costs nothing adds nothing, not even where it has all the weight.
        logs = log1m_softmax(logits)
        free = ops.logical_and(rows == 0.0, logs == -float("inf"))
        return -ops.sum(rows * ops.where(free, 0.0, logs), axis=-1)


def log1m_softmax(logits: Any) -> Any:
    """`log(1 - softmax(logits))` of two classes or more, exact where a probability rounds to 1.

    The likeliest class gets the log-sum-exp of the others; all other probabilities are at most
    1/2, where `log1p(-p)` is exact.
    """
    largest = ops.argmax(ops.stop_gradient(logits), axis=-1)
    mask = ops.one_hot(largest, logits.shape[-1], dtype="bool")
    others = ops.where(mask, -float("inf"), logits)
    # Seen from the second likeliest, so that large logits do not round their differences away.
    second = ops.max(ops.stop_gradient(others), axis=-1, keepdims=True)
    # Where all others are masked by -inf nothing is left to them, and nothing can be learned.
    alone = second == -float("inf")
    second = ops.where(alone, 0.0, second)
    others = ops.where(alone, 0.0, others) - second
    rest = ops.logsumexp(others, axis=-1, keepdims=True)
    top = ops.sum(ops.where(mask, logits - second, 0.0), axis=-1, keepdims=True)
    log_rest = -ops.logaddexp(top - rest, ops.zeros_like(top))
    log_rest = ops.where(alone, -float("inf"), log_rest)
    log_rest = log_rest + ops.stop_gradient(top - top)  # nan where the largest is infinite
    # In the likeliest class's own column stands a harmless log(1 - 0), which is replaced.
    return ops.where(mask, log_rest, ops.log1p(-ops.exp(others - rest + log_rest)))
