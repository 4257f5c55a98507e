"""Tables for other programs, as .csv or .parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from untrue.atomic_files import check_parent, placed_file
from untrue.errors import ArgumentError
from untrue.optional import need

PURPOSE = "Writing tables"


def check_table_target(out: Path, *inputs: Path) -> None:
    """A file that a table can be written to, none of those it is made from."""
    check_parent(out)
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise ArgumentError(f"`--out` must end in .csv or .parquet; got {out}.")
    for path in inputs:
        if out.resolve() == path.resolve():
            raise ArgumentError(f"`--out` must not be the data themselves, {path}.")


def write_table(table: Any, path: Path) -> Path:
    """A pyarrow Table in the format that the file's name says, whole or not at all."""
    check_table_target(path)
    if path.suffix.lower() == ".parquet":
        parquet = need("pyarrow.parquet", PURPOSE)
        with placed_file(path) as temporary:
            parquet.write_table(table, temporary)
    else:
        csv_writer = need("pyarrow.csv", PURPOSE)
        with placed_file(path) as temporary:
            csv_writer.write_csv(table, temporary)
    return path
