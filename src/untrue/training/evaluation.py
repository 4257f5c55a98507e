"""What a network answers, with dropout off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from untrue.errors import ArgumentError
from untrue.exits import ExitAnswers, ExitRule, read_work
from untrue.networks.exits import ExitNetwork
from untrue.training.examples import Examples, input_tensor, network_input

Objective = Callable[[Tensor, Tensor], Tensor]
"""Outputs (N, n_outputs) and labels (N,) to the mean loss, or to the losses (N,). A
`MultiExitLoss` takes a list of outputs, one per exit."""
EVALUATION_BATCH = 512


@torch.inference_mode()
def outputs_of(network: nn.Module, inputs: Tensor) -> list[Tensor]:
    """Outputs (N, n_outputs) for inputs as `Examples` holds them: one tensor for each exit."""
    network.eval()
    parts = [exits(network(network_input(part))) for part in torch.split(inputs, EVALUATION_BATCH)]
    return [torch.cat(of_one_exit) for of_one_exit in zip(*parts, strict=True)]


@torch.inference_mode()
def staged_answers(
    network: ExitNetwork,
    inputs: Tensor,
    rule: ExitRule,
    *,
    calibrated: Sequence[Callable[[Tensor], Tensor]] | None = None,
    work: Sequence[float] | None = None,
) -> ExitAnswers:
    """Early answers (N,) for inputs as `Examples` holds them: see `ExitNetwork.answer`."""
    network.eval()
    parts = [
        network.answer(network_input(part), rule, calibrated=calibrated)
        for part in torch.split(inputs, EVALUATION_BATCH)
    ]
    return ExitAnswers(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.exits for part in parts]),
        np.concatenate([part.expected_cost for part in parts]),
        rule,
        read_work(work, rule.n_exits),
    )


def logits_of(network: nn.Module, inputs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Logits (N, n_outputs) of the last exit, for rows (N, features) or images (N, C, H, W)."""
    device = next(network.parameters()).device
    last = outputs_of(network, input_tensor(inputs).to(device))[-1]
    result: npt.NDArray[np.float32] = last.float().cpu().numpy()
    return result


@torch.inference_mode()
def mean_loss(network: nn.Module, objective: Objective, examples: Examples) -> float:
    """The objective's mean over all examples."""
    outputs = outputs_of(network, examples.inputs)
    return float(batch_loss(objective, outputs, examples.labels, examples.weights))


def exits(outputs: Tensor | list[Tensor] | tuple[Tensor, ...]) -> list[Tensor]:
    """What a network returned, as a list: a network with several exits returns one tensor each."""
    return [outputs] if isinstance(outputs, Tensor) else list(outputs)


def batch_loss(
    objective: Objective, outputs: list[Tensor], target: Tensor, weights: Tensor | None
) -> Tensor:
    """The mean loss of a batch, which is the mean over its exits where there are several.

    A loss of several exits (`untrue.MultiExitLoss`) takes them all and weighs them itself.
    """
    if hasattr(objective, "n_exits"):
        several: Any = objective
        return _mean(several(outputs, target), weights)
    losses = [_mean(objective(each, target), weights) for each in outputs]
    return losses[0] if len(losses) == 1 else torch.stack(losses).mean()


def _mean(losses: Tensor, weights: Tensor | None) -> Tensor:
    if weights is None:
        return losses.mean() if losses.ndim else losses
    if not losses.ndim:
        raise ArgumentError(
            "Weighted examples need the loss of each of them: make the loss with reduction='none'."
        )
    return (losses * weights).mean()
