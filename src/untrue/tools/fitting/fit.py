"""Train a classifier on a person's own data by what mistakes cost: `untrue fit`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_choice, check_number, check_seed
from untrue.decision import decide, temperature_interval
from untrue.losses import registry
from untrue.metrics import confusion_cells, example_cells, summary
from untrue.metrics.pairing import paired_change
from untrue.metrics.zones import zone_pairs
from untrue.penalty import ExamplePenalty, Penalty
from untrue.penalty.zone import zone_threshold
from untrue.tools.auditing.calibration import known_within, trust
from untrue.tools.fitting.learners import (
    BoosterSettings,
    Choice,
    FitTask,
    Fitted,
    Learner,
    softmax_temperature,
)
from untrue.tools.fitting.link import Link, class_probs, many_outside
from untrue.tools.fitting.model import Model, argmax
from untrue.tools.fitting.result import LEAST_COST, FitResult, Variant
from untrue.tools.fitting.setup import (
    PLAIN,
    check_costs,
    choose,
    labels_of,
    large_costs,
    prepare,
    training_costs,
    training_record,
)
from untrue.tools.fitting.start import StartModel, read_start, rows_digest
from untrue.tools.reading.labels import answer_labels, warn_of_absent
from untrue.tools.reading.opening import as_source
from untrue.tools.reading.row_costs import source_costs
from untrue.tools.reading.sources import Preprocessing, Source, label_column
from untrue.training import Settings
from untrue.training.progress import Progress
from untrue.training.splits import Split, split_by_share

LOSSES = (*registry.MIXED, PLAIN)


def fit(
    data: Any,
    y: Any = None,
    *,
    penalty: Any = None,
    cost_columns: Any = None,
    loss: str = "bilinear",
    alpha: float = 0.5,
    model: str | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    rounds: int | None = None,
    start_from: Model | str | Path | None = None,
    baseline: bool = True,
    test_share: float = 0.2,
    validation_share: float = 0.15,
    seed: int = 0,
    target: str | None = None,
    classes: Sequence[str] | None = None,
    on_progress: Callable[[str, Progress], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> FitResult:
    """Train on one part of the data, stop and calibrate by another, measure on a third.

    data, y           arrays, (N, features) or images, or a pandas table, and labels (N,); a table
                      with the labels in the column `target`; or a file or folder as
                      `untrue fit` takes it, with `target`, the column of the labels
    penalty           what mistakes cost: a `Penalty`, matched with the labels by name, a matrix in
                      the order of the sorted labels, or rules {(true, predicted): cost}; without
                      one (then `loss="cross-entropy"`) all cost 1. A `FormulaPenalty` has costs of
                      each example, by columns of the file; the model remembers the formulas
    cost_columns      of arrays: the columns that the formulas name, a table or a dict of arrays
    loss, alpha       "bilinear", "log-bilinear" or "cross-entropy"; the share of the costs
    model             "lightgbm", "xgboost", "network" (what fits the data), "linear", "mlp", "cnn"
                      or "compact"; None: boosted trees for a table where LightGBM is installed
    epochs, batch_size  of a network; rounds: of boosted trees, at most
    learning_rate, patience  of either; None: the usual ones
    start_from        a model, or the folder of one, of these data: its network is trained further
                      by the loss for a few epochs (3 unless `epochs` says); the plain model too
    baseline          train the plain cross-entropy model too, to compare
    test_share        held back to measure on; validation_share: of the rest
    classes           where labels are codes 0, 1, ... that stand for names: these, in their order
    on_progress, tell called with (name of the model, progress), and with what to know before:
                      how long it may take, and why the model is of another kind than usual
    """
    started = time.perf_counter()
    check_choice("loss", loss, LOSSES)
    check_number("alpha", alpha, 0.0, 1.0)
    check_seed(seed)
    check_costs(loss, penalty)
    source = as_source(data, y, target=target, classes=classes)
    given: dict[str, Any] = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "patience": patience,
    }
    start = None if start_from is None else read_start(start_from)
    settings: Settings | BoosterSettings
    if start is None:
        choice, settings = choose(model, source, **given, rounds=rounds)
    else:
        choice, settings = start.choose(model, given, rounds=rounds)
    labels, stated = labels_of(source, penalty, None if start is None else start.model.classes)
    # Where all mistakes cost the same the answer of least cost is the most probable class.
    by_cost = penalty is not None
    rows = source_costs(source, stated, cost_columns)
    parts = split_by_share(
        labels,
        test_share=test_share,
        validation_share=validation_share,
        held_out=source.test,
        seed=seed,
    )
    penalty, costs, scale = training_costs(stated, rows, labels, parts.train)
    warn_of_absent(penalty.classes, labels[parts.train])
    learner, preprocessing, inputs = _prepared(
        source, choice, settings, start, penalty.classes, labels, parts, seed
    )
    task = FitTask(loss, costs, alpha, inputs, labels, parts)
    name = loss if loss == PLAIN else f"{loss}, alpha {alpha:g}"
    wanted = {name: loss}
    if baseline and loss != PLAIN:
        wanted = {PLAIN: PLAIN} | wanted
    if tell is not None:
        _announce(choice, learner, task, len(wanted), tell)
    held, test = (
        None if rows is None else rows.examples.take(part)
        for part in (parts.validation, parts.test)
    )
    above = zone_threshold(penalty)
    made: dict[str, _Trained] = {}
    for each, its_loss in wanted.items():
        made[each] = _fit_variant(
            each,
            learner,
            replace(task, loss=its_loss),
            Link(its_loss, alpha, penalty, scale),
            held,
            test,
            by_cost=by_cost,
            seed=seed,
            on_progress=None if on_progress is None else partial(on_progress, each),
        )
    variants = _measured(made.values(), labels[parts.test], penalty, above, test)
    ours = made[name]
    kept = Model(
        kind=source.kind,
        penalty=penalty,
        preprocessing=preprocessing,
        predictor=ours.fitted.predictor,
        temperature=ours.temperature,
        link=ours.link,
        costs=None if rows is None else rows.stated,
        target=label_column(source),
        training=_training_record(task, learner, ours.fitted, choice, start, seed),
    )
    return FitResult(
        model=kept,
        source=str(source.path),
        variants=variants,
        chosen=[variant.name for variant in variants].index(name),
        zone_above=above,
        history=ours.fitted.history,
        baseline_history=made[PLAIN].fitted.history if len(made) == 2 else None,
        sizes=(len(parts.train), len(parts.validation), len(parts.test)),
        why=choice.why,
        labels=answer_labels(y, penalty.classes, classes),
        seconds=time.perf_counter() - started,
        notes=(
            *ours.doubts,
            *_one_answer(next(v for v in variants if v.name == name), penalty.classes),
        ),
    )


def _prepared(
    source: Source,
    choice: Choice,
    settings: Settings | BoosterSettings,
    start: StartModel | None,
    classes: tuple[str, ...],
    labels: IntArray,
    parts: Split,
    seed: int,
) -> tuple[Learner, Preprocessing, npt.NDArray[Any]]:
    """As `prepare`; from `start` its weights and preprocessing, if the data are those it knows."""
    if start is None or isinstance(settings, BoosterSettings):
        return prepare(source, choice, settings, len(classes), parts.train)
    start.check(source, classes, parts, seed)
    learner, preprocessing, inputs = start.prepare(source, settings)
    start.check_rows(inputs, labels, parts)
    return learner, preprocessing, inputs


def _announce(
    choice: Choice, learner: Learner, task: FitTask, models: int, tell: Callable[[str], None]
) -> None:
    """Say why the model is of another kind than usual, and how long it may take."""
    if choice.note is not None:
        tell(choice.note)
    ahead = learner.time_in_words(task)
    if ahead is not None:
        tell(ahead if models == 1 else f"{ahead}; {models} models")


@dataclass(frozen=True, slots=True, eq=False)
class _Trained:
    """A model by one loss, what its scores stand for, and reasons not to trust them.

    answers  to the test part, (n,), by the name of the variant
    """

    fitted: Fitted
    link: Link
    temperature: float
    doubts: tuple[str, ...]
    answers: dict[str, IntArray]


def _fit_variant(
    name: str,
    learner: Learner,
    task: FitTask,
    link: Link,
    held: ExamplePenalty | None,
    test: ExamplePenalty | None,
    *,
    by_cost: bool,
    seed: int,
    on_progress: Callable[[Progress], None] | None,
) -> _Trained:
    """Train, calibrate on the validation part, answer the test part.

    held, test  the costs of each example of these two parts, where they are by example
    """
    fitted = learner.train(task, seed=seed, on_progress=on_progress)
    scores_of, inputs, parts = fitted.predictor.logits, task.inputs, task.parts
    labels = task.labels[parts.validation]
    logits, outside = link.read(scores_of(inputs[parts.validation]), held)
    # Its warning counts frames: it points at the caller of `fit` from one call below `fit`.
    scale = tuple(f"{note}, or take a far smaller --alpha" for note in large_costs(task))
    temperature = softmax_temperature(name, logits, labels, *scale)
    doubts = (*scale, *_doubts(logits, outside, labels, link.alpha))
    scores = scores_of(inputs[parts.test])
    answers = {name: argmax(scores)}
    if by_cost:
        probs = class_probs(scores, link, temperature, test)
        answers[f"{name}{LEAST_COST}"] = decide(probs, link.penalty if test is None else test)
    return _Trained(fitted, link, temperature, doubts, answers)


def _training_record(
    task: FitTask,
    learner: Learner,
    fitted: Fitted,
    choice: Choice,
    start: StartModel | None,
    seed: int,
) -> dict[str, Any]:
    """`training_record`, with the rows that it learned from and what it started from."""
    best = fitted.history.best_epoch
    record = training_record(task.loss, task.alpha, learner, seed, best, task.parts)
    if not choice.boosted:
        record["rows_sha256"] = rows_digest(task.inputs, task.labels, task.parts)
    if start is not None:
        record["start_from"] = start.record()
    return record


def _doubts(logits: FloatArray, outside: float, labels: IntArray, alpha: float) -> tuple[str, ...]:
    """Reasons not to trust the probabilities; outside: the share of scores that stand for none."""
    within = known_within(logits, *temperature_interval(logits, labels))
    doubt = trust(len(labels), within)
    found = [] if doubt is None else [f"{doubt}; more data, or a larger --validation-share, help"]
    many = many_outside(outside, alpha, "validation examples")
    return tuple(found if many is None else [*found, many])


def _one_answer(variant: Variant, classes: Sequence[str]) -> tuple[str, ...]:
    """A note on a model that always says the same."""
    found = np.unique(variant.confusion.predicted)
    if len(found) != 1:
        return ()
    return (f"{variant.name} answers {classes[int(found[0])]!r} for every test example",)


def _measured(
    made: Iterable[_Trained],
    true: IntArray,
    penalty: Penalty,
    above: float,
    each: ExamplePenalty | None,
) -> tuple[Variant, ...]:
    """The answers of all models, each beside those of the plain one, which comes first."""
    k, costs = penalty.n_classes, penalty if each is None else each
    variants: list[Variant] = []
    plain: IntArray | None = None
    for name, predicted in (answer for model in made for answer in model.answers.items()):
        cells = confusion_cells(true, predicted, k)
        found = summary(
            cells if each is None else example_cells(true, predicted, k),
            penalty=costs,
            zone=zone_pairs(cells, penalty, above),
            resamples=1000,
        )
        beside = (
            None if plain is None else paired_change(true, plain, predicted, costs, above=above)
        )
        variants.append(Variant(name, found, cells, beside))
        plain = predicted if name == PLAIN else plain
    return tuple(variants)
