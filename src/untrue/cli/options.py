"""Options that several commands share, each declared once.

A group is a frozen dataclass whose fields are options. A command decorated with `grouped` takes a
group as one parameter, and has its fields as options; their defaults are those of the parameter's
default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from untrue.errors import ArgumentError
from untrue.training import OPTIMIZERS, SCHEDULES

if TYPE_CHECKING:
    from untrue.ray import Cluster
    from untrue.tools.reading.sources import Source

EXECUTORS = ("local", "ray")


def in_panel(title: str, **options: Any) -> Callable[..., Any]:
    """What makes options, `option("What it is.", metavar="A")`, of a panel of the help."""

    def option(what: str, **more: Any) -> Any:
        return typer.Option(help=what, rich_help_panel=title, **options, **more)

    return option


training, runs, machine = in_panel("Training"), in_panel("Runs"), in_panel("Machine")
reading = in_panel("Reading your own data")


def names(text: str | None) -> list[str] | None:
    """Class names from an option, where it was given."""
    from untrue.tools.name_lists import split_names

    return None if text is None else split_names(text)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each field of its groups as an option of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        if not is_dataclass(hint):
            options.append(parameter.replace(annotation=hint, kind=parameter.KEYWORD_ONLY))
            continue
        assert isinstance(hint, type)
        groups[parameter.name] = hint
        options += [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=each,
                default=getattr(parameter.default, name),
            )
            for name, each in get_type_hints(hint, include_extras=True).items()
        ]

    def run(**given: Any) -> None:
        for parameter, group in groups.items():
            given[parameter] = group(**{f.name: given.pop(f.name) for f in fields(group)})
        command(**given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run


def given(group: Any) -> dict[str, Any]:
    """The options of a group that were given, by name."""
    found = {f.name: getattr(group, f.name) for f in fields(group)}
    return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Training:
    """How a model is trained; None: as the command has it."""

    epochs: Annotated[int | None, training("Passes over the data, at most (networks).")] = None
    patience: Annotated[
        int | None, training("Stop after this many epochs (trees: rounds) without progress.")
    ] = None
    batch_size: Annotated[int | None, training("Examples per step (networks).")] = None
    learning_rate: Annotated[
        float | None, training("Learning rate, at its highest; of boosted trees, of each tree.")
    ] = None


@dataclass(frozen=True, slots=True)
class Optimizer:
    """The rest of how a network is trained."""

    optimizer: Annotated[str | None, training(f"Optimizer: {', '.join(OPTIMIZERS)}.")] = None
    weight_decay: Annotated[float | None, training("Weight decay of kernels and matrices.")] = None
    schedule: Annotated[
        str | None, training(f"Schedule of the learning rate: {', '.join(SCHEDULES)}.")
    ] = None


@dataclass(frozen=True, slots=True)
class Runs:
    """What the runs of an experiment or a comparison share; None: as the scale has it."""

    repetitions: Annotated[int | None, runs("Number of seeds; each trains every method.")] = None
    seed: Annotated[int | None, runs("The first seed.")] = None
    network: Annotated[str | None, runs("Network; else the one that suits the data.")] = None
    width: Annotated[float | None, runs("Factor on the network's channels.")] = None
    validation: Annotated[int | None, runs("Training examples held back.")] = None
    limit_train: Annotated[int | None, runs("Use only this many training images.")] = None
    limit_test: Annotated[int | None, runs("Use only this many test images.")] = None
    normalization: Annotated[
        str | None, runs("How the penalty is scaled in training: rows, max or none.")
    ] = None


@dataclass(frozen=True, slots=True)
class WarmStart:
    """Runs that continue from the weights of others, and weights that are kept for it."""

    start_from: Annotated[
        str | None,
        runs(
            "Continue from trained weights. baseline: train plain cross-entropy once per "
            "repetition; every loss then continues from it for a few epochs (--epochs, 3 by "
            "default; the other training options are for these epochs too). DIR: continue from "
            "runs made with --keep-weights.",
            metavar="baseline|DIR",
        ),
    ] = None
    keep_weights: Annotated[
        bool, runs("Keep the weights of the runs, so that others can continue from them.")
    ] = False


@dataclass(frozen=True, slots=True)
class Machine:
    """Where many models are trained."""

    data_dir: Annotated[
        Path | None, machine("Where the data files are; else $UNTRUE_DATA, else the user's cache.")
    ] = None
    jobs: Annotated[int | None, machine("Runs at a time; else one per core (CUDA: one).")] = None
    threads: Annotated[int | None, machine("Threads of each run; else the cores are shared.")] = (
        None
    )
    device: Annotated[str | None, machine("cpu, cuda, cuda:1; else CUDA if there is any.")] = None
    retry_failed: Annotated[bool, machine("Train failed runs again.")] = False
    dry_run: Annotated[bool, machine("Show what would be trained, and stop.")] = False


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """Where models are trained: in processes of this machine, or on a cluster."""

    executor: Annotated[
        str, machine("local: processes of this machine; ray: a Ray cluster (docs/scaling.md).")
    ] = "local"
    address: Annotated[
        str | None, machine("With --executor ray: auto (this machine's cluster) or HOST:PORT.")
    ] = None
    gpus: Annotated[
        float | None, machine("With --executor ray: GPUs of each run; .5 lets two share one.")
    ] = None

    def cluster(self, *, threads: int | None, jobs: int | None = None) -> Cluster | None:
        """The cluster asked for; None: this machine."""
        if self.executor not in EXECUTORS:
            raise ArgumentError(
                f"`--executor` must be {' or '.join(EXECUTORS)}; got {self.executor!r}."
            )
        if self.executor == "local":
            for name in ("address", "gpus"):
                if getattr(self, name) is not None:
                    raise ArgumentError(f"--{name} belongs to --executor ray.")
            return None
        from untrue.ray import AUTO, Cluster

        return Cluster(self.address or AUTO, threads or 1, self.gpus or 0.0, jobs)


Classes = Annotated[
    str | None,
    reading("The names that labels 0, 1, ... stand for, in their order.", metavar="A,B,C"),
]
Truth = Annotated[
    str | None, typer.Option(help="Column of the true labels; else guessed.", metavar="COL")
]
Probs = Annotated[
    str | None,
    typer.Option(
        help="Columns of the probabilities: the prefix before every class name, or all the "
        "columns with commas between; for two classes one is enough. Else guessed.",
        metavar="PREFIX|COLS",
    ),
]
HierarchyFile = Annotated[
    Path | None,
    typer.Option(
        help="A hierarchy of the classes, .csv (parent,child) or .json; budgets may name its "
        "groups."
    ),
]
ZoneAbove = Annotated[
    float | None,
    typer.Option(help="The zone: mistakes that cost more than this; else more than the cheapest."),
]
JointConfidence = Annotated[
    float, typer.Option(help="Confidence that all budgets hold together, 0.5 to below 1.")
]
FittedModel = Annotated[
    Path, typer.Argument(help="The folder that `untrue fit` or `untrue tune` wrote.")
]
AbstainCost = Annotated[
    float | None,
    typer.Option(
        help="With --decide cost: what no answer costs; none is given where the best costs more."
    ),
]
OtherPenalty = Annotated[
    Path | None, typer.Option(help="With --decide cost: other costs than the model's own.")
]
Delimiter = Annotated[str | None, reading("What separates the cells of a CSV file; else a comma.")]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a person's own data are read."""

    classes: Classes = None
    ignore: Annotated[list[str] | None, reading("Columns to leave out.", metavar="COLS")] = None
    categorical: Annotated[
        list[str] | None, reading("Columns of numbers to treat as categories.", metavar="COLS")
    ] = None
    delimiter: Delimiter = None
    image_size: Annotated[
        int | None, reading("Size to scale images to, in pixels per side; else close to their own.")
    ] = None

    def open(self, data: Path, target: str | None) -> Source:
        """Open the data with these options."""
        from untrue.tools.name_lists import split_columns
        from untrue.tools.reading.opening import open_source

        return open_source(
            data,
            target=target,
            categorical=split_columns(self.categorical),
            ignore=split_columns(self.ignore),
            delimiter=self.delimiter,
            image_size=self.image_size,
            classes=names(self.classes),
        )


# The defaults of parameters that are groups: nothing is given.
USUAL_TRAINING, USUAL_OPTIMIZER, USUAL_RUNS = Training(), Optimizer(), Runs()
THIS_MACHINE, USUAL_READING, FROM_NOTHING = Machine(), Reading(), WarmStart()
LOCAL = ExecutorOptions()

# A person's own data.
Data = Annotated[
    Path,
    typer.Argument(
        help="A table (.csv, .parquet), a folder of images with one folder for each class "
        "(or train/ and test/ with those), or an .npz file with X and y."
    ),
]
Target = Annotated[
    str | None, typer.Option(help="The column to learn; in an .npz file the array, y by default.")
]
# A model of it.
Model = Annotated[
    str | None,
    training(
        "lightgbm, xgboost, network (what fits the data), linear, mlp, cnn or compact; else "
        "boosted trees for a table where LightGBM is installed, and a network for images."
    ),
]
Rounds = Annotated[int | None, training("Rounds, at most (boosted trees).")]
ModelFolder = Annotated[Path, typer.Option(help="The folder to write the model into.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there already.")]
