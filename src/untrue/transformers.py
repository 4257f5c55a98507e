"""For the Trainer of Hugging Face: a loss by costs, and measures of where the errors went.

    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=train,
        eval_dataset=test,
        compute_loss_func=compute_loss_func(untrue.BilinearLoss(penalty, alpha=0.5)),
        compute_metrics=compute_metrics(penalty),
    )

For models that give `logits`: of sequences or images (N, k), of tokens (N, T, k), of pixels
(N, k, H, W). Labels are class indices; those of `ignore_index`, -100, are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from untrue import metrics
from untrue.errors import ArgumentError
from untrue.metrics.inputs import Groups
from untrue.optional import missing
from untrue.penalty import Penalty

try:
    import torch
    import transformers as _transformers  # noqa: F401
except ImportError as error:
    raise missing("untrue.transformers", "transformers", "frameworks") from error

from untrue.losses.base import PenaltyLoss

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy

__all__ = ["compute_loss_func", "compute_metrics"]


def compute_loss_func(loss: PenaltyLoss) -> Callable[..., torch.Tensor]:
    """The `compute_loss_func` of a Trainer, by a loss such as `untrue.BilinearLoss`.

    Under gradient accumulation the Trainer passes how many labels all batches of a step have: the
    mean of each batch counts by its share of them, so that the step is that of one large batch. Not
    so with class weights (`weight`): a batch still counts by its labels, not by their weights.
    """
    if not isinstance(loss, PenaltyLoss) or loss.reduction != "mean":
        raise ArgumentError(
            "`loss` must be a loss by costs, such as untrue.BilinearLoss(penalty), with "
            f"reduction='mean'; got {loss!r}."
        )

    def of_outputs(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> torch.Tensor:
        if labels is None:
            raise ArgumentError("The data have no `labels`, which a loss by costs needs.")
        logits = outputs["logits"] if isinstance(outputs, dict) else outputs[0]
        if _classes_last(logits.shape, labels.shape):
            logits = logits.movedim(-1, 1)
        mean: torch.Tensor = loss.to(logits.device)(logits, labels)
        if num_items_in_batch is None:
            return mean
        counted = (labels != loss.ignore_index).sum()
        # The mean of no labels is nan, its gradient 0.
        share: torch.Tensor = counted / num_items_in_batch
        return torch.where(counted > 0, mean, 0.0) * share

    return of_outputs


def compute_metrics(
    penalty: Penalty | Any,
    *,
    hierarchy: Hierarchy | None = None,
    groups: Groups | None = None,
    ignore_index: int = -100,
) -> Callable[[Any], dict[str, float]]:
    """The `compute_metrics` of a Trainer: total_error, expected_cost and zone_errors.

    With `hierarchy` mistake_severity too, with `groups` coarse_error; see `untrue.metrics`. The
    answer is the class of the greatest logit.
    """
    costs = penalty if isinstance(penalty, Penalty) else Penalty.from_matrix(penalty)

    def of_predictions(predictions: Any) -> dict[str, float]:
        given, labels = predictions.predictions, np.asarray(predictions.label_ids)
        logits = np.asarray(given[0] if isinstance(given, tuple) else given)
        answers = logits.argmax(-1 if _classes_last(logits.shape, labels.shape) else 1)
        cm = metrics.confusion_matrix(labels, answers, costs.n_classes, ignore_index=ignore_index)
        found = {
            "total_error": metrics.total_error(cm),
            "expected_cost": metrics.expected_cost(cm, costs),
            "zone_errors": float(metrics.zone_errors(cm, costs)),
        }
        if hierarchy is not None:
            found["mistake_severity"] = metrics.mistake_severity(cm, hierarchy)
        if groups is not None:
            found["coarse_error"] = metrics.coarse_error(cm, groups, classes=costs.classes)
        return found

    return of_predictions


def _classes_last(logits: Any, labels: Any) -> bool:
    """Where the classes are: last, as in text, or in dimension 1, as in images.

    Both may fit: three classes of 3 x 3 pixels, three classes of three tokens.
    """
    shape, wanted = tuple(logits), tuple(labels)
    last, second = shape[:-1] == wanted, shape[:1] + shape[2:] == wanted
    if last or second:
        return last and not (second and len(shape) == 4)
    raise ArgumentError(f"Logits of shape {shape} do not fit labels of shape {wanted}.")
