"""The rows of a CSV file as columns of Arrow, and what is wrong with them as one sentence."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from untrue.errors import DataError
from untrue.input_files import UNPACKED, check_growth, reading
from untrue.optional import need

PURPOSE = "Reading tables"
Kind: TypeAlias = Literal["label", "number", "real", "text", "any"]
LOOSE = {"real", "text", "any"}
# What people write for "no value" in columns of features. Among labels only an empty cell is
# missing: NA is a country, and None may be a class.
NO_NUMBER = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?"]
NO_LABEL = [""]
PIECE = 2**22
# Bytes that are read at a time; of the first rows fewer, as several blocks are read ahead.
BLOCK, FIRST = 2**20, 2**16
# No gzip grows by more.
GROWTH_OF_GZIP = 1040


@contextmanager
def arrow_source(path: Path) -> Iterator[Any]:
    """What pyarrow reads from: it takes no path with bytes that are not UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        opened = gzip.open if path.suffix.lower() == ".gz" else open
        with opened(path, "rb") as file:
            yield file
    else:
        yield path


def read_csv(path: Path, names: Sequence[str], delimiter: str, columns: Mapping[str, Kind]) -> Any:
    """A pyarrow Table of these columns; `names` are all that the header has."""
    arrow = need("pyarrow", PURPOSE)
    if path.suffix.lower() == ".gz":
        _check_unpacked(path)
    types = _types(columns)
    table = None
    # Where the reader has to find out a type, it keeps the text of the whole file. Those of the
    # first rows hold for the rest of nearly every file; one for which they do not is read again.
    for known in _types_of_first_rows(path, names, delimiter, columns), {}:
        with suppress(Exception), arrow_source(path) as source:
            table = _read(source, names, delimiter, columns, types | known, threads=True)
            break
    if table is None:
        # Once more on one thread: only so does the reader count rows.
        with reading(path, "CSV text"), arrow_source(path) as source:
            try:
                table = _read(source, names, delimiter, columns, types, threads=False)
            except (arrow.ArrowException, OSError) as error:
                raise DataError(f"{path}: {_explained(str(error), names)}") from None
    # The text of the file, which was in memory a block at a time, is no longer needed.
    arrow.default_memory_pool().release_unused()
    with reading(path, "CSV text"):
        return _with_gaps(table, columns)


def _types(columns: Mapping[str, Kind]) -> dict[str, Any]:
    """Arrow's types of the kinds that have one; text has one code for each different value."""
    arrow = need("pyarrow", PURPOSE)
    text = arrow.dictionary(arrow.int32(), arrow.string())
    types = {"label": text, "number": arrow.float32(), "real": arrow.float64(), "text": text}
    return {name: types[kind] for name, kind in columns.items() if kind in types}


def _types_of_first_rows(
    path: Path, names: Sequence[str], delimiter: str, columns: Mapping[str, Kind]
) -> dict[str, Any]:
    """What the columns of any kind begin as, where that is numbers or text: all the same if it is
    numbers, text to the end if it is text."""
    arrow = need("pyarrow", PURPOSE)
    unknown: dict[str, Kind] = {name: kind for name, kind in columns.items() if kind == "any"}
    if not unknown:
        return {}
    kept = {arrow.int64(): arrow.int64(), arrow.float64(): arrow.float64()}
    kept[arrow.string()] = arrow.dictionary(arrow.int32(), arrow.string())
    with suppress(Exception), arrow_source(path) as source:
        found = _read(source, names, delimiter, unknown, {}, threads=False, begin=True)
        return {field.name: kept[field.type] for field in found if field.type in kept}
    return {}


def _read(
    source: Any,
    names: Sequence[str],
    delimiter: str,
    columns: Mapping[str, Kind],
    types: Mapping[str, Any],
    *,
    threads: bool,
    begin: bool = False,
) -> Any:
    """The table; with `begin` only the schema that its first rows have."""
    reader = need("pyarrow.csv", PURPOSE)
    options = {
        # Names from our own look at the header, which strips them.
        "read_options": reader.ReadOptions(
            # The header is skipped as a row, which may be several lines.
            column_names=list(names),
            skip_rows_after_names=1,
            use_threads=threads,
            block_size=FIRST if begin else BLOCK,
        ),
        "parse_options": reader.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            # In a file of one column an empty line is a missing value.
            ignore_empty_lines=len(names) > 1,
        ),
        "convert_options": reader.ConvertOptions(
            include_columns=list(columns),
            column_types=dict(types),
            null_values=NO_NUMBER if not LOOSE.isdisjoint(columns.values()) else NO_LABEL,
            # In text other words mean that there is no value than in labels: see `_with_gaps`.
            strings_can_be_null=False,
            quoted_strings_can_be_null=True,
        ),
    }
    if not begin:
        return reader.read_csv(source, **options)
    with reader.open_csv(source, **options) as rows:
        return rows.schema


def _with_gaps(table: Any, columns: Mapping[str, Kind]) -> Any:
    """The table with nothing where the text of a cell means that there is no value."""
    arrow = need("pyarrow", PURPOSE)
    encoded, string = arrow.dictionary(arrow.int32(), arrow.string()), arrow.string()
    text = {field.name for field in table.schema if field.type in (encoded, string)}
    if not text or not table.num_rows:
        return table

    def marked(name: str, column: Any) -> Any:
        if name not in text:
            return column
        gaps = NO_LABEL if columns[name] == "label" else NO_NUMBER
        coded = (
            column if column.type == encoded else column.dictionary_encode()
        ).unify_dictionaries()
        if set(gaps).isdisjoint(coded.chunk(0).dictionary.to_pylist()):
            return column if column.type == string else coded
        compute = need("pyarrow.compute", PURPOSE)
        words = column.cast(string)
        absent = compute.is_in(words, value_set=arrow.array(gaps, string))
        words = compute.if_else(absent, None, words)
        return words.dictionary_encode() if column.type == encoded else words

    return arrow.table(
        {name: marked(name, column) for name, column in zip(columns, table.columns, strict=True)}
    )


def _check_unpacked(path: Path) -> None:
    """Refuse a gzip file that unpacks to far more than its size."""
    packed, unpacked = path.stat().st_size, 0
    if GROWTH_OF_GZIP * packed <= UNPACKED:
        return
    with reading(path, "CSV text"), gzip.open(path) as stream:
        while piece := stream.read(PIECE):
            unpacked += len(piece)
            check_growth(path, packed, unpacked, DataError)


def _explained(message: str, names: Sequence[str]) -> str:
    """The reader's error in one sentence with row and column."""
    row = re.search(r"Row #(\d+)", message)
    # The line of the header is skipped, not counted: the reader's row 2 is data row 1.
    place = f"data row {int(row[1]) - 1}" if row else "a row"
    ragged = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if ragged:
        return f"{place} has {ragged[2]} cells, not {ragged[1]} as the header has."
    column = re.search(r"column #(\d+)", message)
    name = f", column {names[int(column[1])]!r}" if column else ""
    value = re.search(r"invalid value '(.*)'", message)
    if value:
        comma = re.fullmatch(r"\s*-?\d+,\d+\s*", value[1])
        hint = " Write numbers with a point, not a comma." if comma else ""
        return f"{place}{name}: {value[1]!r} is not a number.{hint}"
    if "UTF8" in message:
        return f"{place}{name}: the text is not UTF-8; save the file in that encoding."
    return f"{place}{name}: {message.strip().partition(chr(10))[0].rstrip('.')}"
