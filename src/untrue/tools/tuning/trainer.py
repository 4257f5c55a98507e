"""Where the networks of a tuning are trained, unless the record has them already."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.metrics.inputs import FloatArray, IntArray
from untrue.penalty import ExamplePenalty, Penalty
from untrue.tools.fitting.fit import PLAIN
from untrue.tools.fitting.learners import Learner, softmax_temperature
from untrue.tools.fitting.link import class_probs
from untrue.tools.tuning.parts import Parts
from untrue.tools.tuning.record import Record, Trained, key_of
from untrue.training.progress import Progress
from untrue.training.splits import Split

# Raised when a training does something else under the same key.
EDITION = 1


class OutOfTimeError(Exception):
    """The time limit passed before a training; never leaves the search."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained: the loss, its alpha, and the costs it asks.

    multipliers  one for each budget: how many times costlier its mistakes are in training
    """

    loss: str = PLAIN
    alpha: float = 0.0
    multipliers: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        return self.loss if self.loss == PLAIN else f"{self.loss}, alpha {self.alpha:g}"


@dataclass(frozen=True, slots=True, eq=False)
class CachingTrainer:
    """Data made ready, and all that is the same for every training.

    costs     the penalty of training, or that of each example, for a recipe's multipliers
    deadline  of `time.monotonic()`: no training of a recipe other than the plain one starts later
    on_epoch  called with (name of the network, progress); on_kept: the name of one the record had
    """

    inputs: npt.NDArray[Any]
    labels: IntArray
    parts: Parts
    learner: Learner
    n_classes: int
    seed: int
    costs: Callable[[tuple[float, ...]], Penalty | ExamplePenalty]
    record: Record
    facts: Mapping[str, Any]
    deadline: float | None = None
    on_epoch: Callable[[str, Progress], None] | None = None
    on_kept: Callable[[str], None] | None = None

    def cross_fitted(self, recipe: Recipe) -> FloatArray:
        """Calibrated probabilities (n, k) of the development examples, in their order.

        Each example's are from the one network that has not seen it, whose seed is its own.
        """
        position = np.empty(len(self.labels), dtype=np.int64)
        position[self.parts.development] = np.arange(len(self.parts.development))
        probs = np.empty((len(self.parts.development), self.n_classes))
        for r, fold in enumerate(self.parts.folds):
            name = f"{_shown(recipe)}, repetition {r + 1} of {len(self.parts.folds)}"
            found = self._made(recipe, fold, name, seed=self.seed + r, weights=False)
            probs[position[fold.test]] = class_probs(found.logits, None, found.temperature)
        return probs

    def final(self, recipe: Recipe) -> Trained:
        """The network that learns from all of the development part, judged on the held-out."""
        name = f"{_shown(recipe)}, on all but the held-out part"
        return self._made(recipe, self.parts.final, name, seed=self.seed, weights=True)

    def _made(self, recipe: Recipe, part: Split, name: str, *, seed: int, weights: bool) -> Trained:
        penalty = self.costs(recipe.multipliers)
        key = key_of(
            edition=EDITION,
            loss=recipe.loss,
            alpha=recipe.alpha,
            penalty=None if recipe.loss == PLAIN else penalty.fingerprint,
            settings=self.learner.settings(),
            seed=seed,
            part=[digest(positions) for positions in (part.train, part.validation, part.test)],
            weights=weights,
            **self.facts,
        )
        kept = self.record.get(key, (len(part.test), self.n_classes))
        if kept is not None:
            if self.on_kept is not None:
                self.on_kept(name)
            return kept
        if self.deadline is not None and recipe.loss != PLAIN and not weights:
            self._check_time()
        started = time.perf_counter()
        tell = self.on_epoch
        fitted = self.learner.train(
            recipe.loss,
            penalty,
            recipe.alpha,
            self.inputs,
            self.labels,
            part,
            seed=seed,
            on_progress=None if tell is None else lambda progress: tell(name, progress),
        )
        predictor = fitted.predictor
        made = Trained(
            name,
            softmax_temperature(
                name, predictor.logits(self.inputs[part.validation]), self.labels[part.validation]
            ),
            predictor.logits(self.inputs[part.test]).astype(np.float32),
            predictor.content() if weights else None,
            predictor.description() if weights else {},
            asdict(fitted.history),
            time.perf_counter() - started,
        )
        self.record.put(key, made)
        return made

    def _check_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTimeError


def digest(array: npt.NDArray[Any]) -> str:
    """SHA-256 of an array's kind, shape and content."""
    found = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _shown(recipe: Recipe) -> str:
    costly = [f"{m:.3g}" for m in recipe.multipliers]
    scaled = any(m != 1 for m in recipe.multipliers)
    return recipe.name + (f", budgets x {', '.join(costly)}" if scaled else "")
