"""`untrue merge`: the runs of several directories in one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.errors import counted

app = typer.Typer()


@app.command(
    epilog="Example: `untrue merge first/mnist second/mnist --out runs/mnist`, then `untrue report "
    "runs/mnist`. The same `untrue run` command with `--out runs/mnist` trains what is missing."
)
def merge(
    directories: Annotated[
        list[Path], typer.Argument(help="The --out of each `untrue run` or `compare`.")
    ],
    out: Annotated[Path, typer.Option(help="Where the runs go; made when absent.")],
    results_only: Annotated[
        bool,
        typer.Option(
            "--results-only",
            help="Leave out weights and test probabilities: small, and enough for a report.",
        ),
    ] = False,
) -> None:
    """Copy the runs of several directories into one, each run once.

    So a sweep can be made on several machines (give each another --seed), and published runs can
    be continued. The directories stay as they are.
    """
    from untrue.lab.merging import merge as merged
    from untrue.lab.store import FILE

    found = merged(directories, out, results_only=results_only)
    left_out = f", {found.damaged} damaged left out" if found.damaged else ""
    typer.echo(f"{counted(found.added, 'run')} added, {found.known} known already{left_out}")
    typer.echo(str(out / FILE))
