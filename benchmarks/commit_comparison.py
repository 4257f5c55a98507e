"""Put a finished comparison into the documentation: its runs, rows, tables, figures and finding.

    python -m benchmarks.commit_comparison RUNS NAME

RUNS is the directory of `untrue compare --out RUNS`, NAME the folder below docs/comparison. The
tables of docs/comparison.md are written again from what is then there (`benchmarks.recipes`). The
runs that are kept can be added to: `untrue merge docs/comparison/NAME --out RUNS`, then `untrue
compare` with more methods, strengths or repetitions. `--add` also keeps the published rows of runs
that the comparison plans and RUNS lacks, so that one can grow whose runs are lost.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from pathlib import Path

from benchmarks import recipes
from benchmarks.drawn_sweep import collected, draw, with_published
from benchmarks.kept_runs import keep_runs, without_places
from benchmarks.recipe_studies import COMPARED
from benchmarks.shown_comparisons import FINDING
from untrue.errors import ArgumentError
from untrue.lab.store import FILE
from untrue.report.compare.sentences import finding
from untrue.report.compare.settings import Comparison


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("name")
    parser.add_argument("--add", action="store_true")
    options = parser.parse_args()
    print(put(options.runs, options.name, add=options.add))
    recipes.main()


def put(runs: Path, name: str, docs: Path = COMPARED, *, add: bool = False) -> Path:
    """Keep what a page needs of a comparison; the folder is replaced whole."""
    if not re.fullmatch(r"[a-z0-9-]+", name):
        raise ArgumentError(f"`name` must be of small letters, digits and dashes; got {name!r}.")
    place, made = docs / name, docs / f"{name}.partial"
    found = collected(runs)
    if add:
        found = with_published(found, place / "rows.csv")
    configs = found.sweep.configs
    starts = {config.start.run_id for config in configs if config.start is not None}
    # Networks that others continue from are no rows.
    wanted = found.sweep.expected - sum(config.run_id in starts for config in configs)
    there = len({row.run_id for row in found.rows})
    if there != wanted:
        raise ArgumentError(f"{runs}: {there} of {wanted} models are there.")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    draw(found, made)
    with tempfile.TemporaryDirectory() as place_of_runs:
        shutil.copyfile(keep_runs(runs, Path(place_of_runs)), made / FILE)
    command = without_places(found.sweep.command)
    paragraphs = (f"```sh\n{command}\n```", *finding(Comparison(found)))
    (made / FINDING).write_text("\n\n".join(paragraphs) + "\n")
    replaced = docs / f"{name}.replaced"
    if place.exists():
        place.rename(replaced)
    made.rename(place)
    shutil.rmtree(replaced, ignore_errors=True)
    return place


if __name__ == "__main__":
    main()
