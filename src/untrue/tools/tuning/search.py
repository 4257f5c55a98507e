"""The search: the weakest intervention first, stronger ones only while something is unlikely.

1. The plain model and its most probable class.
2. The decision rule, which needs no training: least expected cost by the penalty; then with the
   mistakes of each budget made costlier, along the paths that `untrue.control` would test.
3. Training: for each loss alpha rises; then the multipliers of the budgets over their limits rise
   in the penalty that is trained by. Each trained model gets the decisions of 1 and 2.

It stops at the first step with a rule that the held-out part is likely to show within the accuracy
drop; of several it takes the one with most right answers. If there is none, the model whose rules
have the best chance. All of this looks at the examples tuned on alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from untrue.array_types import FloatArray
from untrue.errors import DataError, counted
from untrue.tools.tuning.judging import Candidate, Judge, Trial, best_of, findings
from untrue.tools.tuning.setting import Setting
from untrue.tools.tuning.trainer import CachingTrainer, OutOfTimeError, Recipe

ALPHAS = (0.3, 0.6, 0.9)
# Multipliers in training rise by the excess, within these.
SLOW, FAST = 1.5, 4.0


@dataclass(frozen=True, slots=True)
class SearchStep:
    """What was tried, and what came of it; `trials` are positions in the list of all trials."""

    title: str
    finding: str
    trials: range


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """All that was tried, in order.

    trials   some of the rules of each path that was looked at
    chosen   the model whose paths are to be tested; step: the position of its step
    likely   the held-out part is likely to show one of its rules, within the drop
    trained  settings that took a training beyond the plain one; stopped: why the search ended
    """

    trials: tuple[Trial, ...]
    chosen: Candidate
    step: int
    likely: bool
    steps: tuple[SearchStep, ...]
    trained: int
    stopped: str


class _Log:
    """Candidates and steps as they come."""

    def __init__(self, judge: Judge, tell: Callable[[str], None] | None) -> None:
        self.judge, self._tell = judge, tell
        self.trials: list[Trial] = []
        self.steps: list[SearchStep] = []
        self.candidates: list[tuple[Candidate, int]] = []
        self.plain = 0.0

    def candidates_of(self, recipe: Recipe, probs: FloatArray) -> list[Candidate]:
        return [self.judge.candidate(recipe, base, probs, self.plain) for base in self.judge.bases]

    def step(
        self, title: str, found: Sequence[Candidate], *, plain: bool = False
    ) -> Candidate | None:
        """Record a step; the candidate with its best trial that meets everything.

        plain: only the rules without multipliers are looked at
        """
        start, number = len(self.trials), len(self.steps)
        pairs = [
            (trial, candidate)
            for candidate in found
            for trial in ([candidate.plain] if plain else candidate.trials)
        ]
        for candidate in found:
            self.trials += [candidate.plain] if plain else candidate.shown()
            self.candidates.append((candidate, number))
        best = best_of([trial for trial, _ in pairs])
        shown = best or min(
            (trial for trial, _ in pairs), key=lambda t: (self.judge.excess(t), -t.accuracy)
        )
        finding = findings(shown, self.judge)
        self.steps.append(SearchStep(title, finding, range(start, len(self.trials))))
        if self._tell is not None:
            self._tell(f"{title}: {finding}")
        return next((candidate for trial, candidate in pairs if trial is best), None)


def search(
    trainer: CachingTrainer,
    judge: Judge,
    *,
    losses: Sequence[str],
    trials: int,
    tell: Callable[[str], None] | None = None,
) -> Search:
    """Search on the examples tuned on.

    trials: how many settings are trained at most beyond the plain one.
    """
    probs = trainer.cross_fitted(Recipe())
    log = _Log(judge, tell)
    log.plain = judge.plain_accuracy(probs)
    best = _decisions(log, probs)
    trained, stopped = 0, "a setting is likely to be shown"
    provable = all(judge.provable)
    if not provable:
        stopped = "the held-out part is too small to show the budgets, whatever is trained"
    elif best is None:
        best, trained, stopped = _training(log, trainer, losses, trials)
    likely = best is not None and provable
    if best is None:
        best = min((candidate for candidate, _ in log.candidates), key=judge.hope)
    # A candidate that was looked at in several steps was chosen in the last of them.
    step = max(number for candidate, number in log.candidates if candidate is best)
    return Search(tuple(log.trials), best, step, likely, tuple(log.steps), trained, stopped)


def _decisions(log: _Log, probs: FloatArray) -> Candidate | None:
    """The plain model: as it is, by the penalty, then with multipliers."""
    equal = log.judge.candidate(Recipe(), "equal", probs, log.plain)
    best = log.step("The plain model", [equal], plain=True)
    candidates = [equal]
    if best is None and "penalty" in log.judge.bases:
        by_costs = log.judge.candidate(Recipe(), "penalty", probs, log.plain)
        candidates.append(by_costs)
        best = log.step("Least expected cost by the penalty", [by_costs], plain=True)
    if best is None:
        best = log.step("Costlier mistakes in the decision", candidates)
    return best


def _training(
    log: _Log, trainer: CachingTrainer, losses: Sequence[str], most: int
) -> tuple[Candidate | None, int, str]:
    """Losses, alpha rising, then multipliers: (what meets all, trained settings, why it ended)."""
    if not most or not losses:
        return None, 0, "no training was asked for"
    trained = 0
    for recipes in _rungs(log, losses):
        chosen: list[Candidate] = []
        for recipe in recipes:
            if trained >= most:
                return (
                    _best(chosen),
                    trained,
                    f"the limit of {counted(most, 'setting')} was reached",
                )
            try:
                probs = trainer.cross_fitted(recipe)
            except OutOfTimeError:
                return _best(chosen), trained, "the time limit passed"
            except DataError as error:
                return _best(chosen), trained, f"{_title(recipe)} could not be trained ({error})"
            trained += 1
            best = log.step(f"Training by {_title(recipe)}", log.candidates_of(recipe, probs))
            chosen += [] if best is None else [best]
        if chosen:
            return _best(chosen), trained, "a setting is likely to be shown"
    return None, trained, "stronger training would only cost more right answers"


def _rungs(log: _Log, losses: Sequence[str]) -> Iterator[tuple[Recipe, ...]]:
    """Recipes of equal strength, the weakest first; asks the log what the last ones did."""
    multipliers = np.ones(len(log.judge.budgets))
    for alpha in ALPHAS:
        yield _rung(losses, alpha, multipliers)
    while True:
        last = [_plainest(log, recipe) for recipe in _rung(losses, ALPHAS[-1], multipliers)]
        closest = min(last, key=log.judge.excess)
        over = np.array([not verdict.kept for verdict in closest.verdicts])
        if not over.any():
            return
        excess = np.array([max(v.excess, 0.0) if v.of else 0.0 for v in closest.verdicts])
        multipliers = np.where(over, multipliers * np.clip(1 + excess, SLOW, FAST), multipliers)
        yield _rung(losses, ALPHAS[-1], multipliers)


def _rung(losses: Sequence[str], alpha: float, multipliers: FloatArray) -> tuple[Recipe, ...]:
    return tuple(Recipe(loss, alpha, tuple(multipliers.tolist())) for loss in losses)


def _plainest(log: _Log, recipe: Recipe) -> Trial:
    """The trial of a trained model that gives its most probable class."""
    return next(
        candidate.plain
        for candidate, _ in log.candidates
        if (candidate.recipe, candidate.base) == (recipe, "equal")
    )


def _best(chosen: Sequence[Candidate]) -> Candidate | None:
    """The candidate with the best trial of all."""
    best = best_of([trial for candidate in chosen for trial in candidate.trials])
    return next((each for each in chosen if best in each.trials), None)


def _title(recipe: Recipe) -> str:
    name = Setting(recipe).name
    return name.removesuffix(", most probable class")
