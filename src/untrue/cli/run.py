"""`untrue run`: train the models of an experiment, or those that are still missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from untrue.cli import options
from untrue.cli.console import say
from untrue.cli.sweeping import check_machine, sweep_into
from untrue.losses import registry

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue run masked-zone --scale desk --out runs/mnist --alpha 0,.5,.9`. "
    "Stop it with Ctrl-C; the same command continues where it stopped."
)
axis = options.in_panel("Axes of the experiment", show_default=False)


@app.command(epilog=EXAMPLE)
@options.grouped
def run(
    experiment: Annotated[
        str,
        typer.Argument(
            help="masked-zone, hierarchy, small-sample, exits or demo; or a TOML file that names "
            "one and sets its axes."
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
    data: Annotated[str | None, axis("Data set; else the experiment's own.")] = None,
    alpha: Annotated[str | None, axis("Trade-offs: 0,.5,.9")] = None,
    loss: Annotated[str | None, axis(f"Losses: {','.join(registry.MIXED)}")] = None,
    zone_size: Annotated[str | None, axis("Cells of the masked zones: 10,30")] = None,
    small_count: Annotated[str | None, axis("Images left of small classes: 0,10,50")] = None,
    exits: Annotated[str | None, axis("Exits of the network, in the experiment exits.")] = None,
    runs: options.Runs = options.USUAL_RUNS,
    warm: options.WarmStart = options.FROM_NOTHING,
    training: options.Training = options.USUAL_TRAINING,
    optimizing: options.Optimizer = options.USUAL_OPTIMIZER,
    augment: Annotated[
        bool | None, options.training("Mirror and shift the training images.")
    ] = None,
    shift: Annotated[int | None, options.training("Pixels of the shift, at most.")] = None,
    machine: options.Machine = options.THIS_MACHINE,
    where: options.ExecutorOptions = options.LOCAL,
) -> None:
    """Train the models of one of the paper's experiments into a directory.

    What the directory already holds is not trained again. Exit code 1 when a run failed.
    """
    from rich.console import Console

    from untrue.lab import experiments, plans, run_data
    from untrue.lab.warm import split_options, with_start

    values: dict[str, Any] = {}
    if experiment.endswith(".toml"):
        experiment, scale_text, values = experiments.read_toml(experiment)
        scale = scale or scale_text
    scale = scale or "desk"
    axes = {"alpha": alpha, "loss": loss, "zone_size": zone_size, "small_count": small_count}
    axes |= {"exits": exits}
    values |= {n: experiments.read(n, text) for n, text in axes.items() if text is not None}
    for group in (runs, training, optimizing):
        values |= options.given(group)
    other = {"data": data, "augment": augment, "shift": shift}
    values |= {n: v for n, v in other.items() if v is not None}
    chosen = experiments.find(experiment)
    values, short = split_options(values, warm.start_from)
    # Planned before the data are read or fetched, so that what makes no sense is refused first.
    name = plans.paper_plan(chosen, scale=scale, overrides=values).design.setup.data
    check_machine(machine, where)
    place = out or Path("runs") / chosen.name
    found: run_data.KnownData | run_data.NamedData | run_data.TableRunData
    if machine.dry_run:
        found = run_data.known(name, place)
    else:
        found = run_data.named(name, machine.data_dir)
    plan = plans.paper_plan(
        chosen, scale=scale, overrides=values, train_images=found.info.train_images
    )
    whole = with_start(plan, found.info, short, warm.start_from, keep_weights=warm.keep_weights)
    console = Console(soft_wrap=True, highlight=False)
    done = sweep_into(place, whole, found, machine, where, scale=scale, console=console)
    if not machine.dry_run:
        say(console, str(done.store))
    if done.failed:
        raise typer.Exit(1)
