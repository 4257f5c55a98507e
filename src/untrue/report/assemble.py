"""`untrue report`: everything in a store, as a page, files and rows."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import untrue
from untrue.atomic_files import check_can_make, check_place
from untrue.errors import DataError, listed
from untrue.lab.experiments import EXPERIMENTS
from untrue.lab.store import Store, run_entry
from untrue.metrics import Interval
from untrue.report.compare import chapter as comparison
from untrue.report.document import matplotlib_figures
from untrue.report.document.page import Page, Part, Section, write, write_text
from untrue.report.document.tables import Column, Table
from untrue.report.runs.arms import Arms
from untrue.report.runs.chapters import Chapter
from untrue.report.runs.rows import Collected, Row, collect, to_csv
from untrue.report.sweep import exits, hierarchies, small_samples, zones
from untrue.report.sweep.published import SOURCE
from untrue.tools.fitting.learners import BOOSTERS
from untrue.tools.writing import numbers_text

CHAPTERS = {
    "zone": zones.chapter,
    "hierarchy": hierarchies.chapter,
    "small": small_samples.chapter,
    "exits": exits.chapter,
    "compare": comparison.chapter,
}
MEASURES = tuple(
    field.name
    for field in dataclasses.fields(Row)
    if field.name.endswith(("_pct", "errors")) or field.name in ("expected_cost", "validation_cost")
)
# Runs not made yet are named one by one only while they are few.
NAMED = 6
DAMAGED_NAMED = 20


@dataclass(frozen=True, slots=True)
class Report:
    """What `report` wrote. findings: of comparisons, in sentences. short: one table per sweep, for
    a terminal. notes: what is missing.
    """

    page: Path
    written: tuple[Path, ...]
    findings: tuple[str, ...]
    short: tuple[Table, ...]
    notes: tuple[str, ...]


def report(
    directory: str | Path, out: str | Path | None = None, *, overwrite: bool = False
) -> Report:
    """Read the store in `directory` and write page, figures, tables and rows to `out`.

    `out` is `directory` when not given, and what was drawn there before is replaced; in any other
    folder files are replaced only with `overwrite`. A sweep that is not finished is reported as far
    as it is.
    """
    place = Path(directory if out is None else out)
    if out is not None:
        check_can_make(place)
    with Store.read(directory) as store:
        sweeps = collect(store)
        planned = {config.run_id for sweep in sweeps for config in sweep.sweep.configs}
        planned |= {run.run_id for sweep in sweeps for run in sweep.starts}
        stray = len(store.status().keys() - planned)
        damage = _damage(store, sweeps)
    shown = [sweep for sweep in sweeps if sweep.rows]
    notes = (*damage, *(note for sweep in sweeps for note in _notes(sweep)))
    if not shown:
        reason = " ".join(notes) or "No experiment was started in it."
        raise DataError(f"No finished run in {directory} yet. {reason}")
    chapters = [CHAPTERS[sweep.kind](sweep, sweep.sweep.name.replace("/", "-")) for sweep in shown]
    if place.is_dir() and not place.samefile(directory):
        for path in _files(place, chapters):
            if path.parent.is_dir():
                check_place(path, overwrite=overwrite)
    written = [write_text(place / "rows.csv", to_csv(row for sweep in shown for row in sweep.rows))]
    for item in (item for chapter in chapters for item in chapter.items()):
        if isinstance(item.part, Table):
            stem = place / "tables" / item.stem
            written += [
                write_text(stem.with_name(f"{stem.name}.csv"), item.part.to_csv()),
                write_text(stem.with_name(f"{stem.name}.md"), item.part.to_markdown()),
            ]
        else:
            written += matplotlib_figures.save(item.part, place / "figures" / item.stem)
    page = write(_page(shown, chapters, sweeps, notes, stray), place / "report.html")
    names = [str(path.relative_to(place)) for path in (*written, page)]
    written.append(write_text(place / "report.json", numbers_text(_json(sweeps, names))))
    return Report(
        page=page,
        written=(*written, page),
        findings=tuple(comparison.findings(sweep) for sweep in shown if sweep.kind == "compare"),
        short=tuple(chapter.short for chapter in chapters),
        notes=notes,
    )


def _files(place: Path, chapters: Sequence[Chapter]) -> Iterator[Path]:
    """What a report of these chapters writes into `place`."""
    yield from (place / name for name in ("report.html", "report.json", "rows.csv"))
    for item in (item for chapter in chapters for item in chapter.items()):
        table = isinstance(item.part, Table)
        for ending in ("csv", "md") if table else ("svg", "png"):
            yield place / ("tables" if table else "figures") / f"{item.stem}.{ending}"


def _damage(store: Store, sweeps: tuple[Collected, ...]) -> list[str]:
    """What of the store cannot be trusted and is left out, in sentences."""
    notes, where = [], store.path.parent
    labels = {run_entry(c.run_id): c.label for sweep in sweeps for c in sweep.sweep.configs}
    found = store.damaged()
    if found:
        one = len(found) == 1
        names = listed([labels.get(entry.id, entry.name) for entry in found], most=DAMAGED_NAMED)
        notes.append(
            f"{len(found)} {'entry' if one else 'entries'} of {store.path.name} "
            f"{'is' if one else 'are'} damaged and left out: {names}. "
            f"`untrue status {where} --repair` drops {'it' if one else 'them'}; the command that "
            f"made {'it' if one else 'them'} then does so again."
        )
    problem = store.problem()
    if problem is not None:
        notes.append(
            f"The file {store.path.name} is damaged ({problem}), so that runs may be missing "
            f"without being named. `untrue status {where} --repair` keeps what is whole."
        )
    return notes


def _notes(collected: Collected) -> list[str]:
    """What is not there of a sweep, in sentences."""
    sweep, notes = collected.sweep, []
    waiting = len(collected.missing) + collected.unplanned
    if waiting:
        names = listed([config.label for config in collected.missing], most=NAMED, count=waiting)
        notes.append(
            f"{sweep.name}: {waiting} of {sweep.expected} models are not made yet"
            f"{f' ({names})' if names else ''}. Continue with: `{sweep.command}`"
        )
    if collected.failed:
        notes.append(
            f"{sweep.name}: {len(collected.failed)} of {sweep.expected} models failed and are left "
            f"out. Make them again with: `{sweep.command} --retry-failed`"
        )
    return notes


def _page(
    shown: list[Collected],
    chapters: list[Chapter],
    sweeps: tuple[Collected, ...],
    notes: tuple[str, ...],
    stray: int,
) -> Page:
    sections: list[Section] = []
    if notes:
        table = _failures(sweeps)
        parts: tuple[Part, ...] = (*notes, table) if table else notes
        sections.append(Section("What is missing", parts))
    several = len(shown) > 1
    for sweep, chapter in zip(shown, chapters, strict=True):
        prefix = f"{sweep.sweep.name}: " if several else ""
        if several:
            sections.append(Section(f"{prefix}{_title(sweep)}", (chapter.lead,)))
        sections += chapter.sections(prefix)
    facts = [fact for sweep in shown for fact in _facts(sweep, several=several)]
    if stray:
        facts.append(("not shown", f"{stray} stored runs of earlier settings"))
    if any(sweep.kind != "compare" for sweep in shown):
        facts.append(("published numbers", SOURCE))
    lead = "Several sweeps, one after the other." if several else chapters[0].lead
    title = "; ".join(f"{s.sweep.experiment} on {s.sweep.data}" for s in shown)
    if not several:
        title = f"{_title(shown[0])} ({shown[0].sweep.experiment} on {shown[0].sweep.data})"
    return Page(title, lead, tuple(sections), tuple(facts))


def _title(collected: Collected) -> str:
    if collected.kind == "compare":
        return comparison.TITLE
    known = EXPERIMENTS.get(collected.sweep.experiment)
    return known.title if known else collected.sweep.experiment


def _failures(sweeps: tuple[Collected, ...]) -> Table | None:
    rows = tuple(
        (result.config.label, result.reason, result.provenance.finished_at)
        for sweep in sweeps
        for result in sweep.failed
    )
    if not rows:
        return None
    columns = (Column("run"), Column("reason"), Column("when"))
    return Table("Failed runs", "Each with the last line of its traceback.", columns, rows)


def _facts(collected: Collected, *, several: bool) -> list[tuple[str, str]]:
    """Where the numbers come from."""
    sweep, info, results = collected.sweep, collected.info, collected.results
    setup = results[0].config.setup
    # What is compared may be a person's own table.
    what = "examples" if collected.kind == "compare" else "images"
    seconds = sum(result.provenance.seconds for result in results)
    epochs = sorted({result.epochs_run for result in results})
    ends = sorted(result.provenance.finished_at for result in results)
    norms = sorted({c.penalty.normalization for c in sweep.configs if c.penalty})
    hardware = Counter(f"{r.provenance.hardware}, {r.provenance.device}" for r in results)
    versions = Counter(", ".join(map(" ".join, r.provenance.versions)) for r in results)
    facts = [
        ("command", sweep.command),
        ("scale", f"{sweep.scale}; {collected.done} of {sweep.expected} models"),
        (
            "data",
            f"{info.name}: {results[0].train_images:,} training and "
            f"{int(results[0].confusion.sum()):,} test {what} used "
            f"(of {info.train_images:,} and {info.test_images:,}; files {info.fingerprint})",
        ),
        (
            "training",
            f"boosted trees by {setup.network}, {_between(epochs)} rounds, learning rate "
            f"{setup.training.learning_rate:g}"
            if setup.network in BOOSTERS
            else f"network {setup.network}, width {setup.width:g}, "
            f"{results[0].parameters:,} parameters; "
            f"{_between(epochs)} epochs, batch {setup.training.batch_size}, "
            f"{setup.training.optimizer_line()}",
        ),
        *_started(collected),
        ("penalty in training", f"normalised: {', '.join(norms) or 'not used yet'}"),
        ("hardware", "; ".join(hardware)),
        ("versions", "; ".join(versions)),
        ("made", f"{ends[0]} to {ends[-1]}, {seconds / 3600:.2f} hours of training in all"),
    ]
    prefix = f"{sweep.name}: " if several else ""
    return [(f"{prefix}{name}", value) for name, value in facts]


def _started(collected: Collected) -> list[tuple[str, str]]:
    """What the runs continued from, where they did."""
    good = [run for run in collected.starts if run.status == "ok"]
    if not good:
        return []
    right = [100 * run.confusion.trace() / run.confusion.sum() for run in good]
    setup = good[0].config.setup
    shown = f"{min(right):.2f}" if len(right) == 1 else f"{min(right):.2f} to {max(right):.2f}"
    return [
        (
            "started from",
            f"{len(good)} networks trained whole by cross-entropy ("
            f"{setup.training.epochs} epochs, {setup.training.optimizer_line()}; {shown} % right); "
            "every loss, cross-entropy too, continued from the one of its repetition",
        )
    ]


def _between(values: list[int]) -> str:
    return f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _json(sweeps: tuple[Collected, ...], names: list[str]) -> dict[str, Any]:
    return {
        "untrue": untrue.__version__,
        "files": names,
        "sweeps": [
            {
                "name": collected.sweep.name,
                "scale": collected.sweep.scale,
                "command": collected.sweep.command,
                "expected": collected.sweep.expected,
                "done": collected.done,
                "failed": [
                    {"run": r.config.label, "run_id": r.run_id, "reason": r.reason}
                    for r in collected.failed
                ],
                "missing": [config.label for config in collected.missing],
                "damaged": [config.label for config in collected.damaged],
                "not_planned_yet": collected.unplanned,
                "arms": _arms(Arms(collected.rows, overlap=collected.overlap)),
                **(comparison.summary(collected) if collected.kind == "compare" else {}),
            }
            for collected in sweeps
        ],
    }


def _arms(arms: Arms) -> list[dict[str, Any]]:
    return [
        {
            **dataclasses.asdict(arm),
            "repetitions": arms.repetitions(arm),
            "means": _estimates(partial(arms.mean, arm)),
            "differences_to_baseline": _estimates(partial(arms.change, arm)),
        }
        for arm in arms.select()
    ]


def _estimates(of: Callable[[str], Interval | None]) -> dict[str, Any]:
    """By measure, where it has a meaning."""
    return {name: found.as_dict() for name in MEASURES if (found := of(name)) is not None}
