"""`untrue calibrate`: probabilities that match how often the answers are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from untrue.cli import options
from untrue.errors import counted

if TYPE_CHECKING:
    from untrue.tools.auditing.calibration import CalibratedFile

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue calibrate predictions.csv --out calibrated.csv`, or with predictions of "
    "examples kept apart for it: `untrue calibrate predictions.csv --on held-out.csv --out "
    "calibrated.csv`"
)


@app.command(epilog=EXAMPLE)
def calibrate(
    predictions: Annotated[
        Path, typer.Argument(help="A table with probabilities, .csv or .parquet.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write, .csv or .parquet.")],
    on: Annotated[
        Path | None,
        typer.Option(
            help="Predictions of examples the model has not seen, with their truth, to calibrate "
            "by; else the predictions themselves."
        ),
    ] = None,
    truth: options.Truth = None,
    probs: options.Probs = None,
    classes: options.Classes = None,
    delimiter: options.Delimiter = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Calibrate the probabilities in a file, so that they match how often the answers are right.

    Finds one temperature by the true labels, divides the log-probabilities by it, and writes the
    file with the probabilities changed and all else as it was. The order of the classes stays;
    answers by least expected cost may change. The model must not have learned from these examples.
    """
    from untrue.cli.console import console, say, say_notes
    from untrue.tools.auditing.calibration import calibrate_file, trust
    from untrue.tools.reading.probability_file import ReadOptions
    from untrue.tools.writing import check_table_target

    check_table_target(out, predictions, on, overwrite=overwrite)
    how = ReadOptions(truth, probs, delimiter, options.names(classes))
    found = calibrate_file(predictions, out, on=on, options=how)
    where = console()
    say(where, finding(found))
    judged = (
        "each fifth of the examples at the temperature of the others. That estimates the error on "
        f"new examples; {out} itself, fitted to all of these, cannot be judged by them"
        if on is None
        else f"in {out}"
    )
    if found.before is not None and found.after is not None:
        say(
            where,
            f"calibration error {found.before:.1f} % before, {found.after:.1f} % after, {judged}",
        )
    doubt = trust(found.n, found.known_within)
    say_notes(where, found.notes if doubt is None else [*found.notes, doubt])
    say(where, str(out))


def finding(found: CalibratedFile) -> str:
    """The temperature, and what it says about the model."""
    if found.low > 1:
        model = "too sure of its answers"
    elif found.high < 1:
        model = "not sure enough of its answers"
    else:
        model = "about as sure as it should be, as far as these examples show"
    return (
        f"{found.source}: temperature {found.temperature:.3g} (95 % interval {found.low:.3g} to "
        f"{found.high:.3g}), fitted to {counted(found.n, 'example')} of {found.fitted_to}: "
        f"the model was {model}"
    )
