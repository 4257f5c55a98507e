"""Tables for other programs, as .csv or .parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from untrue.atomic_files import check_place, placed_file
from untrue.errors import ArgumentError
from untrue.optional import need

PURPOSE = "Writing tables"


def check_table_target(out: Path, *inputs: Path | None) -> None:
    """A file that a table can be written to, none of those that are read."""
    check_place(out, *inputs)
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise ArgumentError(f"A table is written as .csv or .parquet; got {out}.")


def write_table(table: Any, path: Path) -> Path:
    """A pyarrow Table in the format that the file's name says, whole or not at all."""
    check_table_target(path)
    # By a handle: pyarrow takes no file name that is not UTF-8.
    with placed_file(path) as temporary, temporary.open("wb") as file:
        if path.suffix.lower() == ".parquet":
            need("pyarrow.parquet", PURPOSE).write_table(table, file)
        else:
            need("pyarrow.csv", PURPOSE).write_csv(table, file)
    return path
