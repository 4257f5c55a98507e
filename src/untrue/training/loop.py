"""The training loop: same settings, examples and machine, same weights, bit for bit.

Numbers are looked at every `CHECK_EVERY` steps only, so that a GPU is not stalled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from untrue.checks import check_seed
from untrue.errors import DivergedError
from untrue.losses import AlphaSchedule
from untrue.networks import NetworkSpec, from_spec, place
from untrue.networks.normalize import learn_scale
from untrue.networks.weights import from_bytes, take_over
from untrue.training.device import keep_memory, reproducible
from untrue.training.evaluation import Objective, batch_loss, exits, mean_loss
from untrue.training.examples import Examples, batches
from untrue.training.optimizers import make_optimizer, rate_at, set_rate
from untrue.training.progress import History, Progress
from untrue.training.settings import Settings

CHECK_EVERY = 100
Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights to continue from, as safetensors. new_head: the last layer gets new weights."""

    content: bytes
    new_head: bool = False


def train_new(
    spec: NetworkSpec,
    objective: Objective,
    examples: Examples,
    settings: Settings,
    *,
    seed: int = 0,
    watched: Examples | None = None,
    start: Weights | None = None,
    on_progress: Tell | None = None,
) -> tuple[nn.Module, History]:
    """A new network of a spec, trained where the examples are.

    Every network of a spec and seed starts from the same weights and sees the same batches.
    start: the weights to continue from instead; a last layer of other outputs gets new ones.
    """
    check_seed(seed)
    with reproducible(seed, examples.device):
        network = place(from_spec(spec), examples.device)
        learn_scale(network, examples.inputs)
        if start is not None:
            take_over(network, from_bytes(start.content), new_head=start.new_head)
        history = train(
            network,
            objective,
            examples,
            settings,
            seed=seed,
            watched=watched,
            on_progress=on_progress,
        )
    return network, history


def train(
    network: nn.Module,
    objective: Objective,
    examples: Examples,
    settings: Settings,
    *,
    seed: int = 0,
    watched: Examples | None = None,
    on_progress: Tell | None = None,
    optimizer: torch.optim.Optimizer | None = None,
) -> History:
    """Train in place, on the device of the examples, where the network must be too.

    seed       of the order of the examples and of augmentation
    watched    validation examples: their loss is noted after each epoch; with `patience` it ends
               the training, and the weights of the best epoch come back
    optimizer  to continue with one that has a state; else a new one, by the settings

    Raises `DivergedError` when a loss or a gradient is no longer finite.
    """
    keep_memory()
    if isinstance(objective, nn.Module):
        objective.to(examples.device)
    optimizer = optimizer or make_optimizer(network, settings)
    set_rate(optimizer, settings.learning_rate)
    generator = torch.Generator().manual_seed(seed)
    steps = math.ceil(len(examples) / settings.batch_size)
    warmup = _Warmup(objective, int(settings.warmup * steps * settings.epochs))
    losses: list[float] = []
    watched_losses: list[float] = []
    best: dict[str, Tensor] | None = None
    best_epoch = 0
    with warmup as alpha:
        for epoch in range(1, settings.epochs + 1):
            network.train()
            total = torch.zeros((), dtype=torch.float64, device=examples.device)
            seen, mean = 0, math.nan
            parts = batches(
                examples,
                settings.batch_size,
                generator,
                augment=settings.augment,
                shift=settings.shift,
            )
            for step, (x, target, weights) in enumerate(parts, start=1):
                if settings.schedule != "constant":
                    done = (epoch - 1) * steps + step - 1
                    set_rate(optimizer, rate_at(settings, done, steps * settings.epochs))
                optimizer.zero_grad(set_to_none=True)
                loss = batch_loss(objective, exits(network(x)), target, weights)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                alpha.step()
                total += loss.detach() * len(target)
                seen += len(target)
                if step % CHECK_EVERY == 0 or step == steps:
                    mean = total.item() / seen
                    _check_finite(network, mean, settings, epoch=epoch, step=step)
                    if on_progress is not None and step < steps:
                        on_progress(Progress(epoch, settings.epochs, step, steps, mean))
            losses.append(mean)
            value = None
            if watched is not None:
                with alpha.full():
                    value = mean_loss(network, objective, watched)
                if not math.isfinite(value):
                    raise _diverged(f"the validation loss is {value}", settings, epoch, steps)
                watched_losses.append(value)
            if on_progress is not None:
                on_progress(Progress(epoch, settings.epochs, steps, steps, mean, value))
            if value is None or not settings.patience:
                best_epoch = epoch
            elif best is None or value < watched_losses[best_epoch - 1]:
                best = {name: value.clone() for name, value in network.state_dict().items()}
                best_epoch = epoch
            elif epoch - best_epoch >= settings.patience:
                break
    if best is not None:
        network.load_state_dict(best)
    network.eval()
    return History(tuple(losses), tuple(watched_losses), best_epoch)


class _Warmup:
    """The warm-up of alpha, for objectives that have one; it ends where it was at the start."""

    def __init__(self, objective: Any, steps: int) -> None:
        self._objective = objective
        self._schedule: AlphaSchedule | None = None
        if steps and hasattr(objective, "alpha"):
            self._schedule = AlphaSchedule(objective, final=objective.alpha, steps=steps)

    def step(self) -> None:
        if self._schedule is not None:
            self._schedule.step()

    def __enter__(self) -> _Warmup:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever ends a training before the warm-up is over, the loss is left as it was."""
        if self._schedule is not None:
            self._objective.alpha = self._schedule.final

    @contextmanager
    def full(self) -> Iterator[None]:
        """At full alpha, however far the warm-up has come: epochs are compared by one measure."""
        if self._schedule is None:
            yield
            return
        now, self._objective.alpha = self._objective.alpha, self._schedule.final
        try:
            yield
        finally:
            self._objective.alpha = now


def _check_finite(
    network: nn.Module, loss: float, settings: Settings, *, epoch: int, step: int
) -> None:
    """A NaN gradient makes NaN weights permanently, so checking every few steps is enough."""
    what = None if math.isfinite(loss) else f"the loss is {loss}"
    if what is None:
        for name, parameter in network.named_parameters():
            gradient = parameter.grad
            if gradient is not None and not bool(gradient.isfinite().all()):
                what = f"the gradient of {name} is not finite"
                break
    if what is not None:
        raise _diverged(what, settings, epoch, step)


def _diverged(what: str, settings: Settings, epoch: int, step: int) -> DivergedError:
    return DivergedError(
        f"Training stopped: {what} at epoch {epoch}, step {step}. Lower the learning rate "
        f"({settings.learning_rate:g}), the loss's alpha or the scale of the costs; columns of "
        "large numbers need standardizing."
    )
