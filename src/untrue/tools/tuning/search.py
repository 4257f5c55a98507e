"""The search: the weakest intervention first, stronger ones only while something is over.

1. The plain model and its most probable class.
2. The decision rule, which needs no training: least expected cost by the penalty; then with the
   mistakes of each budget over its limit made costlier, doubling as a Lagrangian's multipliers
   would grow, and then as weak again as still holds.
3. Training: for each loss alpha rises; then the multipliers of the budgets over their limits rise
   in the penalty that is trained by. Each trained network gets the decisions of 1 and 2.

It stops at the first step with a setting that meets everything; of several it takes the one with
most right answers. If none does, the closest is the one whose greatest excess is least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from untrue.errors import DataError
from untrue.metrics.inputs import FloatArray
from untrue.penalty.dense import off_diagonal
from untrue.tools.tuning.judging import MOST_CLASSES, Base, Judge, Setting, Trial, findings
from untrue.tools.tuning.trainer import CachingTrainer, OutOfTimeError, Recipe

ALPHAS = (0.3, 0.6, 0.9)
# Multipliers in the decision: the first step above 1, the last, and how fine the way back is.
FIRST, LAST, HALVINGS = 0.25, 2.0**14, 6
# Multipliers in training rise by the excess, within these.
SLOW, FAST = 1.5, 4.0


@dataclass(frozen=True, slots=True)
class Step:
    """What was tried, and what came of it; `trials` are positions in the list of all trials."""

    title: str
    finding: str
    trials: range


@dataclass(frozen=True, slots=True)
class Search:
    """All that was tried, in order. chosen: position in `trials`; it meets everything, if any does.

    trained: settings that took a training beyond the plain one. stopped: why the search ended.
    """

    trials: tuple[Trial, ...]
    chosen: int
    steps: tuple[Step, ...]
    trained: int
    stopped: str


class _Log:
    """Trials and steps as they come."""

    def __init__(self, judge: Judge, tell: Callable[[str], None] | None) -> None:
        self.judge, self._tell = judge, tell
        self.trials: list[Trial] = []
        self.steps: list[Step] = []
        self.plain: float | None = None

    def tried(self, setting: Setting, probs: FloatArray) -> Trial:
        """A trial beside the plain model."""
        return self.judge.trial(setting, probs, self.plain)

    def step(self, title: str, found: Sequence[Trial]) -> Trial | None:
        """Record a step; its best trial that meets everything."""
        start = len(self.trials)
        self.trials += found
        best = _best([trial for trial in found if trial.met])
        shown = best or min(found, key=lambda t: (self.judge.excess(t), -t.accuracy))
        finding = findings(shown, self.judge.max_drop)
        self.steps.append(Step(title, finding, range(start, len(self.trials))))
        if self._tell is not None:
            self._tell(f"{title}: {finding}")
        return best


def search(
    trainer: CachingTrainer,
    judge: Judge,
    *,
    losses: Sequence[str],
    trials: int,
    tell: Callable[[str], None] | None = None,
) -> Search:
    """Search on the examples tuned on.

    trials: at most so many settings are trained beyond the plain one.
    """
    probs = trainer.cross_fitted(Recipe())
    log = _Log(judge, tell)
    plain = judge.trial(Setting(Recipe()), probs)
    log.plain = plain.accuracy
    best = log.step("The plain model", [plain])
    if best is None:
        best = _decisions(log, Recipe(), probs)
    trained, stopped = 0, "a setting meets everything"
    if best is None:
        best, trained, stopped = _training(log, trainer, losses, trials)
    if best is None:
        best = min(log.trials, key=lambda t: (judge.excess(t), -t.accuracy))
    return Search(tuple(log.trials), log.trials.index(best), tuple(log.steps), trained, stopped)


def _decisions(log: _Log, recipe: Recipe, probs: FloatArray) -> Trial | None:
    """The decision rule on the plain model: by the penalty, then with multipliers."""
    bases = _bases(log.judge)
    starts: dict[Base, Trial] = {"even": log.trials[0]}
    if "penalty" in bases:
        starts["penalty"] = log.tried(Setting(recipe, "penalty"), probs)
        best = log.step("Least expected cost by the penalty", [starts["penalty"]])
        if best is not None:
            return best
    tried = [t for base in bases for t in _weakest(log, starts[base], base, probs)]
    return log.step("Costlier mistakes in the decision", tried) if tried else None


def _bases(judge: Judge) -> tuple[Base, ...]:
    """The costs a decision may start from; a penalty that charges all alike is the even one."""
    k = judge.penalty.n_classes
    if k > MOST_CLASSES:
        return ("penalty",)
    costs = off_diagonal(judge.penalty.matrix())
    alike = judge.rows is None and np.ptp(costs) == 0
    return ("even",) if alike else ("penalty", "even")


def _weakest(log: _Log, start: Trial, base: Base, probs: FloatArray) -> list[Trial]:
    """Settings on the way to the weakest multipliers that keep all budgets; `start` has none.

    Up: those of the budgets over their limits double (what exceeds 1 does). Then back, one after
    the other, by halving, while all budgets are kept. For one budget this is a walk along one
    line from where it is kept to the last place where it is: the bound there needs no correction
    for the many looks, as long as the errors fall when the multiplier rises.
    """
    found: list[Trial] = []

    def at(above: FloatArray) -> Trial:
        setting = Setting(start.setting.recipe, base, tuple((1 + above).tolist()))
        found.append(log.tried(setting, probs))
        return found[-1]

    trial, above = start, np.zeros(len(log.judge.budgets))
    while not all(trial.kept):
        over = ~np.array(trial.kept)
        above = np.where(over, np.maximum(2 * above, FIRST), above)
        if above.max() > LAST:
            return found
        trial = at(above)
    for b in np.flatnonzero(above).tolist():
        low, high = 0.0, float(above[b])
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above[b] = middle
            low, high = (low, middle) if all(at(above).kept) else (middle, high)
        above[b] = high
    return found


def _training(
    log: _Log, trainer: CachingTrainer, losses: Sequence[str], most: int
) -> tuple[Trial | None, int, str]:
    """Losses, alpha rising, then multipliers: (what meets all, trained settings, why it ended)."""
    if not most or not losses:
        return None, 0, "no training was asked for"
    trained = 0
    for recipes in _rungs(log, losses):
        chosen: list[Trial] = []
        for recipe in recipes:
            if trained >= most:
                return _best(chosen), trained, f"it may train {most} settings at most"
            try:
                probs = trainer.cross_fitted(recipe)
            except OutOfTimeError:
                return _best(chosen), trained, "the time limit passed"
            except DataError as error:
                return _best(chosen), trained, f"{_title(recipe)} could not be trained ({error})"
            trained += 1
            tried = [log.tried(Setting(recipe), probs)]
            for base in _bases(log.judge):
                start = tried[0]
                if base == "penalty":
                    start = log.tried(Setting(recipe, base), probs)
                    tried.append(start)
                tried += _weakest(log, start, base, probs)
            best = log.step(f"Training by {_title(recipe)}", tried)
            chosen += [] if best is None else [best]
        if chosen:
            return _best(chosen), trained, "a setting meets everything"
    return None, trained, "stronger training would only cost more right answers"


def _rungs(log: _Log, losses: Sequence[str]) -> Iterator[tuple[Recipe, ...]]:
    """Recipes of equal strength, the weakest first; asks the log what the last ones did."""
    multipliers = np.ones(len(log.judge.budgets))
    for alpha in ALPHAS:
        yield _rung(losses, alpha, multipliers)
    while True:
        last = [_plainest(log, recipe) for recipe in _rung(losses, ALPHAS[-1], multipliers)]
        closest = min(last, key=log.judge.excess)
        over = ~np.array(closest.kept)
        if not over.any():
            return
        excess = np.array([max(v.excess, 0.0) for v in closest.verdicts])
        multipliers = np.where(over, multipliers * np.clip(1 + excess, SLOW, FAST), multipliers)
        yield _rung(losses, ALPHAS[-1], multipliers)


def _rung(losses: Sequence[str], alpha: float, multipliers: FloatArray) -> tuple[Recipe, ...]:
    return tuple(Recipe(loss, alpha, tuple(multipliers.tolist())) for loss in losses)


def _plainest(log: _Log, recipe: Recipe) -> Trial:
    """The trial of a trained network that says its most probable class."""
    return next(trial for trial in log.trials if trial.setting == Setting(recipe))


def _best(met: Sequence[Trial]) -> Trial | None:
    """Most right answers; of equals the one whose costs are scaled least."""
    if not met:
        return None
    return max(met, key=lambda t: (t.accuracy, -sum(t.setting.multipliers)))


def _title(recipe: Recipe) -> str:
    name = Setting(recipe).name
    return name.removesuffix(", most probable class")
