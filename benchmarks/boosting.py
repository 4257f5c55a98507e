"""What our objective costs beside LightGBM's own, and `untrue fit` beside LightGBM's training.

    python -m benchmarks.boosting [--data-dir DIR] [--rows N]

On KDD Cup 1999's training file, 494,021 rows x 41 columns. Candidates take turns; medians of
`TURNS` (of the commands `COMMAND_TURNS`) ratios within a turn. LightGBM's training is of all rows,
bins included; the command trains on some two thirds of them, and reads, stops, measures and writes
beside it. Memory: the greatest peak of a process of its own, over the table as numbers, 8 bytes
each, and over the file; what Python takes with all that the command imports is in it, and by itself
in a row of its own. `--rows` takes some rows, to see that it runs; nothing is written then.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt

from benchmarks import cost_tables
from benchmarks.record import write
from untrue import boosting, kernels
from untrue.errors import UntrueError
from untrue.lab.data.tables import KDD_COLUMNS, TableData, load_table
from untrue.machine import threads
from untrue.tools.reading.codes import fit_codes

ROUNDS, TURNS, COMMAND_TURNS = 40, 5, 3
COMMANDS = {
    "untrue fit --no-baseline": (["--no-baseline"], 2.0),
    "untrue fit": ([], 3.0),
}
IMPORTS = (
    "import pyarrow.csv, untrue.cli.fit, untrue.tools.fitting.fit, untrue.tools.fitting.booster, "
    "untrue.report.own.fit, untrue.report.document.page; from untrue import optional; "
    "optional.own_process(); optional.import_library('lightgbm')"
)
MOST_MEMORY = 3.0


def objective_times(data: TableData) -> list[dict[str, object]]:
    """Seconds of `ROUNDS` rounds by LightGBM's own objective and by ours."""
    codes = fit_codes(data.train)
    inputs = codes.apply(data.train)
    names: dict[str, Any] = {
        "multiclass (LightGBM)": "multiclass",
        "bilinear": boosting.lightgbm_objective(data.penalty.matrix(), "bilinear", 0.5),
        "log-bilinear": boosting.lightgbm_objective(data.penalty.matrix(), "log-bilinear", 0.5),
    }
    spent: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(TURNS):
        for name, objective in names.items():
            rows = lightgbm.Dataset(
                inputs, data.labels, categorical_feature=list(codes.categorical)
            ).construct()
            started = time.perf_counter()
            lightgbm.train(_params(objective, data), rows, ROUNDS)
            spent[name].append(time.perf_counter() - started)
    base = spent["multiclass (LightGBM)"]
    return [
        {
            "what": f"objective: {name}",
            "seconds": round(statistics.median(times), 3),
            "ratio": round(statistics.median(map(float.__truediv__, times, base)), 3),
            "aim": 1.2,
        }
        for name, times in spent.items()
    ]


def fit_times(data: TableData, folder: Path) -> list[dict[str, object]]:
    """`untrue fit` with and without its baseline, beside LightGBM's training in as many rounds."""
    table, costs = folder / "table.csv", folder / "costs.toml"
    _write_table(data, table)
    data.penalty.save(costs)
    size = table.stat().st_size
    numbers = 8 * len(data.labels) * len(data.train.schema.names)
    command = [
        *("-m", "untrue", "fit", str(table), "--target", "label", "--penalty", str(costs)),
        *("--model", "lightgbm", "--rounds", str(ROUNDS), "--patience", str(ROUNDS)),
        *("--overwrite", "--out", str(folder / "model")),
    ]
    base: list[float] = []
    spent: dict[str, list[float]] = {name: [] for name in COMMANDS}
    peaks = dict.fromkeys(COMMANDS, 0)
    for _ in range(COMMAND_TURNS):
        base.append(_library_seconds(data))
        for name, (more, _) in COMMANDS.items():
            seconds, peak = _process([*command, *more])
            spent[name].append(seconds)
            peaks[name] = max(peaks[name], peak)
    _, imports = _process(["-c", IMPORTS])

    def memory(peak: int) -> dict[str, object]:
        return {
            "peak_mb": round(peak / 1e6),
            "peak_over_numbers": round(peak / numbers, 2),
            "peak_over_file": round(peak / size, 2),
        }

    own = {"what": "lightgbm.train", "seconds": round(statistics.median(base), 2), "ratio": 1.0}
    rows: list[dict[str, object]] = [own]
    for name, (_, aim) in COMMANDS.items():
        rows.append(
            {
                "what": name,
                "seconds": round(statistics.median(spent[name]), 2),
                "ratio": round(statistics.median(map(float.__truediv__, spent[name], base)), 2),
                "aim": aim,
                **memory(peaks[name]),
                "aim_over_numbers": MOST_MEMORY,
            }
        )
    return [*rows, {"what": "Python and the imports alone", **memory(imports)}]


def _library_seconds(data: TableData) -> float:
    """LightGBM's own training of all rows by its own objective, bins included."""
    codes = fit_codes(data.train)
    inputs = codes.apply(data.train)
    rows = lightgbm.Dataset(inputs, data.labels, categorical_feature=list(codes.categorical))
    started = time.perf_counter()
    lightgbm.train(_params("multiclass", data), rows, ROUNDS)
    return time.perf_counter() - started


def _process(arguments: list[str]) -> tuple[float, int]:
    """Seconds and peak of memory of a Python with these arguments."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
        "capture_output=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - started, int(done.stdout) * 1024


def _params(objective: Any, data: TableData) -> dict[str, Any]:
    return {
        "objective": objective,
        "num_class": data.penalty.n_classes,
        "learning_rate": 0.1,
        "num_leaves": 31,
        "force_row_wise": True,
        "num_threads": threads(),
        "verbosity": -1,
    }


def _write_table(data: TableData, path: Path) -> None:
    names: npt.NDArray[Any] = np.array(data.penalty.classes)[data.labels]
    schema = data.train.schema
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*schema.names, "label"])
        for numbers, text, label in zip(data.train.numbers, data.train.text, names, strict=True):
            writer.writerow([*numbers.tolist(), *text.tolist(), label])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--rows", type=int, default=None)
    options = parser.parse_args()
    try:
        data = load_table("kdd99", options.data_dir)
    except UntrueError as error:
        sys.exit(f"This benchmark needs KDD Cup 1999 ({len(KDD_COLUMNS)} columns): {error}")
    if options.rows is not None:
        some = np.random.default_rng(0).permutation(len(data.labels))[: options.rows]
        data = replace(data, train=data.train.rows(some), labels=data.labels[some])
    print("derivatives by", "NumPy: " + kernels.REASON if kernels.KERNELS is None else "C")
    with tempfile.TemporaryDirectory() as folder:
        rows = [*objective_times(data), *fit_times(data, Path(folder))]
    for row in rows:
        print(row)
    if options.rows is None:
        write("boosting", rows)
        print(cost_tables.update())


if __name__ == "__main__":
    main()
