"""The last linear layer and the loss together: peak memory and time, beside plain cross-entropy.

Each candidate runs forward and backward in fresh processes, which take turns. Memory is the
process's peak during the steps above what it holds before them, less the gradients that a step
leaves (by /proc, so on Linux alone); time the shortest of several steps, as a multiple of
`F.cross_entropy(F.linear(...))`. Run: `python -m benchmarks.linear_head`.

sizes    what fits plainly, and 8,192 x 100,000, where the plain logits alone take 3.3 GB
penalty  by a tree of four levels
goals    at most 300 MB at 8,192 x 100,000, and 1.3 times the plain time where that fits
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from benchmarks import record, tables
from benchmarks.losses import taxonomy
from untrue import Penalty
from untrue.functional import linear_bilinear_loss, linear_log_bilinear_loss
from untrue.functional.native import described
from untrue.lab.provenance import hardware

D = 256
SIZES = ((2_048, 1_000), (2_048, 10_000), (2_048, 100_000), (8_192, 100_000))
PLAIN = "F.cross_entropy(F.linear(...))"
FUSED = {"bilinear": linear_bilinear_loss, "log-bilinear": linear_log_bilinear_loss}
MOST_PLAIN = 1 << 28  # logits: two of them and a gradient are 3.2 GB
GOAL_MB, GOAL_TIME = 300.0, 1.3
LARGEST = SIZES[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--only", help="one size, as 2048x1000")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # candidate, n, k: as JSON
    options = parser.parse_args()
    if options.one:
        name, n, k = options.one
        print(json.dumps(step(name, int(n), int(k), options.steps)))
        return
    print(
        f"{hardware()}; torch {torch.__version__}, {torch.get_num_threads()} threads; {described()}"
    )
    sizes = [options.only.split("x")] if options.only else SIZES
    rows: list[dict[str, object]] = []
    for n, k in [(int(n), int(k)) for n, k in sizes]:
        rows += measured(n, k, options.processes, options.steps)
    if not options.only:
        print(record.write("linear_head", rows))
        print(tables.update())


def measured(n: int, k: int, processes: int, steps: int) -> list[dict[str, object]]:
    """A row for each candidate of a size: medians over fresh processes that take turns."""
    names = [*FUSED] if n * k > MOST_PLAIN else [PLAIN, *FUSED]
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(processes):
        for name in names:
            command = [sys.executable, "-m", "benchmarks.linear_head", "--steps", str(steps)]
            done = subprocess.run(
                [*command, "--one", name, str(n), str(k)],
                capture_output=True,
                text=True,
                check=True,
            )
            runs[name].append(tuple(json.loads(done.stdout)))
    plain = [seconds for seconds, _ in runs.get(PLAIN, [])]
    rows: list[dict[str, object]] = []
    for name in names:
        seconds = statistics.median(s for s, _ in runs[name])
        megabytes = statistics.median(m for _, m in runs[name])
        ratio = (
            statistics.median(s / p for (s, _), p in zip(runs[name], plain, strict=True))
            if plain
            else None
        )
        verdict = ""
        if name != PLAIN:
            kept = (ratio is None or ratio <= GOAL_TIME) and (
                (n, k) != LARGEST or megabytes <= GOAL_MB
            )
            verdict = "kept" if kept else "MISSED"
        times = "" if ratio is None else f"x {ratio:5.2f}"
        where = f"n {n:>6,}  k {k:>8,}  {name:<32}"
        print(f"{where} {seconds:8.3f} s {times:>8} {megabytes:>8,.0f} MB  {verdict}", flush=True)
        rows.append(
            {
                "examples": n,
                "features": D,
                "classes": k,
                "loss": name,
                "seconds": round(seconds, 4),
                "times_cross_entropy": "" if ratio is None else round(ratio, 3),
                "megabytes": round(megabytes, 1),
                "threads": torch.get_num_threads(),
            }
        )
    return rows


def step(name: str, n: int, k: int, steps: int) -> tuple[float, float]:
    """(seconds of the fastest step, MB beyond arguments and gradients)."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(n, D, generator=generator, requires_grad=True)
    weight = (torch.randn(k, D, generator=generator) / D**0.5).requires_grad_()
    bias = torch.zeros(k, requires_grad=True)
    target = torch.randint(0, k, (n,), generator=generator)
    given = (features, weight, bias)
    penalty = None if name == PLAIN else Penalty.from_hierarchy(taxonomy(k))

    def loss(part: slice) -> torch.Tensor:
        if penalty is None:
            return F.cross_entropy(F.linear(features[part], weight, bias), target[part])
        return FUSED[name](features[part], weight, bias, target[part], penalty)

    with torch.no_grad():  # what is set up on first use is no memory of the step
        loss(slice(0, 2))
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew: making the tree took more
    before = held("VmRSS")
    taken = []
    for _ in range(steps):
        for x in given:
            x.grad = None
        started = time.perf_counter()
        torch.autograd.backward(loss(slice(None)))
        taken.append(time.perf_counter() - started)
    gradients = sum(x.numel() * x.element_size() for x in given)
    return min(taken), (held("VmHWM") - before - gradients) / 1e6


def held(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at most since the peak was set back."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
