"""From a statement about mistakes to the form of penalty that holds it best."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.checks import check_choice, check_count, is_tensor
from untrue.errors import ArgumentError, PenaltyError, nearest
from untrue.hierarchy import Hierarchy
from untrue.penalty.arrays import real_numbers, table_columns
from untrue.penalty.base import check_classes
from untrue.penalty.dense import DensePenalty
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty

Pair = tuple[str | int, str | int]

# Added where numbers that may be meant as the mask of a zone are refused.
AS_MASK = " A mask of numbers becomes boolean by `mask != 0`."


def from_utilities(gains: Any, classes: Sequence[str] | None = None) -> DensePenalty:
    table, names = _square(gains, classes, "A table of gains")
    if not np.isfinite(table).all():
        i, j = map(int, np.argwhere(~np.isfinite(table))[0])
        raise PenaltyError(
            f"Gain of answering {names[j]!r} for {names[i]!r} (row {i}, column {j}) is "
            f"{table[i, j]}: gains must be finite."
        )
    best = table.argmax(axis=1)
    right = np.diagonal(table)
    for i in np.flatnonzero(table.max(axis=1) > right)[:1].tolist():
        raise PenaltyError(
            f"Row {names[i]!r} gains {table[i, best[i]]:g} by answering {names[best[i]]!r}, more "
            f"than {right[i]:g} by the right answer, which must gain most in its row. "
            "Are rows the true class?"
        )
    return DensePenalty(names, right[:, None] - table)


def from_matrix(matrix: Any, classes: Sequence[str] | None = None) -> DensePenalty:
    costs, names = _square(matrix, classes, "A penalty matrix")
    return DensePenalty(names, costs)


def _square(
    matrix: Any, classes: Sequence[str] | None, what: str
) -> tuple[FloatArray, tuple[str, ...]]:
    """A square table as numbers, and the names of its classes."""
    named = _named(matrix, classes)
    _refuse_other_forms(matrix, what)
    costs = real_numbers(matrix, what)
    if not costs.size:
        raise PenaltyError(f"{what} needs at least one class; this one is empty.")
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        raise PenaltyError(f"{what} must be square; got shape {costs.shape}.")
    found = check_classes(len(costs) if named is None else named)
    if len(found) != len(costs):
        raise PenaltyError(
            f"The matrix has shape {costs.shape}, but {len(found)} classes are named."
        )
    return costs, found


def _refuse_other_forms(given: Any, what: str) -> None:
    """Costs that are stated in another form have a constructor of their own."""
    if isinstance(given, str | os.PathLike):
        found = f"{str(given)!r}. For a file: Penalty.load(path)."
    elif isinstance(given, Hierarchy):
        found = "a Hierarchy. With it: Penalty.from_hierarchy(hierarchy)."
    elif isinstance(given, Mapping):
        found = "a dict. For rules by name: Penalty.from_rules(classes, rules)."
    elif hasattr(given, "n_classes") and hasattr(given, "classes"):
        found = f"{type(given).__name__}, which says what mistakes cost already: use it as it is."
    elif given is None:
        found = "None."
    else:
        return
    raise PenaltyError(f"{what} is a table; got {found}")


def _named(table: Any, classes: Sequence[str] | int | None) -> Sequence[str] | int | None:
    """`classes`, or the names that a table carries; where there are both they must agree."""
    names = _table_names(table)
    if names is None:
        return classes
    given = names if classes is None else list(check_classes(classes))
    if given != names:
        raise PenaltyError(
            f"The table is for the classes {_shown(names)}, but `classes` has {_shown(given)}: "
            "leave one of them out."
        )
    return names


def _table_names(table: Any) -> list[str] | None:
    """The class names that a table carries; None for what carries none. Rows without names, as
    those of Arrow, are in the order of the columns."""
    names = table_columns(table)
    if names is None:
        return None
    rows = list(getattr(table, "index", names))
    for number, (row, name) in enumerate(zip(rows, names, strict=False)):
        if row != name:
            raise PenaltyError(
                f"The rows of the table must carry the same names as its columns; "
                f"row {number} is {row!r}, column {number} is {name!r}."
            )
    return None if names == list(range(len(names))) else names


def _shown(names: Sequence[Any]) -> str:
    return ", ".join([*map(str, names[:4]), *(["..."] if len(names) > 4 else [])])


def from_rules(
    classes: Sequence[str] | int,
    rules: Mapping[tuple[Any, Any], float],
    default: float | Mapping[str, float] = 1.0,
) -> RulesPenalty:
    names = check_classes(classes)
    if not isinstance(rules, Mapping):
        raise PenaltyError(
            f"`rules` must be a mapping {{(true, predicted): cost}}; got {type(rules).__name__}."
        )
    pairs = list(rules)
    cells = cells_of(pairs, names)
    seen: dict[tuple[int, int], Pair] = {}
    for pair, (i, j) in zip(pairs, cells.tolist(), strict=True):
        if (i, j) in seen:
            raise PenaltyError(f"Two rules for one mistake: {seen[i, j]!r} and {pair!r}.")
        seen[i, j] = pair
    defaults = np.ones(len(names))
    if isinstance(default, Mapping):
        positions = {name: i for i, name in enumerate(names)}
        for name, cost in default.items():
            defaults[_position(name, names, positions)] = number(cost, f"`default` of {name!r}")
    else:
        defaults[:] = number(default, "`default`")
    costs = [number(cost, repr(pair)) for pair, cost in rules.items()]
    return RulesPenalty(names, defaults, cells[:, 0], cells[:, 1], np.array(costs, np.float64))


def from_groups(
    groups: Mapping[str, Sequence[str]],
    within: float = 1.0,
    across: float = 5.0,
    *,
    classes: Sequence[str] | None = None,
) -> TreePenalty:
    hierarchy = Hierarchy.from_groups(groups, classes=classes)
    return TreePenalty(hierarchy, [0.0, number(within, "`within`"), number(across, "`across`")])


def check_hierarchy(hierarchy: Any) -> None:
    if not isinstance(hierarchy, Hierarchy):
        raise PenaltyError(
            f"`hierarchy` must be a Hierarchy; got {type(hierarchy).__name__}. "
            "Hierarchy.from_dict, from_edges, from_groups and from_paths make one."
        )


def from_hierarchy(
    hierarchy: Hierarchy,
    cost: Literal["height"] | Callable[[int], float] | Mapping[int, float] = "height",
) -> TreePenalty:
    check_hierarchy(hierarchy)
    heights = range(1, hierarchy.max_height + 1)
    if isinstance(cost, Mapping):
        missing = [h for h in heights if h not in cost]
        if missing:
            raise PenaltyError(f"`cost` names no cost for height {missing[0]} of this hierarchy.")
        beyond = [h for h in cost if h not in range(hierarchy.max_height + 1)]
        if beyond:
            raise PenaltyError(
                f"`cost` names height {beyond[0]}; the hierarchy's is {hierarchy.max_height}."
            )
        costs = [cost.get(0, 0.0), *(cost[h] for h in heights)]
    elif callable(cost):
        costs = [0.0, *(cost(h) for h in heights)]
    elif isinstance(cost, str) and cost == "height":
        costs = [0.0, *(float(h) for h in heights)]
    else:
        raise PenaltyError(
            f"`cost` must be 'height', a function or {{height: cost}}; got {cost!r}."
        )
    return TreePenalty(hierarchy, [number(c, f"cost at height {h}") for h, c in enumerate(costs)])


def for_exit(
    hierarchy_or_groups: Hierarchy | Mapping[str, Sequence[str]],
    exit: int,  # noqa: A002
    n_exits: int,
    *,
    cost: float = 1.0,
    level: int = 1,
    reading: str = "text",
    classes: Sequence[str] | None = None,
) -> TreePenalty:
    check_count("n_exits", n_exits)
    check_count("exit", exit)
    if exit > n_exits:
        raise ArgumentError(f"`exit` must lie in 1..{n_exits}, from the first; got {exit}.")
    check_choice("reading", reading, ("text", "printed"))
    groups = hierarchy_or_groups
    if isinstance(groups, Hierarchy):
        classes = groups.classes if classes is None else classes
        groups = groups.groups(level)
    elif not isinstance(groups, Mapping):
        raise PenaltyError(
            "`hierarchy_or_groups` must be a Hierarchy or {coarse class: classes}; "
            f"got {type(groups).__name__}."
        )
    full = number(cost, "`cost`")
    share = exit / n_exits if reading == "text" else n_exits / exit
    return from_groups(groups, full * share, full, classes=classes)


def from_ordinal(classes: Sequence[str] | int, power: float = 1.0) -> DensePenalty:
    names = check_classes(classes)
    power = number(power, "`power`")
    if not (np.isfinite(power) and power > 0):
        raise PenaltyError(f"`power` must be positive; got {power}.")
    steps = np.arange(len(names), dtype=np.float64)
    with np.errstate(over="ignore"):  # an infinite cost is refused later, with its name
        return DensePenalty(names, np.abs(steps[:, None] - steps[None, :]) ** power)


def from_zone(
    pairs_or_mask: Iterable[Pair] | BoolArray,
    classes: Sequence[str] | int | None = None,
) -> RulesPenalty:
    array = _zone_array(pairs_or_mask)
    if array is not None and array.dtype.kind == "b":
        mask = array
        if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
            raise PenaltyError(f"A zone mask must be square; got shape {mask.shape}.")
        named = _named(pairs_or_mask, classes)
        names = check_classes(len(mask) if named is None else named)
        if len(names) != len(mask):
            raise PenaltyError(f"The mask is for {len(mask)} classes, but {len(names)} are named.")
        cells = np.argwhere(mask)
    elif classes is None:
        hint = AS_MASK if _may_be_mask(array) else ""
        raise PenaltyError(
            f"A zone given as pairs needs `classes`: their names, or their number.{hint}"
        )
    else:
        names = check_classes(classes)
        try:
            pairs = list(pairs_or_mask) if array is None else array.tolist()
            cells = np.unique(cells_of(pairs, names), axis=0)
        except PenaltyError as error:
            hint = AS_MASK if len(names) == 2 and _may_be_mask(array) else ""
            raise PenaltyError(f"{error}{hint}") from None
    nothing = np.zeros(len(names))
    return RulesPenalty(names, nothing, cells[:, 0], cells[:, 1], np.ones(len(cells)))


def _zone_array(zone: Any) -> npt.NDArray[Any] | None:
    """A zone that is an array, a tensor, a table or nested lists of booleans, as an array; a mask
    is one of booleans. None of any other collection of pairs."""
    if is_mask(zone):
        if len({len(row) for row in zone}) > 1:
            raise PenaltyError("A zone mask must be square; its rows differ in length.")
    elif not hasattr(zone, "__array__"):
        if not isinstance(zone, Iterable):
            raise PenaltyError(
                "A zone is (true, predicted) pairs or a mask of booleans; got "
                f"{type(zone).__name__}."
            )
        return None
    array = np.asarray(zone.detach().cpu() if is_tensor(zone) else zone)
    if array.ndim == 0:
        raise PenaltyError(f"A zone is (true, predicted) pairs or a mask; got {zone!r}.")
    if array.dtype.kind != "b" and array.ndim == 2 and array.shape[1] != 2:
        raise PenaltyError(f"A zone mask must hold booleans; got {array.dtype}.{AS_MASK}")
    return array


def is_mask(rows: Any) -> bool:
    """Whether it is lists of booleans in a list: True and False name no class, so no pairs."""
    return (
        isinstance(rows, list | tuple)
        and len(rows) > 0
        and all(isinstance(row, list | tuple) and len(row) > 0 for row in rows)
        and all(isinstance(value, bool | np.bool_) for row in rows for value in row)
    )


def _may_be_mask(array: npt.NDArray[Any] | None) -> bool:
    """Whether an array that is read as pairs could be meant as the mask of two classes."""
    if array is None or array.shape != (2, 2) or array.dtype.kind not in "iuf":
        return False
    return bool(np.isin(array, (0, 1)).all())


def random_zone(n_classes: int, n: int, seed: int = 0) -> RulesPenalty:
    for what, number in (("n_classes", n_classes), ("n", n), ("seed", seed)):
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 0:
            raise PenaltyError(f"`{what}` must be a whole number, 0 or more; got {number!r}.")
    names = check_classes(n_classes)
    exist = int(n_classes) * (int(n_classes) - 1)
    if n > exist:
        raise PenaltyError(
            f"`n` must lie in 0..{exist}, the off-diagonal cells of {n_classes} classes; got {n}."
        )
    drawn = np.random.default_rng(seed).choice(exist, size=n, replace=False)
    true, predicted = np.divmod(drawn, max(n_classes - 1, 1))
    predicted += predicted >= true  # step over the diagonal
    return RulesPenalty(names, np.zeros(len(names)), true, predicted, np.ones(n))


def cells_of(pairs: Sequence[Pair], names: tuple[str, ...]) -> IntArray:
    positions = {name: i for i, name in enumerate(names)}
    cells = np.empty((len(pairs), 2), dtype=np.int64)
    for number, pair in enumerate(pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise PenaltyError(f"A mistake is a (true, predicted) pair; got {pair!r}.")
        cells[number] = [_position(name, names, positions) for name in pair]
        if cells[number, 0] == cells[number, 1]:
            raise PenaltyError(f"A rule leads from {pair[0]!r} to itself: a right answer is free.")
    return cells


def _position(name: str | int, names: tuple[str, ...], positions: Mapping[str, int]) -> int:
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if not 0 <= name < len(names):
            raise PenaltyError(f"Class index {name} is outside 0..{len(names) - 1}.")
        return int(name)
    if not isinstance(name, str) or name not in positions:
        raise PenaltyError(f"Unknown class {name!r}{nearest(str(name), names) or '.'}")
    return positions[name]


def number(value: Any, what: str) -> float:
    """A single number as a float; anything else is refused, and the error names `what`."""
    try:
        if not isinstance(value, str | bytes | bool | np.bool_):
            return float(value)
    except (TypeError, ValueError):
        pass
    except OverflowError:
        raise PenaltyError(f"The number given for {what} is too large.") from None
    raise PenaltyError(f"Expected a number for {what}; got {value!r}.")
