"""How much the compact network learns in minutes of one core, as the lab trains it.

CIFAR-100, 45,000 images to learn from and 5,000 to choose by; the test images are not looked at.
Run: `python -m benchmarks.compact --data-dir DIR`, on a quiet machine. Goal: 55 % in 13 minutes.
`--shift 2 4`, `--epochs` and `--width` take several values, and every combination is trained.
`--limit-train` is for trying it out: nothing is recorded then.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from benchmarks import record
from untrue.lab.data import load
from untrue.networks import NetworkSpec
from untrue.training import BY_NETWORK
from untrue.training.evaluation import logits_of
from untrue.training.examples import Examples
from untrue.training.loop import train_new
from untrue.training.splits import hold_back, limited

HELD_BACK = 5_000


def main() -> None:
    usual = BY_NETWORK["compact"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--epochs", type=int, nargs="+", default=[usual.epochs])
    parser.add_argument("--width", type=float, nargs="+", default=[1.0])
    parser.add_argument("--shift", type=int, nargs="+", default=[usual.shift])
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--limit-train", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = load("cifar100", options.data_dir)
    pool = limited(data.train_labels, options.limit_train)
    rows: list[dict[str, object]] = []
    tried = itertools.product(options.width, options.epochs, options.shift, options.seed)
    for width, epochs, shift, seed in tried:
        train, watched = hold_back(pool, min(HELD_BACK, len(pool) // 5), seed=seed)
        settings = dataclasses.replace(usual, epochs=epochs, shift=shift)
        spec = NetworkSpec("compact", (3, 32, 32), len(data.classes), width)
        started, used = time.perf_counter(), time.process_time()
        examples = Examples.place(data.train_images[train], data.train_labels[train])
        network, _ = train_new(spec, F.cross_entropy, examples, settings, seed=seed)
        minutes = [(time.perf_counter() - started) / 60, (time.process_time() - used) / 60]
        answers = logits_of(network, data.train_images[watched]).argmax(1)
        right = float((answers == data.train_labels[watched]).mean())
        rows.append(
            {
                "width": width,
                "epochs": epochs,
                "shift": shift,
                "seed": seed,
                "images": len(train),
                "validation_accuracy_pct": round(100 * right, 2),
                "minutes": round(minutes[0], 2),
                "core_minutes": round(minutes[1], 2),
            }
        )
        print(rows[-1], flush=True)
    if options.limit_train is None:
        print(record.write("compact", rows))


if __name__ == "__main__":
    main()
