"""The columns of a table that a model learns from: which they are, and their values."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.errors import ArgumentError, DataError, UntrueWarning, listed
from untrue.optional import need
from untrue.tools.name_lists import in_shell
from untrue.tools.reading.tables import (
    PURPOSE,
    Kind,
    TableFile,
    as_kind,
    plain_values,
    read_table,
    where,
)

# With this many different values, nearly one for each row, a column of text names the rows.
MANY_VALUES = 50
# If more of the values of a column of text are numbers, it is a column of numbers with mistakes.
MOSTLY = 0.8
LARGEST = 1e100
# Rows of a batch at most: its numbers stay in the cache.
BLOCK = 2**14


@dataclass(frozen=True, slots=True)
class Schema:
    """The feature columns by how they are read, each in the file's order."""

    numbers: tuple[str, ...]
    categories: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.numbers + self.categories


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A column of text: codes (N,), -1 where it is missing, and the word of each code."""

    codes: npt.NDArray[np.int32]
    values: tuple[str, ...]

    @classmethod
    def of(cls, text: Iterable[str | None]) -> Words:
        code: dict[str | None, int] = {None: -1}
        codes = [code.setdefault(word, len(code) - 1) for word in text]
        return cls(
            np.array(codes, dtype=np.int32), tuple(word for word in code if word is not None)
        )

    def rows(self, chosen: IntArray) -> Words:
        return Words(self.codes[chosen], self.values)

    def counts(self) -> IntArray:
        """How often each word stands in the column."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    def text(self) -> npt.NDArray[Any]:
        """(N,) words, None where they are missing."""
        return np.array([*self.values, None], dtype=object)[self.codes]


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Values of N rows, numbers and words.

    parts   numbers of some rows after those of others, nan or null for missing: arrays (n, m), or
            Arrow's batches as a file was read, of which no copy is kept
    words   the columns of text
    """

    schema: Schema
    parts: tuple[Any, ...]
    words: tuple[Words, ...]

    @classmethod
    def of(cls, schema: Schema, numbers: FloatArray, text: npt.NDArray[Any]) -> Features:
        """From numbers (N, m), nan for missing, and text (N, c), None for missing."""
        return cls(schema, (numbers,), tuple(Words.of(column) for column in text.T.tolist()))

    def __len__(self) -> int:
        return len(self.words[0].codes) if self.words else sum(map(len, self.parts))

    def rows(self, chosen: IntArray) -> Features:
        words = tuple(column.rows(chosen) for column in self.words)
        return Features(self.schema, (self.numbers[chosen],), words)

    def blocks(self) -> Iterator[FloatArray]:
        """The numbers (n, m) of some rows after those of others, nan for missing."""
        for part in self.parts:
            yield part if isinstance(part, np.ndarray) else _block(part)

    def empty(self) -> tuple[str, ...]:
        """The columns without any value."""
        none = np.ones(len(self.schema.numbers), dtype=bool)
        for block in self.blocks():
            none &= np.isnan(block).all(axis=0)
            if not none.any():
                break
        words = zip(self.schema.categories, self.words, strict=True)
        return (
            *compress(self.schema.numbers, none),
            *(name for name, column in words if (column.codes < 0).all()),
        )

    @property
    def numbers(self) -> FloatArray:
        """(N, m) with nan for missing."""
        if len(self.parts) == 1:
            return next(self.blocks())
        found, begin = np.empty((len(self), len(self.schema.numbers))), 0
        for block in self.blocks():
            found[begin : begin + len(block)] = block
            begin += len(block)
        return found

    @property
    def text(self) -> npt.NDArray[Any]:
        """(N, c) with None for missing."""
        found = np.empty((len(self), len(self.words)), dtype=object)
        for j, column in enumerate(self.words):
            found[:, j] = column.text()
        return found


def _block(batch: Any) -> FloatArray:
    found = np.empty((batch.num_rows, batch.num_columns))
    for j, column in enumerate(batch.columns):
        found[:, j], missing = plain_values(column, np.float64)
        if missing is not None:
            found[missing, j] = np.nan
    return found


def learned_features(
    file: TableFile,
    target: str,
    *,
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> tuple[Features, Any]:
    """The columns to learn from, and a table with the labels: one reading of the file.

    Which columns are numbers and which are categories is found by a look at all their values.
    Dates, columns without values and columns that name the rows are left out with a warning.
    """
    file.check([target, *categorical, *ignore])
    if target in ignore:
        raise ArgumentError(
            f"`ignore` (--ignore) names {target!r}, the column to learn; leave it out there, or "
            "give another `target` (--target)."
        )
    as_names, left_out = set(categorical), {target, *ignore}
    candidates = [name for name in file.names if name not in left_out]
    if not candidates:
        raise DataError(f"{file.path} has no column to learn from beside {target!r}.")
    kinds: dict[str, Kind] = {name: "text" if name in as_names else "any" for name in candidates}
    table = read_table(file, {**kinds, target: "label"})
    schema, words = _find_schema(file, table, candidates, as_names, target)
    # Of true and false in a CSV file the spelling is gone.
    flags = [name for name in schema.categories if name not in words]
    if flags and not file.is_parquet:
        again = read_table(file, dict.fromkeys(flags, "text"))
        words |= {name: _words(again[name]) for name in flags}
    else:
        words |= {name: _words(_text(table, name, file)) for name in flags}
    numbers = _numbers(file, table, schema.numbers)
    found = Features(schema, numbers, tuple(words[name] for name in schema.categories))
    return found, table.select([target])


def _find_schema(
    file: TableFile, table: Any, candidates: Sequence[str], as_names: set[str], target: str
) -> tuple[Schema, dict[str, Words]]:
    """Which columns are numbers and which are categories, and the words of those read as text."""
    types = need("pyarrow", PURPOSE).types
    numbers, categories = [], []
    words: dict[str, Words] = {}
    for name in candidates:
        column, kind = table[name], table[name].type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if name in as_names:
            words[name] = _words(_text(table, name, file))
            categories.append(name)
        elif column.null_count == len(column):
            _leave_out(name, "it has no values")
        elif types.is_boolean(kind):
            categories.append(name)
        elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            numbers.append(name)
            if types.is_integer(kind) and _counts_rows(column):
                warnings.warn(
                    f"column {name!r} holds another whole number in every row; if it only names "
                    f"the rows, leave it out: --ignore {in_shell(name)}",
                    UntrueWarning,
                    stacklevel=3,
                )
        elif types.is_string(kind) or types.is_large_string(kind):
            found = _words(_text(table, name, file))
            _check_no_slip(found, name, file)
            _check_no_comma(found, name, file)
            different = len(found.values) + bool(column.null_count)
            if different > MANY_VALUES and different > 0.5 * len(column):
                _leave_out(name, "nearly every row has a value of its own, as a name or a key has")
            else:
                words[name] = found
                categories.append(name)
        elif types.is_binary(kind) and not file.is_parquet:
            raise DataError(
                f"{file.path}, column {name!r}: the text is not UTF-8; save the file in that "
                "encoding."
            )
        else:
            what = "dates" if types.is_temporal(kind) else f"{kind} values"
            _leave_out(name, f"it holds {what}, neither numbers nor categories")
    if not numbers and not categories:
        raise DataError(f"{file.path} has no column to learn from beside {target!r}.")
    return Schema(tuple(numbers), tuple(categories)), words


def read_features(
    file: TableFile, schema: Schema, target: str | None = None
) -> tuple[Features, Any]:
    """The values of the schema's columns, which must all be there, and those of `target`, if it
    is, as a table with labels."""
    there, wanted = set(file.names), set(schema.names)
    absent = [name for name in schema.names if name not in there]
    if absent:
        spare = [name for name in file.names if name not in wanted]
        raise DataError(
            f"{file.path} lacks {len(absent)} column{'s' * (len(absent) > 1)} that the model "
            f"learned from: {listed(absent)}. Not used by the model are: {listed(spare) or 'none'}."
        )
    kinds: dict[str, Kind] = dict.fromkeys(schema.numbers, "real")
    kinds |= dict.fromkeys(schema.categories, "text")
    labels: dict[str, Kind] = {} if target is None or target not in there else {target: "label"}
    apart = read_table(file, labels) if not wanted.isdisjoint(labels) else None
    table = read_table(file, kinds | (labels if apart is None else {}))
    words = tuple(_words(_text(table, name, file)) for name in schema.categories)
    found = Features(schema, _numbers(file, table, schema.numbers), words)
    return found, table.select(list(labels)) if apart is None else apart


def _numbers(file: TableFile, table: Any, names: Sequence[str]) -> tuple[Any, ...]:
    arrow, compute = need("pyarrow", PURPOSE), need("pyarrow.compute", PURPOSE)
    columns = {name: as_kind(table, name, "real", file) for name in names}
    for name, column in columns.items():
        ends = compute.min_max(column).as_py()
        if not -LARGEST <= (ends["min"] or 0.0) <= (ends["max"] or 0.0) <= LARGEST:
            check_size(column.to_numpy(), name, str(file.path))
    if not names:
        return (np.empty((table.num_rows, 0)),)
    return tuple(arrow.table(columns).to_batches(max_chunksize=BLOCK))


def _text(table: Any, name: str, file: TableFile) -> Any:
    """A column of text; a CSV file's was read as that."""
    return as_kind(table, name, "text", file) if file.is_parquet else table[name]


def _words(column: Any) -> Words:
    """A column of text, or of codes for text."""
    arrow = need("pyarrow", PURPOSE)
    if not arrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    codes, missing = plain_values(whole.indices, np.int32)
    codes = codes if missing is None else np.where(missing, np.int32(-1), codes)
    return Words(codes, tuple(whole.dictionary.to_pylist()))


def check_size(values: FloatArray, name: str, source: str) -> None:
    """No value of a column (N,) is infinite, or so large that a mean of squares would be."""
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(np.argmax(large))
        what = "infinite" if np.isinf(values[row]) else f"{values[row]:g}"
        raise DataError(
            f"{source}: {where(row, name)} is {what}; a number between -{LARGEST:g} and "
            f"{LARGEST:g} is needed."
        )


def _check_no_slip(words: Words, name: str, file: TableFile) -> None:
    counts = words.counts()
    numeric = np.array([_is_number(word) for word in words.values], dtype=bool)
    if counts[numeric].sum() < MOSTLY * counts.sum() or not counts.sum() or numeric.all():
        return
    # The last is that of a missing value.
    row = int(np.argmax(np.append(~numeric, False)[words.codes]))
    raise DataError(
        f"{file.path}: {where(row, name)} is {words.values[words.codes[row]]!r} in a column of "
        f"numbers. Correct it, or use --categorical {in_shell(name)} to take its values as names, "
        f"or --ignore {in_shell(name)}."
    )


def _check_no_comma(words: Words, name: str, file: TableFile) -> None:
    """Refuse numbers that are written with a comma: as categories they would be worth nothing."""
    grouped, decimal = r"-?\d{1,3}(,\d{3})+(\.\d+)?", r"-?\d+,\d+"
    commas = [t for t in map(str.strip, words.values) if re.fullmatch(f"{grouped}|{decimal}", t)]
    if len(commas) > 1 and len(commas) > 0.5 * len(words.values):
        way = "without it" if all(re.fullmatch(grouped, t) for t in commas) else "with a point"
        raise DataError(
            f"{file.path}, column {name!r}: numbers are written with a comma, such as "
            f"{commas[0]!r}; write them {way}. If they are categories: --categorical "
            f"{in_shell(name)}."
        )


def _is_number(text: str) -> bool:
    """As the reader of tables has it: Python also takes 1_000, and digits of other scripts."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def _counts_rows(column: Any) -> bool:
    """Whether whole numbers look like a key: many rows, no value twice, none missing."""
    return (
        len(column) > MANY_VALUES and not column.null_count and len(column.unique()) == len(column)
    )


def _leave_out(name: str, why: str) -> None:
    warnings.warn(f"column {name!r} is left out: {why}", UntrueWarning, stacklevel=3)
