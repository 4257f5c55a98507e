"""The rows, tables and figures of a sweep, from its store and from rows that were published."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path
from typing import Any, get_args, get_type_hints

from untrue.errors import DataError
from untrue.lab.store import Store
from untrue.report.assemble import CHAPTERS
from untrue.report.document import matplotlib_figures
from untrue.report.document.confusion_figure import ConfusionFigure
from untrue.report.document.tables import Table
from untrue.report.runs.rows import Collected, Row, collect, to_csv

# Of each column what it may hold: one type, or that and None.
TYPES = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(Row).items()}


def collected(store: Path) -> Collected:
    """The one sweep of a store."""
    with Store.read(store) as opened:
        sweeps = collect(opened)
    if len(sweeps) != 1:
        names = ", ".join(found.sweep.name for found in sweeps) or "none"
        raise DataError(f"{store} must hold one sweep; it holds {names}.")
    return sweeps[0]


def with_published(sweep: Collected, path: Path) -> Collected:
    """The sweep, with the rows of a file whose runs it plans and lacks. A run that both have must
    have the same errors in both: others mean other code, and rows that do not compare."""
    planned = {config.run_id: place for place, config in enumerate(sweep.sweep.configs)}
    made = {_answer(row): row for row in sweep.rows}
    kept = []
    for row in read_rows(path):
        again = made.get(_answer(row))
        if row.run_id not in planned:
            raise DataError(f"{path} has run {row.run_id}, which {sweep.sweep.name} does not plan.")
        if again is None:
            kept.append(row)
        elif again.errors != row.errors:
            raise DataError(
                f"Run {row.run_id} has {again.errors} errors in the store and {row.errors} in "
                f"{path}: their rows do not compare."
            )
    rows = sorted((*kept, *sweep.rows), key=lambda row: planned[row.run_id])
    return dataclasses.replace(sweep, rows=tuple(rows))


def _answer(row: Row) -> tuple[object, ...]:
    """What tells the rows of a sweep apart: a model, and how it decides."""
    return row.run_id, row.decision, row.zone, row.cost_share


def draw(sweep: Collected, place: Path, *, matrices: bool = True) -> list[Path]:
    """Write rows (CSV), tables (Markdown) and figures (PNG); matrices: those of confusions, too."""
    rows = place / "rows.csv"
    rows.write_text(to_csv(sweep.rows))
    made = [rows]
    chapter = CHAPTERS[sweep.kind](sweep, sweep.sweep.name.replace("/", "-"))
    for item in chapter.items():
        if isinstance(item.part, Table):
            made.append(place / f"{item.stem}.md")
            made[-1].write_text(item.part.to_markdown())
        elif matrices or not isinstance(item.part, ConfusionFigure):
            vector, picture = matplotlib_figures.save(item.part, place / item.stem)
            vector.unlink()
            made.append(picture)
    return made


def read_rows(path: Path) -> list[Row]:
    """The rows that `to_csv` wrote."""
    with path.open(newline="") as file:
        return [
            Row(**{name: _value(name, text) for name, text in line.items()})
            for line in csv.DictReader(file)
        ]


def _value(name: str, text: str) -> Any:
    for number in (int, float):
        if number in TYPES[name]:
            return number(text) if text else None
    return text
