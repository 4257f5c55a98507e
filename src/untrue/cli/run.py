"""`untrue run`: train the models of an experiment, or those that are still missing."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from untrue.errors import ArgumentError

if TYPE_CHECKING:
    from untrue.lab.records import RunConfig, Sweep
    from untrue.lab.store import Store

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue run masked-zone --scale desk --out runs/mnist --alpha 0,.5,.9`. "
    "Stop it with Ctrl-C; the same command goes on where it stopped."
)
AXES = "Axes of the experiment"
MACHINE = "Machine"


def axis(what: str) -> Any:
    return typer.Option(help=what, rich_help_panel=AXES, show_default=False)


def machine(what: str) -> Any:
    return typer.Option(help=what, rich_help_panel=MACHINE)


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
    loss: Annotated[str | None, axis("Losses: bilinear,log-bilinear")] = None,
    zone_size: Annotated[str | None, axis("Cells of the masked zones: 10,30")] = None,
    small_count: Annotated[str | None, axis("Images left of small classes: 0,10,50")] = None,
    repetitions: Annotated[str | None, axis("Seeds, each with all alphas and losses.")] = None,
    seed: Annotated[str | None, axis("The first seed.")] = None,
    epochs: Annotated[str | None, axis("Epochs, at most.")] = None,
    batch_size: Annotated[str | None, axis("Images per step.")] = None,
    learning_rate: Annotated[str | None, axis("Of Adam.")] = None,
    width: Annotated[str | None, axis("Factor on the network's channels.")] = None,
    validation: Annotated[str | None, axis("Training images held back.")] = None,
    patience: Annotated[str | None, axis("Idle epochs before it stops; 0: off.")] = None,
    augment: Annotated[bool | None, axis("Mirror and shift the training images.")] = None,
    limit_train: Annotated[str | None, axis("Only so many training images.")] = None,
    limit_test: Annotated[str | None, axis("Only so many test images.")] = None,
    normalization: Annotated[str | None, axis("Of the penalty: rows, max or none.")] = None,
    data_dir: Annotated[
        Path | None, machine("Where the data files are; else $UNTRUE_DATA, else the user's cache.")
    ] = None,
    jobs: Annotated[int | None, machine("Runs at a time; else one per core (CUDA: one).")] = None,
    threads: Annotated[int | None, machine("Threads of each; else the cores shared out.")] = None,
    device: Annotated[str | None, machine("cpu, cuda, cuda:1; else CUDA if there is any.")] = None,
    retry_failed: Annotated[bool, machine("Make failed runs again.")] = False,
    dry_run: Annotated[bool, machine("Say what would be trained, and end.")] = False,
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
        experiment, told_scale, overrides = experiments.read_toml(experiment)
        scale = scale or told_scale
    overrides |= {n: experiments.parse(n, value) for n, value in given.items() if value is not None}
    design = experiments.find(experiment)
    axes = experiments.axes(design, scale=scale or "desk", overrides=overrides)
    jobs, threads = share_cores(jobs, threads, device)
    loaded = data_sets.load(axes.data, data_dir)
    sweep.check(design, axes, loaded)
    place = out or Path("runs") / design.name

    from rich.console import Console

    from untrue.cli.live import display
    from untrue.lab.executor import Finished, LocalProcesses
    from untrue.lab.lock import locked
    from untrue.lab.store import Store

    console = Console(soft_wrap=True, highlight=False)
    failed = 0
    with locked(place), Store.write(place) as store:
        planned = sweep.prepare(
            store, design, axes, loaded, scale=scale or "desk", command=shown_command()
        )
        ahead = sweep.outlook(store, planned, retry_failed=retry_failed)
        seconds = estimate(store, planned, ahead.todo, jobs=jobs, threads=threads)
        console.print(greeting(planned, ahead, seconds, jobs=jobs), markup=False)
        if ahead.todo and not dry_run:
            executor = LocalProcesses(jobs, threads, device, data_dir)
            events = sweep.run(
                store, design, axes, loaded, planned, executor, retry_failed=retry_failed
            )
            shown = display(console, done=ahead.done, expected=ahead.expected, seconds_left=seconds)
            try:
                with closing(events), shown:
                    for event in events:
                        shown.show(event)
                        failed += isinstance(event, Finished) and event.result.status == "failed"
            except KeyboardInterrupt:
                console.print(farewell(store), markup=False)
                raise
        console.print(farewell(store), markup=False)
        console.print(str(store.path), markup=False)
    if failed:
        raise typer.Exit(1)


def share_cores(jobs: int | None, threads: int | None, device: str | None) -> tuple[int, int]:
    """Runs at a time, and threads for each. Small networks use single cores best."""
    from untrue.lab.machine import cores

    for name, value in (("jobs", jobs), ("threads", threads)):
        if value is not None and value < 1:
            raise ArgumentError(f"`{name}` must be at least 1; got {value}.")
    if jobs is None:
        jobs = 1 if kind_of_device(device) == "cuda" else cores()
    return jobs, threads or max(1, cores() // jobs)


def kind_of_device(device: str | None) -> str:
    """cpu, cuda, ...: checked, and picked when not given."""
    if device == "cpu":
        return device  # no need to import torch, which takes a while
    from untrue.lab.training import pick_device

    return pick_device(device).type


def estimate(store: Store, sweep: Sweep, todo: int, *, jobs: int, threads: int) -> float:
    """Seconds the runs still to make will take, at most."""
    from untrue.lab import pace

    if not todo:
        return 0.0
    like: RunConfig = sweep.configs[0]
    rate = pace.measured(store.results(sweep), like)
    if rate is None:
        rate = pace.guessed(like, threads=threads)
    images = store.datasets()[like.data].train_images
    return rate * pace.cost(like, images) * todo / min(jobs, todo)


def greeting(sweep: Sweep, ahead: Any, seconds: float, *, jobs: int) -> str:
    from untrue.lab.pace import duration

    failed = f", {ahead.failed} failed" if ahead.failed else ""
    start = (
        f"{sweep.experiment} on {sweep.data}, scale {sweep.scale}: {ahead.expected} models, "
        f"{ahead.done} done already{failed}, {ahead.todo} to train"
    )
    if not ahead.todo:
        return f"{start}."
    about = "at most" if sweep.configs[0].patience else "about"
    return f"{start}, {jobs} at a time: {about} {duration(seconds)}."


def farewell(store: Store) -> str:
    """How the store stands, and what to type next."""
    status = list(store.status().values())
    failed = status.count("failed")
    note = f", {failed} failed (see `untrue status {store.path.parent}`)" if failed else ""
    return f"{status.count('ok')} runs are stored{note}."


def shown_command() -> str:
    """The command line as typed, to note it with the results."""
    return shlex.join(["untrue", *sys.argv[1:]])
