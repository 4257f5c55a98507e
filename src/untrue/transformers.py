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

# What the Trainer leaves out when it counts labels.
IGNORED = -100


def compute_loss_func(loss: PenaltyLoss) -> Callable[..., torch.Tensor]:
    """The `compute_loss_func` of a Trainer, by a loss such as `untrue.BilinearLoss`.

    Under gradient accumulation the Trainer passes how many labels all batches of a step have: the
    mean of each batch counts by its share of them, so that the step is that of one large batch. Not
    so with class weights (`weight`) or another `ignore_index` than the Trainer's own -100: a batch
    still counts by the labels that the Trainer counts.
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
        # The mean of no labels is nan, its gradient 0.
        found = torch.where((labels != loss.ignore_index).any(), mean, 0.0)
        count = torch.as_tensor(num_items_in_batch).clamp(min=1)  # none at all: 0, not nan
        share: torch.Tensor = (labels != IGNORED).sum() / count
        return found * share

    return of_outputs


def compute_metrics(
    penalty: Penalty | Any,
    *,
    hierarchy: Hierarchy | None = None,
    groups: Groups | None = None,
    ignore_index: int = IGNORED,
) -> Callable[[Any], dict[str, float]]:
    """The `compute_metrics` of a Trainer: total_error, expected_cost and zone_errors.

    With `hierarchy` mistake_severity too, with `groups` coarse_error; see `untrue.metrics`. The
    answer is the class of the greatest logit; of one logit, that of class 1 of two, its sign.
    Predictions may be classes too, as `preprocess_logits_for_metrics` makes them to save memory.
    """
    costs = penalty if isinstance(penalty, Penalty) else Penalty.from_matrix(penalty)

    def of_predictions(predictions: Any) -> dict[str, float]:
        given, labels = predictions.predictions, np.asarray(predictions.label_ids)
        found = np.asarray(given[0] if isinstance(given, tuple) else given)
        answers = _answers(found, labels.shape, costs.n_classes)
        cm = metrics.confusion_matrix(labels, answers, costs.n_classes, ignore_index=ignore_index)
        measured = {
            "total_error": metrics.total_error(cm),
            "expected_cost": metrics.expected_cost(cm, costs),
            "zone_errors": float(metrics.zone_errors(cm, costs)),
        }
        if hierarchy is not None:
            measured["mistake_severity"] = metrics.mistake_severity(cm, hierarchy)
        if groups is not None:
            measured["coarse_error"] = metrics.coarse_error(cm, groups, classes=costs.classes)
        return measured

    return of_predictions


def _answers(found: Any, labels: tuple[int, ...], n_classes: int) -> Any:
    """The classes that predictions of a model name, in the shape of the labels."""
    if found.shape == labels and found.dtype.kind in "iu":
        return found
    dim = -1 if _classes_last(found.shape, labels) else 1
    if (found.shape[dim], n_classes) == (1, 2):
        return (found > 0).squeeze(dim).astype(np.int64)
    if found.shape[dim] != n_classes:
        raise ArgumentError(
            f"The penalty is for {n_classes} classes, but the model gives {found.shape[dim]} "
            "logits per label."
        )
    return found.argmax(dim)


def _classes_last(logits: Any, labels: Any) -> bool:
    """Where the classes are: last, as in text, or in dimension 1, as in images.

    Both may fit: three classes of 3 x 3 pixels, three classes of three tokens.
    """
    shape, wanted = tuple(logits), tuple(labels)
    last, second = shape[:-1] == wanted, shape[:1] + shape[2:] == wanted
    if last or second:
        return last and not (second and len(shape) == 4)
    raise ArgumentError(f"Logits of shape {shape} do not fit labels of shape {wanted}.")
