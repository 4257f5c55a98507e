"""Seconds and memory of `untrue control` on a Parquet file of a million rows and 100 classes.

The command is run in a process of its own, from reading the file to the rule and its page.

Run: `python -m benchmarks.control_size [--rows 1000000] [--type float|double]`. The file is made
in a temporary folder: 0.4 GB, or 0.8 GB of doubles.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import record

CLASSES = 100
BUDGETS = {1: ("*->c0 <= 0.5%",), 2: ("*->c0 <= 0.5%", "c1->* <= 50%")}
# Linux counts memory in kB.
KB = 1024


def make(path: Path, rows: int, kind: str) -> None:
    """Probabilities of a middling model, in pieces, so that the file's maker stays small."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    dtype = np.float32 if kind == "float" else np.float64
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(CLASSES)]
    writer = None
    for start in range(0, rows, 50_000):
        n = min(50_000, rows - start)
        target = rng.integers(0, CLASSES, n)
        logits = rng.standard_normal((n, CLASSES), dtype=np.float32)
        logits[np.arange(n), target] += 3.5
        weight = np.exp(logits.astype(np.float64))
        probs = (weight / weight.sum(axis=1, keepdims=True)).astype(dtype)
        columns = {f"prob_{name}": probs[:, i] for i, name in enumerate(names)}
        table = arrow.table({"truth": np.array(names)[target], **columns})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def measure(path: Path, budgets: tuple[str, ...], out: Path) -> tuple[float, float, float]:
    """(seconds, seconds of all cores together, GB) of the command."""
    words = [sys.executable, "-m", "untrue", "control", str(path), "--out", str(out)]
    for budget in budgets:
        words += ["--budget", budget]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, worked, after.ru_maxrss * KB / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--type", choices=("float", "double"), default="double")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        make(path, options.rows, options.type)
        rows = []
        for number, budgets in BUDGETS.items():
            seconds, worked, memory = measure(path, budgets, Path(folder) / "rule.json")
            rows.append(
                {
                    "rows": options.rows,
                    "classes": CLASSES,
                    "type": options.type,
                    "budgets": number,
                    "seconds": round(seconds, 1),
                    "core_seconds": round(worked, 1),
                    # The greatest so far: of this command or of one before it.
                    "memory_gb": round(memory, 2),
                }
            )
            print(rows[-1], flush=True)
    print(record.write("control_size", rows))


if __name__ == "__main__":
    main()
