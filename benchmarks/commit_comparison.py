"""Put a finished comparison into the documentation: its rows, tables, figures and finding.

    python -m benchmarks.commit_comparison RUNS NAME

RUNS is the directory of `untrue compare --out RUNS`, NAME the folder below docs/comparison. The
tables of docs/comparison.md are written again from what is then there (`benchmarks.recipes`).
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
from pathlib import Path

from benchmarks import recipes
from benchmarks.recipe_studies import COMPARED
from benchmarks.shown_comparisons import FINDING
from untrue.errors import ArgumentError
from untrue.lab.warm import BASELINE

# Where things are on one machine is of no use on another.
PLACES = {"--data-dir": "DATA", "--out": "DIR", "--start-from": "NETWORKS"}


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


def without_places(command: str) -> str:
    """A command with other words for where data and results are.

    >>> without_places("untrue compare --data german --start-from baseline --out /tmp/x")
    'untrue compare --data german --start-from baseline --out DIR'
    """
    words = shlex.split(command)
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in PLACES and equals:
            words[at] = f"{name}={_place(name, value)}"
        elif name in PLACES and at + 1 < len(words):
            words[at + 1] = _place(name, words[at + 1])
    return shlex.join(words)


def _place(option: str, value: str) -> str:
    return value if value == BASELINE else PLACES[option]


if __name__ == "__main__":
    main()
