"""From what a person can say about mistakes to the form of penalty that holds it best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from untrue.errors import PenaltyError, nearest
from untrue.hierarchy import Hierarchy
from untrue.penalty.base import Ints, check_classes
from untrue.penalty.dense import DensePenalty
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty

Pair = tuple[str | int, str | int]


def from_matrix(matrix: Any, classes: Sequence[str] | None = None) -> DensePenalty:
    if classes is None and hasattr(matrix, "columns") and hasattr(matrix, "index"):
        classes = list(matrix.columns)
        if list(matrix.index) != classes:
            raise PenaltyError("The rows of the table must carry the same names as its columns.")
    costs = np.asarray(matrix)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        raise PenaltyError(f"A penalty matrix must be square; got shape {costs.shape}.")
    return DensePenalty(check_classes(len(costs) if classes is None else classes), costs)


def from_rules(
    classes: Sequence[str] | int,
    rules: Mapping[Pair, float],
    default: float | Mapping[str, float] = 1.0,
) -> RulesPenalty:
    names = check_classes(classes)
    positions = {name: i for i, name in enumerate(names)}
    pairs = list(rules)
    cells = _cells(pairs, names)
    seen: dict[tuple[int, int], Pair] = {}
    for pair, (i, j) in zip(pairs, cells.tolist(), strict=True):
        if (i, j) in seen:
            raise PenaltyError(f"Two rules for one mistake: {seen[i, j]!r} and {pair!r}.")
        seen[i, j] = pair
    per_class: Any = default
    if isinstance(default, Mapping):
        per_class = np.array([_number(default.get(name, 1.0), name) for name in names])
        for name in default:
            _position(name, names, positions)
    else:
        per_class = _number(default, "`default`")
    costs = [_number(cost, repr(pair)) for pair, cost in rules.items()]
    return RulesPenalty(names, per_class, cells[:, 0], cells[:, 1], np.array(costs, np.float64))


def from_groups(
    groups: Mapping[str, Sequence[str]],
    within: float = 1.0,
    across: float = 5.0,
    *,
    classes: Sequence[str] | None = None,
) -> TreePenalty:
    tree = Hierarchy.from_groups(groups, classes=classes)
    return TreePenalty(tree, [0.0, _number(within, "`within`"), _number(across, "`across`")])


def from_hierarchy(
    tree: Hierarchy,
    cost: Literal["height"] | Callable[[int], float] | Mapping[int, float] = "height",
) -> TreePenalty:
    heights = range(1, tree.max_height + 1)
    if isinstance(cost, Mapping):
        missing = [h for h in heights if h not in cost]
        if missing:
            raise PenaltyError(f"`cost` names no cost for height {missing[0]} of this tree.")
        beyond = [h for h in cost if h not in range(tree.max_height + 1)]
        if beyond:
            raise PenaltyError(f"`cost` names height {beyond[0]}; the tree's is {tree.max_height}.")
        costs = [cost.get(0, 0.0), *(cost[h] for h in heights)]
    elif callable(cost):
        costs = [0.0, *(cost(h) for h in heights)]
    elif cost == "height":
        costs = [0.0, *(float(h) for h in heights)]
    else:
        raise PenaltyError(
            f"`cost` must be 'height', a function or {{height: cost}}; got {cost!r}."
        )
    return TreePenalty(tree, [_number(c, f"cost at height {h}") for h, c in enumerate(costs)])


def from_ordinal(classes: Sequence[str] | int, power: float = 1.0) -> DensePenalty:
    names = check_classes(classes)
    if not (np.isfinite(power) and power > 0):
        raise PenaltyError(f"`power` must be positive; got {power}.")
    steps = np.arange(len(names), dtype=np.float64)
    return DensePenalty(names, np.abs(steps[:, None] - steps[None, :]) ** power)


def from_zone(
    pairs_or_mask: Iterable[Pair] | npt.NDArray[np.bool_],
    classes: Sequence[str] | int | None = None,
) -> RulesPenalty:
    if isinstance(pairs_or_mask, np.ndarray) and pairs_or_mask.dtype == np.bool_:
        mask = pairs_or_mask
        if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
            raise PenaltyError(f"A zone mask must be square; got shape {mask.shape}.")
        names = check_classes(len(mask) if classes is None else classes)
        if len(names) != len(mask):
            raise PenaltyError(f"The mask is for {len(mask)} classes, but {len(names)} are named.")
        cells = np.argwhere(mask)
    elif classes is None:
        raise PenaltyError("A zone given as pairs needs `classes`: their names, or their number.")
    else:
        names = check_classes(classes)
        cells = np.unique(_cells(list(pairs_or_mask), names), axis=0)
    return RulesPenalty(names, 0.0, cells[:, 0], cells[:, 1], np.ones(len(cells)))  # type: ignore[arg-type]


def random_zone(n_classes: int, n: int, seed: int = 0) -> RulesPenalty:
    names = check_classes(n_classes)
    exist = n_classes * (n_classes - 1)
    if not 0 <= n <= exist:
        raise PenaltyError(
            f"`n` must lie in 0..{exist}, the off-diagonal cells of {n_classes} classes; got {n}."
        )
    drawn = np.random.default_rng(seed).choice(exist, size=n, replace=False)
    true, predicted = np.divmod(drawn, max(n_classes - 1, 1))
    predicted += predicted >= true  # step over the diagonal
    return RulesPenalty(names, 0.0, true, predicted, np.ones(n))  # type: ignore[arg-type]


def _cells(pairs: Sequence[Pair], names: tuple[str, ...]) -> Ints:
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


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise PenaltyError(f"A cost must be a number; got {value!r} for {what}.") from None
