"""`untrue predict`: label data with a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.cli import options

app = typer.Typer()

EXAMPLE = "Example: `untrue predict model new.csv --decide cost --out predictions.csv`"
IN_WORDS = {
    "argmax": "the most probable class",
    "cost": "least expected cost",
    "tuned": "the tuned rule",
    "node": "nodes of the hierarchy",
}


@app.command(epilog=EXAMPLE)
def predict(
    model: options.FittedModel,
    data: Annotated[
        Path, typer.Argument(help="Data of the same kind: a table, a folder of images, an .npz.")
    ],
    decide: Annotated[
        str | None,
        typer.Option(
            help="How to answer. argmax: the class with the highest score of the model (after "
            "training by costs this need not be the largest prob_ column). cost: the class of "
            "least expected cost. tuned: by the rule that `untrue tune` found. node: a class or an "
            "inner node of --hierarchy, whichever has the least expected distance to the truth. "
            "Default: tuned for a model of `untrue tune`, argmax for any other."
        ),
    ] = None,
    abstain_cost: options.AbstainCost = None,
    penalty: options.OtherPenalty = None,
    hierarchy: Annotated[
        Path | None,
        typer.Option(
            help="With --decide node: a hierarchy of the classes, .csv (parent,child) or .json; "
            "else that of the model's costs."
        ),
    ] = None,
    classes: options.Classes = None,
    delimiter: options.Delimiter = None,
    out: Annotated[Path, typer.Option(help="The file to write, .csv or .parquet.")] = Path(
        "predictions.csv"
    ),
    overwrite: options.Overwrite = False,
) -> None:
    """Label data with a fitted model: labels and probabilities, in the order of the data.

    The file has a row for each example; `untrue audit` reads it as is.
    """
    from untrue.tools.writing import check_table_target

    check_table_target(out, data, penalty, hierarchy, overwrite=overwrite)
    from untrue.penalty.files import load_any
    from untrue.tools.fitting.model_folder import load_model
    from untrue.tools.fitting.predict import default_decision, read_data, write_predictions
    from untrue.tools.fitting.predict import predict as run_predict
    from untrue.tools.reading.hierarchies import read_hierarchy

    costs = load_any(penalty) if penalty else None
    loaded = load_model(model)
    known_hierarchy = read_hierarchy(hierarchy, classes=loaded.classes) if hierarchy else None
    source = read_data(loaded, data, delimiter=delimiter, classes=options.names(classes))
    found = run_predict(
        loaded,
        source,
        decision=decide,
        abstain_cost=abstain_cost,
        penalty=costs,
        hierarchy=known_hierarchy,
    )
    n = len(found.predicted)
    note = f"; {found.abstained:,} of them abstained" if abstain_cost is not None else ""
    write_predictions(found, out)
    if loaded.training.get("tuned", {}).get("kept") is False:
        where = model / "page.html"
        typer.echo(f"note: this model does not keep its budgets; {where} says how far", err=True)
    by = decide or default_decision(loaded)
    # Training by costs moves the scores away from the probabilities that the file holds.
    moved = by == "argmax" and loaded.training.get("alpha", 0.0) > 0
    how = "the highest score of the model" if moved else IN_WORDS[by]
    typer.echo(f"{n:,} prediction{'s' * (n != 1)}, decided by {how}{note}")
    typer.echo(out)
