"""Answers that are not classes: "send to a specialist", "order a test", "some bird".

`Actions` are what a decision may answer, and what each costs under each true class: a table, or the
nodes of a hierarchy (`untrue.penalty.node_actions`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.checks import is_tensor
from untrue.errors import PenaltyError, nearest
from untrue.hierarchy.names import by_class, check_names, in_one_shape, positions
from untrue.input_files import as_path
from untrue.penalty.arrays import allowed, broken_rule, frozen, real_numbers
from untrue.penalty.base import Penalty, check_classes
from untrue.penalty.builders import number
from untrue.penalty.prob_columns import real_probs

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy

NodeCost = Literal["distance", "information"] | Callable[[int, int], float]


class Actions(ABC):
    """What may be answered, and what each answer costs: `cost[true class, action]`, never negative.

    classes   names of the true classes
    actions   names of the answers
    """

    classes: tuple[str, ...]
    actions: tuple[str, ...]

    # Builders

    @staticmethod
    def from_matrix(
        costs: npt.ArrayLike, classes: Sequence[str] | int, actions: Sequence[str]
    ) -> Actions:
        """From a (k, m) table, true class first.

        >>> table = [[0.0, 20.0, 2.0], [1.0, 0.0, 2.0]]
        >>> answers = Actions.from_matrix(table, ["tumour", "benign"], ["tumour", "benign", "scan"])
        >>> answers.expected(np.array([[0.15, 0.85]]))
        array([[0.85, 3.  , 2.  ]])
        """
        return TableActions(check_classes(classes), actions, costs)

    @staticmethod
    def from_penalty(penalty: Penalty, more: Mapping[str, float | Mapping[str, float]]) -> Actions:
        """The classes of a penalty as answers, and more: {action: cost or {class: cost}}.

        Made as a table, of k x (k + actions) numbers.
        """
        if not isinstance(more, Mapping) or not more:
            raise PenaltyError(
                'More actions are {action: cost} or {action: {class: cost}}, like {"scan": 2.0}; '
                f"got {more!r}."
            )
        if not isinstance(penalty, Penalty):
            raise PenaltyError(
                f"`penalty` must be an untrue.Penalty; got {type(penalty).__name__}. A matrix "
                "becomes one by Penalty.from_matrix."
            )
        columns = [_column(name, costs, penalty.classes) for name, costs in more.items()]
        table = np.concatenate([penalty.matrix(), np.stack(columns, axis=1)], axis=1)
        return TableActions(penalty.classes, [*penalty.classes, *more], table)

    @staticmethod
    def from_hierarchy(
        hierarchy: Hierarchy, cost: NodeCost = "distance", *, nodes: Sequence[str] | None = None
    ) -> Actions:
        """Each node of a hierarchy is an answer; a right coarse one costs by what it leaves open.

        cost   "distance": the edges between the answer and the true class. The best answer is the
               deepest node that has at least half of the probability below it. (Ramaswamy, Tewari,
               Agarwal, ICML 2015)
               "information": a wrong answer costs 1, a right one the share of the information that
               it leaves open, log(classes below it) / log(all classes). The best answer has the
               greatest expected information gain. (Deng, Krause, Berg, Fei-Fei, CVPR 2012)
               a function of two heights, that of the lowest common ancestor of answer and truth,
               and that of the answer: (h, 0) is a wrong class, (h, h) a right answer of height h
        nodes  names of the nodes that may be answered; all that hold a class if not given

        Costs are computed along the hierarchy; there is no table of classes by nodes.
        """
        from untrue.penalty.node_actions import NodeActions

        return NodeActions(hierarchy, cost, nodes)

    @staticmethod
    def load(path: str | Path) -> Actions:
        """Read .toml or .json: see docs/decisions.md."""
        from untrue.penalty import action_files

        return action_files.load(as_path(path))

    def save(self, path: str | Path) -> Path:
        """Write .toml or .json."""
        from untrue.penalty import action_files

        return action_files.save(self, as_path(path))

    # What every form provides

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def n_actions(self) -> int:
        return len(self.actions)

    def index(self, action: str) -> int:
        """Position of an action."""
        return _place(action, self._positions, "Action")

    def cost(self, true: Any, action: Any) -> Any:
        """Cost of an answer under a true class: names or indices, broadcast."""
        i, j = in_one_shape(
            PenaltyError,
            true=_indices(true, self._class_positions, "Class"),
            action=_indices(action, self._positions, "Action"),
        )
        found = self._lookup(i, j)
        return found if found.ndim else float(found)

    def expected(self, probs: Any) -> Any:
        """Expected cost of each action: (N, k) -> (N, m), an array or a tensor as `probs` is."""
        if is_tensor(probs):
            import torch

            from untrue.penalty.tensors import widened

            found = self.expected(probs.detach().cpu().double().numpy())
            return torch.from_numpy(found).to(widened(probs).dtype).to(probs.device)
        array = real_probs(probs, self.classes).astype(np.float64, copy=False)
        if array.ndim != 2 or array.shape[1] != self.n_classes:
            raise PenaltyError(
                f"`probs` must have shape (N, {self.n_classes}), one column per class; got "
                f"{array.shape}."
            )
        return self._expected(array)

    def matrix(self) -> FloatArray:
        """All costs (k, m)."""
        k, m = self.n_classes, self.n_actions
        return np.asarray(self.cost(np.arange(k)[:, None], np.arange(m)), dtype=np.float64)

    @cached_property
    def greatest(self) -> float:
        """The most that an answer can cost."""
        every = np.arange(self.n_actions)
        return max(float(np.max(self.cost(i, every))) for i in range(self.n_classes))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.actions)}

    @cached_property
    def _class_positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}

    # What each form must define

    @property
    @abstractmethod
    def preference(self) -> FloatArray:
        """(m,) Of actions with equal cost the one of greatest preference is taken; at least 0."""

    @abstractmethod
    def _lookup(self, i: IntArray, j: IntArray) -> FloatArray: ...

    @abstractmethod
    def _expected(self, probs: FloatArray) -> FloatArray: ...


class TableActions(Actions):
    """Costs as a read-only (k, m) array."""

    def __init__(
        self, classes: tuple[str, ...], actions: Sequence[str], costs: npt.ArrayLike
    ) -> None:
        self.classes, self.actions = classes, check_action_names(actions)
        table = frozen(real_numbers(costs, "A table of costs"))
        if table.shape != (len(self.classes), len(self.actions)):
            raise PenaltyError(
                f"A table of {len(self.classes)} classes and {len(self.actions)} actions has shape "
                f"({len(self.classes)}, {len(self.actions)}); got {table.shape}."
            )
        for i, j in np.argwhere(~allowed(table))[:1].tolist():
            raise PenaltyError(
                f"Cost of {self.actions[j]!r} for {self.classes[i]!r} is {table[i, j]}: "
                f"{broken_rule(table[i, j])}."
            )
        self.costs = table

    @property
    def preference(self) -> FloatArray:
        return np.zeros(self.n_actions)

    def matrix(self) -> FloatArray:
        return np.asarray(self.costs)

    def _lookup(self, i: IntArray, j: IntArray) -> FloatArray:
        return np.asarray(self.costs[i, j])

    def _expected(self, probs: FloatArray) -> FloatArray:
        return np.asarray(probs @ self.costs)

    def __repr__(self) -> str:
        return f"Actions({self.n_classes} classes, {self.n_actions} actions)"


def check_action_names(actions: Sequence[str]) -> tuple[str, ...]:
    """Names of actions: texts, none twice, at least one."""
    names = check_names(actions, "`actions`", PenaltyError)
    if not names:
        raise PenaltyError("At least one action is needed; `actions` is empty.")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise PenaltyError(f"The action {twice!r} is named twice.")
    return names


def _place(name: Any, places: Mapping[str, int], what: Literal["Class", "Action"]) -> int:
    if not isinstance(name, str) or name not in places:
        hint = nearest(str(name), places) or "."
        raise PenaltyError(f"Unknown {what.lower()} {name!r}{hint}")
    return places[name]


def _indices(which: Any, places: Mapping[str, int], what: Literal["Class", "Action"]) -> IntArray:
    return positions(
        which,
        lambda name: _place(name, places, what),
        lambda found: found.astype(np.int64),
        len(places),
        PenaltyError,
        what,
    )


def _column(name: str, costs: Any, classes: tuple[str, ...]) -> FloatArray:
    """(k,) What one action costs under each class."""
    if not isinstance(costs, Mapping):
        return np.full(len(classes), number(costs, f"the action {name!r}"))
    found = by_class(costs, classes, f"The action {name!r}", PenaltyError)
    return np.array([number(cost, f"the action {name!r}") for cost in found], dtype=np.float64)
