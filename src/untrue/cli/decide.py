"""`untrue decide`: the answers of a decision rule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.cli import options

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue decide rule.json new.csv --out decided.csv`; once the truth is known: "
    "`untrue audit decided.csv --rule rule.json`"
)
# How many classes are listed.
LISTED = 12


@app.command(epilog=EXAMPLE)
def decide(
    rule: Annotated[Path, typer.Argument(help="A decision rule of `untrue control`.")],
    data: Annotated[Path, typer.Argument(help="A table with probabilities, .csv or .parquet.")],
    out: Annotated[Path, typer.Option(help="The file to write, .csv or .parquet.")],
    column: Annotated[str, typer.Option(help="Name of the column of answers.")] = "decided",
    probs: options.Probs = None,
    classes: options.Classes = None,
    delimiter: options.Delimiter = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Answer by a decision rule: the file with one column more.

    Where the rule gives no answer, the column says (abstained).
    """
    from untrue.budgets import DecisionRule
    from untrue.cli.console import console, say, say_notes
    from untrue.tools.deciding.decided import decide_file
    from untrue.tools.reading.probability_file import ReadOptions
    from untrue.tools.writing import check_table_target

    check_table_target(out, data, rule, overwrite=overwrite)
    loaded = DecisionRule.load(rule)
    how = ReadOptions(None, probs, delimiter, options.names(classes))
    found = decide_file(loaded, data, out, column=column, options=how)
    where = console()
    say_notes(where, found.notes)
    if not loaded.guarantee.holds:
        say(where, "Note: the rule was not shown to keep its budgets.")
    say(
        where,
        f"{found.source}: {found.n:,} cases, {found.changed:,} where the answer is not the most "
        f"probable class, {found.abstained:,} without an answer",
    )
    counts = sorted(found.counts, key=lambda each: -each[1])
    listed = ", ".join(f"{name} {count:,}" for name, count in counts[:LISTED])
    more = f" and {len(counts) - LISTED:,} classes more" if len(counts) > LISTED else ""
    say(where, f"answers: {listed}{more}")
    say(where, str(out))
