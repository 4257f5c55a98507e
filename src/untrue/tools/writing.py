"""What the tools write for other programs: tables as .csv or .parquet, numbers as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from untrue.atomic_files import check_place, placed_file
from untrue.errors import ArgumentError
from untrue.optional import need

PURPOSE = "Writing tables"
# Cells of a CSV file that are text in memory at a time.
CELLS = 500_000
# Text that needs quotes in a CSV file.
SPECIAL = '[",\r\n]|^$'


def check_table_target(out: Path, *inputs: Path | None, overwrite: bool = False) -> None:
    """A file that a table can be written to, by the rule of `check_place`."""
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise ArgumentError(f"A table is written as .csv or .parquet; got {out}.")
    check_place(out, *inputs, overwrite=overwrite)


def write_table(table: Any, path: Path) -> Path:
    """A pyarrow Table in the format that the file's name says, whole or not at all."""
    check_table_target(path, overwrite=True)
    # By a handle: pyarrow takes no file name that is not UTF-8.
    with placed_file(path) as temporary, temporary.open("wb") as file:
        if path.suffix.lower() == ".parquet":
            need("pyarrow.parquet", PURPOSE).write_table(table, file)
        else:
            _write_csv(table, file)
    return path


def _write_csv(table: Any, file: BinaryIO) -> None:
    """Only what needs quotes is in quotes; pyarrow's own writer puts all text in them.

    So that cells that were read as text come out as they came in: 1.50, 007.
    """
    arrow, compute = need("pyarrow", PURPOSE), need("pyarrow.compute", PURPOSE)
    names = table.column_names
    file.write(f"{','.join(map(_csv_name, names))}\n".encode())
    for batch in table.to_batches(max_chunksize=max(1, CELLS // len(names))):
        if batch.num_rows:
            cells = map(_csv_cells, names, batch.columns)
            lines = compute.binary_join_element_wise(*cells, ",")
            whole = arrow.ListArray.from_arrays([0, len(lines)], lines)
            file.write(compute.binary_join(whole, "\n")[0].as_buffer())
            file.write(b"\n")


def _csv_name(name: str) -> str:
    """The name of a column for a header, in which blanks outside of quotes do not count."""
    bare = name == name.strip() and not re.search(SPECIAL, name)
    return name if bare else '"' + name.replace('"', '""') + '"'


def _csv_cells(name: str, column: Any) -> Any:
    """A column as text for a CSV file; a missing cell is empty, an empty text is `""`."""
    arrow, compute = need("pyarrow", PURPOSE), need("pyarrow.compute", PURPOSE)
    try:
        text = column.cast(arrow.string())
    except arrow.ArrowException:
        raise ArgumentError(
            f"Column {name!r} holds {column.type} values, which a CSV file has no form for; name a "
            ".parquet file to write."
        ) from None
    special = compute.match_substring_regex(text, SPECIAL)
    if compute.any(special).as_py():
        doubled = compute.replace_substring(text, '"', '""')
        quoted = compute.binary_join_element_wise('"', doubled, '"', "")
        text = compute.if_else(special, quoted, text)
    return compute.coalesce(text, "")


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
