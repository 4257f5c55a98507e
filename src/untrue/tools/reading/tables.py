"""Tables from CSV and Parquet files: only the columns asked for, errors with row and column.

Rows are counted from 1 without the header ("data row 1" is the second line of a plain CSV file).
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray
from untrue.errors import ArgumentError, DataError, counted, listed, nearest
from untrue.input_files import check_regular, reading
from untrue.optional import need
from untrue.tools.reading.csv_rows import PURPOSE as PURPOSE
from untrue.tools.reading.csv_rows import Kind as Kind
from untrue.tools.reading.csv_rows import arrow_source, read_csv
from untrue.tools.reading.parquet_size import check_size

TAB_ENDINGS = (".tsv", ".tsv.gz")
CSV_ENDINGS = (".csv", ".csv.gz", *TAB_ENDINGS)
PARQUET_ENDINGS = (".parquet", ".pq")
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
OTHER_DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar", ",": "a comma"}

KIND_NAMES = {
    "label": "labels",
    "number": "numbers",
    "real": "numbers",
    "text": "text",
    "any": "numbers or text",
}
LONGEST_HEADER = 2**24
Number = TypeVar("Number", np.int32, np.float64)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table on disk whose header has been read: its column names, in order.

    held: the table itself, a pyarrow Table, where it is in memory and on no disk
    """

    path: Path
    names: tuple[str, ...]
    delimiter: str = ","
    held: Any = field(default=None, repr=False, compare=False)

    @property
    def is_parquet(self) -> bool:
        """Whether columns have types of their own."""
        return self.held is not None or self.path.name.lower().endswith(PARQUET_ENDINGS)

    def check(self, names: Iterable[str]) -> None:
        """These columns are there."""
        there = set(self.names)
        for name in names:
            if name not in there:
                hint = nearest(name, self.names) or f". It has: {listed(self.names)}."
                raise DataError(f"{self.path} has no column {name!r}{hint}")


def is_table(path: Path) -> bool:
    """Whether a file's name says that it is a table."""
    return path.name.lower().endswith(CSV_ENDINGS + PARQUET_ENDINGS)


def spreadsheet_hint(path: Path) -> str:
    """The way out for a workbook, which may hold several tables."""
    if path.suffix.lower() not in SPREADSHEETS:
        return ""
    return " It is a spreadsheet: save the sheet with the data as CSV (UTF-8)."


def open_table(path: Path, *, delimiter: str | None = None) -> TableFile:
    """Look at a file's header: it is a table, its columns have names, and each only one."""
    if not is_table(path):
        raise DataError(
            f"{path} is not a table: its name must end in .csv, .tsv, .csv.gz, .tsv.gz or "
            f".parquet.{spreadsheet_hint(path)}"
        )
    if not path.exists():
        raise DataError(f"There is no file {path}.")
    check_regular(path)
    delimiter = "\t" if delimiter == "\\t" else delimiter  # few shells make a tab of \t
    if delimiter is not None and delimiter != "\t":
        plain = len(delimiter) == 1 and delimiter.isascii() and delimiter.isprintable()
        if not plain or delimiter == '"':
            raise ArgumentError(
                "`delimiter` must be a single ASCII character other than a quote; got "
                f"{delimiter!r}."
            )
    separator = delimiter or ("\t" if path.name.lower().endswith(TAB_ENDINGS) else ",")
    parquet = path.name.lower().endswith(PARQUET_ENDINGS)
    names = _parquet_header(path) if parquet else _csv_header(path, separator)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"{path} has two columns called {twice[0]!r}; give them different names.")
    return TableFile(path, names, separator)


def is_frame(data: Any) -> bool:
    """Whether it is a table in memory, pandas' or polars'."""
    return hasattr(data, "columns") and (hasattr(data, "iloc") or hasattr(data, "to_arrow"))


def held_table(
    frame: Any, path: Path, *, more: Mapping[str, npt.NDArray[Any]] | None = None
) -> TableFile:
    """A table in memory, with `more` columns, read as a file is; messages call it `path`."""
    arrow = need("pyarrow", PURPOSE, "tables")
    names = tuple(str(name) for name in frame.columns)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"{path} have two columns called {twice[0]!r}; give them different names.")
    with reading(path, "a table"):
        if hasattr(frame, "to_arrow"):
            held = frame.to_arrow()
        else:
            held = arrow.Table.from_pandas(frame, preserve_index=False)
    held = held.rename_columns(list(names))
    for name, values in (more or {}).items():
        held = held.append_column(name, arrow.array(values.tolist()))
    return TableFile(path, tuple(held.column_names), held=held)


def _csv_header(path: Path, delimiter: str) -> tuple[str, ...]:
    read: list[str] = []
    with reading(path, "CSV text"), _text(path) as file:
        first = next(csv.reader(_lines(file, path, read), delimiter=delimiter), [])
    if not any(cell.strip() for cell in first):
        what = "begins with an empty line" if read else "is empty"
        raise DataError(f"{path} {what}: the first line must be a header with column names.")
    if any(not cell.isprintable() and "\udc80" <= max(cell) <= "\udcff" for cell in first):
        raise DataError(f"{path}: the header is not UTF-8 text; save the file in that encoding.")
    if len(first) == 1:
        for other, name in OTHER_DELIMITERS.items():
            if other in first[0] and other != delimiter:
                option = "$'\\t'" if other == "\t" else f"'{other}'"
                raise DataError(
                    f"{path} has one column only, {first[0]!r} in line 1: its cells seem to be "
                    f"separated by {name}. Say so with --delimiter {option}."
                )
    # Blanks around a name are mostly there for looks; inside quotes they belong to it.
    quoted = _in_quotes("".join(read), delimiter)
    if len(quoted) != len(first):
        quoted = [False] * len(first)
    return tuple(cell if keep else cell.strip() for cell, keep in zip(first, quoted, strict=True))


def _in_quotes(header: str, delimiter: str) -> list[bool]:
    """Whether each cell of a header stands in quotes.

    >>> _in_quotes('a, b,"c, d "\\n', ",")
    [False, False, True]
    """
    between = re.escape(delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*")?[^{between}\r\n]*({between}|\r?\n|\r|$)')
    found, position = [], 0
    while position <= len(header):
        match = cell.match(header, position)
        if match is None:
            break
        found.append(match[1] is not None)
        position = match.end()
        if match[2] != delimiter:
            break
    return found


def _text(path: Path) -> IO[str]:
    # Bytes that are not UTF-8 pass here: the reader of the rows says in which row they are.
    zipped = path.suffix.lower() == ".gz"
    opened = gzip.open if zipped else open
    return cast(
        IO[str],
        opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""),
    )


def _lines(file: IO[str], path: Path, read: list[str]) -> Iterator[str]:
    """The lines of a header, which may be several, and are not without end; added to `read`."""
    left = LONGEST_HEADER
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise DataError(
                f"{path}: the header has more than {LONGEST_HEADER:,} characters. Has the file no "
                "line ends?"
            )
        read.append(line)
        yield line


def _parquet_header(path: Path) -> tuple[str, ...]:
    parquet = need("pyarrow.parquet", PURPOSE)
    with reading(path, "Parquet"), arrow_source(path) as source:
        return tuple(parquet.read_schema(source).names)


def read_table(file: TableFile, columns: Mapping[str, Kind]) -> Any:
    """A pyarrow Table of these columns.

    label    text, one code for each different value ("" is missing)
    number   numbers in the file's precision, float32 from text
    real     float64 numbers, missing allowed
    text     text, missing allowed
    any      whatever the file holds: numbers, text, dates
    """
    file.check(columns)
    if file.is_parquet:
        table = _read_parquet(file, columns)
    else:
        table = read_csv(file.path, file.names, file.delimiter, columns)
    if table.num_rows == 0:
        raise DataError(f"{file.path} has a header ({listed(file.names)}) but no rows.")
    return table


def whole_table(file: TableFile, replaced: Mapping[str, Any] | None = None) -> Any:
    """The file as it is except for the columns in `replaced`: {name: values}.

    Cells of a CSV file come back as the text they were; a Parquet file's keep their types.
    """
    arrow = need("pyarrow", PURPOSE)
    columns = dict(replaced or {})
    kind: Kind = "any" if file.is_parquet else "label"
    rest = {name: kind for name in file.names if name not in columns}
    kept: Any = read_table(file, rest) if rest else None
    for name in rest:
        columns[name] = kept[name] if file.is_parquet else kept[name].cast(arrow.string())
    return arrow.table({name: columns[name] for name in file.names})


def _read_parquet(file: TableFile, columns: Mapping[str, Kind]) -> Any:
    arrow, parquet = need("pyarrow", PURPOSE), need("pyarrow.parquet", PURPOSE)
    if file.held is not None:
        table = file.held.select(list(columns))
    else:
        with reading(file.path, "Parquet"), arrow_source(file.path) as source:
            check_size(file.path, source, columns)
            table = parquet.read_table(source, columns=list(columns))
    if not table.num_rows:
        return table
    return arrow.table({name: as_kind(table, name, kind, file) for name, kind in columns.items()})


def as_kind(table: Any, name: str, kind: Kind, file: TableFile) -> Any:
    """A column that was read as it is, as `read_table` would have read it."""
    form = "Parquet" if file.is_parquet else "CSV text"
    with reading(file.path, f"{form} with {KIND_NAMES[kind]} in column {name!r}"):
        return _converted(table, name, kind, file)


def _converted(table: Any, name: str, kind: Kind, file: TableFile) -> Any:
    arrow, column = need("pyarrow", PURPOSE), table[name]
    types = arrow.types
    if kind == "any":
        as_text = types.is_string(column.type) or types.is_large_string(column.type)
        return _as_text(column) if as_text else column
    if kind == "label":
        return _as_text(column).dictionary_encode()
    if kind == "text":
        return _as_text(column)
    numbers = _as_numbers(table, name, file)
    if kind == "number" or numbers.type == arrow.float64():
        return numbers
    # Whole numbers past 2^53 are rounded.
    return numbers.cast(arrow.float64(), safe=False)


def _as_text(column: Any) -> Any:
    arrow, compute = need("pyarrow", PURPOSE), need("pyarrow.compute", PURPOSE)
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if arrow.types.is_boolean(column.type):
        column = compute.if_else(column, "True", "False")
    # By way of bytes: what a file only claims to be UTF-8 is checked.
    text = column.cast(arrow.string()).cast(arrow.binary()).cast(arrow.string())
    return compute.if_else(compute.equal(text, ""), None, text)


def _as_numbers(table: Any, name: str, file: TableFile) -> Any:
    arrow, column = need("pyarrow", PURPOSE), table[name]
    kinds = arrow.types
    if kinds.is_integer(column.type) or kinds.is_floating(column.type):
        return column
    if kinds.is_decimal(column.type) or kinds.is_boolean(column.type) or kinds.is_null(column.type):
        return column.cast(arrow.float64())
    some = "".join(f", such as {str(value)!r}" for value in column.drop_null()[:1])
    raise DataError(
        f"{file.path}: column {name!r} holds {column.type} values{some}; expected numbers. Save it "
        "as a column of numbers."
    )


def plain_values(array: Any, dtype: type[Number]) -> tuple[npt.NDArray[Number], BoolArray | None]:
    """The numbers of an Arrow array of this type, and which are missing, if any are.

    As its `to_numpy`, which imports pandas first.
    """
    end = array.offset + len(array)
    valid, numbers = array.buffers()
    if not len(array):
        return np.empty(0, dtype), None
    found = np.frombuffer(numbers, dtype, count=end)[array.offset :]
    if not array.null_count:
        return found, None
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=end, bitorder="little")
    return found, bits[array.offset :] == 0


def codes(table: Any, name: str, file: TableFile) -> tuple[npt.NDArray[np.int32], list[str]]:
    """A label column as codes (N,) and the text of each code; no value may be missing."""
    column = table[name].unify_dictionaries().combine_chunks()
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(
            f"{file.path}: {where(row, name)} is empty; expected a label. Without one: "
            f"{column.null_count:,} of {counted(len(column), 'row')}; remove such rows, or fill "
            "them in."
        )
    found, _ = plain_values(column.indices, np.int32)
    return found, column.dictionary.to_pylist()


def texts(table: Any, name: str, file: TableFile) -> tuple[str, ...]:
    """A label column as the text of each row; no value may be missing."""
    found, names = codes(table, name, file)
    return tuple(names[code] for code in found.tolist())


def matrix(table: Any, names: Iterable[str], file: TableFile) -> npt.NDArray[np.floating[Any]]:
    """Number columns as (N, m) in Fortran order, float64 when one of them is; none missing."""
    columns = [table[name] for name in names]
    wide = any(str(column.type) in ("double", "int64", "int32") for column in columns)
    array = np.empty((table.num_rows, len(columns)), np.float64 if wide else np.float32, order="F")
    for j, (name, column) in enumerate(zip(names, columns, strict=True)):
        values = column.to_numpy()
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.argmax(bad))
            what = "missing" if np.isnan(values[row]) else f"{values[row]}"
            raise DataError(f"{file.path}: {where(row, name)} is {what}; expected a number.")
        array[:, j] = values
    return array


def where(row: int, column: str) -> str:
    """How errors name a cell; `row` counts from 0.

    >>> where(0, "age")
    "data row 1, column 'age',"
    """
    return f"data row {row + 1}, column {column!r},"
