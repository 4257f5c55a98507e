"""Where measurements are kept: a CSV file each, every row with its machine and versions."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from untrue.lab.provenance import hardware
from untrue.machine import versions

RESULTS = Path(__file__).parent / "results"


def write(name: str, rows: Sequence[Mapping[str, object]]) -> Path:
    """Replace `results/NAME.csv` by these rows; one that says where it was measured keeps that."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    used = " ".join(f"{package}={version}" for package, version in versions())
    where = {"hardware": hardware(), "versions": used}
    own = dict.fromkeys(key for row in rows for key in row if key not in where)
    columns = [*own, *where]
    temporary = path.with_suffix(".partial")
    with temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**where, **row} for row in rows)
    return temporary.replace(path)
