"""A zone: the confusions one wants to avoid, in any form that the caller has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray
from untrue.checks import is_tensor
from untrue.errors import ArgumentError, PenaltyError
from untrue.metrics.confusion import Cells
from untrue.metrics.inputs import check_n_classes, class_indices, to_numpy
from untrue.penalty import Penalty
from untrue.penalty.builders import AS_MASK, is_mask
from untrue.penalty.stated import is_table, penalty_over
from untrue.penalty.zone import in_zone as penalty_zone

Zone: TypeAlias = "Penalty | npt.ArrayLike | Iterable[tuple[Any, Any]]"


def is_penalty(value: Any) -> bool:
    """Whether `value` is a `Penalty`, by what it can do."""
    return hasattr(value, "cost") and hasattr(value, "n_classes")


def in_class_order(zone: Any, classes: Sequence[str] | None) -> Any:
    """A penalty, or a table of booleans, by its class names in the order of `classes`.

    By position where one of the two has no names of its own. Pairs and other masks: as they are.
    """
    given = Penalty.from_zone(zone) if is_table(zone) else zone
    if classes is None or not is_penalty(given):
        return given
    check_n_classes(given.n_classes, len(classes), "zone")
    numbered = list(classes) == [str(i) for i in range(len(classes))]
    if numbered and set(given.classes).isdisjoint(classes):
        return given
    try:
        return penalty_over(given, classes)
    except PenaltyError as error:
        raise ArgumentError(f"`zone`, as a penalty: {error}") from None


def in_zone(cells: Cells, zone: Zone, classes: Sequence[str] | None = None) -> BoolArray:
    """Which cells lie in the zone.

    `zone` is a penalty (its zone: what costs more than the cheapest mistake that costs anything, or
    all that costs anything if all of it costs the same), a boolean mask of shape (k, k), or
    (true, predicted) pairs of indices, or of names where `classes` lists them. A penalty or a table
    goes by its names then, too.
    """
    k = cells.n_classes
    given = in_class_order(zone, classes)
    if is_penalty(given):
        check_n_classes(given.n_classes, k, "zone")
        return penalty_zone(given, cells.true, cells.predicted)
    array = to_numpy(given) if is_tensor(given) or hasattr(given, "dtype") else None
    if array is None:
        if not isinstance(given, Iterable):
            raise ArgumentError(f"`zone` must be a Penalty, a mask or pairs; got {given!r}.")
        given = list(given)
        if is_mask(given):
            array = to_numpy(given, "zone")
    if array is not None and array.dtype.kind == "b":
        return _in_mask(cells, array)
    if array is not None and array.size and (array.ndim != 2 or array.shape[1] != 2):
        raise ArgumentError(
            f"`zone` must be a Penalty, a boolean mask of shape ({k}, {k}) or (true, predicted) "
            f"pairs; got dtype {array.dtype} of shape {array.shape}.{AS_MASK}"
        )
    pairs = given if array is None else array.tolist() if array.size else []
    # With two classes a mask of numbers has the shape of two pairs, and is never two mistakes
    # unless it means the same by both readings.
    hint = AS_MASK if _may_be_mask(k, pairs) else ""
    return _in_pairs(cells, pairs, classes, hint)


def zone_pairs(cells: Cells, penalty: Penalty, above: float | None = None) -> list[tuple[int, int]]:
    """The kinds of error in `cells` that are in a penalty's zone, as (true, predicted) positions.

    `above` as in `untrue.penalty.zone.zone_threshold`.
    """
    chosen = penalty_zone(penalty, cells.true, cells.predicted, above)
    return list(zip(cells.true[chosen].tolist(), cells.predicted[chosen].tolist(), strict=True))


def _may_be_mask(k: int, rows: list[Any]) -> bool:
    """Whether pairs could be meant as the mask of two classes: two rows of two, 0 or 1."""
    square = k == len(rows) == 2 and all(isinstance(row, Sequence) for row in rows)
    return square and all(len(row) == 2 and all(n in (0, 1) for n in row) for row in rows)


def _in_mask(cells: Cells, mask: npt.NDArray[Any]) -> BoolArray:
    k = cells.n_classes
    if mask.shape != (k, k):
        raise ArgumentError(f"`zone`, as a mask, must have shape ({k}, {k}); got {mask.shape}.")
    on_diagonal = np.flatnonzero(np.diagonal(mask))
    if on_diagonal.size:
        raise ArgumentError(
            f"`zone` holds mistakes only, but its mask is true at [{on_diagonal[0]}, "
            f"{on_diagonal[0]}]; clear the diagonal."
        )
    return np.asarray(mask[cells.true, cells.predicted])


def _in_pairs(
    cells: Cells, pairs: list[Any], classes: Sequence[str] | None, hint: str
) -> BoolArray:
    k = cells.n_classes
    codes = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ArgumentError(f"`zone` must hold (true, predicted) pairs; got {pair!r}.")
        true, predicted = class_indices(pair, k, "zone", classes)
        if true == predicted:
            raise ArgumentError(
                f"`zone` holds mistakes only; {tuple(pair)!r} is a right answer.{hint}"
            )
        codes.append(true * k + predicted)
    return np.isin(cells.true * k + cells.predicted, np.asarray(codes, dtype=np.int64))
