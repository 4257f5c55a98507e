"""Forward plus backward of every loss, form and size, beside cross-entropy and what people write.

All candidates of one size take turns in one process, so that a busy machine slows them alike, in an
order drawn again each round and with one call before the clock starts, so that none is charged for
what its neighbour leaves in the caches. Each size runs in several fresh processes. The figure is
the median over the processes of the median over the rounds of (candidate / cross-entropy in the
same round).
Run: `python -m benchmarks.losses`, or `--only 10 100` for some numbers of classes: the other
results are kept. The table of docs/kernels.md is written too.

native     by the C kernel;  torch: the same losses by the torch formulas
by hand    softmax times A[y];  one-hot times A, then softmax;  compiled: the first and the
           logarithmic one under `torch.compile`
rivals     by a tree, at 1,000 classes
goals      native and dense: bilinear at most 0.8, log-bilinear at most 1.2
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks import record, tables
from benchmarks.pages import read
from untrue import BilinearLoss, Hierarchy, LogBilinearLoss, Penalty
from untrue.functional import backend
from untrue.functional.mixed import Options, by_formula
from untrue.functional.native import described
from untrue.lab.provenance import hardware
from untrue.losses import registry
from untrue.losses.bilinear import MixedLoss
from untrue.losses.registry import MixedName

ALPHA = 0.5
DENSE = (10, 100, 1_000, 10_000)
SPARSE = (10_000, 100_000)
RIVALS = 1_000
BATCHES = (128, 2_048)
LARGEST = 30_000_000  # logits in a batch: 2,048 x 100,000 does not fit
GOALS = {"dense bilinear, native": 0.8, "dense log-bilinear, native": 1.2}
COMPILED = 1_000  # classes up to which what is written by hand is also compiled

Step = Callable[[Tensor, Tensor], Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--only", type=int, nargs="+", metavar="K", help="numbers of classes")
    parser.add_argument("--classes", type=int, help=argparse.SUPPRESS)  # one size, as JSON
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.classes:
        raced = race(losses(options.classes), options.batch, options.classes, options.rounds)
        print(json.dumps(raced))
        return
    print(
        f"{hardware()}; torch {torch.__version__}, {torch.get_num_threads()} threads; {described()}"
    )
    rows: list[dict[str, object]] = []
    for k in sorted({*DENSE, *SPARSE}):
        if options.only and k not in options.only:
            continue
        for n in BATCHES:
            if n * k <= LARGEST:
                rows += measured(k, n, options.rounds, options.processes)
    print(write(rows))
    print(tables.update())


def write(rows: list[dict[str, object]]) -> Path:
    """Put these in the place of earlier results of the same numbers of classes."""
    new = {row["classes"] for row in rows}
    kept = [row for row in read(record.RESULTS / "losses.csv") if int(row["classes"]) not in new]
    return record.write("losses", sorted([*kept, *rows], key=size))


def size(row: Mapping[str, object]) -> tuple[int, int]:
    return int(str(row["classes"])), int(str(row["batch"]))


def measured(k: int, n: int, rounds: int, processes: int) -> list[dict[str, object]]:
    """A row for each candidate of a size: medians over fresh processes."""
    size = ["--classes", str(k), "--batch", str(n), "--rounds", str(rounds)]
    command = [sys.executable, "-m", "benchmarks.losses", *size]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(processes)
    ]
    rows: list[dict[str, object]] = []
    for candidate in zip(*runs, strict=True):
        name = candidate[0][0]
        ratio = statistics.median(run[1] for run in candidate)
        micros = statistics.median(run[2] for run in candidate)
        goal = GOALS.get(name)
        verdict = "" if goal is None else ("kept" if ratio <= goal else "MISSED")
        where = f"k {k:>7,}  batch {n:>5,}  {name:<36}"
        print(f"{where} {micros:>10,.0f} us  x {ratio:5.2f}  {verdict}", flush=True)
        rows.append(
            {
                "classes": k,
                "batch": n,
                "loss": name,
                "microseconds": round(micros, 1),
                "times_cross_entropy": round(ratio, 3),
                "goal": goal or "",
                "threads": torch.get_num_threads(),
            }
        )
    return rows


def losses(k: int) -> dict[str, Step]:
    """Every candidate for k classes, by name."""
    steps: dict[str, Step] = {"cross-entropy": F.cross_entropy}
    penalties: dict[str, Penalty] = {}
    if k in DENSE:
        costs = torch.randint(0, 10, (k, k)).float().fill_diagonal_(0.0)
        penalties["dense"] = Penalty.from_matrix(costs)
        written = by_hand(costs)
        steps |= written
        if k <= COMPILED:
            steps |= {
                f"{name}, compiled": torch.compile(step)
                for name, step in written.items()
                if "one-hot" not in name
            }
    if k in SPARSE:
        rules = {(i, (i + step) % k): 5.0 for i in range(k) for step in (1, 2)}
        penalties["rules"] = Penalty.from_rules(k, rules)
        penalties["tree"] = Penalty.from_hierarchy(taxonomy(k))
    if k == RIVALS:
        steps |= rivals(k)
    for form, penalty in penalties.items():
        terms: tuple[tuple[MixedName, MixedLoss], ...] = (
            ("bilinear", BilinearLoss(penalty, ALPHA)),
            ("log-bilinear", LogBilinearLoss(penalty, ALPHA)),
        )
        for term, loss in terms:
            options = Options(term, ALPHA, None, -100, "mean", 0.0)
            steps[f"{form} {term}, torch"] = partial(by_formula, options, loss.costs)
            if backend() == "native":
                steps[f"{form} {term}, native"] = loss
    return steps


def rivals(k: int) -> dict[str, Step]:
    """The other losses of the comparison that take k outputs, by a tree."""
    tree = taxonomy(k)
    made_of = {"hierarchy": tree, "penalty": Penalty.from_hierarchy(tree)}
    return {
        f"rival: {entry.name}": entry.loss_class(*(made_of[need] for need in entry.needs))
        for entry in registry.COMPARED[1:]
        if entry.name not in registry.MIXED and entry.outputs != "nodes"
    }


def by_hand(costs: Tensor) -> dict[str, Step]:
    """What a search for "cost matrix loss PyTorch" turns up, mixed with cross-entropy."""

    def rows(z: Tensor, y: Tensor) -> Tensor:
        return half(z, y, (costs[y] * z.softmax(-1)).sum(-1).mean())

    def one_hot(z: Tensor, y: Tensor) -> Tensor:
        return half(
            z, y, ((F.one_hot(y, len(costs)).float() @ costs) * z.softmax(-1)).sum(-1).mean()
        )

    def log_rows(z: Tensor, y: Tensor) -> Tensor:
        return half(z, y, -(costs[y] * torch.log(1 - z.softmax(-1) + 1e-10)).sum(-1).mean())

    def half(z: Tensor, y: Tensor, term: Tensor) -> Tensor:
        return (1 - ALPHA) * F.cross_entropy(z, y) + ALPHA * term

    return {
        "by hand: softmax times A[y]": rows,
        "by hand: one-hot times A": one_hot,
        "by hand: log(1 - softmax)": log_rows,
    }


def taxonomy(k: int) -> Hierarchy:
    """Four levels, ten children a node, the classes in an order of their own."""
    names = [f"c{i}" for i in range(k)]
    paths = [
        (f"a{i // 1000}", f"b{i // 100}", f"c{i // 10}_", name) for i, name in enumerate(names)
    ]
    shuffled = torch.randperm(k, generator=torch.Generator().manual_seed(0)).tolist()
    return Hierarchy.from_paths(paths, classes=[names[i] for i in shuffled])


def race(steps: dict[str, Step], n: int, k: int, rounds: int) -> list[tuple[str, float, float]]:
    """(name, time as a multiple of cross-entropy, microseconds) of each candidate."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(n, k, generator=generator, requires_grad=True)
    y = torch.randint(0, k, (n,), generator=generator)
    repeats = max(1, 200_000 // (n * k))
    rounds = max(5, min(rounds, 100_000_000 // (n * k)))
    taken: dict[str, list[float]] = {name: [] for name in steps}
    order, draw = list(steps.items()), random.Random(0)
    for round_ in range(rounds + 2):  # two to warm up
        draw.shuffle(order)
        for name, step in order:
            torch.autograd.grad(step(z, y), z)
            started = time.perf_counter()
            for _ in range(repeats):
                torch.autograd.grad(step(z, y), z)
            if round_ >= 2:
                taken[name].append((time.perf_counter() - started) / repeats)
    plain = taken["cross-entropy"]
    return [
        (
            name,
            statistics.median(t / p for t, p in zip(times, plain, strict=True)),
            statistics.median(times) * 1e6,
        )
        for name, times in taken.items()
    ]


if __name__ == "__main__":
    main()
