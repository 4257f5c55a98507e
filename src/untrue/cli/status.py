"""`untrue status`: how far a sweep or a tuning has come, and whether what is stored is whole."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from untrue.errors import ArgumentError, counted
from untrue.input_files import visible

if TYPE_CHECKING:
    from untrue.lab.records import Sweep
    from untrue.lab.store import Store
    from untrue.storage import Damaged

app = typer.Typer()


@app.command(epilog="Example: `untrue status runs/mnist`, or `untrue status model.tuning.sqlite`")
def status(
    path: Annotated[
        Path,
        typer.Argument(help="The --out of an `untrue run` or `compare`; the --record of a `tune`."),
    ],
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Drop damaged entries, so that the same command makes them again.",
        ),
    ] = False,
) -> None:
    """Say how many runs of a directory are done, which failed and why, and how to continue.

    Every entry is checked against its checksum; damaged ones are named.
    """
    from untrue.lab.store import FILE, Store
    from untrue.storage import owner

    file = path if path.is_file() else path / FILE
    if repair and file.is_file():
        _repair(file)
    if path.is_file() and path.name != FILE:
        _trainings(path)
        return
    if not file.is_file():
        _check_no_model(path)
    with Store.read(file.parent) as store:
        running = owner(file.parent)
        for sweep in store.sweeps():
            _sweep(store, sweep, running=running is not None)
        _damage(store.damaged(), store.problem(), path)
        typer.echo(f"running now: {f'process {running}' if running else 'no'}")
        typer.echo(str(store.path))


def _sweep(store: Store, sweep: Sweep, *, running: bool) -> None:
    from untrue.training.progress import duration

    results = list(store.results(sweep))
    good = [result for result in results if result.status == "ok"]
    bad = [result for result in results if result.status == "failed"]
    typer.echo(f"{sweep.name}, scale {sweep.scale}: {len(good)} of {sweep.expected} done")
    if good:
        mean = sum(result.provenance.seconds for result in good) / len(good)
        last = max(result.provenance.finished_at for result in good)
        typer.echo(f"  a run took {duration(mean)} on average; the last ended at {last}")
    for result in bad:
        typer.echo(visible(f"  failed: {result.config.label}: {result.reason}"))
    if bad:
        typer.echo("  make failed runs again by adding --retry-failed to the command")
    if len(good) + len(bad) < sweep.expected and not running:
        typer.echo(f"  continue with: {sweep.command}")


def _check_no_model(path: Path) -> None:
    """Point to the record beside a model that `tune` wrote."""
    from untrue.tools.tuning.record import ENDING

    record = path.parent / f"{path.name}{ENDING}"
    if path.name and record.is_file():
        raise ArgumentError(
            f"{path} holds a model that was tuned; what was trained for it is in {record}: "
            f"`untrue status {record}`."
        )


def _trainings(path: Path) -> None:
    """What the record of a tuning holds."""
    from untrue.storage import Storage
    from untrue.tools.tuning.record import READERS, TRAINED, read_trained
    from untrue.training.progress import duration

    with Storage.read(path) as storage:
        damaged, problem = storage.damaged(READERS), storage.problem()
        seconds = [model.seconds for model in storage.all_as(TRAINED, read_trained)]
    models = counted(len(seconds), "trained model")
    typer.echo(f"{models}, {duration(sum(seconds))} of training")
    _damage(damaged, problem, path)
    typer.echo(str(path))


def _damage(damaged: tuple[Damaged, ...], problem: str | None, path: Path) -> None:
    if problem is not None:
        typer.echo(f"the file is damaged, and entries may be missing: {problem}")
    for entry in damaged:
        typer.echo(visible(f"damaged: {entry.name}: {entry.reason}"))
    if damaged or problem is not None:
        what = f"{len(damaged)} damaged" if damaged else "damage"
        typer.echo(f"{what}: `untrue status {path} --repair` drops what is damaged")


def _repair(file: Path) -> None:
    """Drop what is damaged, in a directory that no other process writes to."""
    from untrue.lab.store import FILE
    from untrue.lab.store import READERS as RUNS
    from untrue.storage import locked
    from untrue.storage import repair as repair_file
    from untrue.tools.tuning.record import READERS as TRAININGS

    with locked(file.parent) if file.name == FILE else nullcontext():
        found = repair_file(file, {**RUNS, **TRAININGS})
    for entry in found.dropped:
        typer.echo(visible(f"dropped: {entry.name}: {entry.reason}"))
    if found.problem is not None:
        typer.echo(f"the file was damaged ({found.problem}); what could be read is kept")
    typer.echo(f"repair: {len(found.dropped)} damaged dropped, {found.kept} kept")
