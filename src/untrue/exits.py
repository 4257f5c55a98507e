"""Answers that stop early: each example takes the first exit that is sure enough.

A network with several exits gives several answers to an example; the later ones take more work. An
`ExitRule` answers by least expected cost at the first exit where that cost is below a threshold,
and at the last exit whatever it is. `exit_early` applies one to probabilities that are there
already. Needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from untrue.budgets import Budget, ResolvedBudget, Verdict, resolve_all
from untrue.checks import check_confidence, check_count
from untrue.decision import decide
from untrue.errors import ArgumentError, BudgetError
from untrue.metrics.confusion import confusion_cells
from untrue.metrics.inputs import (
    BoolArray,
    FloatArray,
    IntArray,
    check_same_length,
    read_labels,
    read_scores,
    row_blocks,
    to_numpy,
)
from untrue.metrics.weights import check_penalty
from untrue.penalty import Actions

if TYPE_CHECKING:
    from untrue.penalty import Penalty

# Thresholds on the way from "nobody stops early" to "everybody at the first exit".
STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class ExitRule:
    """When to stop, and what to answer.

    penalty     what a mistake costs; or `Actions`, where answers need not be classes
    threshold   an exit answers if the expected cost of its answer is below it; one number, or one
                for each exit but the last, which always answers
    verdicts    the verdicts of held-out examples on its budgets; none if the threshold was given
    confidence  with which all of these hold together
    """

    penalty: Penalty | Actions
    threshold: float | Sequence[float]
    n_exits: int
    verdicts: tuple[Verdict, ...] = ()
    confidence: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.penalty, Actions):
            check_penalty(self.penalty)
        check_count("n_exits", self.n_exits)
        try:
            limits = np.asarray(self.threshold, dtype=np.float64)
        except (TypeError, ValueError):
            limits = np.full(self.n_exits, math.nan)
        if limits.shape not in ((), (self.n_exits - 1,)) or not (limits >= 0).all():
            raise ArgumentError(
                f"`threshold` must be a number, 0 or more, or {self.n_exits - 1} of them, one for "
                f"each exit but the last; got {self.threshold!r}."
            )
        object.__setattr__(self, "threshold", limits.tolist() if limits.ndim else float(limits))

    def limit(self, number: int) -> float:
        """What an answer of exit `number` (from 1) must be expected to cost less than."""
        if number == self.n_exits:
            return math.inf
        given = self.threshold
        return given if isinstance(given, float) else given[number - 1]

    def answer(self, probs: Any, number: int) -> tuple[IntArray, FloatArray, BoolArray]:
        """What exit `number` (from 1) answers for probabilities (n, k): labels, the expected
        cost of each, and whether it stops there. All (n,)."""
        scores = read_scores(probs, "probs", self.penalty.n_classes)
        labels = np.asarray(decide(scores, self.penalty))
        costs = np.empty(len(labels))
        for rows in row_blocks(*scores.shape):
            expected = np.asarray(self.penalty.expected(scores[rows].astype(np.float64)))
            costs[rows] = expected[np.arange(len(expected)), labels[rows]]
        return labels, costs, costs < self.limit(number)

    def __call__(self, probs: Sequence[Any], *, work: Sequence[float] | None = None) -> ExitAnswers:
        """Answers from the probabilities of all exits, one (N, k) each, the first exit first."""
        every = _read_exits(probs, self.penalty.n_classes, self.n_exits)
        n = len(every[0])
        labels, exits, costs = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.empty(n)
        waiting = np.arange(n)
        for number, scores in enumerate(every, start=1):
            found, expected, stops = self.answer(scores[waiting], number)
            here = waiting[stops]
            labels[here], costs[here], exits[here] = found[stops], expected[stops], number
            waiting = waiting[~stops]
        return ExitAnswers(labels, exits, costs, self, read_work(work, self.n_exits))


@dataclass(frozen=True, slots=True, eq=False)
class ExitAnswers:
    """labels (N,); exits (N,), from 1, where each was given; expected_cost (N,) of each.

    Where the rule has `Actions`, labels are positions in `rule.penalty.actions`.
    work: of each exit all that is computed up to it, its own head included; None if not known.
    """

    labels: IntArray
    exits: IntArray
    expected_cost: FloatArray
    rule: ExitRule
    work: tuple[float, ...] | None = None

    @property
    def by_exit(self) -> IntArray:
        """(n_exits,) How many stopped at each."""
        return np.bincount(self.exits - 1, minlength=self.rule.n_exits)

    @property
    def saved(self) -> float | None:
        """Share of the work saved, against asking the last exit for everything."""
        if self.work is None:
            return None
        if not len(self.exits):
            return 0.0
        done = np.asarray(self.work)[self.exits - 1].mean()
        return float(1.0 - done / self.work[-1])

    def __str__(self) -> str:
        shares = ", ".join(
            f"{count} at exit {number}" for number, count in enumerate(self.by_exit, start=1)
        )
        saved = "" if self.saved is None else f"; {100 * self.saved:.1f} % of the work saved"
        return f"{len(self.labels)} answers: {shares}{saved}."


def exit_early(
    probs: Sequence[Any],
    penalty: Penalty | Actions,
    *,
    threshold: float | Sequence[float] | None = None,
    budget: Iterable[Budget | str] | Budget | str | None = None,
    held_out: tuple[Sequence[Any], Any] | None = None,
    confidence: float = 0.95,
    work: Sequence[float] | None = None,
    seed: int = 0,
) -> ExitAnswers:
    """For each example the answer of the first exit whose expected cost is below a threshold.

    probs      of each exit, the first one first: (N, k), rows that sum to 1
    penalty    what a mistake costs; or `Actions`, such as the nodes of a hierarchy: "some bird"
               from exit 1, where no more is sure
    threshold  in the units of the penalty: 0 asks the last exit for everything, infinity the first
    budget     instead of a threshold: texts like "across groups <= 10%", or `Budget`s. The
               threshold is then the largest that can be shown to keep them (`find_exit_rule`)
    held_out   with a budget: (probabilities of each exit, labels) of examples that were used for
               nothing else
    work       of each exit what is computed up to it (multiplications, seconds), for `saved`

    >>> from untrue import Penalty
    >>> p = Penalty.from_groups({"fish": ["trout", "ray"], "bird": ["owl"]})
    >>> first = [[0.98, 0.01, 0.01], [0.5, 0.4, 0.1]]
    >>> last = [[0.99, 0.01, 0.0], [0.1, 0.9, 0.0]]
    >>> found = exit_early([first, last], p, threshold=0.2, work=[1.0, 4.0])
    >>> found.labels, found.exits, found.saved
    (array([0, 1]), array([1, 2]), 0.375)
    """
    if (threshold is None) == (budget is None):
        raise ArgumentError("Give either `threshold` or `budget`, with `held_out` examples.")
    if budget is None:
        assert threshold is not None
        return ExitRule(penalty, threshold, len(probs))(probs, work=work)
    if isinstance(penalty, Actions):
        raise ArgumentError(
            "`budget` is about classes, and `Actions` need not be: give a `threshold`, or a "
            "Penalty."
        )
    if held_out is None:
        raise ArgumentError(
            "`budget` needs `held_out`: (probabilities of each exit, labels) of examples that were "
            "used for nothing else."
        )
    given, target = held_out
    if len(given) != len(probs):
        raise ArgumentError(
            f"`held_out` must have the probabilities of {len(probs)} exits; got {len(given)}."
        )
    rule = find_exit_rule(given, target, penalty, budget, confidence=confidence, seed=seed)
    return rule(probs, work=work)


def find_exit_rule(
    probs: Sequence[Any],
    target: Any,
    penalty: Penalty,
    budget: Iterable[Budget | str] | Budget | str,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> ExitRule:
    """The rule with the largest threshold that can be shown to keep the budgets.

    With probability `confidence` over the draw of these examples, the true rates of all budgets
    are within their limits. One half of them, drawn by the seed, decides which thresholds
    are tried; the other tests them, from the smallest on, and the last before the first that fails
    is taken: fixed-sequence testing (learn-then-test, Angelopoulos et al. 2021). The bounds are
    those of `Budget.resolve(penalty).judge`. A count of errors is a share of all examples given.

    Raises `BudgetError` if even the last exit alone cannot be shown to keep them.
    """
    check_confidence(confidence)
    every = _read_exits(probs, penalty.n_classes, len(probs))
    labels = read_labels(target, "target", penalty.n_classes)
    check_same_length(probs=every[0], target=labels)
    if len(labels) < 2:
        raise ArgumentError(f"At least 2 held-out examples are needed; got {len(labels)}.")
    budgets = resolve_all(budget, penalty, examples=len(labels))
    order = np.random.default_rng(seed).permutation(len(labels))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    kept: ExitRule | None = None
    for threshold in _thresholds([scores[first] for scores in every], penalty):
        rule = ExitRule(penalty, threshold, len(every))
        answers = rule([scores[second] for scores in every])
        verdicts = _judge(budgets, labels[second], answers.labels, confidence)
        rule = ExitRule(penalty, threshold, len(every), verdicts, confidence)
        if not all(verdict.kept for verdict in verdicts):
            if kept is None:
                _refuse(rule)
            break
        kept = rule
    assert kept is not None
    return kept


def _thresholds(probs: Sequence[FloatArray], penalty: Penalty) -> list[float]:
    """0, then those that let ever more stop early: quantiles of what answers before the last
    exit are expected to cost."""
    rule = ExitRule(penalty, math.inf, len(probs))
    costs = [rule.answer(scores, number)[1] for number, scores in enumerate(probs[:-1], start=1)]
    if not costs:
        return [0.0]
    steps = np.quantile(np.concatenate(costs), np.linspace(0.0, 1.0, STEPS + 1)[1:])
    # Above each quantile, so that what costs just that stops too.
    return [0.0, *np.unique(np.nextafter(steps, math.inf)).tolist()]


def _judge(
    budgets: Sequence[ResolvedBudget], target: Any, answers: IntArray, confidence: float
) -> tuple[Verdict, ...]:
    k = len(budgets[0].classes)
    counted = confusion_cells(target, answers, k)
    return tuple(budget.judge(counted, confidence) for budget in budgets)


def _refuse(rule: ExitRule) -> None:
    over = [str(verdict) for verdict in rule.verdicts if not verdict.kept]
    raise BudgetError(
        "No threshold can be shown to keep the budgets, for even the last exit alone cannot: "
        f"{' '.join(over)} Use a larger limit, a better model or more held-out examples.",
        rule,
    )


def _read_exits(probs: Sequence[Any], n_classes: int, n_exits: int) -> list[Any]:
    if not isinstance(probs, list | tuple) or not probs:
        raise ArgumentError(
            "`probs` must be a list with the probabilities of each exit, (N, k); "
            f"got {type(probs).__name__ if not isinstance(probs, list | tuple) else 'none'}."
        )
    if len(probs) != n_exits:
        raise ArgumentError(f"`probs` must have {n_exits} exits; got {len(probs)}.")
    every = [read_scores(to_numpy(each, "probs"), "probs", n_classes) for each in probs]
    for number, scores in enumerate(every, start=1):
        if len(scores) != len(every[0]):
            raise ArgumentError(
                f"`probs` must have as many examples at each exit; exit 1 has {len(every[0])}, "
                f"exit {number} has {len(scores)}."
            )
    return every


def read_work(work: Sequence[float] | None, n_exits: int) -> tuple[float, ...] | None:
    """Of each exit what is computed up to it: positive, and never less than before."""
    if work is None:
        return None
    given = tuple(float(each) for each in work)
    rising = all(a <= b for a, b in zip((0.0, *given), given, strict=False))
    if len(given) != n_exits or not rising or not 0.0 < given[-1] < math.inf:
        raise ArgumentError(
            f"`work` must be {n_exits} numbers, one per exit: all that is computed up to it, so "
            f"that they rise; got {list(work)}."
        )
    return given
