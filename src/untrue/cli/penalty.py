"""`untrue penalty show | check | convert | new | suggest`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from untrue.cli import options
from untrue.errors import ArgumentError, UntrueWarning

app = typer.Typer(
    help="Show, check, convert and start files of costs.",
    epilog="Example: `untrue penalty show costs.toml`",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="Costs as .toml, .json, .csv or .npy.")]
Names = Annotated[
    str | None, typer.Option("--classes", help="Class names of an .npy file: a,b,c", metavar="A,B")
]


@app.command(epilog="Example: `untrue penalty show costs.toml --html costs.html`")
def show(
    file: File,
    html: Annotated[
        Path | None, typer.Option(help="Write the whole matrix as a page here too.")
    ] = None,
    classes: Names = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Print what each mistake costs: the matrix, or of many classes the costliest mistakes."""
    from untrue.atomic_files import check_place, place_text
    from untrue.cli.console import console, say
    from untrue.cli.console import show as print_table
    from untrue.penalty import Penalty
    from untrue.report.own.penalty import cost_tables, penalty_page

    if html is not None:
        if html.suffix.lower() not in (".html", ".htm"):
            raise ArgumentError(f"`--html` must end in .html; got {html}.")
        check_place(html, file, overwrite=overwrite)
    penalty = Penalty.load(file, classes=options.names(classes or None))
    if html is not None:
        place_text(html, penalty_page(penalty, name=file.name))
    where = console()
    say(where, f"{file}: {penalty!r}")
    for table in cost_tables(penalty, width=where.width):
        print_table(where, table)
    if html is not None:
        say(where, str(html))


@app.command(epilog="Example: `untrue penalty check costs.toml`")
def check(file: File, classes: Names = None) -> None:
    """Look for what is likely to disappoint: free classes, asymmetric pairs, scale, easy answers.

    Exit code 2 only when the file cannot be used at all.
    """
    from untrue.cli.console import console, say
    from untrue.cli.console import show as print_table
    from untrue.penalty import Penalty
    from untrue.report.own.penalty import diagnosis_tables
    from untrue.tools.penalty_diagnosis import diagnose

    penalty = Penalty.load(file, classes=options.names(classes or None))
    found = diagnose(penalty)
    where = console()
    for table in diagnosis_tables(found, name=file.name):
        print_table(where, table)
    for remark in found.remarks:
        say(where, f"Note: {remark}")
    if not found.remarks:
        say(where, "Nothing to worry about.")


@app.command(epilog="Example: `untrue penalty convert costs.csv costs.toml`")
def convert(
    source: File,
    target: Annotated[Path, typer.Argument(help="The file to write; its ending sets the format.")],
    classes: Names = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the same costs in another format; numbers come back exactly."""
    from untrue.atomic_files import check_place
    from untrue.penalty import Penalty
    from untrue.penalty.stated import has_names

    check_place(target, source, overwrite=overwrite)
    penalty = Penalty.load(source, classes=options.names(classes or None))
    written = penalty.save(target)
    if target.suffix.lower() == ".npy" and has_names(penalty):
        warnings.warn(
            f"{target} has no names of classes: .npy cannot hold them. Rows and columns are in "
            f"the order of {source}.",
            UntrueWarning,
            stacklevel=1,
        )
    typer.echo(written)


@app.command(epilog="Example: `untrue penalty new --classes cat,dog,tumour --out costs.toml`")
def new(
    classes: Annotated[
        str | None,
        typer.Option(help="Class names, in order; those with a comma in quotes.", metavar="A,B,C"),
    ] = None,
    hierarchy: Annotated[
        Path | None, typer.Option(help="A hierarchy as .csv (parent,child) or .json.")
    ] = None,
    ordinal: Annotated[
        bool,
        typer.Option("--ordinal", help="The classes are in order: further apart costs more."),
    ] = False,
    power: Annotated[
        float | None,
        typer.Option(help="With --ordinal: a mistake costs its steps to this power; else to 1."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("costs.toml"),
    overwrite: options.Overwrite = False,
) -> None:
    """Write a commented TOML of costs to fill in: by names, in order, or by a hierarchy."""
    from untrue.atomic_files import check_place, place_text
    from untrue.tools.penalty_templates import template
    from untrue.tools.reading.hierarchies import read_hierarchy

    if out.suffix.lower() != ".toml":
        raise ArgumentError(f"`--out` must end in .toml, which has room for comments; got {out}.")
    check_place(out, hierarchy, overwrite=overwrite)
    names = options.names(classes or None)
    known_hierarchy = read_hierarchy(hierarchy, classes=names) if hierarchy else None
    typer.echo(place_text(out, template(names, known_hierarchy, ordinal=ordinal, power=power)))


@app.command(
    epilog="Example: `untrue penalty suggest --confusion cm.csv --rule 'tumour->benign=20'`"
)
def suggest(
    confusion: Annotated[
        Path,
        typer.Option(help="Counts as CSV: header row and first column are class names, rows true."),
    ],
    rule: Annotated[
        list[str] | None,
        typer.Option(help="A cost you know, 'TRUE->PREDICTED=COST'; may be given several times."),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            help="distance: seldom confused classes are far apart, and taking one for the other "
            "costs more; frequency: what happens most costs most."
        ),
    ] = "distance",
    greatest: Annotated[
        float, typer.Option(help="The costliest mistake; the cheapest costs 1.")
    ] = 5,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("costs.csv"),
    overwrite: options.Overwrite = False,
) -> None:
    """Suggest a starting matrix from a confusion matrix and the costs you know."""
    from untrue.atomic_files import check_place
    from untrue.cli.console import console, say
    from untrue.cli.console import show as print_table
    from untrue.report.own.penalty import suggestion_table
    from untrue.tools.penalty_templates import parse_rule
    from untrue.tools.penalty_templates import suggest as suggestion
    from untrue.tools.reading.confusion_file import read_confusion_csv

    check_place(out, confusion, overwrite=overwrite)
    names, counts = read_confusion_csv(confusion)
    rules = [parse_rule(text) for text in rule or []]
    found = suggestion(names, counts, rules, by=by, greatest=greatest)
    saved = found.penalty.save(out)
    where = console()
    print_table(where, suggestion_table(found))
    for true, predicted, cost in found.unseen:
        say(
            where,
            f"Note: {true} was never taken for {predicted} in these counts, so that its cost of "
            f"{cost:g} adds nothing to what the errors cost now.",
        )
    say(where, "A starting point, not an answer: change what you know better, then check it.")
    say(where, str(saved))
