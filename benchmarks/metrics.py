"""Seconds for an evaluation of 10 million examples with 1,000 classes, and of its parts.

Labels to confusion matrix to summary (with a penalty, a hierarchy, groups and a zone), for each
form of penalty; then the same with bootstrap intervals. The goal is 2 s for the evaluation.
Run: `python -m benchmarks.metrics`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from benchmarks import record
from untrue import Hierarchy, Penalty, metrics
from untrue.lab.provenance import hardware

CLASSES = 1_000
GOAL = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    true = rng.integers(CLASSES, size=options.examples)
    guess = rng.integers(CLASSES, size=options.examples)
    predicted = np.where(rng.random(options.examples) < 0.7, true, guess)
    tree = Hierarchy.from_paths(
        [
            (f"a{i // 250}", f"b{i // 50}", f"c{i // 10}", f"d{i // 2}", str(i))
            for i in range(CLASSES)
        ]
    )
    zone = Penalty.random_zone(CLASSES, 500)
    penalties = {
        "dense": Penalty.from_ordinal(CLASSES),
        "rules": Penalty.from_rules(CLASSES, {(i, (i + 1) % CLASSES): 9.0 for i in range(CLASSES)}),
        "tree": Penalty.from_hierarchy(tree),
    }
    groups = tree.coarsen(2)
    cm = metrics.confusion_matrix(true, predicted, CLASSES)

    def evaluate(penalty: Penalty, resamples: int) -> metrics.Summary:
        return metrics.summary(
            metrics.confusion_matrix(true, predicted, CLASSES),
            penalty=penalty,
            hierarchy=tree,
            groups=groups,
            zone=zone,
            resamples=resamples,
        )

    jobs: dict[str, Callable[[], object]] = {
        "confusion_matrix": lambda: metrics.confusion_matrix(true, predicted, CLASSES),
        "confusion_cells": lambda: metrics.confusion_cells(true, predicted, CLASSES),
        "bootstrap of total_error, 10 resamples": lambda: metrics.bootstrap(
            metrics.total_error, cm, resamples=10
        ),
    }
    for form, penalty in penalties.items():
        jobs[f"evaluation, {form} penalty"] = lambda p=penalty: evaluate(p, 0)  # type: ignore[misc]
        jobs[f"evaluation, {form} penalty, 1000 resamples"] = (
            lambda p=penalty: evaluate(p, 1000)  # type: ignore[misc]
        )
    print(f"{hardware()}; {options.examples} examples, {CLASSES} classes")
    seconds = {name: [timed(job) for _ in range(options.rounds)] for name, job in jobs.items()}
    for name, taken in seconds.items():
        goal = f"  (goal: {GOAL:g})" if name.endswith("penalty") else ""
        print(f"{name:<45} {min(taken):6.2f} s, slowest {max(taken):.2f} s{goal}")
    rows = [
        {
            "job": name,
            "examples": options.examples,
            "classes": CLASSES,
            "rounds": len(taken),
            "fastest_s": f"{min(taken):.3f}",
            "slowest_s": f"{max(taken):.3f}",
        }
        for name, taken in seconds.items()
    ]
    print(record.write("metrics", rows))


def timed(job: Callable[[], object]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
