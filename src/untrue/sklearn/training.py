"""A multi-layer perceptron as plain arrays: how it is made, trained by our losses, and run.

Training is in torch and float64, running it in NumPy. With all examples in one batch training
depends on their weights alone, not on their order: an example of weight 2 counts as two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from untrue.losses import AlphaSchedule, BilinearLoss, LogBilinearLoss

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layers:
    """Weights (inputs, outputs) and biases (outputs,) of each layer; ReLU between layers."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """Inputs (N, d), classes (N,) and weights (N,) of mean 1."""

    inputs: Floats
    target: Ints
    weight: Floats


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train: alpha rises to its full value over `warmup` of the steps, the learning rate
    falls along half a cosine if `decay`, weights shrink by `learning_rate * weight_decay` a step.
    """

    alpha: float
    learning_rate: float
    weight_decay: float
    epochs: int
    batch_size: int
    warmup: float
    patience: int
    decay: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """Trained layers, the mean loss of each epoch on the training and the validation examples
    (none if there were none), and the optimizer's state."""

    layers: Layers
    losses: list[float]
    validation_losses: list[float]
    optimizer_state: dict[str, Any]


def start_layers(sizes: Sequence[int], rng: np.random.RandomState) -> Layers:
    """Random layers from `sizes[0]` inputs to `sizes[-1]` outputs (He et al., 2015); the last is
    smaller, so that training starts with the classes about equally likely."""
    scales = [math.sqrt(2.0 / max(n, 1)) for n in sizes[:-1]]
    scales[-1] *= 0.1
    shapes = zip(sizes, sizes[1:], scales, strict=False)
    weights = tuple(rng.normal(scale=s, size=(a, b)) for a, b, s in shapes)
    return Layers(weights, tuple(np.zeros(n) for n in sizes[1:]))


def run(layers: Layers, inputs: Floats) -> Floats:
    """(N, d) -> (N, k) logits."""
    x = inputs
    for depth, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        x = (np.maximum(x, 0.0) if depth else x) @ weight + bias
    return x


def train(
    layers: Layers,
    loss: BilinearLoss | LogBilinearLoss,
    examples: Examples,
    validation: Examples | None,
    plan: Plan,
    rng: np.random.RandomState,
    optimizer_state: dict[str, Any] | None = None,
) -> Outcome:
    """Minimise the weighted mean of the loss (made with `reduction="none"`) by AdamW.

    With validation examples it stops when their loss has not fallen for `patience` epochs, and
    the layers of the best epoch are kept.
    """
    weights = [torch.tensor(w, requires_grad=True) for w in layers.weights]
    biases = [torch.tensor(b, requires_grad=True) for b in layers.biases]
    optimizer = torch.optim.AdamW(
        [*weights, *biases], lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True
    )
    if optimizer_state is not None:
        optimizer.load_state_dict(optimizer_state)
    data = _tensors(examples)
    n = len(examples.target)
    batches = math.ceil(n / plan.batch_size)
    steps = plan.epochs * batches
    schedule = _alpha_schedule(loss, plan, steps)
    losses: list[float] = []
    validation_losses: list[float] = []
    best = layers
    step = 0
    for _ in range(plan.epochs):
        order = None if batches == 1 else torch.from_numpy(rng.permutation(n))
        total = 0.0
        for begin in range(0, n, plan.batch_size):
            if plan.decay:
                falling = (1 + math.cos(math.pi * step / steps)) / 2
                optimizer.param_groups[0]["lr"] = plan.learning_rate * falling
            x, y, w = (
                data if order is None else [t[order[begin : begin + plan.batch_size]] for t in data]
            )
            optimizer.zero_grad()
            each: Tensor = w * loss(_forward(weights, biases, x), y)
            each.mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if schedule is not None:
                schedule.step()
            total += float(each.detach().sum())
            step += 1
        losses.append(total / n)
        if validation is not None:
            now = _layers(weights, biases)
            validation_losses.append(_mean_loss(loss, plan.alpha, now, validation))
            since_best = len(validation_losses) - 1 - int(np.argmin(validation_losses))
            best = now if since_best == 0 else best
            if since_best >= plan.patience:
                break
    found = _layers(weights, biases) if validation is None else best
    return Outcome(found, losses, validation_losses, optimizer.state_dict())


def _alpha_schedule(
    loss: BilinearLoss | LogBilinearLoss, plan: Plan, steps: int
) -> AlphaSchedule | None:
    warm = int(plan.warmup * steps)
    if not warm:
        loss.alpha = plan.alpha
        return None
    return AlphaSchedule(loss, final=plan.alpha, steps=warm)


def _mean_loss(
    loss: BilinearLoss | LogBilinearLoss, alpha: float, layers: Layers, examples: Examples
) -> float:
    """At full alpha, whatever the warm-up has come to: epochs are compared by one measure."""
    _, y, w = _tensors(examples)
    now, loss.alpha = loss.alpha, alpha
    with torch.no_grad():
        each = loss(torch.from_numpy(run(layers, examples.inputs)), y)
    loss.alpha = now
    return float((w * each).mean())


def _tensors(examples: Examples) -> list[Tensor]:
    return [torch.tensor(part) for part in (examples.inputs, examples.target, examples.weight)]


def _forward(weights: list[Tensor], biases: list[Tensor], inputs: Tensor) -> Tensor:
    x = inputs
    for depth, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        x = torch.addmm(bias, x.relu() if depth else x, weight)
    return x


def _layers(weights: list[Tensor], biases: list[Tensor]) -> Layers:
    def arrays(tensors: list[Tensor]) -> tuple[Floats, ...]:
        return tuple(t.detach().numpy().copy() for t in tensors)

    return Layers(arrays(weights), arrays(biases))
