"""`untrue compare`: every way to make fewer costly mistakes, compared on the same data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from untrue.cli import options
from untrue.cli.console import say, show_report
from untrue.cli.options import reading
from untrue.cli.sweeping import check_machine, sweep_into
from untrue.losses import registry

if TYPE_CHECKING:
    from untrue.lab.run_data import KnownData, RunData

app = typer.Typer()

EXAMPLE = (
    "Example: `untrue compare --data mnist-5k --penalty zone:20 --out runs/compare`, or with your "
    "own: `untrue compare --data patients.csv --target diagnosis --penalty costs.toml --out "
    "runs/patients`. Stop it with Ctrl-C; the same command continues where it stopped."
)


@app.command(epilog=EXAMPLE)
@options.grouped
def compare(
    out: Annotated[Path, typer.Option(help="Where the results and the page go.")],
    data: Annotated[
        str,
        typer.Option(
            help="digits, mnist-5k (built in), mnist, fashion-mnist, cifar10, cifar100; kdd99 or "
            "german, tables with official costs; or a path: a table, a folder of images or an .npz "
            "file, as `untrue fit` takes it."
        ),
    ] = "mnist-5k",
    penalty: Annotated[
        str | None,
        typer.Option(
            help="What mistakes cost: a file (.csv, .json, .toml, .npy); zone:N, a random zone of "
            "N kinds of mistake that cost 10 where the others cost 1, drawn again in each "
            "repetition; hierarchy, 1 inside the data set's super-classes and 5 across; or "
            "official, the published costs of kdd99 and german. Else official where there are any, "
            "and zone:20 for the images; data of your own need it."
        ),
    ] = None,
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
    model: Annotated[
        str | None,
        typer.Option(
            help="Of a table: lightgbm or xgboost, boosted trees, with cross-entropy, bilinear, "
            "log-bilinear and class weights (each example weighted by what its class costs). "
            "Or a network: network (the default), linear, mlp, cnn, compact."
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="smoke (minutes), desk (an hour on two cores) or paper.")
    ] = "desk",
    runs: options.Runs = options.USUAL_RUNS,
    warm: options.WarmStart = options.FROM_NOTHING,
    training: options.Training = options.USUAL_TRAINING,
    rounds: options.Rounds = None,
    optimizing: options.Optimizer = options.USUAL_OPTIMIZER,
    target: Annotated[str | None, reading("The column to learn.")] = None,
    own: options.Reading = options.USUAL_READING,
    machine: options.Machine = options.THIS_MACHINE,
    where: options.ExecutorOptions = options.LOCAL,
) -> None:
    """Compare the ways to make fewer costly mistakes, and say which is worth its price.

    Trains every method on the same splits, seeds and training settings, each over a range of
    its own strength, and asks each model three times: for its own answer, for that of least
    expected cost, and for that after calibration. Writes report.html with the finding. What the
    directory already holds is not trained again. Exit code 1 when a run failed.
    """
    from rich.console import Console

    from untrue.lab import comparison
    from untrue.lab.design import with_given
    from untrue.lab.warm import split_options, with_start

    console = Console(soft_wrap=True, highlight=False)
    named = comparison.read_methods(methods)
    chosen = comparison.with_strengths(named, scale, comparison.read_strengths(strength or ()))
    check_machine(machine, where)
    found = _data(data, target, own, comparison.classes_of(penalty), machine, out)
    given: dict[str, Any] = {}
    for group in (runs, training, optimizing):
        given |= options.given(group)
    given |= {} if rounds is None else {"rounds": rounds}
    given = comparison.with_model(given, model)
    given, short = split_options(given, warm.start_from)
    plan, notes = comparison.comparison_plan(
        found.info,
        comparison.read_costs(penalty, found.info),
        chosen,
        with_given(found.settings(scale), given, scale=scale, train_images=found.info.train_images),
        all_named=methods is not None,
    )
    for note in notes:
        say(console, note)
    whole = with_start(plan, found.info, short, warm.start_from, keep_weights=warm.keep_weights)
    done = sweep_into(out, whole, found, machine, where, scale=scale, console=console)
    if machine.dry_run:
        return
    if not done.done:
        say(console, str(done.store))
    else:
        from untrue.report.assemble import report

        show_report(console, report(out))
    if done.failed:
        raise typer.Exit(1)


def _data(
    data: str,
    target: str | None,
    own: options.Reading,
    classes: tuple[str, ...],
    machine: options.Machine,
    out: Path,
) -> RunData | KnownData:
    """A data set of the lab by its name, or a person's own by its path."""
    from untrue.lab import run_data
    from untrue.lab.data import NAMES, TABLES
    from untrue.lab.own_data import OwnData
    from untrue.tools.name_lists import split_columns

    given = OwnData(
        path=Path(data),
        target=target,
        categorical=tuple(split_columns(own.categorical)),
        ignore=tuple(split_columns(own.ignore)),
        delimiter=own.delimiter,
        image_size=own.image_size,
        classes=classes,
        label_names=tuple(options.names(own.classes) or ()),
    )
    if data not in NAMES:
        return run_data.own(given)
    run_data.check_unread(data, given)
    if machine.dry_run:
        return run_data.known(data, out)
    return (run_data.table if data in TABLES else run_data.named)(data, machine.data_dir)
