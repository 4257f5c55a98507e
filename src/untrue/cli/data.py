"""`untrue data list | show | get | check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="List, fetch and check the data sets.",
    epilog="Example: `untrue data list`",
    no_args_is_help=True,
)

DataDir = Annotated[
    Path | None,
    typer.Option(help="Where the files are; else $UNTRUE_DATA, else the user's cache."),
]


@app.command("list", epilog="Example: `untrue data list --data-dir ~/datasets`")
def list_all(data_dir: DataDir = None) -> None:
    """What data sets there are, where they are on this machine and how big."""
    from untrue.lab.data import listing

    for entry in listing(data_dir):
        place = entry.where or ("not installed" if entry.built_in else "not here")
        typer.echo(f"{entry.name:<14} {megabytes(entry.size):>9}  {entry.about}\n{'':26}{place}")
    typer.echo("\nFetch one that is not here: untrue data get NAME")
    typer.echo("The class names of one: untrue data show NAME")


@app.command(epilog="Example: `untrue data show fashion-mnist`")
def show(
    name: Annotated[str, typer.Argument(help="A data set, as `untrue data list` names it.")],
) -> None:
    """The classes of a data set, in the order of its labels, by super-class where it has any."""
    from untrue.lab.data import facts

    found = facts(name)
    typer.echo(f"{name}: {found.about}\n{len(found.classes)} classes, in the order of the labels:")
    for class_name in found.classes:
        typer.echo(f"  {class_name}")
    if found.groups:
        typer.echo(f"in {len(found.groups)} super-classes:")
    for group, members in found.groups.items():
        typer.echo(f"  {group}: {', '.join(members)}")


@app.command(epilog="Example: `untrue data get mnist --data-dir ~/datasets`")
def get(
    name: Annotated[
        str, typer.Argument(help="One that is not built in, as `untrue data list` names it.")
    ],
    data_dir: DataDir = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(help="Address of a folder with the same files; may be given several times."),
    ] = None,
) -> None:
    """Fetch a data set from its public mirrors and check it, unless it is there already."""
    from untrue.lab.data import get

    typer.echo(get(name, data_dir, mirrors=mirror))


@app.command(epilog="Example: `untrue data check mnist`")
def check(
    name: Annotated[list[str] | None, typer.Argument(help="These only; else all.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Read data sets from end to end and name what is damaged; exit code 2 when one is."""
    from untrue.lab.data import check

    bad = False
    for verdict in check(data_dir, wanted=name):
        bad = bad or verdict.state == "bad"
        place = f" ({verdict.where}, {megabytes(verdict.size)})" if verdict.where else ""
        typer.echo(f"{verdict.name:<14} {verdict.state:<7} {verdict.detail}{place}")
    raise typer.Exit(2 if bad else 0)


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size else "-"
