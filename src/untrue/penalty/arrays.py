"""Arrays of costs: read, checked, frozen; tables, by the names of their columns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray, unmasked
from untrue.checks import is_tensor
from untrue.errors import PenaltyError

# Losses are computed in single precision, which ends at 3.4e38: room for sums over many classes,
# for logits of 10,000, and for the multipliers of budgets.
MOST_COST = 1e30
TOO_GREAT = f"costs must be at most {MOST_COST:g}; state them in larger units"


def frozen(array: npt.ArrayLike, dtype: type = np.float64) -> npt.NDArray[Any]:
    """A read-only copy."""
    copy: npt.NDArray[Any] = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


def real_numbers(values: Any, what: str) -> FloatArray:
    """As float64, copied only where needed. Anything but a table of real numbers is refused."""
    if is_tensor(values):
        values = values.detach().cpu()
        values = values.double() if values.is_floating_point() else values
    values = unmasked(values)
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O" and not any(isinstance(cell, str) for cell in array.flat):
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        ragged = "inhomogeneous" in str(error)
        bad = None if ragged else no_number(np.asarray(values, dtype=object))
        if bad is not None:
            raise PenaltyError(
                f"{what} must hold real numbers; row {bad[0]} holds {bad[1]!r}."
            ) from None
        problem = "its rows differ in length." if ragged else error
        raise PenaltyError(f"{what} must be a table of numbers: {problem}") from None
    if array.dtype.kind not in "biuf":
        raise PenaltyError(f"{what} must hold real numbers; got {array.dtype}.")
    return array.astype(np.float64, copy=False)


def no_number(objects: npt.NDArray[Any]) -> tuple[int, Any] | None:
    """The row and the value of the first object that is no number; None if all are numbers."""
    for row, cells in enumerate(np.atleast_1d(objects)):
        for cell in np.ravel(cells):
            if isinstance(cell, str) or not hasattr(cell, "__float__"):
                return row, cell
    return None


def number_column(values: Any, what: str) -> FloatArray:
    """(N,) numbers as float64, None as nan; anything else is refused, naming `what`."""
    try:
        column = np.asarray(values.detach().cpu() if is_tensor(values) else unmasked(values))
    except ValueError:  # lists of several lengths
        column = np.asarray(values, dtype=object)
    if column.dtype.kind == "O":
        with contextlib.suppress(TypeError, ValueError):
            column = column.astype(np.float64)
    if column.ndim != 1 or column.dtype.kind not in "iufb":
        raise PenaltyError(
            f"{what} must be numbers, one per example; got {column.dtype} of shape {column.shape}."
        )
    return column.astype(np.float64)


def allowed(costs: FloatArray) -> BoolArray:
    """Which may be costs: finite, not negative, not too great."""
    return np.asarray((costs >= 0) & (costs <= MOST_COST))


def broken_rule(cost: float) -> str:
    """The rule that a number breaks which is no cost."""
    return TOO_GREAT if MOST_COST < cost < np.inf else "costs must be finite and not negative"


def least_paid(costs: FloatArray) -> float:
    """The least of the costs above 0; 0 if there is none."""
    paid = costs[costs > 0]
    return float(paid.min()) if paid.size else 0.0


def in_blocks(mix: Callable[[FloatArray], FloatArray], probs: FloatArray) -> FloatArray:
    """`mix` of a few rows at a time: what it works on stays in the processor's cache."""
    mixed = np.empty_like(probs)
    step = max(1, 2**17 // probs.shape[1])
    for i in range(0, len(probs), step):
        mixed[i : i + step] = mix(probs[i : i + step])
    return mixed


def names_bytes(names: Iterable[str]) -> bytes:
    """Names as bytes that no other list of names has."""
    return b"".join(len(raw).to_bytes(4, "little") + raw for raw in map(str.encode, names))


def table_columns(table: Any) -> list[Any] | None:
    """The columns of a table, as it calls them; None of anything else."""
    if hasattr(table, "column_names") and hasattr(table, "schema"):  # pyarrow
        return list(table.column_names)
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        return list(table.columns)
    return None
