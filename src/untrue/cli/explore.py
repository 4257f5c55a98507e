"""`untrue explore`: a page to find out what mistakes should cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.cli import options
from untrue.errors import ArgumentError

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue explore predictions.csv --out explore.html`, or from costs that you have: "
    "`untrue explore predictions.csv --penalty costs.toml --hierarchy hierarchy.csv --out "
    "explore.html`"
)


@app.command(epilog=EXAMPLE)
def explore(
    predictions: Annotated[
        Path,
        typer.Argument(help="A table with the truth and probabilities, .csv or .parquet."),
    ],
    out: Annotated[Path, typer.Option(help="The page to write, .html.")],
    penalty: Annotated[
        Path | None,
        typer.Option(help="Costs to start with: .toml, .json, .csv or .npy; else all cost 1."),
    ] = None,
    hierarchy: Annotated[
        Path | None,
        typer.Option(
            help="A hierarchy of the classes, .csv (parent,child) or .json ({group: [classes]}): "
            "its groups can be edited as one."
        ),
    ] = None,
    truth: options.Truth = None,
    probs: options.Probs = None,
    examples: Annotated[
        int, typer.Option(help="The page holds at most this many examples, drawn by class.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    classes: options.Classes = None,
    delimiter: options.Delimiter = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a page in which you change what mistakes cost and see at once which answers change.

    The page needs no server and no network: open it in a browser. It saves the costs that you find.
    """
    from untrue.atomic_files import check_place, place_text
    from untrue.cli.console import console, say, say_notes
    from untrue.penalty import Penalty
    from untrue.report.own.explore.page import carried, explore_page
    from untrue.tools.exploring.explore import explore as read
    from untrue.tools.reading.probability_file import ReadOptions

    if out.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"`--out` must be a file that ends in .html; got {out}.")
    check_place(out, predictions, penalty, hierarchy, overwrite=overwrite)
    found = read(
        predictions,
        penalty=None if penalty is None else Penalty.load(penalty),
        hierarchy=hierarchy,
        options=ReadOptions(truth, probs, delimiter, options.names(classes)),
        examples=examples,
        seed=seed,
    )
    repeated = {
        "truth": truth,
        "probs": probs,
        "classes": classes,
        "delimiter": delimiter,
        "hierarchy": None if hierarchy is None else hierarchy.name,
    }
    place_text(out, explore_page(found, repeated))
    where = console()
    say(where, carried(found))
    say_notes(where, found.notes)
    say(where, str(out))
