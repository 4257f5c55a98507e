"""`untrue fit`: train a classifier on your own data by what mistakes cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.cli import by_options, options
from untrue.cli.console import console, say, say_notes, show
from untrue.cli.epoch_lines import EpochLines
from untrue.cli.options import training
from untrue.errors import counted
from untrue.losses import registry

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue fit patients.csv --target diagnosis --penalty costs.toml --alpha .5 "
    "--out model`"
)


@app.command(epilog=EXAMPLE)
@options.grouped
def fit(
    data: options.Data,
    out: options.ModelFolder,
    target: options.Target = None,
    penalty: Annotated[
        Path | None, typer.Option(help="What mistakes cost: .toml, .json, .csv or .npy.")
    ] = None,
    loss: Annotated[
        str, typer.Option(help=f"{', '.join(registry.MIXED)} or {registry.CROSS_ENTROPY}.")
    ] = "bilinear",
    alpha: Annotated[float, typer.Option(help="Share of the cost term, 0 (plain) to 1.")] = 0.5,
    model: options.Model = None,
    start_from: Annotated[
        Path | None,
        training(
            "Continue from the network of a model that was fitted to these data, for a few epochs "
            "(--epochs, 3 by default); the plain model continues from it too.",
            metavar="MODEL",
        ),
    ] = None,
    baseline: Annotated[
        bool, training("Train the plain cross-entropy model too, to compare.")
    ] = True,
    trained: options.Training = options.USUAL_TRAINING,
    rounds: options.Rounds = None,
    seed: Annotated[int, training("Seed of the split, the weights and the batches.")] = 0,
    test_share: Annotated[float, training("Share of the data held back to measure on.")] = 0.2,
    validation_share: Annotated[
        float, training("Share of the rest, held back to decide when to stop.")
    ] = 0.15,
    own: options.Reading = options.USUAL_READING,
    overwrite: options.Overwrite = False,
) -> None:
    """Train a classifier on your own data by what mistakes cost, and show what that changed.

    Trains the plain cross-entropy model beside it, measures both on examples that neither has
    seen, prints before and after, and writes a folder that `untrue predict` takes.
    """
    from untrue.penalty.files import load_any
    from untrue.tools.fitting.model_folder import check_target, save_model

    read = [data] if start_from is None else [data, start_from]
    check_target(out, overwrite=overwrite, inputs=read)
    costs = load_any(penalty) if penalty else None
    source = own.open(data, target)

    from untrue.report.document.page import write
    from untrue.report.own.fit import changes_table, fit_page, lead, metrics, variants_table
    from untrue.report.own.measures import costliest
    from untrue.tools.fitting.fit import fit as run_fit

    where = console()
    say(where, f"{data}: {counted(len(source), 'example')} ({source.kind})")
    with EpochLines(where) as lines:
        found = run_fit(
            source,
            penalty=costs,
            loss=loss,
            alpha=alpha,
            model=model,
            **options.given(trained),
            rounds=rounds,
            seed=seed,
            start_from=start_from,
            baseline=baseline,
            test_share=test_share,
            validation_share=validation_share,
            on_progress=lines.show,
            tell=lambda text: lines.say(by_options(text, "fit")),
        )
    page = fit_page(found)
    made = save_model(
        out, found.model, metrics=metrics(found), extra=lambda at: write(page, at / "page.html")
    )
    say(where, f"Model: {found.model.predictor.words()} ({found.why})")
    say(where, "")
    show(where, variants_table(found))
    changes = changes_table(found)
    if changes is not None:
        show(where, changes)
    kept = found.variant
    show(where, costliest(kept.summary, f"The costliest confusions of {kept.name}"))
    say(where, lead(found))
    say_notes(where, found.notes)
    say(where, f"{made / 'page.html'}")
    say(where, str(made))
