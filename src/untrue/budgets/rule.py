"""`DecisionRule`: what `control` gives. Called on probabilities it answers with labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.budgets.budget import Budget
from untrue.budgets.calibration_set import Answers, calibrated, read_probs
from untrue.budgets.family import Family
from untrue.budgets.guarantee import Guarantee
from untrue.budgets.regions import GroupsLike
from untrue.budgets.resolved import ResolvedBudget, resolve_all
from untrue.budgets.scaling import scaled_penalty
from untrue.checks import is_tensor
from untrue.input_files import as_path
from untrue.metrics.inputs import row_blocks
from untrue.penalty import Penalty
from untrue.penalty.prob_columns import in_column_order

# Values of a block of probabilities that is calibrated and decided at a time: 32 MB.
_BLOCK = 2**22


@dataclass(frozen=True, slots=True)
class Meaning:
    """What names in budgets mean, besides classes; see `Budget.resolve`."""

    groups: GroupsLike | None = None
    zone: Penalty | None = None
    zone_above: float | None = None
    examples: int | None = None

    def resolve(
        self, budgets: Iterable[Budget | str] | Budget | str, penalty: Penalty
    ) -> tuple[ResolvedBudget, ...]:
        """The budgets over the classes of a penalty, by these meanings."""
        return resolve_all(
            budgets,
            penalty,
            groups=self.groups,
            zone=self.zone,
            zone_above=self.zone_above,
            examples=self.examples,
        )


@dataclass(frozen=True, eq=False, repr=False)
class DecisionRule:
    """Probabilities in, labels out: least expected cost, with the mistakes of budgets scaled.

    penalty       what mistakes cost, and the classes, in the order of the columns
    budgets       what holds; `meaning` of the names in them
    multipliers   one for each budget: how many times as costly its mistakes are
    temperature   of the calibration that goes before
    abstain_cost  no answer where even the least expected cost is above it; None: always answer
    answers       labels are "codes" (positions of classes), "names", "numbers" (names that are
                  whole numbers) or "booleans" (classes called True and False), as `target` was
    guarantee     what holds, with what confidence, and from how many examples

    `rule(probs)` takes (N, k), or (N,) for two classes, and a table's columns by name; -1
    where it gives no answer. `rule.costs` are the scaled costs. Rules are equal that would be saved
    alike.
    """

    penalty: Penalty
    budgets: tuple[Budget, ...]
    meaning: Meaning
    multipliers: tuple[float, ...]
    temperature: float
    abstain_cost: float | None
    answers: Answers
    guarantee: Guarantee

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DecisionRule):
            return NotImplemented
        from untrue.budgets.rule_file import plain_values

        return plain_values(self) == plain_values(other)

    def __hash__(self) -> int:
        return hash((self.classes, self.budgets, self.multipliers, self.abstain_cost))

    @property
    def classes(self) -> tuple[str, ...]:
        return self.penalty.classes

    @cached_property
    def resolved(self) -> tuple[ResolvedBudget, ...]:
        """The budgets over the classes."""
        return self.meaning.resolve(self.budgets, self.penalty)

    @cached_property
    def costs(self) -> Penalty:
        """What the rule decides by: the penalty with the mistakes of each budget scaled."""
        return scaled_penalty(self.penalty, self.resolved, self.multipliers)

    @cached_property
    def _family(self) -> Family:
        """What the rule was tested by. `decide` by the scaled costs may round their sums otherwise,
        and settle answers that cost all but the same in another way."""
        return Family(self.penalty, self.resolved, self.abstain_cost, by_cost=True)

    def __call__(self, probs: Any) -> Any:
        """Labels (N,) of the kind that `target` was; -1 where there is no answer."""
        codes = self.codes(probs)
        if is_tensor(probs) and self.answers == "codes":
            import torch

            return torch.from_numpy(codes).to(probs.device)
        return self.labels(codes)

    def codes(self, probs: Any) -> IntArray:
        """Positions of classes (N,); -1 where there is no answer."""
        k = len(self.classes)
        scores = read_probs(in_column_order(probs, self.classes), k)
        found = np.empty(len(scores), dtype=np.int64)
        for rows in row_blocks(len(scores), k * (2 + len(self.budgets)), _BLOCK):
            block = calibrated(scores[rows], self.temperature)
            part = self._family.on(block, np.zeros(len(block), dtype=np.int64))
            found[rows] = part.answers(np.array(self.multipliers))
        return found

    def labels(self, codes: IntArray) -> npt.NDArray[Any]:
        """What positions stand for: themselves, names, numbers, or True and False."""
        if self.answers == "codes":
            return codes
        if self.answers == "numbers":
            return np.array([*map(int, self.classes), -1], dtype=np.int64)[codes]
        classes: list[Any] = list(self.classes)
        if self.answers == "booleans":
            classes = [{"True": True, "False": False}.get(name, name) for name in classes]
        if self.abstain_cost is None:
            return np.array(classes)[codes]
        return np.array([*classes, -1], dtype=object)[codes]

    def save(self, path: str | Path) -> Path:
        """Write as a .json file: numbers and names, nothing that runs."""
        from untrue.budgets.rule_file import save

        return save(self, as_path(path))

    @staticmethod
    def load(path: str | Path) -> DecisionRule:
        """Read what `save` wrote, with checks."""
        from untrue.budgets.rule_file import load

        return load(as_path(path))

    def __repr__(self) -> str:
        stated = ", ".join(repr(str(budget)) for budget in self.budgets)
        held = "" if self.guarantee.holds else ", not shown"
        return f"DecisionRule({len(self.classes)} classes, [{stated}]{held})"
