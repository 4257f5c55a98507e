"""Tables of probabilities (pandas, polars, pyarrow): which column is that of which class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import unmasked
from untrue.errors import ArgumentError, PenaltyError, listed
from untrue.hierarchy.names import as_whole
from untrue.penalty.arrays import real_numbers, table_columns

# Before the name of a class, in the name of a column of its probabilities.
PREFIXES = ("prob_", "proba_", "probability_", "probs_", "p_")


def column_names(table: Any, known: Collection[str] = ()) -> list[str] | None:
    """The classes that a table's columns (pandas, polars, pyarrow) are called after, with a prefix
    such as prob_ or without; None where they are only numbers. A column 1.0 is that of class 1.

    A prefix is part of the names where all of `known`, classes of which some may be left out, are
    columns as they stand.
    """
    columns = table_columns(table)
    if columns is None or len(columns) < 2:
        return None
    names = [str(name) for name in columns]
    if not known or not set(known) <= set(names):
        prefix = next((p for p in PREFIXES if all(name.startswith(p) for name in names)), "")
        names = [name.removeprefix(prefix) for name in names]
    names = [name if name in known else as_whole(name) for name in names]
    return None if names == [str(i) for i in range(len(names))] else names


def in_column_order(probs: Any, classes: tuple[str, ...]) -> Any:
    """A table's columns in the order of `classes`, by their names.

    What is no table, columns that are only numbered, and classes that are: by position. Columns 0,
    1, ... of classes that are called so in another order go by name where they are text, and are
    refused where they are numbers. A single column is that of the second of two classes.
    """
    columns, names = table_columns(probs), column_names(probs, classes)
    if columns is None:
        return probs
    if len(columns) == 1:
        _refuse_first_class(str(columns[0]), classes)
    places = [str(i) for i in range(len(columns))]
    if names is None and list(classes) != places and set(classes) == set(places):
        if not all(isinstance(name, str) for name in columns):
            raise ArgumentError(
                f"The columns of the table of probabilities are numbered {listed(places)}, which "
                f"may be names of the classes {listed(classes)} or their positions. Name them by "
                "text: table.add_prefix('prob_'); .to_numpy() goes by position."
            )
        names = places
    if names is None:
        return _values(probs, range(len(columns)))
    place = {name: i for i, name in enumerate(names)}
    if len(names) == len(classes) and set(names) == set(classes):
        return _values(probs, [place[name] for name in classes])
    known = place.keys() & set(classes)
    if not known and classes == tuple(map(str, range(len(classes)))):
        return _values(probs, range(len(columns)))
    absent = next((name for name in classes if name not in place), None)
    what = f"no column of the class {absent!r}" if absent else "more columns than the classes"
    raise ArgumentError(
        f"The table of probabilities has {what}: it has {listed(names)}, the classes are "
        f"{listed(classes)}. Name or choose its columns; .to_numpy() goes by position."
    )


def real_probs(probs: Any, classes: tuple[str, ...]) -> npt.NDArray[Any]:
    """Probabilities as numbers, those of a table in the order of `classes`.

    An array of floats is left as it is, nan included. What is missing in anything else is refused,
    and the error names its row.
    """
    given = unmasked(in_column_order(probs, classes))
    floats = isinstance(given, np.ndarray) and given.dtype.kind == "f"
    array = np.asarray(given) if floats else real_numbers(given, "`probs`")
    if array is not probs and np.isnan(array).any():
        row = int(np.argmax(np.isnan(np.atleast_2d(array)).any(axis=-1)))
        raise PenaltyError(f"`probs` must hold real numbers; row {row} holds nan.")
    return array


def _refuse_first_class(column: str, classes: tuple[str, ...]) -> None:
    names = {column, *(column.removeprefix(prefix) for prefix in PREFIXES)}
    # A column called 0 alone is one without a name.
    if len(classes) == 2 and classes[0] in names and column != "0":
        raise ArgumentError(
            f"A single column of probabilities is that of the second class, {classes[1]!r}; this "
            f"one, {column!r}, is called after the first. Give the other, or both."
        )


def _values(table: Any, places: Sequence[int]) -> npt.NDArray[Any]:
    """The columns at these places, as an array."""
    if hasattr(table, "column_names"):
        return np.column_stack([table.column(i).to_numpy() for i in places])
    # As it is, if it can be: without a copy. By place: booleans, as names, would choose rows.
    if list(places) != list(range(len(table.columns))):
        table = table.iloc[:, places] if hasattr(table, "iloc") else table[:, places]
    return table.to_numpy()  # type: ignore[no-any-return]
