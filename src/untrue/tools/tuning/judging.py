"""Which rules to test for a trained model, and the one test: the procedure of `untrue.control`.

The examples tuned on are the path part. They are answered by cross-fitting: R models with R seeds,
each answering the examples it has not learned from. From these answers come the paths of rules to
test, and the chance that the held-out part will show the budgets; they choose the model. The
held-out part is the test part: it tests the paths of that one model, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.budgets import ResolvedBudget, Verdict
from untrue.budgets.family import Family
from untrue.budgets.frontier import Path, find_paths
from untrue.budgets.outcome import Floor, Outcome, walk_paths
from untrue.budgets.sequence import verdicts
from untrue.budgets.shortfall import NEVER
from untrue.errors import DataError
from untrue.metrics import confusion_cells
from untrue.penalty import FormulaPenalty, Penalty
from untrue.penalty.dense import off_diagonal
from untrue.tools.fitting.model import argmax
from untrue.tools.reading.row_costs import RowCosts
from untrue.tools.tuning.setting import Base, Setting, equal_budgets
from untrue.tools.tuning.trainer import Recipe

# The search continues with stronger means while the chance that the held-out part fails to show
# the budgets is above this.
DOUBT = 0.2
# Beyond this many classes costs are not compared with each other as a matrix.
MOST_CLASSES = 2000
# How many rules of each path are kept for the page.
SHOWN = 16


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule on the examples tuned on: an estimate that steers the search, no guarantee.

    verdicts       of each budget
    failing        estimated chance that the held-out part does not show all budgets
    accuracy       share of right answers
    drop           the plain model's accuracy minus this, on the same examples, in points (%)
    expected_cost  of an answer, by the penalty
    met            the held-out part is likely to show the budgets, and the drop is within its limit
    """

    setting: Setting
    verdicts: tuple[Verdict, ...]
    failing: float
    accuracy: float
    drop: float
    expected_cost: float
    met: bool


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A trained model with the rules that may answer: the paths to test, as trials in order.

    The last of each path is the rule without multipliers.
    """

    recipe: Recipe
    base: Base
    paths: tuple[Path, ...]
    trials: tuple[Trial, ...]

    @property
    def plain(self) -> Trial:
        return self.trials[-1]

    def shown(self) -> tuple[Trial, ...]:
        """Some of the trials, evenly along the paths; the best and the plain one too."""
        places = np.linspace(0, len(self.trials) - 1, min(SHOWN, len(self.trials)))
        some = {int(place) for place in places.round()}
        best = best_of(self.trials)
        some |= set() if best is None else {self.trials.index(best)}
        return tuple(self.trials[t] for t in sorted(some))


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Knows the truth of the examples tuned on, and the limits.

    held_out  how many examples will test
    provable  of each budget: whether the held-out part would show it without a single error
    rows      costs by columns of the data, where they are; `penalty` then has their means by class
    sample    positions of the examples that `true` and `rows` are of, among those answered
    """

    true: IntArray
    penalty: Penalty
    budgets: tuple[ResolvedBudget, ...]
    held_out: int
    provable: tuple[bool, ...]
    confidence: float
    max_drop: float | None
    rows: RowCosts | None = None
    sample: IntArray | None = None

    @property
    def stated(self) -> Penalty | FormulaPenalty:
        """The costs as they are stated."""
        return self.penalty if self.rows is None else self.rows.stated

    @property
    def limits(self) -> FloatArray:
        return np.array([budget.limit() for budget in self.budgets])

    @property
    def bases(self) -> tuple[Base, ...]:
        """The costs a decision may start from; "equal" alone if all mistakes cost the same."""
        if self.rows is not None or self.penalty.n_classes > MOST_CLASSES:
            return ("equal", "penalty")
        return ("equal", "penalty") if np.ptp(off_diagonal(self.penalty.matrix())) else ("equal",)

    def family(self, base: Base, rows: RowCosts | None) -> Family:
        """The rules of a base, for examples with these costs; compared by right answers."""
        each = None if rows is None else rows.examples
        if base == "penalty":
            return Family(self.penalty, self.budgets, None, by_cost=False, each=each)
        return Family(
            self.penalty,
            equal_budgets(self.budgets, self.penalty),
            None,
            by_cost=False,
            base=Penalty.equal(self.penalty.classes),
            each=each,
        )

    def plain_accuracy(self, probs: FloatArray) -> float:
        """Share of right answers of the most probable class."""
        return float((argmax(self._sampled(probs)) == self.true).mean())

    def candidate(self, recipe: Recipe, base: Base, probs: FloatArray, plain: float) -> Candidate:
        """The paths to test, by calibrated probabilities (N, k); plain: the accuracy to hold."""
        family = self.family(base, self.rows)
        part = family.on(self._sampled(probs), self.true, estimate=True)
        paths = find_paths(part, self.limits, 1.0 - self.confidence, self.held_out)
        trials = [
            self._trial(Setting(recipe, base, tuple(path.multipliers[t].tolist())), path, t, plain)
            for path in paths
            for t in range(len(path.failing))
        ]
        return Candidate(recipe, base, paths, tuple(trials))

    def _sampled(self, probs: FloatArray) -> FloatArray:
        return probs if self.sample is None else probs[self.sample]

    def _trial(self, setting: Setting, path: Path, t: int, plain: float) -> Trial:
        counts = path.counts
        found = verdicts(self.budgets, self.limits, counts, None, t, self.confidence)
        accuracy = float(counts.right[t] / counts.n)
        drop, failing = 100 * (plain - accuracy), float(path.failing[t])
        met = failing <= DOUBT and self.within(drop)
        cost = float(counts.cost[t] / counts.n)
        return Trial(setting, found, failing, accuracy, drop, cost, met)

    def within(self, drop: float) -> bool:
        """Whether this many points of accuracy may be lost."""
        return self.max_drop is None or drop <= self.max_drop + 1e-9

    def excess(self, trial: Trial) -> float:
        """How far a trial is from its limits, by upper bounds: 0 within all, 1 at twice one."""
        parts = [max(verdict.excess, 0.0) for verdict in trial.verdicts if verdict.of]
        if self.max_drop is not None:
            # A limit of 0 points would make every drop infinitely far.
            parts.append(max(trial.drop - self.max_drop, 0.0) / max(self.max_drop, 0.1))
        return max(parts, default=0.0)

    def hope(self, candidate: Candidate) -> tuple[float, float]:
        """To find the closest candidate: its chance to fail within the drop, and its excess."""
        able = [trial.failing for trial in candidate.trials if self.within(trial.drop)]
        return min(able, default=np.inf), min(map(self.excess, candidate.trials))

    def confirm(
        self,
        candidate: Candidate,
        probs: FloatArray,
        true: IntArray,
        rows: RowCosts | None = None,
        plain: IntArray | None = None,
    ) -> Outcome:
        """The one look at the held-out part: its class probabilities (n, k) test the paths.

        plain  (n,) answers of the plain model, whose right answers may not be lost
        """
        floor = None
        if self.max_drop is not None and plain is not None:
            floor = Floor(int((plain == true).sum()), self.max_drop / 100 * len(true))
        outcome = walk_paths(
            self.family(candidate.base, rows),
            candidate.paths,
            probs,
            true,
            np.arange(len(true)),
            temperature=None,
            limits=self.limits,
            confidence=self.confidence,
            floor=floor,
        )
        return replace(outcome, budgets=self.budgets)


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """Of the trials that meet everything, the one most often right; of equals, the least scaled."""
    met = [trial for trial in trials if trial.met]
    return max(met, key=lambda t: (t.accuracy, -sum(t.setting.multipliers)), default=None)


def too_few(budget: ResolvedBudget, held_out: IntArray, confidence: float) -> str | None:
    """A sentence when labels of the held-out part are too few to show the budget; else None."""
    without_errors = confusion_cells(held_out, held_out, len(budget.classes))
    verdict = budget.judge(without_errors, confidence)
    if verdict.kept:
        return None
    wanted = budget.examples_needed(verdict.limit, confidence)
    if wanted is None:
        return f"{budget}: {NEVER}. It cannot count as kept."
    return (
        f"{budget}: to show this with {100 * confidence:g} % confidence takes at least {wanted:,} "
        f"{budget.counted} in the held-out part without any error; there are {verdict.of:,}. "
        "Whatever is trained, it cannot count as kept: more examples, or a larger share held out, "
        "are needed."
    )


def seen(verdict: Verdict) -> str:
    """A rate and its bound in words: "3 of 144 (2.08 %, at most 5.30 %)"."""
    if verdict.budget.kind == "cost":
        return f"{verdict.rate:.3g} per answer (at most {verdict.upper:.3g})"
    if not verdict.of:
        return "no example"
    share = f"{100 * verdict.rate:.3g} %"
    return f"{verdict.errors:,} of {verdict.of:,} ({share}, at most {100 * verdict.upper:.3g} %)"


def findings(trial: Trial, judge: Judge) -> str:
    """What was seen, whether the held-out part is likely to show it, and the price."""
    parts = [f"{verdict.budget}: {seen(verdict)}" for verdict in trial.verdicts]
    if all(judge.provable):
        parts.append(f"chance to be shown {100 * max(1.0 - trial.failing, 0.0):.0f} %")
    else:
        parts.append("too few held-out examples to show it")
    right = f"accuracy {100 * trial.accuracy:.1f} %"
    if trial.setting != Setting(Recipe()):
        right += f" ({points(-trial.drop)})"
        right += "" if judge.within(trial.drop) else ", too great a drop"
    return "; ".join([*parts, right])


def points(change: float) -> str:
    """A change of accuracy: "-0.4 points".

    >>> points(-0.44), points(-0.04)
    ('-0.4 points', '+0.0 points')
    """
    return f"{round(change, 1) + 0.0:+.1f} points"


def check_seen(labels: IntArray, budgets: Sequence[ResolvedBudget], where: str) -> None:
    """Every budget has examples it is about."""
    present = np.zeros(len(budgets[0].classes), dtype=bool)
    present[np.unique(labels)] = True
    for budget in budgets:
        # A share of the answers is about all examples.
        if not budget.by_prediction and not (budget.of & present).any():
            raise DataError(
                f"Budget {str(budget)!r} is about {budget.counted}; the {where} has none."
            )
