"""`untrue report`: figures, tables and a page of what a sweep has made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command(epilog="Example: `untrue report runs/mnist`")
def report(
    directory: Annotated[Path, typer.Argument(help="The --out of an `untrue run` or `compare`.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write; else into the directory itself.")
    ] = None,
) -> None:
    """Draw the figures, tables and page of a sweep, finished or not.

    Writes report.html (one page that needs no network), figures/ (SVG and PNG), tables/ (CSV and
    Markdown), rows.csv (one row per run, decision rule and zone) and report.json.
    """
    from untrue.cli.console import console, show_report
    from untrue.report.assemble import report

    show_report(console(), report(directory, out))
