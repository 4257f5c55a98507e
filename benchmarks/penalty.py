"""Seconds and peak memory of penalties over 100,000 classes, and of reading their taxonomies.

A taxonomy of depth 7, its levels widening evenly, edges in random order, from a CSV file; goals:
1 s for 10,000 leaves, 5 s for 100,000. Then expected costs of a batch of 64 and single costs of a
million mistakes, for rules (as many as classes) and tree. Memory is what NumPy asked for beyond
the input. Run: `python -m benchmarks.penalty`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks import record
from untrue import Hierarchy, Penalty
from untrue.lab.provenance import hardware
from untrue.penalty import TreePenalty

CLASSES = 100_000
DEPTH = 7
BATCH = 64


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    work: Callable[[], object]
    goal: float | None = None
    measures_memory: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{hardware()}; torch with {torch.get_num_threads()} threads")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for job in jobs(Path(folder)):
            taken = [timed(job.work) for _ in range(options.rounds)]
            memory = round(peak(job.work) / 1e6) if job.measures_memory else ""
            goal = f"  (goal: {job.goal:g} s)" if job.goal else ""
            used = f", {memory} MB" if job.measures_memory else ""
            print(
                f"{job.name:<45} {min(taken):7.3f} s, slowest {max(taken):.3f} s{used}{goal}",
                flush=True,
            )
            rows.append(
                {
                    "job": job.name,
                    "rounds": options.rounds,
                    "fastest_s": f"{min(taken):.4f}",
                    "slowest_s": f"{max(taken):.4f}",
                    "peak_mb": memory,
                    "goal_s": job.goal or "",
                }
            )
    print(record.write("penalty", rows))


def jobs(folder: Path) -> list[Job]:
    small, large = (taxonomy(leaves, folder) for leaves in (10_000, CLASSES))
    tree = Penalty.from_hierarchy(Hierarchy.from_csv(large))
    assert isinstance(tree, TreePenalty)
    saved = tree.save(folder / "tree.json")
    rng = np.random.default_rng(0)
    cells = rng.integers(0, CLASSES, (CLASSES, 2)).tolist()
    rules = Penalty.from_rules(CLASSES, {(i, j): 9.0 for i, j in cells if i != j})
    probs = rng.random((BATCH, CLASSES))
    probs /= probs.sum(axis=1, keepdims=True)
    tensor = torch.tensor(probs, dtype=torch.float32)
    true, predicted = rng.integers(0, CLASSES, (2, 1_000_000))
    listed = [
        Job("hierarchy from CSV, 10,000 leaves", lambda: Hierarchy.from_csv(small), goal=1.0),
        Job("hierarchy from CSV, 100,000 leaves", lambda: Hierarchy.from_csv(large), goal=5.0),
        Job("tree penalty from JSON", lambda: Penalty.load(saved)),
        Job("tree penalty to JSON", lambda: tree.save(folder / "again.json")),
        Job("layout of the tree", lambda: TreePenalty(tree.hierarchy, tree.height_costs).layout),
    ]
    forms: dict[str, Penalty] = {"rules": rules, "tree": tree}
    for form, penalty in forms.items():
        ask = penalty.expected
        listed += [
            Job(f"expected, {form}, NumPy", lambda ask=ask: ask(probs), measures_memory=True),  # type: ignore[misc]
            Job(f"expected, {form}, torch float32", lambda ask=ask: ask(tensor)),  # type: ignore[misc]
            Job(
                f"a million costs, {form}",
                lambda penalty=penalty: penalty.cost(true, predicted),  # type: ignore[misc]
                measures_memory=True,
            ),
        ]
    return listed


def taxonomy(leaves: int, folder: Path) -> Path:
    """A `parent,child` file whose leaves all lie at the same depth."""
    rng = np.random.default_rng(0)
    widths = np.geomspace(1, leaves, DEPTH + 1).round().astype(int)
    edges = []
    for level in range(1, DEPTH + 1):
        above = rng.integers(0, widths[level - 1], widths[level])
        above[: widths[level - 1]] = np.arange(widths[level - 1])  # no inner node without children
        edges += [f"{level - 1}.{up},{level}.{i}" for i, up in enumerate(above.tolist())]
    rng.shuffle(edges)
    path = folder / f"{leaves}.csv"
    path.write_text("\n".join(["parent,child", *edges]) + "\n")
    return path


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak(work: Callable[[], object]) -> int:
    """Bytes at the highest point, by what Python and NumPy asked for."""
    tracemalloc.start()
    work()
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return highest


if __name__ == "__main__":
    main()
