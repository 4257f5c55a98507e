"""What the paper's masked-zone experiments take on n nodes: 2,550 MNIST and 510 CIFAR-10 models.

Measured: seconds of an epoch (the stored runs of docs/reproduction; benchmarks/results for
CIFAR-10), and with `--address` what the executor adds to a run on that cluster, by runs that do
nothing. Arithmetic: everything else. Each run goes to the core that is free first, its seconds
drawn from those that were seen, and takes what the executor adds on top.

Run: `python -m benchmarks.scaling [--address HOST:PORT] [--runs 200]`.
"""

from __future__ import annotations

import argparse
import csv
import heapq
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import record
from untrue import ray
from untrue.lab.data import facts
from untrue.lab.experiments import find
from untrue.lab.plans import paper_plan

ROOT = Path(__file__).parent.parent
STORED = ROOT / "docs" / "reproduction" / "mnist-masked-zone" / "rows.csv"
RATES = record.RESULTS / "training-cifar10.csv"
MEASURED = record.RESULTS / "ray.csv"
NODES, CORES, SEED = (1, 2, 4, 8, 16, 32, 64), 16, 0
EXPERIMENTS = (
    ("masked-zone", "mnist"),
    ("masked-zone", "cifar10"),
    ("hierarchy", "cifar100"),
    ("small-sample", "cifar100"),
)


def nothing(shared: Any, item: int, report: Callable[[Any], None]) -> int:
    """A run that does nothing but say so, with the data at hand."""
    report(item)
    return int(shared[0, 0]) + item


def measure(address: str, runs: int) -> dict[str, object]:
    """Seconds to connect, to the first result, and of each run after it, one at a time."""
    cluster = ray.Cluster(address, jobs=1)
    # The size of MNIST's training images.
    data = np.zeros((60_000, 784), np.uint8)
    began = time.perf_counter()
    with ray.connected(cluster):
        connected = time.perf_counter()
        ended = [
            time.perf_counter()
            for event in ray.run(cluster, nothing, data, list(range(runs)))
            if isinstance(event, ray.Done)
        ]
    each = np.diff(ended)
    return {
        "connect_s": round(connected - began, 2),
        "first_run_s": round(ended[0] - connected, 2),
        "overhead_s": round(float(np.median(each)), 4),
        "overhead_p95_s": round(float(np.quantile(each, 0.95)), 4),
        "runs": runs,
    }


def stored_seconds() -> list[float]:
    """Seconds of one epoch on one core, of each MNIST model that was stored."""
    with STORED.open(newline="") as file:
        found = {row["run_id"]: row for row in csv.DictReader(file)}
    return [float(row["seconds"]) / int(row["epochs_run"]) for row in found.values()]


def images_per_core() -> float:
    """Of CIFAR-10's network, by the benchmark of the training loop."""
    with RATES.open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["loop"] == "untrue")
    return float(row["images_per_second"]) / int(row["threads"])


def models(experiment: str, data: str) -> tuple[int, int, int]:
    """Models of the experiment at the paper's scale, epochs at most, and images of an epoch."""
    known = facts(data)
    plan = paper_plan(find(experiment), scale="paper", overrides={"data": data})
    setup = plan.design.setup
    return plan.expected, setup.training.epochs, known.train_images - setup.validation


def core_hours() -> list[dict[str, object]]:
    """Of each experiment at the paper's scale, if no run stopped early.

    The network of CIFAR-100 is that of CIFAR-10 with more outputs, and counts at its rate.
    """
    rows: list[dict[str, object]] = []
    for experiment, data in EXPERIMENTS:
        count, epochs, images = models(experiment, data)
        mnist = data == "mnist"
        epoch = statistics.median(stored_seconds()) if mnist else images / images_per_core()
        hours = count * epochs * epoch / 3600
        row = {"experiment": experiment, "data": data, "models": count, "epochs_at_most": epochs}
        rows.append({**row, "epoch_s": round(epoch, 1), "core_hours_at_most": round(hours)})
    return rows


def makespan(seconds: Sequence[float], slots: int, overhead: float, start: float) -> float:
    """When the last run ends, each begun on the core that is free first."""
    free = [start] * slots
    for each in seconds:
        heapq.heapreplace(free, free[0] + each + overhead)
    return max(free)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="a cluster to measure on; else what was measured last")
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    if given.address:
        record.write("ray", [measure(given.address, given.runs)])
    with MEASURED.open(newline="") as file:
        seen = next(csv.DictReader(file))
    overhead, start = float(seen["overhead_s"]), float(seen["first_run_s"])
    epoch, rng = stored_seconds(), np.random.default_rng(SEED)
    n_mnist, epochs, _ = models("masked-zone", "mnist")
    n_cifar, longest, images = models("masked-zone", "cifar10")
    # The median: some of the stored runs shared their cores with other work.
    mnist = [statistics.median(epoch) * epochs] * n_mnist
    # An assumption: early stopping ends runs between a tenth and all of the epochs, evenly.
    shares = rng.uniform(0.1, 1.0, n_cifar)
    cifar = (shares * longest * images / images_per_core()).tolist()
    rows = []
    for nodes in NODES:
        row: dict[str, object] = {"nodes": nodes, "cores": nodes * CORES}
        for name, seconds in (("mnist_2550", mnist), ("all_3060", sorted(mnist + cifar)[::-1])):
            took = makespan(seconds, nodes * CORES, overhead, start)
            ideal = sum(seconds) / (nodes * CORES)
            row |= {f"{name}_hours": round(took / 3600, 1), f"{name}_busy": round(ideal / took, 3)}
        rows.append(row)
    print(f"overhead of a run {overhead} s, first run of a node {start} s")
    print(f"core-hours: MNIST {sum(mnist) / 3600:,.0f}, CIFAR-10 {sum(cifar) / 3600:,.0f}")
    hours = core_hours()
    for row in (*rows, *hours):
        print(row)
    print(record.write("scaling", rows))
    print(record.write("paper_hours", hours))


if __name__ == "__main__":
    main()
