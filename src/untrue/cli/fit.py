"""`untrue fit`: train a classifier on your own data by what mistakes cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from untrue.cli import options
from untrue.cli.console import console, say, show
from untrue.cli.options import training
from untrue.losses import registry

if TYPE_CHECKING:
    from rich.console import Console

    from untrue.training.progress import Progress

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
    baseline: Annotated[
        bool, training("Train the plain cross-entropy model too, to compare.")
    ] = True,
    trained: options.Training = options.USUAL_TRAINING,
    rounds: options.Rounds = None,
    seed: Annotated[int, training("Of the split, the weights and the batches.")] = 0,
    test_share: Annotated[float, training("Held back to measure on.")] = 0.2,
    validation_share: Annotated[float, training("Of the rest, held back to stop by.")] = 0.15,
    own: options.Reading = options.USUAL_READING,
    overwrite: options.Overwrite = False,
) -> None:
    """Train a classifier on your own data by what mistakes cost, and show what that bought.

    Trains the plain cross-entropy model beside it, measures both on examples that neither has
    seen, prints before and after, and writes a folder that `untrue predict` takes.
    """
    from untrue.penalty import Penalty
    from untrue.tools.fitting.model_folder import check_target, save_model

    check_target(out, overwrite=overwrite, inputs=[data])
    costs = Penalty.load(penalty) if penalty else None
    source = own.open(data, target)

    from untrue.report.document.page import write
    from untrue.report.own.fit import changes_table, fit_page, lead, metrics, variants_table
    from untrue.report.own.measures import costliest
    from untrue.tools.fitting.fit import fit as run_fit

    where = console()
    say(where, f"{data}: {len(source):,} examples ({source.kind})")
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
            baseline=baseline,
            test_share=test_share,
            validation_share=validation_share,
            on_progress=lines.show,
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
    kept = found.variants[found.chosen]
    show(where, costliest(kept.summary, f"The costliest confusions of {kept.name}"))
    say(where, lead(found))
    for note in found.notes:
        say(where, f"Note: {note}.")
    say(where, f"{made / 'page.html'}")
    say(where, str(made))


class EpochLines:
    """Progress: one line that changes on a terminal, a line for each model elsewhere."""

    def __init__(self, where: Console) -> None:
        self._where = where
        self._status = where.status("reading") if where.is_terminal else None
        self._last: tuple[str, Progress] | None = None

    def __enter__(self) -> EpochLines:
        if self._status is not None:
            self._status.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._status is not None:
            self._status.__exit__(*exception)
        self._print_last()

    def show(self, name: str, progress: Progress) -> None:
        if self._last is not None and self._last[0] != name:
            self._print_last()
        self._last = name, progress
        if self._status is not None:
            self._status.update(
                f"{name}: epoch {progress.epoch} of at most {progress.epochs}, {_loss(progress)}"
            )

    def say(self, text: str) -> None:
        """A line among the progress, after what is under variant."""
        self._print_last()
        say(self._where, text)

    def _print_last(self) -> None:
        if self._last is not None:
            name, progress = self._last
            say(self._where, f"{name}: {progress.epoch} epochs, {_loss(progress)}")
        self._last = None


def _loss(progress: Progress) -> str:
    if progress.validation_loss is None:
        return f"step {progress.step} of {progress.steps}, loss {progress.loss:.4f}"
    return f"validation loss {progress.validation_loss:.4f}"
