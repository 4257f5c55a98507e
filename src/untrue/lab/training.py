"""Train one model from its config: same config, same machine, same result, bit for bit.

Fast on small networks: no loader, images kept as bytes on the device and converted batch by
batch, channels-last memory, fused Adam. Numbers are looked at every `CHECK_EVERY` steps only, so
that a GPU is not stalled.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from untrue.errors import ArgumentError, UntrueError
from untrue.lab import methods, models, networks
from untrue.lab.data import Dataset
from untrue.lab.machine import provenance
from untrue.lab.methods import Method, Objective
from untrue.lab.records import DatasetInfo, RunConfig, RunResult
from untrue.lab.splits import Indices, describe, split

CHECK_EVERY = 100
SHIFT = 4
EVALUATION_BATCH = 500


class DivergedError(UntrueError, ArithmeticError):
    """Training that ran into infinity or NaN."""


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: `step` of `steps` in `epoch` (from 1) of `epochs`, mean loss so far."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A finished run: its record, the test probabilities (N, k) and the network itself."""

    result: RunResult
    probs: npt.NDArray[np.float32]
    network: nn.Module


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Images:
    """Bytes (N, H, W, C) and labels (N,) on the device. A batch is channels-last floats."""

    pixels: Tensor
    labels: Tensor

    @classmethod
    def place(
        cls, pixels: npt.NDArray[np.uint8], labels: Indices, chosen: Indices, device: torch.device
    ) -> Images:
        last = np.ascontiguousarray(pixels[chosen].transpose(0, 2, 3, 1))
        return cls(torch.from_numpy(last).to(device), torch.from_numpy(labels[chosen]).to(device))

    def __len__(self) -> int:
        return len(self.labels)


def pick_device(wanted: str | None = None) -> torch.device:
    """The device asked for, or CUDA when there is one, or the CPU."""
    if wanted is None or wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise ArgumentError(f"`device` {wanted!r} cannot be used here: {reason}") from error
    return device


def train(
    config: RunConfig,
    data: Dataset,
    *,
    info: DatasetInfo | None = None,
    device: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train the model of `config` on `data` and score it on the test images.

    Raises `DivergedError` when the loss or a gradient is no longer finite.
    """
    started = time.perf_counter()
    place = pick_device(device)
    info = info or describe(data)
    networks.check(config.network, data.image_shape)
    method = methods.build(config, info)
    with _reproducible(config.seed, place):
        parts = split(config, data)
        train_images = Images.place(data.train_images, data.train_labels, parts.train, place)
        watched = Images.place(data.train_images, data.train_labels, parts.validation, place)
        built = models.build(config.network, width=config.width, n_classes=method.n_outputs)
        network = models.place(built, place)
        losses = _fit(network, objective(method, place), config, train_images, watched, on_progress)
        test = Images.place(data.test_images, data.test_labels, parts.test, place)
        outputs = _outputs(network, test)
        held_back = None
        if config.calibrate:
            held_back = _outputs(network, watched), data.train_labels[parts.validation]
    objective(method, torch.device("cpu"))
    scored = methods.score(
        method,
        config,
        info,
        outputs,
        data.test_labels[parts.test],
        held_back=held_back,
    )
    result = RunResult(
        config=config,
        status="ok",
        provenance=provenance(
            time.perf_counter() - started, device=str(place), threads=torch.get_num_threads()
        ),
        confusion=scored.confusion,
        decisions=scored.decisions,
        train_losses=tuple(losses.train),
        validation_losses=tuple(losses.validation),
        best_epoch=losses.best_epoch,
        test_loss=scored.test_loss,
        train_images=len(parts.train),
        parameters=models.parameter_count(network),
        temperature=scored.temperature,
        ece=scored.ece,
    )
    return Trained(result, scored.probs, network)


def objective(method: Method, device: torch.device) -> Objective:
    """The mean loss of a batch: outputs (N, n_outputs), target (N,) -> scalar, on the device."""
    loss = method.objective
    return loss.to(device) if isinstance(loss, nn.Module) else loss


def batches(
    images: Images, size: int, generator: torch.Generator, *, augment: bool = False
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch in random order: floats in [0, 1] (B, C, H, W) and labels (B,).

    The last batch may be smaller. augment: each image is mirrored or not, and moved by up to
    `SHIFT` pixels each way over black.
    """
    order = torch.randperm(len(images), generator=generator).to(images.labels.device)
    for chosen in torch.split(order, size):
        pixels = images.pixels[chosen]
        if augment:
            pixels = _shifted(pixels, generator)
        yield floats(pixels), images.labels[chosen]


def floats(pixels: Tensor) -> Tensor:
    """Bytes (B, H, W, C) to floats in [0, 1], (B, C, H, W) in channels-last memory."""
    return pixels.to(torch.float32).mul_(1 / 255).permute(0, 3, 1, 2)


def keep_memory() -> None:
    """Let the C library keep what a step frees, for the next step to use again.

    glibc hands free memory back to the system, page by page in and out at every step (a tenth of
    the time), until it has seen a block near its limit of 32 MB allocated and freed.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)


@dataclasses.dataclass(slots=True)
class _Losses:
    train: list[float]
    validation: list[float]
    best_epoch: int


def _fit(
    network: nn.Module,
    loss_of: Objective,
    config: RunConfig,
    images: Images,
    watched: Images,
    on_progress: Callable[[Progress], None] | None,
) -> _Losses:
    keep_memory()
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, fused=True)
    generator = torch.Generator().manual_seed(config.seed)
    steps = -(-len(images) // config.batch_size)
    losses = _Losses([], [], config.epochs)
    best: tuple[float, dict[str, Any]] | None = None
    for epoch in range(1, config.epochs + 1):
        network.train()
        total = torch.zeros((), dtype=torch.float64, device=images.labels.device)
        seen = 0
        epoch_batches = batches(images, config.batch_size, generator, augment=config.augment)
        for step, (x, target) in enumerate(epoch_batches, start=1):
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(network(x), target)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.detach() * len(target)
            seen += len(target)
            if step % CHECK_EVERY == 0 or step == steps:
                mean = total.item() / seen
                _check_finite(network, mean, config, epoch=epoch, step=step)
                if on_progress is not None:
                    on_progress(Progress(epoch, config.epochs, step, steps, mean))
        losses.train.append(mean)
        if config.patience:
            value = _mean_loss(network, loss_of, watched)
            losses.validation.append(value)
            if best is None or value < best[0]:
                best = (value, copy.deepcopy(network.state_dict()))
                losses.best_epoch = epoch
            elif epoch - losses.best_epoch >= config.patience:
                break
    if best is not None:
        network.load_state_dict(best[1])
    else:
        losses.best_epoch = len(losses.train)
    return losses


def _check_finite(
    network: nn.Module, loss: float, config: RunConfig, *, epoch: int, step: int
) -> None:
    """A NaN gradient makes NaN weights for good, so looking now and then misses none."""
    what = f"the loss is {loss}" if not np.isfinite(loss) else None
    if what is None:
        for name, parameter in network.named_parameters():
            gradient = parameter.grad
            if gradient is not None and not bool(gradient.isfinite().all()):
                what = f"the gradient of {name} is not finite"
                break
    if what is not None:
        raise DivergedError(
            f"Training stopped: {what} at epoch {epoch}, step {step} ({config.label}). "
            f"Lower the learning rate ({config.learning_rate:g}) or alpha ({config.alpha:g})."
        )


@torch.inference_mode()
def _mean_loss(network: nn.Module, loss_of: Objective, images: Images) -> float:
    network.eval()
    total = torch.zeros((), dtype=torch.float64, device=images.labels.device)
    for pixels, target in zip(
        torch.split(images.pixels, EVALUATION_BATCH),
        torch.split(images.labels, EVALUATION_BATCH),
        strict=True,
    ):
        total += loss_of(network(floats(pixels)), target) * len(target)
    return total.item() / len(images)


@torch.inference_mode()
def _outputs(network: nn.Module, images: Images) -> Tensor:
    network.eval()
    parts = [network(floats(pixels)) for pixels in torch.split(images.pixels, EVALUATION_BATCH)]
    return torch.cat(parts).float().cpu()


def _shifted(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """Each image (B, H, W, C) mirrored or not, and moved over black, by one gather."""
    n, height, width, _ = pixels.shape
    draws = torch.randint(0, 2 * SHIFT + 1, (2, n, 1), generator=generator)
    mirrored = torch.rand((n, 1), generator=generator) < 0.5
    rows = draws[0] + torch.arange(height)
    columns = draws[1] + torch.arange(width)
    columns = torch.where(mirrored, columns.flip(1), columns)
    rows, columns = rows.to(pixels.device), columns.to(pixels.device)
    padded = F.pad(pixels, (0, 0, SHIFT, SHIFT, SHIFT, SHIFT))
    each = torch.arange(n, device=pixels.device)[:, None, None]
    return padded[each, rows[:, :, None], columns[:, None, :]]


@contextlib.contextmanager
def _reproducible(seed: int, device: torch.device) -> Iterator[None]:
    """Seeded, deterministic kernels; the caller's random state and settings come back after."""
    cuda = device.type == "cuda"
    if cuda:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    strict = torch.are_deterministic_algorithms_enabled()
    memory: Any = torch.utils.deterministic
    fill = memory.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[device] if cuda else []):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        # Safe here, since nothing reads memory it has not written; filling it costs time.
        memory.fill_uninitialized_memory = False
        # Weights of dead units sink into denormal numbers, which a CPU handles slowly.
        torch.set_flush_denormal(True)
        try:
            yield
        finally:
            torch.set_flush_denormal(False)
            memory.fill_uninitialized_memory = fill
            torch.use_deterministic_algorithms(strict)
