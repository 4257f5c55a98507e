"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TRAINING = "Training"
READING = "Reading your own data"
MACHINE = "Machine"


def training(what: str) -> Any:
    return typer.Option(help=what, rich_help_panel=TRAINING)


def reading(what: str, **more: Any) -> Any:
    return typer.Option(help=what, rich_help_panel=READING, **more)


def names(text: str | None) -> list[str] | None:
    """Class names from an option, where it was given."""
    from untrue.tools.penalty_templates import split_names

    return None if text is None else split_names(text)


def machine(what: str) -> Any:
    return typer.Option(help=what, rich_help_panel=MACHINE)


# A person's own data.
Data = Annotated[
    Path,
    typer.Argument(
        help="A table (.csv, .parquet), a folder of images with one folder for each class "
        "(or train/ and test/ with those), or an .npz file with X and y."
    ),
]
Target = Annotated[
    str | None, typer.Option(help="The column to learn; in an .npz file the array, else y.")
]
Classes = Annotated[
    str | None,
    reading("The names that labels 0, 1, ... stand for, in their order.", metavar="A,B,C"),
]
Ignore = Annotated[str | None, reading("Columns to leave out.", metavar="COLS")]
Categorical = Annotated[str | None, reading("Columns of numbers that are names.", metavar="COLS")]
Delimiter = Annotated[str | None, reading("Of a CSV file, when no comma.")]
ImageSize = Annotated[int | None, reading("Edge to bring images to, in pixels; else near theirs.")]

# A model of it.
Model = Annotated[
    str | None,
    training(
        "lightgbm, xgboost, network (what fits the data), linear, mlp or cnn; else boosted trees "
        "for a table where LightGBM is installed, and a network for images."
    ),
]
Epochs = Annotated[int | None, training("At most so many passes over the data, of a network.")]
Patience = Annotated[int | None, training("Stop after so many epochs or rounds without progress.")]
BatchSize = Annotated[int | None, training("Examples per step, of a network.")]
Rounds = Annotated[int | None, training("At most so many rounds, of boosted trees.")]
LearningRate = Annotated[float | None, training("Of the optimizer at its greatest, or a tree's.")]
ModelFolder = Annotated[Path, typer.Option(help="The folder to write the model into.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the model in the folder.")]

# Many models.
DataDir = Annotated[
    Path | None, machine("Where the data files are; else $UNTRUE_DATA, else the user's cache.")
]
Jobs = Annotated[int | None, machine("Runs at a time; else one per core (CUDA: one).")]
Threads = Annotated[int | None, machine("Threads of each; else the cores shared out.")]
Device = Annotated[str | None, machine("cpu, cuda, cuda:1; else CUDA if there is any.")]
RetryFailed = Annotated[bool, machine("Make failed runs again.")]
DryRun = Annotated[bool, machine("Say what would be trained, and end.")]
