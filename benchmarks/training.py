"""Images a second: our training loop beside the plain one that everybody writes.

Same network (the paper's, for MNIST), same batch of 50, same images, one process, all cores,
turn by turn so that a busy machine slows both. Run: `python -m benchmarks.training`.

The plain loop: `DataLoader` over a `TensorDataset` of floats, default memory layout, ReLU before
pooling, `nn.Dropout`, Adam with PyTorch's defaults.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks import record
from untrue.lab.machine import hardware
from untrue.lab.models import build, parameter_count, place
from untrue.lab.training import Images, batches

BATCH = 50
IMAGES = 5_000
GOAL = 1.6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=25)
    options = parser.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (IMAGES, 1, 28, 28), dtype=np.uint8)
    labels = rng.integers(0, 10, IMAGES)
    loops = {"plain": plain_loop(pixels, labels), "untrue": our_loop(pixels, labels)}
    rates: dict[str, list[float]] = {name: [] for name in loops}
    for round_ in range(options.rounds + 1):
        for name, step in loops.items():
            started = time.perf_counter()
            for _ in range(options.steps):
                step()
            if round_:  # the first warms up
                taken = time.perf_counter() - started
                rates[name].append(BATCH * options.steps / taken)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = medians["untrue"] / medians["plain"]
    print(f"{hardware()}; torch {torch.__version__}, {torch.get_num_threads()} threads")
    for name, value in medians.items():
        print(f"{name:<7} {value:7.0f} images/s")
    print(f"ratio   {ratio:7.2f}  (goal: at least {GOAL})")
    rows = [
        {
            "loop": name,
            "images_per_second": round(value),
            "ratio_to_plain": round(value / medians["plain"], 2),
            "batch": BATCH,
            "threads": torch.get_num_threads(),
        }
        for name, value in medians.items()
    ]
    print(record.write("training", rows))


def plain_loop(pixels: np.ndarray, labels: np.ndarray) -> Callable[[], None]:
    network = nn.Sequential(
        nn.Conv2d(1, 20, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.2),
        nn.Conv2d(20, 50, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.Linear(2450, 500),
        nn.ReLU(),
        nn.Linear(500, 10),
    )
    assert parameter_count(network) == parameter_count(build("mnist"))
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-4)
    floats = torch.from_numpy(pixels).float() / 255
    loader = DataLoader(
        TensorDataset(floats, torch.from_numpy(labels)), batch_size=BATCH, shuffle=True
    )

    def endless() -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from loader

    return stepper(network, optimizer, endless())


def our_loop(pixels: np.ndarray, labels: np.ndarray) -> Callable[[], None]:
    network = place(build("mnist"), torch.device("cpu"))
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-4, fused=True)
    images = Images.place(pixels, labels, np.arange(len(labels)), torch.device("cpu"))
    generator = torch.Generator().manual_seed(0)

    def endless() -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from batches(images, BATCH, generator)

    return stepper(network, optimizer, endless())


def stepper(
    network: nn.Module, optimizer: torch.optim.Optimizer, source: Iterator[tuple[Tensor, Tensor]]
) -> Callable[[], None]:
    def step() -> None:
        x, target = next(source)
        optimizer.zero_grad()
        F.cross_entropy(network(x), target).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


if __name__ == "__main__":
    main()
