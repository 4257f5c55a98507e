"""`untrue compare`: every way to make fewer costly mistakes, on the same data and budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from untrue.cli import options
from untrue.cli.console import say, show_report
from untrue.cli.options import reading
from untrue.cli.sweeping import conduct, share_cores, shown_command, store_in
from untrue.losses import registry

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue compare --data mnist-5k --penalty zone:20 --out runs/compare`, or with your "
    "own: `untrue compare --data patients.csv --target diagnosis --penalty costs.toml --out "
    "runs/patients`. Stop it with Ctrl-C; the same command goes on where it stopped."
)
BUDGET = "Budget, the same for every method"


def budget(what: str) -> Any:
    return typer.Option(help=what, rich_help_panel=BUDGET, show_default=False)


@app.command(epilog=EXAMPLE)
def compare(
    out: Annotated[Path, typer.Option(help="Where the results and the page go.")],
    data: Annotated[
        str,
        typer.Option(
            help="digits, mnist-5k (built in), mnist, fashion-mnist, cifar10, cifar100; or a path: "
            "a table, a folder of images or an .npz file, as `untrue fit` takes it."
        ),
    ] = "mnist-5k",
    penalty: Annotated[
        str,
        typer.Option(
            help="What mistakes cost: a file (.csv, .json, .toml, .npy); zone:N, a random zone of "
            "N kinds of mistake that cost 10 where the others cost 1, drawn anew in each "
            "repetition; or hierarchy, 1 inside the data set's super-classes and 5 across."
        ),
    ] = "zone:20",
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Some of {', '.join(e.label for e in registry.COMPARED)}, with commas; else all "
            "that apply. Every one is shown with +cost too: decided by least expected cost.",
            metavar="NAMES",
        ),
    ] = None,
    strength: Annotated[
        list[str] | None,
        typer.Option(
            help="Strengths of a method in place of its usual ones: bilinear=0.3,0.6,0.9. Can be "
            "given for several.",
            metavar="METHOD=VALUES",
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="smoke (minutes), desk (an hour on two cores) or paper.")
    ] = "desk",
    repetitions: Annotated[int | None, budget("Seeds, each with all methods.")] = None,
    seed: Annotated[int | None, budget("The first seed.")] = None,
    network: Annotated[str | None, budget("Network, when not the one that suits the data.")] = None,
    epochs: Annotated[int | None, budget("Epochs, at most.")] = None,
    batch_size: Annotated[int | None, budget("Examples per step.")] = None,
    learning_rate: Annotated[float | None, budget("Of the optimizer, at its greatest.")] = None,
    width: Annotated[float | None, budget("Factor on the network's channels.")] = None,
    validation: Annotated[
        int | None, budget("Training examples held back to calibrate by.")
    ] = None,
    patience: Annotated[int | None, budget("Idle epochs before it stops; 0: off.")] = None,
    limit_train: Annotated[int | None, budget("Only so many training images.")] = None,
    limit_test: Annotated[int | None, budget("Only so many test images.")] = None,
    normalization: Annotated[
        str | None, budget("Of the penalty in training: max (the usual), rows or none.")
    ] = None,
    target: Annotated[str | None, reading("The column to learn.")] = None,
    classes: options.Classes = None,
    ignore: options.Ignore = None,
    categorical: options.Categorical = None,
    delimiter: options.Delimiter = None,
    image_size: options.ImageSize = None,
    data_dir: options.DataDir = None,
    jobs: options.Jobs = None,
    threads: options.Threads = None,
    device: options.Device = None,
    retry_failed: options.RetryFailed = False,
    dry_run: options.DryRun = False,
) -> None:
    """Compare the ways to make fewer costly mistakes, and say which is worth its price.

    Trains every method on the same splits, seeds and budget, each over a range of its own
    strength, and asks each model three times: for its own answer, for that of least expected cost,
    and for that after calibration. Writes report.html with the finding. What the directory
    already holds is not trained again. Exit code 1 when a run failed.
    """
    given = {
        "repetitions": repetitions,
        "seed": seed,
        "network": network,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "width": width,
        "validation": validation,
        "patience": patience,
        "limit_train": limit_train,
        "limit_test": limit_test,
        "normalization": normalization,
    }
    from untrue.lab import compare_data, comparison, sweep
    from untrue.lab.own_data import OwnData
    from untrue.tools.reading.features import split_columns

    names = comparison.read_methods(methods)
    chosen = comparison.with_strengths(names, scale, comparison.read_strengths(strength or ()))
    subject = compare_data.find(
        data,
        data_dir=data_dir,
        reading=OwnData(
            path=Path(data),
            target=target,
            categorical=tuple(split_columns(categorical)),
            ignore=tuple(split_columns(ignore)),
            delimiter=delimiter,
            image_size=image_size,
            classes=comparison.classes_of(penalty),
            label_names=tuple(options.names(classes) or ()),
        ),
    )
    costs = comparison.read_costs(penalty, subject.info)
    settings = comparison.settings(
        subject.budget(scale),
        {name: value for name, value in given.items() if value is not None},
        train_images=subject.info.train_images,
    )
    design, notes = comparison.design(
        subject.info, costs, chosen, settings, all_named=methods is not None
    )
    planned = comparison.sweep(design, subject.info, scale=scale, command=shown_command())
    subject.check(planned.configs[0])
    jobs, threads = share_cores(jobs, threads, device)

    from rich.console import Console

    from untrue.lab.executor import LocalProcesses

    console = Console(soft_wrap=True, highlight=False)
    for note in notes:
        say(console, note)
    with store_in(out, dry_run=dry_run) as store:
        sweep.note(store, planned, subject.info, subject.labels_of)
        executor = LocalProcesses(jobs, threads, device, data_dir, subject.own)
        failed = conduct(
            console,
            store,
            planned,
            lambda: sweep.make(store, planned, executor, retry_failed=retry_failed),
            jobs=jobs,
            threads=threads,
            retry_failed=retry_failed,
            dry_run=dry_run,
        )
        done = sweep.outlook(store, planned).done
    if dry_run:
        return
    if not done:
        say(console, str(store.path))
    else:
        from untrue.report.sweep.assemble import report

        show_report(console, report(out))
    if failed:
        raise typer.Exit(1)
