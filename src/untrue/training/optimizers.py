"""The optimizer and the learning rate of a training, by its settings."""

from __future__ import annotations

import math

import torch
from torch import nn

from untrue.training.settings import Settings

RISE = 0.25
"""Share of the steps over which a one-cycle rate rises."""


def make_optimizer(network: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """Kernels and matrices decay; biases and normalisations, one number per channel, do not."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    rate = settings.learning_rate
    if settings.optimizer == "sgd":
        momentum = settings.momentum
        return torch.optim.SGD(
            groups, lr=rate, momentum=momentum, nesterov=momentum > 0, fused=True
        )
    kind = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.AdamW
    return kind(groups, lr=rate, fused=True)


def rate_at(settings: Settings, step: int, steps: int) -> float:
    """The learning rate of a step (from 0) of `steps`."""
    rate, share = settings.learning_rate, step / steps
    if settings.schedule == "cosine":
        return rate * (1 + math.cos(math.pi * share)) / 2
    if settings.schedule == "one-cycle":
        # Half a step on, so that neither the first nor the last step stands still.
        share = (step + 0.5) / steps
        return rate * min(share / RISE, (1 - share) / (1 - RISE))
    return rate


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate
