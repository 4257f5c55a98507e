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
from typing import Any

import numpy as np

from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets import Budget, ResolvedBudget, Verdict, resolve_all, sequence
from untrue.budgets.family import Counts, Family
from untrue.budgets.shortfall import shortfall
from untrue.checks import check_confidence, check_count, check_number, check_seed, is_tensor
from untrue.decision import decide
from untrue.decision.least_cost import cost_slack
from untrue.errors import ArgumentError, BudgetError
from untrue.metrics.inputs import check_same_length, read_labels, read_scores, row_blocks, to_numpy
from untrue.metrics.weights import check_penalty
from untrue.penalty import Actions, Penalty
from untrue.penalty.prob_columns import in_column_order

# Thresholds on the way from "no example stops early" to "all stop at the first exit".
STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class ExitRule:
    """When to stop, and what to answer.

    penalty     what a mistake costs; or `Actions`, where answers need not be classes
    threshold   an exit answers if the expected cost of its answer is below it; one number, or one
                for each exit but the last, which always answers
    verdicts    the verdicts of held-out examples on its budgets, with bounds of each by itself;
                none if the threshold was given
    confidence  with which all of these hold together
    shown       whether they do: False only where the threshold was given, or the rule is what a
                `BudgetError` calls closest
    """

    penalty: Penalty | Actions
    threshold: float | Sequence[float]
    n_exits: int
    verdicts: tuple[Verdict, ...] = ()
    confidence: float | None = None
    shown: bool = False

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
        given = in_column_order(probs, self.penalty.classes)
        scores = read_scores(given, "probs", self.penalty.n_classes)
        # What was given, not `scores`: sums are checked by the precision that they came in.
        labels = to_numpy(decide(given, self.penalty))
        costs = np.empty(len(labels))
        for rows in row_blocks(*scores.shape):
            expected = np.asarray(self.penalty.expected(scores[rows].astype(np.float64)))
            costs[rows] = expected[np.arange(len(expected)), labels[rows]]
        return labels, costs, costs < self.limit(number)

    def __call__(self, probs: Sequence[Any], *, work: Sequence[float] | None = None) -> ExitAnswers:
        """Answers from the probabilities of all exits, one (N, k) each, the first exit first."""
        every = _read_exits(probs, self.penalty, self.n_exits)
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

    probs      of each exit, the first one first: (N, k), rows that sum to 1; the columns of tables
               go by name, as in `decide`
    penalty    what a mistake costs; or `Actions`, such as the nodes of a hierarchy: "some bird"
               from exit 1, where no more is sure
    threshold  in the units of the penalty: 0 asks the last exit for everything, infinity the first
    budget     instead of a threshold: texts like "across groups <= 10%", or `Budget`s; of `Actions`
               "expected cost <= 0.5" alone. The threshold is then the largest that can be shown to
               keep them, by the test of `untrue.control` (`find_exit_rule`)
    held_out   with a budget: (probabilities of each exit, labels) of examples that were used for
               nothing else
    confidence with which the budgets hold together
    work       of each exit what is computed up to it (multiplications, seconds), for `saved`
    seed       of the random split of the held-out examples

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
    _check_exits(probs, "probs")
    if budget is None:
        assert threshold is not None
        return ExitRule(penalty, threshold, len(probs))(probs, work=work)
    if held_out is None:
        raise ArgumentError(
            "`budget` needs `held_out`: (probabilities of each exit, labels) of examples that were "
            "used for nothing else."
        )
    if not isinstance(held_out, tuple | list) or len(held_out) != 2:
        raise ArgumentError(
            "`held_out` must be a tuple of two, (probabilities of each exit, labels); got "
            f"{type(held_out).__name__}."
        )
    given, target = held_out
    _check_exits(given, "held_out")
    if len(given) != len(probs):
        raise ArgumentError(
            f"`held_out` must have the probabilities of {len(probs)} exits; got {len(given)}."
        )
    rule = find_exit_rule(given, target, penalty, budget, confidence=confidence, seed=seed)
    return rule(probs, work=work)


def find_exit_rule(
    probs: Sequence[Any],
    target: Any,
    penalty: Penalty | Actions,
    budget: Iterable[Budget | str] | Budget | str,
    *,
    confidence: float = 0.95,
    path_share: float | None = None,
    seed: int = 0,
) -> ExitRule:
    """The rule with the largest threshold that can be shown to keep the budgets.

    With probability `confidence` over the draw of these examples, the true rates of all budgets
    are within their limits. It is the test of `untrue.control` (learn, then test; Angelopoulos et
    al. 2021): a random part of the examples decides which thresholds are tried, the others test
    them from 0 on, by exact p-values, and the last before the first that fails is taken. A count of
    errors is a share of all examples given.

    path_share  of the examples, those that choose thresholds; else a tenth for one budget, a fifth
                for several
    seed        of the random split

    Raises `BudgetError` if the last exit alone, which is tested first, cannot be shown to keep
    them; it has the closest rule.
    """
    confidence, seed = check_confidence(confidence), check_seed(seed)
    if path_share is not None:
        check_number("path_share", path_share, 0.0, 1.0, ends=False)
    every = _read_exits(probs, penalty)
    labels = read_labels(target, "target", penalty.n_classes).astype(np.int64)
    check_same_length(probs=every[0], target=labels)
    budgets = _resolved(budget, penalty, len(labels))
    share = sequence.usual_path_share(len(budgets)) if path_share is None else path_share
    path_part, test_part = sequence.split(len(labels), share, seed)
    on_path, on_test = (_Answered.of(every, part, penalty) for part in (path_part, test_part))
    thresholds = on_path.thresholds(cost_slack(penalty.greatest, penalty.n_classes))
    limits = np.array([each.limit() for each in budgets])
    seen, counts = (
        _counted(penalty, budgets, labels[part], [answered.labels_by(each) for each in thresholds])
        for part, answered in ((path_part, on_path), (test_part, on_test))
    )
    bets = sequence.bets(seen, limits, penalty.greatest)
    p_values = sequence.p_values(counts, limits, penalty.greatest, bets)
    one_path = np.zeros(len(thresholds), dtype=np.int64)
    passed = sequence.passed_in_order(p_values, one_path, 1.0 - confidence)

    def judged(number: int, *, shown: bool = False) -> ExitRule:
        verdicts = sequence.verdicts(budgets, limits, counts, bets, number, confidence)
        return ExitRule(penalty, thresholds[number], len(every), verdicts, confidence, shown)

    if passed.any():
        return judged(int(passed.sum()) - 1, shown=True)
    nearest = judged(sequence.closest(counts, limits))
    reason = shortfall(
        budgets,
        judged(0).verdicts,
        labels,
        test_part,
        confidence=confidence,
        sought="threshold",
        closest="the last exit alone",
    )
    raise BudgetError(f"{reason} The closest threshold is {nearest.threshold:.3g}.", nearest)


def _resolved(
    budget: Iterable[Budget | str] | Budget | str, penalty: Penalty | Actions, n: int
) -> tuple[ResolvedBudget, ...]:
    """The budgets over the classes. Of answers that are no classes only the cost is known."""
    if not isinstance(penalty, Actions):
        return resolve_all(budget, penalty, examples=n)
    # Only the greatest cost matters here: what was paid is counted by the actions themselves.
    alike = Penalty.from_rules(penalty.classes, {}, default=penalty.greatest)
    budgets = resolve_all(budget, alike, examples=n)
    for each in budgets:
        if each.budget.kind != "cost":
            raise ArgumentError(
                f"`budget` {str(each)!r} is about classes, and `Actions` need not be: state the "
                'expected cost, as "expected cost <= 0.5", give a `threshold`, or a Penalty.'
            )
    return budgets


def _counted(
    penalty: Penalty | Actions,
    budgets: tuple[ResolvedBudget, ...],
    target: IntArray,
    answers: Sequence[IntArray],
) -> Counts:
    """What the answers of each rule do to the examples."""
    if isinstance(penalty, Actions):
        return Counts.of_costs([penalty.cost(target, each) for each in answers], len(budgets))
    return Family(penalty, budgets, None, by_cost=True).count(target, answers)


@dataclass(frozen=True, slots=True, eq=False)
class _Answered:
    """labels, costs (E, n): what every exit answers, and what that is expected to cost.

    Found once for all thresholds.
    """

    labels: IntArray
    costs: FloatArray

    @classmethod
    def of(cls, every: Sequence[Any], part: IntArray, penalty: Penalty | Actions) -> _Answered:
        rule = ExitRule(penalty, 0.0, len(every))
        found = [rule.answer(scores[part], number) for number, scores in enumerate(every, start=1)]
        return cls(np.stack([each[0] for each in found]), np.stack([each[1] for each in found]))

    def labels_by(self, threshold: float) -> IntArray:
        """(n,) As an `ExitRule` of that threshold answers."""
        stops = self.costs < threshold
        stops[-1] = True
        return np.asarray(self.labels[stops.argmax(axis=0), np.arange(self.labels.shape[1])])

    def thresholds(self, slack: float) -> list[float]:
        """0, then those that let ever more stop early: quantiles of what answers before the last
        exit are expected to cost.

        slack: what rounding may add to a cost
        """
        if len(self.costs) == 1:
            return [0.0]
        steps = np.quantile(self.costs[:-1], np.linspace(0.0, 1.0, STEPS + 1)[1:])
        # Above each quantile, so that what costs just that stops too, whatever examples it comes
        # with: sums of larger and smaller blocks round differently.
        return [0.0, *np.unique(np.nextafter(steps + slack, math.inf)).tolist()]


def _check_exits(probs: Any, name: str) -> None:
    if not isinstance(probs, list | tuple) or not probs:
        raise ArgumentError(
            f"`{name}` must have a list with the probabilities of each exit, (N, k); "
            f"got {type(probs).__name__ if not isinstance(probs, list | tuple) else 'none'}."
        )


def _read_exits(
    probs: Sequence[Any], penalty: Penalty | Actions, n_exits: int | None = None
) -> list[Any]:
    """The probabilities of each exit, (N, k), as arrays or tensors; values unchecked."""
    _check_exits(probs, "probs")
    if n_exits is not None and len(probs) != n_exits:
        raise ArgumentError(f"`probs` must have {n_exits} exits; got {len(probs)}.")
    given = [in_column_order(each, penalty.classes) for each in probs]
    scores_of = [read_scores(each, "probs", penalty.n_classes) for each in given]
    every = [g if is_tensor(g) else s for g, s in zip(given, scores_of, strict=True)]
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
    try:
        given = tuple(float(each) for each in work)
    except (TypeError, ValueError):
        given = ()
    rising = all(a <= b for a, b in zip((0.0, *given), given, strict=False))
    if len(given) != n_exits or not rising or not 0.0 < given[-1] < math.inf:
        raise ArgumentError(
            f"`work` must be {n_exits} numbers, one per exit: all that is computed up to it, so "
            f"that they rise; got {work!r}."
        )
    return given
