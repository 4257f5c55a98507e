"""A Lightning callback: warms alpha up, counts validation errors, moves budgets, logs all of it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from untrue import metrics
from untrue.checks import check_choice, check_number
from untrue.errors import ArgumentError
from untrue.optional import missing

try:
    import torch
    from torch import Tensor

    try:
        from pytorch_lightning import Callback
    except ImportError:  # the same under its newer name
        from lightning.pytorch import Callback
except ImportError as error:
    raise missing("untrue.lightning", "pytorch_lightning", "frameworks") from error

from untrue.losses.bilinear import MixedLoss
from untrue.losses.budgeted import BudgetedLoss, BudgetUpdate
from untrue.losses.schedule import AlphaSchedule, Shape, check_schedule

__all__ = ["CostCallback"]


class CostCallback(Callback):
    """What a loss by costs wants from a training loop, for a loss that is part of the module.

    loss         the name of the loss in the LightningModule: "loss" for `self.loss`
    final_alpha  warm alpha up to it; None leaves alpha alone
    steps        over how many epochs, or optimizer steps
    every        "epoch" or "step": which of them `steps` counts
    start, shape as in `untrue.AlphaSchedule`

    Alpha follows the Trainer's own count, so that a run that is resumed continues where it was.

    `validation_step` returns {"logits": (N, k, ...), "target": (N, ...)}, or with "predicted" the
    classes in place of logits. Over a validation epoch, of all loaders and all processes, a
    confusion matrix is counted (`confusion`, true class first); "val_total_error",
    "val_expected_cost" and "val_zone_errors" are logged, and during `fit` a `BudgetedLoss` is
    updated by it (`budget_update`), with its multipliers logged by the text of the budget.
    """

    def __init__(
        self,
        loss: str = "loss",
        *,
        final_alpha: float | None = None,
        steps: int | None = None,
        every: Literal["epoch", "step"] = "epoch",
        start: float = 0.0,
        shape: Shape = "linear",
    ) -> None:
        super().__init__()
        check_choice("every", every, ("epoch", "step"))
        if (final_alpha is None) != (steps is None):
            raise ArgumentError(
                "`final_alpha` and `steps` belong together: where alpha goes, and how fast; got "
                f"final_alpha={final_alpha!r} and steps={steps!r}."
            )
        check_schedule(1 if steps is None else steps, shape)
        check_number("start", start, 0.0, 1.0)
        if final_alpha is not None:
            check_number("final_alpha", final_alpha, 0.0, 1.0)
        self.loss, self.every = loss, every
        self.final_alpha, self.steps, self.start, self.shape = final_alpha, steps, start, shape
        self.schedule: AlphaSchedule | None = None
        self.confusion: np.ndarray[Any, np.dtype[np.int64]] | None = None
        self.budget_update: BudgetUpdate | None = None
        self._counts: Tensor | None = None

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        loss = self._loss_of(pl_module)
        if self.final_alpha is not None and self.steps is not None:
            self.schedule = AlphaSchedule(
                loss, final=self.final_alpha, steps=self.steps, start=self.start, shape=self.shape
            )

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self.schedule is not None and self.every == "epoch":
            self.schedule.done = trainer.current_epoch
        if self.every == "epoch":
            self._log_alpha(pl_module)

    def on_train_batch_start(
        self,
        trainer: Any,
        pl_module: Any,
        batch: Any,  # noqa: ARG002
        batch_idx: int,  # noqa: ARG002
    ) -> None:
        if self.every == "step":
            if self.schedule is not None:
                self.schedule.done = trainer.global_step
            self._log_alpha(pl_module)

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        k = self._loss_of(pl_module).penalty.n_classes
        self._counts = torch.zeros(k, k, dtype=torch.int64, device=pl_module.device)

    def on_validation_batch_end(
        self,
        trainer: Any,  # noqa: ARG002
        pl_module: Any,
        outputs: Any,
        batch: Any,  # noqa: ARG002
        batch_idx: int,  # noqa: ARG002
        dataloader_idx: int = 0,  # noqa: ARG002
    ) -> None:
        loss = self._loss_of(pl_module)
        predicted, target = _answers(outputs, binary=loss.binary)
        counted = metrics.confusion_matrix(
            target, predicted, loss.penalty.n_classes, ignore_index=loss.ignore_index
        )
        assert self._counts is not None
        self._counts += torch.from_numpy(counted).to(self._counts.device)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        loss = self._loss_of(pl_module)
        assert self._counts is not None
        summed = trainer.strategy.reduce(self._counts, reduce_op="sum")
        self._counts = None
        if trainer.sanity_checking:  # a few batches before training: they say nothing
            return
        self.confusion = summed.cpu().numpy()
        found = {
            "val_total_error": metrics.total_error(self.confusion),
            "val_expected_cost": metrics.expected_cost(self.confusion, loss.penalty),
            "val_zone_errors": float(metrics.zone_errors(self.confusion, loss.penalty)),
        }
        if isinstance(loss, BudgetedLoss):
            if trainer.state.fn == "fit":
                self.budget_update = loss.update(self.confusion)
            found |= {f"multiplier {name}": value for name, value in loss.multipliers.items()}
        # All processes hold the same numbers: the mean that Lightning makes of them is the number.
        pl_module.log_dict(found, sync_dist=True)

    def _log_alpha(self, pl_module: Any) -> None:
        pl_module.log("alpha", self._loss_of(pl_module).alpha, sync_dist=True)

    def _loss_of(self, pl_module: Any) -> MixedLoss:
        found = getattr(pl_module, self.loss, None)
        if not isinstance(found, MixedLoss):
            raise ArgumentError(
                f"`loss` must name a BilinearLoss, LogBilinearLoss or BudgetedLoss of the module, "
                f"but its {self.loss!r} is {type(found).__name__}."
            )
        return found


def _answers(outputs: Any, *, binary: bool) -> tuple[Tensor, Tensor]:
    """Classes predicted and true of what `validation_step` returned."""
    given = outputs if isinstance(outputs, dict) else {}
    if "target" not in given or not {"logits", "predicted"} & set(given):
        what = f"the keys {sorted(given)}" if given else type(outputs).__name__
        raise ArgumentError(
            '`validation_step` must return {"logits": logits, "target": target}, or "predicted", '
            f"the classes, in place of logits; got {what}."
        )
    if "predicted" in given:
        return given["predicted"], given["target"]
    logits, target = given["logits"], given["target"]
    return (logits > 0).long().reshape(target.shape) if binary else logits.argmax(1), target
