"""What the tools write for other programs: tables as .csv or .parquet, numbers as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
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


def plain(value: Any) -> Any:
    """The same with null for what JSON has no number for: nan and infinity.

    >>> plain({"share": float("nan"), "counts": (1, 2)})
    {'share': None, 'counts': [1, 2]}
    """
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def numbers_text(content: Mapping[str, Any]) -> str:
    """The numbers that a command found, as the text of a JSON file."""
    return f"{json.dumps(plain(dict(content)), indent=1, allow_nan=False)}\n"
