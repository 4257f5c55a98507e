"""`untrue export`: a fitted model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.atomic_files import place_bytes
from untrue.cli import options
from untrue.errors import ArgumentError

app = typer.Typer()

EXAMPLE = "Example: `untrue export model --decide cost --out model.onnx`"
FORMATS = ("onnx",)


@app.command(epilog=EXAMPLE)
def export(
    model: options.FittedModel,
    out: Annotated[Path, typer.Option(help="The file to write, .onnx.")] = Path("model.onnx"),
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}.")] = "onnx",
    decide: Annotated[
        str | None, typer.Option(help="argmax, cost or tuned, as in `untrue predict`.")
    ] = None,
    abstain_cost: options.AbstainCost = None,
    penalty: options.OtherPenalty = None,
    pixels: Annotated[
        str | None,
        typer.Option(help="What images come as: uint8, or float32 on the scale learned from."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Data to compare with `untrue predict`; else drawn at random."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a fitted model and its decision as one ONNX graph, from raw values to answers.

    The graph takes the columns of the table as they are (or images), and gives the answer, class
    probabilities and scores. It is compared with `untrue predict` before it is written.
    """
    if form not in FORMATS:
        raise ArgumentError(f"`--format` must be {' or '.join(FORMATS)}; got {form!r}.")
    from untrue.tools.exporting.onnx_file import check_onnx_target, export_onnx

    check_onnx_target(out, model, overwrite=overwrite)
    from untrue.penalty import Penalty
    from untrue.tools.exporting.onnx_check import check_onnx
    from untrue.tools.fitting.model_folder import load_model
    from untrue.tools.fitting.predict import read_data

    costs = Penalty.load(penalty) if penalty else None
    loaded = load_model(model)
    source = read_data(loaded, check) if check else None
    made = export_onnx(
        loaded, decision=decide, abstain_cost=abstain_cost, penalty=costs, pixels=pixels
    )
    found = check_onnx(made, loaded, source)
    place_bytes(out, made.content)
    probs = (
        "no probabilities, which go by columns of the costs"
        if found.greatest is None
        else f"probabilities differ by at most {found.greatest:.1g}"
    )
    typer.echo(
        f"{loaded.predictor.words()}, decides by {made.decision}: {found.agree:,} of "
        f"{found.examples:,} {'' if check else 'drawn '}examples answered as by `untrue predict`; "
        f"{probs}"
    )
    typer.echo(out)
