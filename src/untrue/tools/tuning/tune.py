"""Budgets instead of knobs: find the weakest intervention that keeps them. `untrue tune`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from untrue.budgets import Budget
from untrue.budgets.sequence import MOST_FOR_PATH
from untrue.checks import MOST_REPETITIONS, check_confidence, check_count, check_known
from untrue.errors import ArgumentError, listed
from untrue.hierarchy import Hierarchy
from untrue.losses import registry
from untrue.tools.fitting.learners import FitTask, Learner
from untrue.tools.fitting.setup import PLAIN, choose, labels_of, prepare
from untrue.tools.reading.labels import answer_labels, warn_of_absent
from untrue.tools.reading.opening import as_source
from untrue.tools.tuning.assemble import finish
from untrue.tools.tuning.judging import Judge, check_seen, too_few
from untrue.tools.tuning.problem import Problem, read_problem
from untrue.tools.tuning.record import Record
from untrue.tools.tuning.result import TuneResult
from untrue.tools.tuning.search import search
from untrue.tools.tuning.trainer import CachingTrainer, Recipe, digest
from untrue.training.progress import Progress

if TYPE_CHECKING:
    from untrue.ray import Cluster

# Points of accuracy that may be lost by default: a budget is not worth any price.
MOST_DROP = 5.0
GIVEN_PART = (
    "The held-out part came with the data. The guarantee takes it for a random draw of the cases "
    "to come, as it would have been drawn here."
)


def tune(
    data: Any,
    y: Any = None,
    *,
    budgets: Iterable[Budget | str] | Budget | str,
    penalty: Any = None,
    cost_columns: Any = None,
    max_accuracy_drop: float | None = MOST_DROP,
    losses: Sequence[str] | str = registry.MIXED,
    trials: int = 8,
    time_limit: float | None = None,
    repetitions: int = 4,
    confidence: float = 0.95,
    groups: Hierarchy | Mapping[str, Sequence[str | int]] | None = None,
    zone_above: float | None = None,
    model: str | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    rounds: int | None = None,
    test_share: float = 0.25,
    validation_share: float = 0.15,
    seed: int = 0,
    target: str | None = None,
    classes: Sequence[str] | None = None,
    record: str | Path | None = None,
    cluster: Cluster | None = None,
    on_progress: Callable[[str, Progress], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> TuneResult:
    """Find the weakest intervention that keeps the budgets, and the model that makes it.

    `kept` has the guarantee of `untrue.control`: with probability of at least `confidence` over the
    draw of the held-out examples, the true rate of every budget is within its limit, all together.

    data, y            arrays, (N, features) or images, and labels (N,); or a file or folder as
                       `untrue fit` takes it, with `target`, the column of the labels
    budgets            texts such as "tumour->benign <= 0.5%", or `Budget`s. A count of errors is
                       about the held-out part, and the same rate everywhere else
    penalty            what mistakes cost, as in `fit`; without one all cost 1. A `FormulaPenalty`
                       has costs of each example, by columns of the file, or of `cost_columns`
                       beside arrays
    classes            where labels are codes 0, 1, ... that stand for names: these, in their order
    max_accuracy_drop  in points (%), against the plain model's most probable class; None: any. It
                       is a price and no promise: judged by the paired difference, not by a bound
    losses             one or more to try once no decision rule will do; () tries none
    trials             how many settings are trained at most, each `repetitions` times
    time_limit         in seconds: no such training starts later
    confidence         with which all budgets hold together
    model, epochs, batch_size, learning_rate, patience, rounds  as in `untrue.fit`
    groups, zone_above what "across groups" and "zone" mean (see `Budget.resolve`)
    test_share         held out at random, to test the rules and for nothing else
    validation_share   of the rest, held back in each training to stop and to calibrate by
    record             an SQLite file that keeps what was trained: a call that was killed
                       continues from there, and one with other budgets uses what it can
    cluster            a Ray cluster to train on (`untrue.ray.Cluster`), repetitions side by side;
                       None: here
    on_progress, tell  called with (name, progress), and with each finding as a sentence

    Of R repetitions each judges another R-th of the examples that are not held out, by a network
    with a seed of its own that has not learned from them; the model that is kept learns from all
    of them. Scales and categories of columns are learned once, from all of them, without their
    labels. How the search goes: `untrue.tools.tuning.search`; what is tested, and how:
    `untrue.tools.tuning.judging`. Models trained by costs answer from the class probabilities
    behind their scores (`untrue.posterior`).
    """
    started = time.perf_counter()
    losses = (losses,) if isinstance(losses, str) else tuple(losses)
    _check(losses, trials, time_limit, max_accuracy_drop)
    source = as_source(data, y, target=target, classes=classes)
    choice, settings = choose(
        model,
        source,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        patience=patience,
        rounds=rounds,
    )
    labels, stated = labels_of(source, penalty)
    problem = read_problem(
        source,
        labels,
        stated,
        budgets,
        cost_columns=cost_columns,
        groups=groups,
        zone_above=zone_above,
        repetitions=repetitions,
        test_share=test_share,
        validation_share=validation_share,
        seed=seed,
    )
    parts, n_classes = problem.parts, problem.by_class.n_classes
    judge, notes = _judge(problem, confidence, max_accuracy_drop)
    if source.test is not None:
        notes = (GIVEN_PART, *notes)
    say = tell or _silent
    for note in notes:
        say(note)
    learner, preprocessing, inputs = prepare(source, choice, settings, n_classes, parts.development)
    if choice.note is not None:
        say(choice.note)
    if tell is not None:  # the estimate takes time itself
        task = FitTask(PLAIN, problem.training_costs(()), 0.0, inputs, labels, parts.final)
        _announce(learner, task, repetitions, trials, tell)
    with (
        nullcontext() if cluster is None else _connected(cluster),
        closing(Record(None if record is None else Path(record))) as store,
    ):
        trainer = CachingTrainer(
            inputs=inputs,
            labels=labels,
            parts=parts,
            learner=learner,
            n_classes=n_classes,
            seed=seed,
            costs=problem.training_costs,
            record=store,
            facts={"inputs": digest(inputs), "labels": digest(labels)},
            deadline=None if time_limit is None else time.monotonic() + time_limit,
            on_epoch=on_progress,
            on_kept=lambda name: say(f"{name}: trained before"),
            cluster=cluster,
        )
        found = search(trainer, judge, losses=losses, trials=trials, tell=say)
        recipe = found.chosen.recipe
        plain = trainer.final(Recipe())
        made = plain if recipe == Recipe() else trainer.final(recipe)
        if store.damaged:
            notes = (*notes, _damage(store.damaged))
            say(notes[-1])
    return finish(
        problem,
        preprocessing,
        trainer,
        judge,
        found,
        plain,
        made,
        notes=notes,
        labels=answer_labels(y, problem.by_class.classes, classes),
        started=started,
    )


def _silent(sentence: str) -> None:
    """For callers that do not ask."""


def _announce(
    learner: Learner, task: FitTask, repetitions: int, trials: int, tell: Callable[[str], None]
) -> None:
    """Say how long a model may take, and how many there may be."""
    ahead = learner.time_in_words(task)
    if ahead is not None:
        least, most = repetitions + 1, (1 + trials) * repetitions + 2
        tell(f"{ahead}; {least} to {most} models")


def _connected(cluster: Cluster) -> AbstractContextManager[int]:
    from untrue.ray import connected

    return connected(cluster)


def _damage(names: Sequence[str]) -> str:
    what = "entry of the record was" if len(names) == 1 else "entries of the record were"
    return f"{len(names)} {what} damaged, and trained again: {listed(names)}."


def _check(
    losses: Sequence[str], trials: int, time_limit: float | None, max_drop: float | None
) -> None:
    for loss in losses:
        check_known("loss", loss, registry.MIXED)
    check_count("trials", trials, least=0, most=MOST_REPETITIONS)
    if time_limit is not None and not time_limit >= 0:
        raise ArgumentError(f"`time_limit` must be 0 or more seconds; got {time_limit}.")
    if max_drop is not None and not 0 <= max_drop <= 100:
        raise ArgumentError(f"`max_accuracy_drop` must lie in [0, 100], in points; got {max_drop}.")


def _judge(
    problem: Problem, confidence: float, max_drop: float | None
) -> tuple[Judge, tuple[str, ...]]:
    """The judge of the examples tuned on, and what to know before anything is trained."""
    check_confidence(confidence)
    labels, parts, rows = problem.labels, problem.parts, problem.rows
    budgets = problem.budgets
    own, last = labels[parts.development], labels[parts.held_out]
    check_seen(own, budgets, "part to tune on")
    warn_of_absent(problem.by_class.classes, own)
    notes = [too_few(budget, last, confidence) for budget in budgets]
    sample = None
    if len(own) > MOST_FOR_PATH:
        sample = np.sort(np.random.default_rng(0).permutation(len(own))[:MOST_FOR_PATH])
    judged = parts.development if sample is None else parts.development[sample]
    judge = Judge(
        true=labels[judged],
        penalty=problem.by_class,
        budgets=budgets,
        held_out=len(last),
        provable=tuple(note is None for note in notes),
        confidence=confidence,
        max_drop=max_drop,
        rows=None if rows is None else rows.take(judged),
        sample=sample,
    )
    return judge, tuple(note for note in notes if note is not None)
