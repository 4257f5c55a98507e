"""The columns of a table that a model learns from: which they are, and their values."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError, UntrueWarning, listed
from untrue.optional import need
from untrue.tools.reading.tables import PURPOSE, Kind, TableFile, read_table, where

# A column of text with so many different values, nearly one for each row, names the rows.
MANY_VALUES = 50
# A column of text most of whose values are numbers is a column of numbers with a slip in it.
MOSTLY = 0.8
LARGEST = 1e100


@dataclass(frozen=True, slots=True)
class Schema:
    """The feature columns by how they are read, each in the file's order."""

    numbers: tuple[str, ...]
    categories: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.numbers + self.categories


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Values of N rows: numbers (N, m) with nan for missing, text (N, c) with None for missing."""

    schema: Schema
    numbers: npt.NDArray[np.float64]
    text: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, chosen: npt.NDArray[np.int64]) -> Features:
        return Features(self.schema, self.numbers[chosen], self.text[chosen])


def find_schema(
    file: TableFile,
    target: str,
    *,
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Schema:
    """Which columns are numbers and which are categories, by a look at all their values.

    Dates, columns without values and columns that name the rows are left out with a warning.
    """
    arrow = need("pyarrow", PURPOSE)
    file.check([target, *categorical, *ignore])
    as_names, left_out = set(categorical), {target, *ignore}
    candidates = [name for name in file.names if name not in left_out]
    if not candidates:
        raise DataError(f"{file.path} has no column to learn from beside {target!r}.")
    table = read_table(file, dict.fromkeys(candidates, "any"))
    numbers, categories = [], []
    for name in candidates:
        column, kind = table[name], table[name].type
        if arrow.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if name in as_names:
            categories.append(name)
        elif column.null_count == len(column):
            _leave_out(name, "it has no values")
        elif arrow.types.is_boolean(kind):
            categories.append(name)
        elif (
            arrow.types.is_integer(kind)
            or arrow.types.is_floating(kind)
            or arrow.types.is_decimal(kind)
        ):
            numbers.append(name)
            if arrow.types.is_integer(kind) and _counts_rows(column):
                warnings.warn(
                    f"column {name!r} holds another whole number in every row; if it only names "
                    f"the rows, leave it out: --ignore {name!r}",
                    UntrueWarning,
                    stacklevel=2,
                )
        elif arrow.types.is_string(kind) or arrow.types.is_large_string(kind):
            different = len(column.unique())
            if different > MANY_VALUES and different > 0.5 * len(column):
                _check_no_slip(column, name, file)
                _leave_out(name, "nearly every row has a value of its own, as a name or a key has")
            else:
                _check_no_slip(column, name, file)
                categories.append(name)
        else:
            _leave_out(name, f"it holds {kind} values, neither numbers nor categories")
    if not numbers and not categories:
        raise DataError(f"{file.path} has no column to learn from beside {target!r}.")
    return Schema(tuple(numbers), tuple(categories))


def read_features(file: TableFile, schema: Schema) -> Features:
    """The values of the schema's columns; every column must be there."""
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
    table = read_table(file, kinds)
    numbers = np.empty((table.num_rows, len(schema.numbers)))
    for j, name in enumerate(schema.numbers):
        numbers[:, j] = table[name].to_numpy()
        check_size(numbers[:, j], name, str(file.path))
    text = np.empty((table.num_rows, len(schema.categories)), dtype=object)
    for j, name in enumerate(schema.categories):
        text[:, j] = table[name].to_pylist()
    return Features(schema, numbers, text)


def check_size(values: npt.NDArray[np.float64], name: str, source: str) -> None:
    """No value of a column (N,) is infinite, or so large that a mean of squares would be."""
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(np.argmax(large))
        what = "infinite" if np.isinf(values[row]) else f"{values[row]:g}"
        raise DataError(
            f"{source}: {where(row, name)} is {what}; a number between -{LARGEST:g} and "
            f"{LARGEST:g} is needed."
        )


def _check_no_slip(column: Any, name: str, file: TableFile) -> None:
    values = column.to_pylist()
    known = [value for value in values if value is not None]
    if sum(map(_is_number, known)) < MOSTLY * len(known) or not known:
        return
    odd = (i for i, value in enumerate(values) if value is not None and not _is_number(value))
    row = next(odd, None)
    if row is None:
        return
    raise DataError(
        f"{file.path}: {where(row, name)} is {values[row]!r} in a column of numbers. Correct it, "
        f"or use --categorical {name!r} to take its values as names, or --ignore {name!r}."
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


def split_columns(text: str | None) -> list[str]:
    """`"a, b"` as column names; nothing for None."""
    names: Iterable[str] = (text or "").split(",")
    return [name.strip() for name in names if name.strip()]
