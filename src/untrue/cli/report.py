"""`untrue report`: figures, tables and a page of what a sweep has made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.cli import options

app = typer.Typer()


@app.command(epilog="Example: `untrue report runs/mnist`")
def report(
    directory: Annotated[Path, typer.Argument(help="The --out of an `untrue run` or `compare`.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write; else into the directory itself.")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Draw the figures, tables and page of a sweep, finished or not.

    Writes report.html (one page that needs no network), figures/ (SVG and PNG), tables/ (CSV and
    Markdown), rows.csv (one row per run, decision rule and zone) and report.json. In the directory
    itself they are drawn anew each time; elsewhere they replace files with --overwrite only.
    """
    from untrue.cli.console import console, show_report
    from untrue.report.assemble import report

    show_report(console(), report(directory, out, overwrite=overwrite))
