"""Put a finished comparison into the documentation: its runs, rows, tables, figures and finding.

    python -m benchmarks.commit_comparison RUNS NAME

RUNS is the directory of `untrue compare --out RUNS`, NAME the folder below docs/comparison. The
tables of docs/comparison.md are written again from what is then there (`benchmarks.recipes`). The
runs that are kept can be added to: `untrue merge docs/comparison/NAME --out RUNS`, then `untrue
compare` with more methods, strengths or repetitions.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from pathlib import Path

from benchmarks import recipes
from benchmarks.kept_runs import keep_runs, without_places
from benchmarks.recipe_studies import COMPARED
from benchmarks.shown_comparisons import FINDING
from untrue.errors import ArgumentError
from untrue.lab.store import FILE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("name")
    options = parser.parse_args()
    print(put(options.runs, options.name))
    print(recipes.PAGE.update())


def put(runs: Path, name: str, docs: Path = COMPARED) -> Path:
    """Copy what is kept of a comparison; the folder is replaced whole."""
    if not re.fullmatch(r"[a-z0-9-]+", name):
        raise ArgumentError(f"`name` must be of small letters, digits and dashes; got {name!r}.")
    report = runs / "report.json"
    if not report.is_file():
        raise ArgumentError(f"{runs} holds no report.json: run `untrue compare` to its end first.")
    (sweep,) = json.loads(report.read_text())["sweeps"]
    if sweep["done"] != sweep["expected"]:
        raise ArgumentError(f"{runs}: {sweep['done']} of {sweep['expected']} models are there.")
    place, made = docs / name, docs / f"{name}.partial"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place_of_runs:
        shutil.copyfile(keep_runs(runs, Path(place_of_runs)), made / FILE)
    for file in (
        runs / "rows.csv",
        *sorted((runs / "tables").glob("*.md")),
        *sorted((runs / "figures").glob("*.png")),
    ):
        shutil.copyfile(file, made / file.name)
    text = f"```sh\n{without_places(sweep['command'])}\n```\n\n{sweep['finding']}\n"
    (made / FINDING).write_text(text)
    shutil.rmtree(place, ignore_errors=True)
    return made.rename(place)


if __name__ == "__main__":
    main()
