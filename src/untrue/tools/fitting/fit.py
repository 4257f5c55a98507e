"""Train a classifier on a person's own data by what mistakes cost: `untrue fit`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.checks import check_choice, check_number, check_seed
from untrue.decision import decide, temperature_interval
from untrue.errors import ArgumentError, DataError, UntrueWarning, listed
from untrue.losses import registry
from untrue.metrics import confusion_cells, example_cells, summary
from untrue.metrics.inputs import FloatArray, IntArray
from untrue.metrics.pairing import paired_change
from untrue.metrics.zones import zone_pairs
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.penalty.stated import formulas_over, in_order, named_for, penalty_over
from untrue.penalty.zone import zone_threshold
from untrue.tools.auditing.calibration import known_within, trust
from untrue.tools.fitting.learners import (
    BoosterSettings,
    Choice,
    Fitted,
    Learner,
    choose_model,
    softmax_temperature,
)
from untrue.tools.fitting.link import Link, class_probs, many_outside
from untrue.tools.fitting.model import Model, argmax
from untrue.tools.fitting.result import LEAST_COST, FitResult, Variant
from untrue.tools.fitting.start import read_start, rows_digest
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.images import warn_of_absent
from untrue.tools.reading.labels import answer_labels
from untrue.tools.reading.opening import as_source
from untrue.tools.reading.row_costs import RowCosts, by_class, source_costs, training_scale
from untrue.tools.reading.sources import Labels, Preprocessing, Source, class_positions
from untrue.training import Settings, suited_to
from untrue.training.progress import Progress
from untrue.training.splits import split_by_share

PLAIN = registry.CROSS_ENTROPY
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
    on_progress, tell called with (name of the model, progress), and with how long it may take
    """
    started = time.perf_counter()
    check_choice("loss", loss, LOSSES)
    check_number("alpha", alpha, 0.0, 1.0)
    check_seed(seed)
    source = as_source(data, y, target=target, classes=classes)
    given = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "patience": patience,
    }
    start = None if start_from is None else read_start(start_from)
    choice: Choice
    settings: Settings | BoosterSettings
    if start is None:
        choice, settings = choose(model, source, **given, rounds=rounds)  # type: ignore[arg-type]
    else:
        choice, settings = start.choose(model, given, rounds=rounds)
    labels, stated = labels_of(source, penalty, loss)
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
    warn_of_absent(penalty.classes, {penalty.classes[i] for i in np.unique(labels[parts.train])})
    if start is None or isinstance(settings, BoosterSettings):
        learner, preprocessing, inputs = prepare(
            source, choice, settings, penalty.n_classes, parts.train
        )
    else:
        start.check(source, penalty.classes, parts, seed)
        learner, preprocessing, inputs = start.prepare(source, settings)
        start.check_rows(inputs, labels, parts)
    name = _name(loss, alpha)
    wanted = {name: loss}
    if baseline and loss != PLAIN:
        wanted = {PLAIN: PLAIN} | wanted
    above = zone_threshold(penalty)
    if tell is not None:
        ahead = learner.outlook(loss, costs, alpha, inputs, labels, parts)
        if ahead is not None:
            tell(ahead if len(wanted) == 1 else f"{ahead}; {len(wanted)} models")
    held, test = (
        None if rows is None else rows.examples.take(part)
        for part in (parts.validation, parts.test)
    )
    validation_labels = labels[parts.validation]
    variants: list[Variant] = []
    made: dict[str, _Trained] = {}
    plain: IntArray | None = None
    for each, its_loss in wanted.items():
        named = None if on_progress is None else _named(on_progress, each)
        fitted = learner.train(
            its_loss, costs, alpha, inputs, labels, parts, seed=seed, on_progress=named
        )
        link = Link(its_loss, alpha, penalty, scale)
        made[each] = _trained(each, fitted, link, inputs[parts.validation], validation_labels, held)
        scores = fitted.predictor.logits(inputs[parts.test])
        answers = {each: argmax(scores)}
        if by_cost:
            probs = class_probs(scores, link, made[each].temperature, test)
            answers[f"{each}{LEAST_COST}"] = decide(probs, penalty if test is None else test)
        for variant, predicted in answers.items():
            variants.append(
                _measured(variant, predicted, labels[parts.test], penalty, above, plain, test)
            )
            plain = predicted if variant == PLAIN else plain
    ours = made[name]
    kept = Model(
        kind=source.kind,
        penalty=penalty,
        preprocessing=preprocessing,
        predictor=ours.fitted.predictor,
        temperature=ours.temperature,
        link=ours.link,
        costs=None if rows is None else rows.stated,
        target=source.labels.column if source.labels and source.kind != "images" else None,
        training={
            "loss": loss,
            "alpha": alpha if loss != PLAIN else 0.0,
            **learner.settings(),
            "seed": seed,
            "best_epoch": ours.fitted.history.best_epoch,
            "train": len(parts.train),
            "validation": len(parts.validation),
            "test": len(parts.test),
            **({} if choice.boosted else {"rows_sha256": rows_digest(inputs, labels, parts)}),
            **({} if start is None else {"start_from": start.record()}),
        },
    )
    return FitResult(
        model=kept,
        source=str(source.path),
        variants=tuple(variants),
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


def choose(
    model: str | None,
    source: Source,
    *,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    rounds: int | None = None,
) -> tuple[Choice, Settings | BoosterSettings]:
    """The kind of model for these data, and its usual settings with what was given instead."""
    of_network = {"epochs": epochs, "batch_size": batch_size}
    choice = choose_model(
        model,
        source.kind,
        only_network=tuple(f"`{name}`" for name, value in of_network.items() if value is not None),
        only_trees=rounds is not None,
    )
    given: dict[str, Any] = {"learning_rate": learning_rate, "patience": patience}
    given |= {"rounds": rounds} if choice.boosted else of_network
    usual = BoosterSettings() if choice.boosted else suited_to(len(source))
    asked = {name: value for name, value in given.items() if value is not None}
    return choice, replace(usual, **asked)


def prepare(
    source: Source,
    choice: Choice,
    settings: Settings | BoosterSettings,
    n_classes: int,
    train: IntArray,
) -> tuple[Learner, Preprocessing, npt.NDArray[Any]]:
    """The learner, how values become inputs (learned from `train` alone), and all inputs."""
    if isinstance(settings, BoosterSettings):
        from untrue.tools.fitting.booster import booster_learner

        preprocessing = source.fit_preprocessing(train, "codes")
        assert isinstance(preprocessing, TableCodes)
        inputs = source.inputs(preprocessing)
        # Before the library comes, which with all it imports takes as much memory as many a table.
        source.release()
        booster = booster_learner(
            choice.name, settings, n_classes, preprocessing.inputs[0], preprocessing.categorical
        )
        return booster, preprocessing, inputs
    from untrue.tools.fitting.network import network_learner

    preprocessing = source.fit_preprocessing(train)
    inputs = source.inputs(preprocessing)
    source.release()
    network = network_learner(choice.name, inputs.shape[1:], n_classes, settings)
    return network, preprocessing, inputs


def _named(on_progress: Callable[[str, Progress], None], name: str) -> Callable[[Progress], None]:
    return lambda progress: on_progress(name, progress)


def training_costs(
    stated: Penalty | FormulaPenalty, rows: RowCosts | None, labels: IntArray, train: IntArray
) -> tuple[Penalty, Penalty | ExamplePenalty, float]:
    """Costs by class; those to train with, of all examples where they are by columns; their scale.

    By class costs by columns are the means of the training examples. For training they are scaled
    (`training_scale`), so that alpha means the same in every unit.
    """
    if rows is None:
        assert isinstance(stated, Penalty)
        return stated, stated, 1.0
    penalty = by_class(rows.examples, labels, train)
    scale = training_scale(penalty, labels[train])
    return penalty, rows.examples.scaled(scale), scale


def labels_of(source: Source, penalty: Any, loss: str) -> tuple[IntArray, Penalty | FormulaPenalty]:
    """The class of each example, and the penalty; all mistakes cost 1 where none is given."""
    if isinstance(penalty, ExamplePenalty):
        raise ArgumentError(
            "`penalty` holds costs of certain examples, but a model must know those of new ones: "
            "give a FormulaPenalty(base, {(true, predicted): 'amount'}), and the columns in the "
            "file or as `cost_columns`."
        )
    if source.labels is None:
        raise DataError(f"{source.path} has no labels to learn from.")
    if penalty is None:
        if loss != PLAIN:
            raise ArgumentError(
                f"The loss {loss!r} needs to know what mistakes cost: give `penalty` (--penalty "
                "FILE; make one with `untrue penalty new`), or the loss cross-entropy for a plain "
                "model."
            )
        penalty = Penalty.from_rules(sorted(_present(source.labels)), {}, default=1.0)
    elif not isinstance(penalty, Penalty | FormulaPenalty):
        penalty = penalty_over(penalty, in_order(_present(source.labels)))
    penalty = named_by(source.labels, penalty)
    return class_positions(source.labels, penalty.classes, str(source.path)), penalty


def named_by(labels: Labels, penalty: Penalty | FormulaPenalty) -> Penalty | FormulaPenalty:
    """The penalty, with the names of the labels in sorted order where it has none of its own."""
    base = penalty.base if isinstance(penalty, FormulaPenalty) else penalty
    named = named_for(base, _present(labels))
    if named is not base:
        warnings.warn(
            "the penalty has no class names; its rows are taken for the labels in sorted order: "
            f"{listed(named.classes)}",
            UntrueWarning,
            stacklevel=4,
        )
    return formulas_over(penalty, named) if isinstance(penalty, FormulaPenalty) else named


def _present(labels: Labels) -> list[str]:
    """The names of the labels that examples have."""
    return [labels.names[code] for code in np.unique(labels.codes).tolist()]


def _name(loss: str, alpha: float) -> str:
    return loss if loss == PLAIN else f"{loss}, alpha {alpha:g}"


@dataclass(frozen=True, slots=True, eq=False)
class _Trained:
    """A model by one loss, what its scores stand for, and reasons not to trust them."""

    fitted: Fitted
    link: Link
    temperature: float
    doubts: tuple[str, ...]


def _trained(
    name: str,
    fitted: Fitted,
    link: Link,
    inputs: npt.NDArray[Any],
    labels: IntArray,
    each: ExamplePenalty | None,
) -> _Trained:
    """Calibrated on the validation part: `inputs`, `labels`, and the costs of `each` example."""
    logits, outside = link.read(fitted.predictor.logits(inputs), each)
    temperature = softmax_temperature(name, logits, labels)
    return _Trained(fitted, link, temperature, _doubts(logits, outside, labels, link.alpha))


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
    name: str,
    predicted: IntArray,
    true: IntArray,
    penalty: Penalty,
    above: float,
    plain: IntArray | None,
    each: ExamplePenalty | None,
) -> Variant:
    k = penalty.n_classes
    cells = confusion_cells(true, predicted, k)
    costs = penalty if each is None else each
    found = summary(
        cells if each is None else example_cells(true, predicted, k),
        penalty=costs,
        zone=zone_pairs(cells, penalty, above),
        resamples=1000,
    )
    change = None if plain is None else paired_change(true, plain, predicted, costs, above=above)
    return Variant(name, found, cells, change)
