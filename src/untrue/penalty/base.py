"""`Penalty`: the contract that the three forms keep, and the builders that choose a form."""

from __future__ import annotations

import dataclasses
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.checks import check_count, check_number, is_tensor
from untrue.errors import PenaltyError, nearest
from untrue.hierarchy import names as naming
from untrue.input_files import as_path
from untrue.penalty.prob_columns import real_probs

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy
    from untrue.penalty.per_example import ExamplePenalty

# Far above any use: names of more classes would fill the memory.
MOST_CLASSES = 10**7

Which = str | int | Sequence[str] | Sequence[int] | npt.NDArray[Any]
Normalization = Literal["rows", "max", "none"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Penalty(ABC):
    """What each mistake costs. Immutable, hashable by content, the same by name or by index.

    >>> p = Penalty.from_rules(["tumour", "benign"], {("tumour", "benign"): 20.0}, default=1.0)
    >>> p.cost("tumour", "benign"), p.cost("benign", "tumour")
    (20.0, 1.0)
    >>> p.expected(np.array([[0.1, 0.9]]))
    array([[0.9, 2. ]])
    """

    form: ClassVar[str]
    classes: tuple[str, ...]

    # Builders

    @staticmethod
    def from_matrix(matrix: npt.ArrayLike, classes: Sequence[str] | None = None) -> Penalty:
        """From a (k, k) array, true class first. A table brings its own class names."""
        from untrue.penalty import builders

        return builders.from_matrix(matrix, classes)

    @staticmethod
    def from_utilities(gains: npt.ArrayLike, classes: Sequence[str] | None = None) -> Penalty:
        """From gains or profits (k, k), true class first: `cost = gain[i, i] - gain[i, j]`.

        A cost is how much less an answer gains than the right one, which must gain most in its row.
        """
        from untrue.penalty import builders

        return builders.from_utilities(gains, classes)

    @staticmethod
    def equal(classes: Sequence[str] | int) -> Penalty:
        """Every mistake costs 1."""
        return Penalty.from_rules(classes, {})

    @staticmethod
    def from_rules(
        classes: Sequence[str] | int,
        rules: Mapping[tuple[Any, Any], float],
        default: float | Mapping[str, float] = 1.0,
    ) -> Penalty:
        """From single costs; every other mistake costs `default` (or `default[true class]`).

        A true class that a mapping of defaults leaves out has default 1.
        """
        from untrue.penalty import builders

        return builders.from_rules(classes, rules, default)

    @staticmethod
    def from_groups(
        groups: Mapping[str, Sequence[str]],
        within: float = 1.0,
        across: float = 5.0,
        *,
        classes: Sequence[str] | None = None,
    ) -> Penalty:
        """Mistakes inside a group cost `within`, mistakes across groups cost `across`."""
        from untrue.penalty import builders

        return builders.from_groups(groups, within, across, classes=classes)

    @staticmethod
    def from_hierarchy(
        hierarchy: Hierarchy,
        cost: Literal["height"] | Callable[[int], float] | Mapping[int, float] = "height",
    ) -> Penalty:
        """Cost by the height of the lowest common ancestor: the height itself, or a function."""
        from untrue.penalty import builders

        return builders.from_hierarchy(hierarchy, cost)

    @staticmethod
    def for_exit(
        hierarchy_or_groups: Hierarchy | Mapping[str, Sequence[str]],
        exit: int,  # noqa: A002
        n_exits: int,
        *,
        cost: float = 1.0,
        level: int = 1,
        reading: Literal["text", "printed"] = "text",
        classes: Sequence[str] | None = None,
    ) -> Penalty:
        """A(l), the penalty of exit l of a network with k exits (the paper's future work).

        A mistake out of the right coarse class has the full `cost` at every exit. One inside it
        costs the share l / k of that: little at the first exit, as much as any other at the last.

        hierarchy_or_groups  {coarse class: classes}; or a hierarchy, whose nodes at depth `level`
                        are the coarse classes
        exit            l, from 1 (the earliest) to `n_exits`
        reading         "text": the share l / k, which is what the paper describes ("increases
                        linearly through the k levels of the output, reaching eventually the same
                        status as any other error"). "printed": k / l, the formula as it is
                        printed, which falls, and makes mistakes inside the coarse class the costly
                        ones at all exits but the last. The diagonal is 0 in both.
        classes         their order, where not that of the groups

        >>> groups = {"fish": ["trout", "ray"], "bird": ["owl"]}
        >>> Penalty.for_exit(groups, 1, 4).matrix()
        array([[0.  , 0.25, 1.  ],
               [0.25, 0.  , 1.  ],
               [1.  , 1.  , 0.  ]])
        """
        from untrue.penalty import builders

        return builders.for_exit(
            hierarchy_or_groups,
            exit,
            n_exits,
            cost=cost,
            level=level,
            reading=reading,
            classes=classes,
        )

    @staticmethod
    def from_ordinal(classes: Sequence[str] | int, power: float = 1.0) -> Penalty:
        """Ordered classes: cost `|i - j| ** power`."""
        from untrue.penalty import builders

        return builders.from_ordinal(classes, power)

    @staticmethod
    def from_zone(
        pairs_or_mask: Iterable[tuple[str | int, str | int]] | BoolArray,
        classes: Sequence[str] | int | None = None,
    ) -> Penalty:
        """Cost 1 for these (true, predicted) pairs, or where the (k, k) mask is true; else 0."""
        from untrue.penalty import builders

        return builders.from_zone(pairs_or_mask, classes)

    @staticmethod
    def random_zone(n_classes: int, n: int, seed: int = 0) -> Penalty:
        """A zone of exactly `n` off-diagonal cells, drawn without replacement."""
        from untrue.penalty import builders

        return builders.random_zone(n_classes, n, seed)

    def per_example(
        self, cells: Mapping[tuple[Any, Any], Any], columns: Any | None = None
    ) -> ExamplePenalty:
        """The same with costs of each example in some cells: `{("fraud", "legitimate"): amounts}`.

        Values are (N,) numbers, or formulas of `columns` (a dict of arrays, or a table), such as
        "0.2 * amount + 5". The answer "*" stands for every other class. See `ExamplePenalty`.
        """
        from untrue.penalty import example_cells

        return example_cells.per_example(self, cells, columns)

    # Files

    @staticmethod
    def load(path: str | Path, *, classes: Sequence[str] | None = None) -> Penalty:
        """Read .csv, .json, .toml or .npy; `classes` names the classes of an .npy file, and puts
        those of another, matched by name, in this order."""
        from untrue.penalty import files

        return files.load(as_path(path), classes)

    def save(self, path: str | Path) -> Path:
        """Write .csv, .json, .toml or .npy; costs come back exactly.

        JSON keeps every form. TOML keeps rules and trees, and writes a matrix as rules. CSV keeps
        the matrix and the names, .npy the matrix alone.
        """
        from untrue.penalty import file_writers

        return file_writers.save(self, as_path(path))

    # What every form provides

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def index(self, name: str) -> int:
        """Position of a class name."""
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            hint = nearest(str(name), self.classes)
            raise PenaltyError(f"Unknown class {name!r}{hint or '.'}") from None

    def cost(self, true: Which, predicted: Which) -> Any:
        """Cost of predicting `predicted` when the truth is `true`: names or indices, broadcast."""
        i, j = naming.in_one_shape(
            PenaltyError, true=self._indices(true), predicted=self._indices(predicted)
        )
        costs = np.where(i == j, 0.0, self._lookup(i, j))
        return costs if costs.ndim else float(costs)

    def expected(self, probs: Any) -> Any:
        """Expected cost of each decision, `probs @ A`: (N, k) -> (N, k), or (k,) -> (k,).

        A NumPy array gives an array, a torch tensor gives a tensor on the same device, in the same
        precision but at least float32. The columns of a table go by their names.
        """
        if is_tensor(probs):
            from untrue.penalty.tensors import expected

            self._check_shape(tuple(probs.shape))
            return expected(self, probs)
        array = real_probs(probs, self.classes)
        self._check_shape(array.shape)
        mixed = self._mix(np.atleast_2d(array).astype(np.float64, copy=False)).reshape(array.shape)
        return mixed.astype(np.result_type(array, np.float32), copy=False)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) not in (1, 2) or shape[-1] != self.n_classes:
            raise PenaltyError(
                f"`probs` must have shape (N, {self.n_classes}), one column per class; got {shape}."
            )

    def normalized(self, how: Normalization) -> Penalty:
        """The same penalty on another scale, which changes what a given alpha means.

        "rows": each true class's costs sum to 1 (a row without costs stays as it is).
        "max": the greatest cost is 1. "none": unchanged.
        """
        if how == "none":
            return self
        if how == "rows":
            sums = self.row_sums()
            return self._divided(np.where(sums > 0, sums, 1.0))
        if how == "max":
            return self._divided(np.full(self.n_classes, self.greatest or 1.0))
        raise PenaltyError(f"`how` must be 'rows', 'max' or 'none'; got {how!r}.")

    def softened(self, share: float) -> Penalty:
        """Costs between equal ones and these: `c + share (A - c)` for every mistake.

        c is the cheapest cost above 0. With share 0 the most probable class has the least expected
        cost, with share 1 the costs are these. So `decide` has a strength: a smaller share saves
        less cost and gives up fewer right answers.

        >>> Penalty.from_matrix([[0, 9], [1, 0]]).softened(0.25).matrix()
        array([[0., 3.],
               [1., 0.]])
        """
        check_number("share", share, 0.0, 1.0)
        if share == 1.0:
            return self
        return self._moved((1.0 - share) * self.cheapest, share)

    def select(self, classes: Sequence[str]) -> Self:
        """The same costs among these classes, in this order."""
        names = check_classes(classes)
        return self._select(names, np.array([self.index(name) for name in names], dtype=np.int64))

    def free_classes(self) -> tuple[str, ...]:
        """Classes that cost nothing to predict, whatever the truth: their column is all zero."""
        if self.n_classes == 1:
            return ()
        return tuple(np.array(self.classes, dtype=object)[self._free_columns()])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of form, class names and costs, as 64 hexadecimal digits."""
        digest = hashlib.sha256(self.form.encode())
        for part in self._content():
            digest.update(part)
            digest.update(len(part).to_bytes(8, "little"))
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Penalty):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return int(self.fingerprint[:15], 16)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that unpickled arrays are read-only again.
        return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def __repr__(self) -> str:
        shown = list(self.classes) if self.n_classes <= 4 else [*self.classes[:3], "..."]
        return (
            f"{type(self).__name__}({self.n_classes} classes [{', '.join(shown)}], {self._about()})"
        )

    # What each form must define

    @abstractmethod
    def matrix(self) -> FloatArray:
        """The dense (k, k) array; may be read-only."""

    @property
    @abstractmethod
    def greatest(self) -> float:
        """The greatest cost."""

    @property
    @abstractmethod
    def cheapest(self) -> float:
        """The least cost above 0; 0 if no mistake costs anything."""

    @abstractmethod
    def _select(self, names: tuple[str, ...], places: IntArray) -> Self:
        """The costs among the classes at these places."""

    @abstractmethod
    def _lookup(self, i: IntArray, j: IntArray) -> FloatArray:
        """Cost at index arrays of one shape; values where i == j do not matter."""

    @abstractmethod
    def _mix(self, probs: FloatArray) -> FloatArray:
        """(N, k) -> (N, k): `probs @ A`."""

    @abstractmethod
    def row_sums(self) -> FloatArray:
        """(k,) What all mistakes about each true class cost together."""

    @abstractmethod
    def _divided(self, rows: FloatArray) -> Self:
        """Each row of costs divided by its number."""

    @abstractmethod
    def _moved(self, plus: float, times: float) -> Penalty:
        """`plus + times A` for every mistake."""

    @abstractmethod
    def _free_columns(self) -> BoolArray: ...

    @abstractmethod
    def _content(self) -> Iterable[bytes]: ...

    @abstractmethod
    def _about(self) -> str: ...

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}

    def _indices(self, which: Which) -> IntArray:
        return naming.positions(
            which,
            self.index,
            lambda found: found.astype(np.int64),
            self.n_classes,
            PenaltyError,
        )


def check_classes(classes: Sequence[str] | int) -> tuple[str, ...]:
    """Class names as a tuple; a number n stands for the names "0", ..., "n - 1"."""
    if isinstance(classes, int | np.integer) and not isinstance(classes, bool):
        if classes < 1:
            raise PenaltyError(f"At least one class is needed; `classes` is {classes}.")
        check_count("classes", classes, most=MOST_CLASSES)
        return tuple(str(i) for i in range(classes))
    return naming.check_classes(classes, PenaltyError)  # type: ignore[arg-type]
