"""`untrue run`: train the models of an experiment, or those that are still missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from untrue.cli import options
from untrue.cli.console import say
from untrue.cli.sweeping import conduct, share_cores, shown_command, store_in
from untrue.losses import registry

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue run masked-zone --scale desk --out runs/mnist --alpha 0,.5,.9`. "
    "Stop it with Ctrl-C; the same command goes on where it stopped."
)
AXES = "Axes of the experiment"


def axis(what: str) -> Any:
    return typer.Option(help=what, rich_help_panel=AXES, show_default=False)


@app.command(epilog=EXAMPLE)
def run(
    experiment: Annotated[
        str,
        typer.Argument(
            help="masked-zone, hierarchy, small-sample or demo; or a TOML file that names one "
            "and sets its axes."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where the results go; else runs/EXPERIMENT.")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="smoke (a minute), desk (two cores, about two hours) or paper (the full "
            "protocol); else desk."
        ),
    ] = None,
    data: Annotated[str | None, axis("Data set, when not the experiment's own.")] = None,
    network: Annotated[str | None, axis("Network: mnist, cifar10, cifar100, ...")] = None,
    alpha: Annotated[str | None, axis("Trade-offs: 0,.5,.9")] = None,
    loss: Annotated[str | None, axis(f"Losses: {','.join(registry.MIXED)}")] = None,
    zone_size: Annotated[str | None, axis("Cells of the masked zones: 10,30")] = None,
    small_count: Annotated[str | None, axis("Images left of small classes: 0,10,50")] = None,
    repetitions: Annotated[str | None, axis("Seeds, each with all alphas and losses.")] = None,
    seed: Annotated[str | None, axis("The first seed.")] = None,
    epochs: Annotated[str | None, axis("Epochs, at most.")] = None,
    batch_size: Annotated[str | None, axis("Images per step.")] = None,
    learning_rate: Annotated[str | None, axis("Of the optimizer, at its greatest.")] = None,
    width: Annotated[str | None, axis("Factor on the network's channels.")] = None,
    validation: Annotated[str | None, axis("Training images held back.")] = None,
    patience: Annotated[str | None, axis("Idle epochs before it stops; 0: off.")] = None,
    augment: Annotated[bool | None, axis("Mirror and shift the training images.")] = None,
    limit_train: Annotated[str | None, axis("Only so many training images.")] = None,
    limit_test: Annotated[str | None, axis("Only so many test images.")] = None,
    normalization: Annotated[str | None, axis("Of the penalty: rows, max or none.")] = None,
    data_dir: options.DataDir = None,
    jobs: options.Jobs = None,
    threads: options.Threads = None,
    device: options.Device = None,
    retry_failed: options.RetryFailed = False,
    dry_run: options.DryRun = False,
) -> None:
    """Train the models of one of the paper's experiments into a directory.

    What the directory already holds is not trained again. Exit code 1 when a run failed.
    """
    given = {
        "data": data,
        "network": network,
        "alpha": alpha,
        "loss": loss,
        "zone_size": zone_size,
        "small_count": small_count,
        "repetitions": repetitions,
        "seed": seed,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "width": width,
        "validation": validation,
        "patience": patience,
        "augment": augment,
        "limit_train": limit_train,
        "limit_test": limit_test,
        "normalization": normalization,
    }
    from untrue.lab import data as data_sets
    from untrue.lab import experiments, sweep

    overrides: dict[str, Any] = {}
    if experiment.endswith(".toml"):
        experiment, scale_text, overrides = experiments.read_toml(experiment)
        scale = scale or scale_text
    overrides |= {n: experiments.parse(n, value) for n, value in given.items() if value is not None}
    design = experiments.find(experiment)
    axes = experiments.axes(design, scale=scale or "desk", overrides=overrides)
    jobs, threads = share_cores(jobs, threads, device)
    loaded = data_sets.load(axes.data, data_dir)
    axes = experiments.with_scaled_validation(
        design,
        axes,
        scale=scale or "desk",
        overrides=overrides,
        train_images=len(loaded.train_labels),
    )
    sweep.check(design, axes, loaded)
    place = out or Path("runs") / design.name

    from rich.console import Console

    from untrue.lab.executor import LocalProcesses

    console = Console(soft_wrap=True, highlight=False)
    with store_in(place, dry_run=dry_run) as store:
        planned = sweep.prepare(
            store, design, axes, loaded, scale=scale or "desk", command=shown_command()
        )
        executor = LocalProcesses(jobs, threads, device, data_dir)
        failed = conduct(
            console,
            store,
            planned,
            lambda: sweep.run(
                store, design, axes, loaded, planned, executor, retry_failed=retry_failed
            ),
            jobs=jobs,
            threads=threads,
            retry_failed=retry_failed,
            dry_run=dry_run,
        )
        if not dry_run:
            say(console, str(store.path))
    if failed:
        raise typer.Exit(1)
