"""Budgets instead of knobs: find the weakest intervention that keeps them. `untrue tune`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from untrue.budgets import Budget, ResolvedBudget, resolve_all
from untrue.budgets.sequence import MOST_FOR_PATH
from untrue.checks import MOST_REPETITIONS, check_confidence, check_count
from untrue.errors import ArgumentError, listed, nearest
from untrue.hierarchy import Hierarchy
from untrue.losses import registry
from untrue.metrics.inputs import IntArray
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.tools.fitting.fit import (
    PLAIN,
    choose,
    labels_of,
    prepare,
    training_costs,
)
from untrue.tools.fitting.link import Link, many_outside
from untrue.tools.fitting.model import argmax
from untrue.tools.reading.images import warn_of_absent
from untrue.tools.reading.labels import answer_labels
from untrue.tools.reading.opening import as_source
from untrue.tools.reading.row_costs import RowCosts, check_by_class, source_costs
from untrue.tools.tuning.assemble import tune_result, tuned_model
from untrue.tools.tuning.judging import Judge, check_seen, too_few
from untrue.tools.tuning.parts import Parts, part
from untrue.tools.tuning.record import Record
from untrue.tools.tuning.result import TuneResult
from untrue.tools.tuning.search import search
from untrue.tools.tuning.setting import Setting, answers, times
from untrue.tools.tuning.trainer import CachingTrainer, Recipe, digest
from untrue.training.progress import Progress

if TYPE_CHECKING:
    from untrue.ray import Cluster

# Points of accuracy that may be lost where nobody says: no budget is worth any price unasked.
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
    labels, stated = labels_of(source, penalty, PLAIN)
    rows = source_costs(source, stated, cost_columns)
    parts = part(
        labels,
        repetitions=repetitions,
        test_share=test_share,
        watch_share=validation_share,
        given=source.test,
        seed=seed,
    )
    by_class, trained, scale = training_costs(stated, rows, labels, parts.development)
    resolved = resolve_all(
        budgets, by_class, groups=groups, zone_above=zone_above, examples=len(parts.held_out)
    )
    check_by_class([each.budget for each in resolved], rows)
    judge, notes = _judge(labels, parts, by_class, resolved, confidence, max_accuracy_drop, rows)
    if source.test is not None:
        notes = (GIVEN_PART, *notes)
    if tell is not None:
        for note in notes:
            tell(note)
    learner, preprocessing, inputs = prepare(
        source, choice, settings, by_class.n_classes, parts.development
    )
    ahead = None
    if tell is not None:
        ahead = learner.outlook(PLAIN, trained, 0.0, inputs, labels, parts.final)
    if tell is not None and ahead is not None:
        least, most = repetitions + 1, (1 + trials) * repetitions + 2
        tell(f"{ahead}; {least} to {most} models")
    with (
        nullcontext() if cluster is None else _connected(cluster),
        closing(Record(None if record is None else Path(record))) as store,
    ):
        trainer = CachingTrainer(
            inputs=inputs,
            labels=labels,
            parts=parts,
            learner=learner,
            n_classes=by_class.n_classes,
            seed=seed,
            costs=lambda by: _training_costs(times(stated, resolved, by), rows, scale),
            record=store,
            facts={"inputs": digest(inputs), "labels": digest(labels)},
            deadline=None if time_limit is None else time.monotonic() + time_limit,
            on_epoch=on_progress,
            on_kept=None if tell is None else lambda name: tell(f"{name}: trained before"),
            cluster=cluster,
        )
        found = search(trainer, judge, losses=losses, trials=trials, tell=tell)
        plain = trainer.final(Recipe())
        recipe = found.chosen.recipe
        made = plain if recipe == Recipe() else trainer.final(recipe)
        if store.damaged:
            notes = (*notes, _damage(store.damaged))
            if tell is not None:
                tell(notes[-1])
    held_out = parts.held_out
    probs, before = trainer.probs(recipe, made, held_out), argmax(plain.logits)
    own = None if rows is None else rows.take(held_out)
    outcome = judge.confirm(found.chosen, probs, labels[held_out], own, before)
    many = many_outside(trainer.outside(recipe, made, held_out), recipe.alpha, "held-out examples")
    notes += () if many is None else (f"{many[0].upper()}{many[1:]}.",)
    setting = Setting(recipe, found.chosen.base, outcome.multipliers)
    trained_by = times(stated, resolved, recipe.multipliers)
    own_costs = trained_by is stated
    link = (
        Link(recipe.loss, recipe.alpha, by_class, scale, None if own_costs else trained_by)
        if isinstance(trained_by, FormulaPenalty)
        else Link(recipe.loss, recipe.alpha, trained_by)
    )
    tuned = tuned_model(source, preprocessing, trainer, judge, made, setting, link, outcome)
    return tune_result(
        tuned,
        source,
        trainer,
        judge,
        found,
        outcome,
        before=before,
        predicted=answers(probs, tuned.decision, own),
        notes=notes,
        labels=answer_labels(y, by_class.classes, classes),
        seconds=time.perf_counter() - started,
    )


def _training_costs(
    stated: Penalty | FormulaPenalty, rows: RowCosts | None, scale: float
) -> Penalty | ExamplePenalty:
    """Costs to train with: of all examples where they are by columns, scaled."""
    if isinstance(stated, FormulaPenalty):
        assert rows is not None
        return rows.of(stated).scaled(scale)
    return stated


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
        if loss not in registry.MIXED:
            raise ArgumentError(
                f"Unknown loss {loss!r}{nearest(loss, registry.MIXED) or '.'} "
                f"Known: {', '.join(registry.MIXED)}."
            )
    check_count("trials", trials, least=0, most=MOST_REPETITIONS)
    if time_limit is not None and not time_limit >= 0:
        raise ArgumentError(f"`time_limit` must be 0 or more seconds; got {time_limit}.")
    if max_drop is not None and not 0 <= max_drop <= 100:
        raise ArgumentError(f"`max_accuracy_drop` must lie in [0, 100], in points; got {max_drop}.")


def _judge(
    labels: IntArray,
    parts: Parts,
    penalty: Penalty,
    budgets: tuple[ResolvedBudget, ...],
    confidence: float,
    max_drop: float | None,
    rows: RowCosts | None,
) -> tuple[Judge, tuple[str, ...]]:
    """The judge of the examples tuned on, and what to know before anything is trained."""
    check_confidence(confidence)
    own, last = labels[parts.development], labels[parts.held_out]
    check_seen(own, budgets, "part to tune on")
    warn_of_absent(penalty.classes, {penalty.classes[i] for i in np.unique(own)})
    notes = [too_few(budget, last, confidence) for budget in budgets]
    sample = None
    if len(own) > MOST_FOR_PATH:
        sample = np.sort(np.random.default_rng(0).permutation(len(own))[:MOST_FOR_PATH])
    judged = parts.development if sample is None else parts.development[sample]
    judge = Judge(
        true=labels[judged],
        penalty=penalty,
        budgets=budgets,
        held_out=len(last),
        provable=tuple(note is None for note in notes),
        confidence=confidence,
        max_drop=max_drop,
        rows=None if rows is None else rows.take(judged),
        sample=sample,
    )
    return judge, tuple(note for note in notes if note is not None)
