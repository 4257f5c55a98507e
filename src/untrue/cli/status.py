"""`untrue status`: how far a sweep has come."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.input_files import visible

app = typer.Typer()


@app.command(epilog="Example: `untrue status runs/mnist`")
def status(
    directory: Annotated[Path, typer.Argument(help="The --out of an `untrue run`.")],
) -> None:
    """Say how many runs of a directory are done, which failed and why, and how to go on."""
    from untrue.lab.lock import owner
    from untrue.lab.store import Store
    from untrue.lab.time_estimate import duration

    with Store.read(directory) as store:
        running = owner(directory)
        for sweep in store.sweeps():
            results = list(store.results(sweep))
            good = [result for result in results if result.status == "ok"]
            bad = [result for result in results if result.status == "failed"]
            typer.echo(f"{sweep.name}, scale {sweep.scale}: {len(good)} of {sweep.expected} done")
            if good:
                mean = sum(result.provenance.seconds for result in good) / len(good)
                last = max(result.provenance.finished_at for result in good)
                typer.echo(f"  a run took {duration(mean)} on average; the last ended at {last}")
            for result in bad:
                reason = result.error.strip().splitlines()[-1]
                typer.echo(visible(f"  failed: {result.config.label}: {reason}"))
            if bad:
                typer.echo("  make failed runs again by adding --retry-failed to the command")
            if len(good) + len(bad) < sweep.expected and running is None:
                typer.echo(visible(f"  go on with: {sweep.command}"))
        typer.echo(f"running now: {f'process {running}' if running else 'no'}")
        typer.echo(str(store.path))
