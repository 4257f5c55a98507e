"""Images a second: our training loop beside the plain one that everybody writes.

Same network (the paper's), same batch of 50, same images, one process, all cores, turn by turn so
that a busy machine slows both. Run: `python -m benchmarks.training`, or with `--network cifar10`,
where nearly all the time goes into convolutions that both loops leave to the same library.

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
from untrue.lab.provenance import hardware
from untrue.networks import NETWORKS, build, parameter_count, place
from untrue.training import Settings
from untrue.training.device import keep_memory
from untrue.training.examples import Examples, batches
from untrue.training.optimizers import make_optimizer

BATCH = 50
IMAGES = 5_000
GOAL = 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=["mnist", "cifar10"], default="mnist")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, help="a round; 20 for mnist, 2 for cifar10")
    options = parser.parse_args()
    name = options.network
    steps = options.steps or (20 if name == "mnist" else 2)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    shape = NETWORKS[name].inputs or ()
    pixels = rng.integers(0, 256, (IMAGES, *shape), dtype=np.uint8)
    labels = rng.integers(0, 10, IMAGES)
    loops = {"plain": plain_loop(name, pixels, labels), "untrue": our_loop(name, pixels, labels)}
    rates: dict[str, list[float]] = {loop: [] for loop in loops}
    for round_ in range(options.rounds + 1):
        for loop, step in loops.items():
            started = time.perf_counter()
            for _ in range(steps):
                step()
            if round_:  # the first warms up
                rates[loop].append(BATCH * steps / (time.perf_counter() - started))
    medians = {loop: statistics.median(values) for loop, values in rates.items()}
    ratio = medians["untrue"] / medians["plain"]
    print(f"{hardware()}; torch {torch.__version__}, {torch.get_num_threads()} threads; {name}")
    for loop, value in medians.items():
        print(f"{loop:<7} {value:7.0f} images/s")
    print(f"ratio   {ratio:7.2f}  (goal for mnist: at least {GOAL})")
    rows = [
        {
            "network": name,
            "loop": loop,
            "images_per_second": round(value),
            "ratio_to_plain": round(value / medians["plain"], 2),
            "batch": BATCH,
            "threads": torch.get_num_threads(),
        }
        for loop, value in medians.items()
    ]
    print(record.write("training" if name == "mnist" else f"training-{name}", rows))


def plain_network(name: str) -> nn.Sequential:
    if name == "mnist":
        layers = [*plain_block(1, 20, 5), nn.MaxPool2d(2), nn.Dropout(0.2)]
        layers += [*plain_block(20, 50, 5), nn.MaxPool2d(2), nn.Dropout(0.2)]
        layers += [nn.Flatten(), nn.Linear(2450, 500), nn.ReLU(), nn.Linear(500, 10)]
    else:
        layers = []
        for before, count, pool in ((3, 64, 2), (64, 128, 2), (128, 256, 8)):
            layers += [*plain_block(before, count, 3), *plain_block(count, count, 3)]
            layers += [nn.MaxPool2d(pool), nn.Dropout(0.25)]
        layers += [nn.Flatten(), nn.Linear(256, 1000), nn.ReLU()]
        layers += [nn.Linear(1000, 1000), nn.ReLU(), nn.Linear(1000, 10)]
    return nn.Sequential(*layers)


def plain_block(before: int, count: int, kernel: int) -> list[nn.Module]:
    return [nn.Conv2d(before, count, kernel, padding=kernel // 2), nn.ReLU()]


def plain_loop(name: str, pixels: np.ndarray, labels: np.ndarray) -> Callable[[], None]:
    network = plain_network(name)
    assert parameter_count(network) == parameter_count(build(name))
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-4)
    floats = torch.from_numpy(pixels).float() / 255
    loader = DataLoader(
        TensorDataset(floats, torch.from_numpy(labels)), batch_size=BATCH, shuffle=True
    )

    def endless() -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from loader

    return stepper(network, optimizer, endless())


def our_loop(name: str, pixels: np.ndarray, labels: np.ndarray) -> Callable[[], None]:
    keep_memory()
    network = place(build(name), torch.device("cpu"))
    optimizer = make_optimizer(network, Settings(epochs=1))
    images = Examples.place(pixels, labels)
    generator = torch.Generator().manual_seed(0)

    def endless() -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            for x, target, _ in batches(images, BATCH, generator):
                yield x, target

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
