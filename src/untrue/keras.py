"""The bilinear losses for Keras 3, in `keras.ops`: for every backend, and saved with the model.

BilinearLoss     (1 - alpha) CE + alpha  y' A p
LogBilinearLoss  (1 - alpha) CE - alpha  y' A log(1 - p)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from untrue.checks import check_number
from untrue.errors import ArgumentError
from untrue.optional import missing
from untrue.penalty import Penalty

try:
    import keras
    from keras import ops
except ImportError as error:
    raise missing("untrue.keras", "keras", "frameworks") from error

__all__ = ["BilinearLoss", "LogBilinearLoss"]


class MixedLoss(keras.losses.Loss):
    """What both losses share.

    penalty  a `Penalty`, or a (C, C) matrix of costs, true class first
    alpha    share of the cost term, 0 (cross-entropy) to 1; a compiled model keeps the one it has
    classes  the names of the classes, where the penalty is a matrix
    from_logits  as in Keras's own losses; True is all there is
    options  those of `keras.losses.Loss`: reduction, name, dtype

    `y_pred` are logits (..., C): no softmax at the end of the model. `y_true` are class indices
    (...) or (..., 1), or probabilities (..., C). A class that is none gives nan.
    """

    def __init__(
        self,
        penalty: Penalty | Any,
        alpha: float = 0.5,
        *,
        classes: Sequence[str] | None = None,
        from_logits: bool = True,
        **options: Any,
    ) -> None:
        if from_logits is not True:
            raise ArgumentError(
                f"`from_logits` must be True; got {from_logits!r}. These losses are computed from "
                "logits: leave the softmax out of the model's last layer."
            )
        super().__init__(**options)
        known = isinstance(penalty, Penalty)
        self.penalty = penalty if known else Penalty.from_matrix(np.asarray(penalty), classes)
        self.alpha = check_number("alpha", alpha, 0.0, 1.0)

    def term(self, rows: Any, logits: Any) -> Any:
        """(...) What the probabilities of each example cost, by its costs (..., C)."""
        raise NotImplementedError

    def call(self, y_true: Any, y_pred: Any) -> Any:
        k = self.penalty.n_classes
        z = ops.convert_to_tensor(y_pred)
        y = ops.convert_to_tensor(y_true)
        before = tuple(z.shape[:-1])
        if z.shape[-1] != k:
            raise ArgumentError(
                f"The penalty is for {k} classes, but `y_pred` has shape {tuple(z.shape)}."
            )
        if len(y.shape) == len(z.shape) and y.shape[-1] == 1 and k > 1:
            y = ops.squeeze(y, -1)
        # Keras makes class indices floats before a loss sees them; only the shapes differ.
        soft = len(y.shape) == len(z.shape)
        if tuple(y.shape) != (tuple(z.shape) if soft else before):
            raise ArgumentError(
                f"`y_true` must be class indices of shape {before} or probabilities of shape "
                f"{tuple(z.shape)}; got shape {tuple(y.shape)}."
            )
        if not soft:
            index = ops.cast(y, "int32")
            wrong = ops.logical_or(index < 0, index >= k)
            y = ops.one_hot(ops.where(wrong, 0, index), k, dtype=z.dtype)
        y = ops.cast(y, z.dtype)
        rows = ops.matmul(y, ops.convert_to_tensor(self.penalty.matrix(), dtype=z.dtype))
        ce = -ops.sum(y * ops.log_softmax(z, axis=-1), axis=-1)
        losses = (1.0 - self.alpha) * ce + self.alpha * self.term(rows, z)
        return losses if soft else ops.where(wrong, float("nan"), losses)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "penalty": self.penalty.matrix().tolist(),
            "alpha": self.alpha,
            "classes": list(self.penalty.classes),
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
        return -ops.sum(rows * log1m_softmax(logits), axis=-1)


def log1m_softmax(logits: Any) -> Any:
    """`log(1 - softmax(logits))`, exact where a probability rounds to 1.

    The likeliest class gets the log-sum-exp of the others; all other probabilities are at most
    1/2, where `log1p(-p)` is exact.
    """
    fixed = ops.stop_gradient(logits)
    largest = ops.argmax(fixed, axis=-1)
    mask = ops.one_hot(largest, logits.shape[-1], dtype="bool")
    # Seen from the second likeliest, so that large logits do not round their differences away.
    second = ops.max(ops.where(mask, -float("inf"), fixed), axis=-1, keepdims=True)
    others = ops.where(mask, -float("inf"), logits - second)
    rest = ops.logsumexp(others, axis=-1, keepdims=True)
    top = ops.sum(ops.where(mask, logits - second, 0.0), axis=-1, keepdims=True)
    log_rest = -ops.logaddexp(top - rest, ops.zeros_like(top))
    # In the likeliest class's own column stands a harmless log(1 - 0), which is replaced.
    return ops.where(mask, log_rest, ops.log1p(-ops.exp(others - rest + log_rest)))
