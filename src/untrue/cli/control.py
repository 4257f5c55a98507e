"""`untrue control`: the decision rule that keeps error budgets, for any model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.checks import check_number
from untrue.cli import options
from untrue.errors import ArgumentError

app = typer.Typer()

EXAMPLE = (
    'Example: `untrue control predictions.csv --budget "tumour->benign <= 0.5%" --out rule.json`, '
    "then `untrue decide rule.json new.csv --out decided.csv`"
)


@app.command(epilog=EXAMPLE)
def control(
    predictions: Annotated[
        Path,
        typer.Argument(
            help="A table with the truth and probabilities, .csv or .parquet, of examples that the "
            "model has not learned from."
        ),
    ],
    budget: Annotated[
        list[str],
        typer.Option(
            help='What must hold: "tumour->benign <= 0.5%", "good<-bad <= 5%" (of those predicted '
            'good), "zone <= 1%", "expected cost <= 0.2". Repeatable.'
        ),
    ],
    out: Annotated[Path, typer.Option(help="The rule, a .json file.")],
    penalty: Annotated[
        Path | None,
        typer.Option(
            help="What mistakes cost: the rule of least cost is chosen; without it the one with "
            "the most right answers."
        ),
    ] = None,
    abstain: Annotated[
        bool,
        typer.Option("--abstain", help="Let the rule give no answer where none keeps the budgets."),
    ] = False,
    abstain_cost: Annotated[
        float | None,
        typer.Option(
            help="With --abstain or in its place: what no answer costs, in the penalty's units."
        ),
    ] = None,
    confidence: options.JointConfidence = 0.95,
    truth: options.Truth = None,
    probs: options.Probs = None,
    hierarchy: options.HierarchyFile = None,
    zone_above: options.ZoneAbove = None,
    classes: options.Classes = None,
    delimiter: options.Delimiter = None,
    seed: Annotated[int, typer.Option(help="Seed of the random split.")] = 0,
    page: Annotated[
        Path | None, typer.Option(help="The page, .html; else beside the rule.")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Find the decision rule that keeps your error budgets, with a guarantee, for any model.

    With the confidence asked for, every budget truly holds for new cases like these. Writes the
    rule, and a page with each budget, its bound, the rules that were tested and the price. Where no
    rule can be shown to keep the budgets, it says why and what it would take, and writes nothing.

    Exit code: 0 there is a rule; 1 none can be shown to keep the budgets; 2 wrong use or data.
    """
    from untrue.atomic_files import check_place
    from untrue.cli.console import console, say, say_notes, show
    from untrue.penalty import Penalty
    from untrue.report.document.page import render, write_text
    from untrue.report.own import control as control_page
    from untrue.report.own.measures import column_range
    from untrue.tools.deciding.controlled import control_file
    from untrue.tools.reading.probability_file import ReadOptions

    # `.` and `..` have no name whose ending could be replaced.
    beside = page or (out.with_suffix(".html") if out.name else out)
    for path, ending, option in ((out, ".json", "--out"), (beside, ".html", "--page")):
        if path.suffix.lower() != ending:
            raise ArgumentError(f"`{option}` must end in {ending}; got {path}.")
        check_place(path, predictions, penalty, hierarchy, overwrite=overwrite)
    found = control_file(
        predictions,
        budgets=budget,
        penalty=None if penalty is None else Penalty.load(penalty),
        hierarchy=hierarchy,
        zone_above=zone_above,
        abstain=abstain if abstain_cost is None else check_number("abstain_cost", abstain_cost, 0),
        confidence=confidence,
        options=ReadOptions(truth, probs, delimiter, options.names(classes)),
        seed=seed,
    )
    html = render(control_page.control_page(found, out))
    found.rule.save(out)
    write_text(beside, html)
    where = console()
    read = f"truth in {found.truth!r}, probabilities in {column_range(found.columns)}"
    say(where, f"{found.source}: {read}")
    say_notes(where, found.notes)
    say(where, "")
    show(where, control_page.budgets_table(found.rule))
    say(where, str(found.rule.guarantee))
    say(where, str(beside))
    say(where, str(out))
