"""How long a training will take, from a few steps of it on a network that is thrown away."""

from __future__ import annotations

import math
import time

from torch import nn

from untrue.networks import NetworkSpec, from_spec, place
from untrue.networks.normalize import learn_scale
from untrue.training.device import keep_memory, reproducible
from untrue.training.evaluation import Objective, batch_loss, exits, mean_loss
from untrue.training.examples import Examples, network_input
from untrue.training.optimizers import make_optimizer
from untrue.training.settings import Settings

MOST_EXAMPLES = 256
"""The most in a step that is timed: a larger batch takes longer in proportion."""
MOST_STEPS = 10
MOST_SECONDS = 0.5


def seconds_per_epoch(
    spec: NetworkSpec,
    objective: Objective,
    examples: Examples,
    settings: Settings,
    *,
    watched: Examples | None = None,
) -> float:
    """What a pass over the examples takes here and now, with the look at `watched` after it."""
    keep_memory()
    size = min(settings.batch_size, len(examples), MOST_EXAMPLES)
    with reproducible(0, examples.device):
        network = place(from_spec(spec), examples.device)
        learn_scale(network, examples.inputs)
        step = _step_seconds(network, objective, _first(examples, size), settings)
        looking = 0.0
        if watched is not None:
            few = _first(watched, 2 * size)
            started = time.perf_counter()
            mean_loss(network, objective, few)
            looking = (time.perf_counter() - started) * len(watched) / len(few)
    batch = min(settings.batch_size, len(examples))
    return step * (batch / size) * math.ceil(len(examples) / batch) + looking


def _step_seconds(
    network: nn.Module, objective: Objective, batch: Examples, settings: Settings
) -> float:
    """The least of a few steps but the first, which sets up memory."""
    if isinstance(objective, nn.Module):
        objective.to(batch.device)
    network.train()
    optimizer = make_optimizer(network, settings)
    took: list[float] = []
    begun = time.perf_counter()
    while len(took) < 2 or (len(took) <= MOST_STEPS and time.perf_counter() - begun < MOST_SECONDS):
        started = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        outputs = exits(network(network_input(batch.inputs)))
        loss = batch_loss(objective, outputs, batch.labels, batch.weights)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        loss.item()  # waits for the device
        took.append(time.perf_counter() - started)
    return min(took[1:])


def _first(examples: Examples, count: int) -> Examples:
    weights = None if examples.weights is None else examples.weights[:count]
    return Examples(examples.inputs[:count], examples.labels[:count], weights)
