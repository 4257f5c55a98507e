"""Where the networks of a tuning are trained, unless the record has them already."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.penalty import ExamplePenalty, Penalty
from untrue.tools.fitting.learners import FitTask, Learner, softmax_temperature
from untrue.tools.fitting.link import Link, class_probs
from untrue.tools.fitting.setup import PLAIN, large_costs
from untrue.tools.tuning.parts import Parts
from untrue.tools.tuning.record import Record, TrainedOutputs, key_of
from untrue.training.progress import Progress
from untrue.training.splits import Split

if TYPE_CHECKING:
    from untrue.ray import Cluster

# Rises when a training does something else under the same key.
EDITION = 2


class OutOfTimeError(Exception):
    """The time limit passed before a training; never leaves the search."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained: the loss, its alpha, and the multipliers of its costs.

    multipliers  one for each budget: how many times costlier its mistakes are in training
    """

    loss: str = PLAIN
    alpha: float = 0.0
    multipliers: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        return self.loss if self.loss == PLAIN else f"{self.loss}, alpha {self.alpha:g}"


@dataclass(frozen=True, slots=True, eq=False)
class TrainingTask:
    """One training; weights: the model itself is wanted, not its outputs alone."""

    name: str
    loss: str
    penalty: Penalty | ExamplePenalty
    alpha: float
    part: Split
    seed: int
    weights: bool


@dataclass(frozen=True, slots=True, eq=False)
class CachingTrainer:
    """Data made ready, and all that is the same for every training.

    costs     the penalty of training, or that of each example, for a recipe's multipliers
    deadline  of `time.monotonic()`: no training of a recipe other than the plain one starts later
    on_epoch  called with (name of the network, progress); on_kept: the name of one the record had
    cluster   a connected one, to train there; None: here
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
    cluster: Cluster | None = None

    def cross_fitted(self, recipe: Recipe) -> FloatArray:
        """Calibrated probabilities (n, k) of the development examples, in their order.

        Each example's are from the one network that has not seen it, whose seed is its own.
        """
        position = np.empty(len(self.labels), dtype=np.int64)
        position[self.parts.development] = np.arange(len(self.parts.development))
        probs = np.empty((len(self.parts.development), self.n_classes))
        folds = self.parts.folds
        tasks = [
            self._task(recipe, fold, f"repetition {r + 1} of {len(folds)}", r, weights=False)
            for r, fold in enumerate(folds)
        ]
        for fold, found in zip(folds, self._trained_or_kept(tasks), strict=True):
            probs[position[fold.test]] = self.probs(recipe, found, fold.test)
        return probs

    def outside(self, recipe: Recipe, made: TrainedOutputs, rows: IntArray) -> float:
        """The share of the examples `rows` whose scores stand for no class probabilities."""
        link, each = link_of(recipe.loss, recipe.alpha, self.costs(recipe.multipliers), rows)
        return link.read(made.logits, each)[1]

    def probs(self, recipe: Recipe, made: TrainedOutputs, rows: IntArray) -> FloatArray:
        """Calibrated class probabilities (n, k) behind a model's scores, of the examples `rows`."""
        link, each = link_of(recipe.loss, recipe.alpha, self.costs(recipe.multipliers), rows)
        return class_probs(made.logits, link, made.temperature, each)

    def final(self, recipe: Recipe) -> TrainedOutputs:
        """The network that learns from all of the development part, judged on the held-out."""
        which = "on all but the held-out part"
        return self._trained_or_kept(
            [self._task(recipe, self.parts.final, which, 0, weights=True)]
        )[0]

    def _task(
        self, recipe: Recipe, part: Split, which: str, offset: int, *, weights: bool
    ) -> TrainingTask:
        penalty = self.costs(recipe.multipliers)
        name = f"{_shown(recipe)}, {which}"
        seed = (self.seed + offset) % 2**32
        return TrainingTask(name, recipe.loss, penalty, recipe.alpha, part, seed, weights)

    def _trained_or_kept(self, tasks: Sequence[TrainingTask]) -> list[TrainedOutputs]:
        """The networks of the tasks; those that the record has are not trained again."""
        keys = [self._key(task) for task in tasks]
        found: dict[int, TrainedOutputs] = {}
        for i, (key, task) in enumerate(zip(keys, tasks, strict=True)):
            kept = self.record.get(key, (len(task.part.test), self.n_classes))
            if kept is not None:
                found[i] = kept
                if self.on_kept is not None:
                    self.on_kept(task.name)
        missing = [i for i in range(len(tasks)) if i not in found]
        for i, made in self._trained({i: tasks[i] for i in missing}):
            self.record.put(keys[i], made)
            found[i] = made
        return [found[i] for i in range(len(tasks))]

    def _trained(self, tasks: Mapping[int, TrainingTask]) -> Iterator[tuple[int, TrainedOutputs]]:
        """Train here, one after the other, or on the cluster, at once."""
        shared = (self.learner, self.inputs, self.labels)
        report = self.on_epoch or _silent
        if self.cluster is None:
            for i, task in tasks.items():
                self._check_time(task)
                yield i, train_task(shared, task, functools.partial(report, task.name))
            return
        if not tasks:
            return
        from untrue import ray

        places, items = list(tasks), list(tasks.values())
        self._check_time(items[0])
        ended: dict[int, TrainedOutputs] = {}
        first = 0  # the training whose progress is shown: lines of several would mix
        with closing(ray.run(self.cluster, train_task, shared, items)) as events:
            for event in events:
                match event:
                    case ray.Reported() if event.item == first:
                        report(items[first].name, event.message)
                    case ray.Failed():
                        raise event.error
                    case ray.Done():
                        ended[event.item] = event.value
                        yield places[event.item], event.value
                        while first in ended:
                            report(items[first].name, _last_epoch(ended[first]))
                            first += 1

    def _key(self, task: TrainingTask) -> str:
        return key_of(
            edition=EDITION,
            loss=task.loss,
            alpha=task.alpha,
            penalty=None if task.loss == PLAIN else task.penalty.fingerprint,
            settings=self.learner.settings(),
            seed=task.seed,
            part=[
                digest(positions)
                for positions in (task.part.train, task.part.validation, task.part.test)
            ],
            weights=task.weights,
            **self.facts,
        )

    def _check_time(self, task: TrainingTask) -> None:
        if task.loss == PLAIN or task.weights:
            return
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTimeError


def train_task(
    shared: tuple[Learner, npt.NDArray[Any], IntArray],
    task: TrainingTask,
    report: Callable[[Progress], None],
) -> TrainedOutputs:
    """Train one network and see what it gives; also the work of a cluster's node."""
    learner, inputs, labels = shared
    started = time.perf_counter()
    part = task.part
    wanted = FitTask(task.loss, task.penalty, task.alpha, inputs, labels, part)
    fitted = learner.train(wanted, seed=task.seed, on_progress=report)
    predictor = fitted.predictor
    link, each = link_of(task.loss, task.alpha, task.penalty, part.validation)
    watched = link.logits(predictor.logits(inputs[part.validation]), each)
    return TrainedOutputs(
        task.name,
        softmax_temperature(task.name, watched, labels[part.validation], *large_costs(wanted)),
        predictor.logits(inputs[part.test]).astype(np.float32),
        predictor.content() if task.weights else None,
        predictor.description() if task.weights else {},
        asdict(fitted.history),
        time.perf_counter() - started,
    )


def link_of(
    loss: str, alpha: float, costs: Penalty | ExamplePenalty, rows: IntArray
) -> tuple[Link, ExamplePenalty | None]:
    """What training by these costs moved, and the costs of the examples `rows`, as trained with."""
    if isinstance(costs, ExamplePenalty):
        return Link(loss, alpha, costs.base), costs.take(rows)
    return Link(loss, alpha, costs), None


def _last_epoch(made: TrainedOutputs) -> Progress:
    train, validation = made.history["train"], made.history["validation"]
    n, last = max(len(train), len(validation)), (validation or train)[-1]
    return Progress(n, n, 1, 1, last, last if validation else None)


def _silent(name: str, progress: Progress) -> None:
    """For callers that do not ask."""


def digest(array: npt.NDArray[Any]) -> str:
    """SHA-256 of an array's kind, shape and content."""
    found = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _shown(recipe: Recipe) -> str:
    costly = [f"{m:.3g}" for m in recipe.multipliers]
    scaled = any(m != 1 for m in recipe.multipliers)
    return recipe.name + (f", budgets x {', '.join(costly)}" if scaled else "")
