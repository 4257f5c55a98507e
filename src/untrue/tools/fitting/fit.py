"""Train a classifier on a person's own data by what mistakes cost: `untrue fit`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch.nn.functional as F
from torch import nn

from untrue.decision import calibrate, decide, temperature_interval
from untrue.errors import ArgumentError, DataError, UntrueWarning, nearest
from untrue.losses import registry
from untrue.metrics import Cells, Summary, confusion_cells, summary
from untrue.metrics.inputs import IntArray
from untrue.metrics.zones import zone_pairs
from untrue.networks import NetworkSpec, choose
from untrue.penalty import Penalty
from untrue.penalty.stated import named_for
from untrue.penalty.zone import zone_threshold
from untrue.tools.auditing.calibration import known_within, trust
from untrue.tools.auditing.pairing import PairedChange, paired_change
from untrue.tools.fitting.model import Model, argmax, calibrated
from untrue.tools.reading.images import warn_of_absent
from untrue.tools.reading.sources import Labels, Source, class_positions
from untrue.tools.reading.tables import listed
from untrue.training import OWN_DATA, Settings
from untrue.training.evaluation import Objective, logits_of
from untrue.training.examples import Examples
from untrue.training.loop import train_new
from untrue.training.progress import History, Progress
from untrue.training.splits import Split, split_by_share

PLAIN = registry.CROSS_ENTROPY
LOSSES = (*registry.MIXED, PLAIN)


@dataclass(frozen=True, slots=True)
class Variant:
    """A model with a decision, evaluated on the test part.

    name     "bilinear, alpha 0.5", or "+ least cost" when it decides by least expected cost
    change   paired, against the plain variant; None for that itself, or without a baseline
    """

    name: str
    summary: Summary
    confusion: Cells
    change: PairedChange | None


@dataclass(frozen=True, slots=True, eq=False)
class FitResult:
    """A model and how it does beside the plain one.

    variants   the plain model first (when there is one), then the model that is kept
    chosen     position in `variants` of the model that is kept, deciding by the most probable class
    notes      what speaks against trusting it
    zone_above errors that cost more are in the zone
    """

    model: Model
    source: str
    variants: tuple[Variant, ...]
    chosen: int
    zone_above: float
    history: History
    baseline_history: History | None
    sizes: tuple[int, int, int]
    seconds: float
    notes: tuple[str, ...] = ()


def fit(
    source: Source,
    penalty: Penalty | None,
    *,
    loss: str = "bilinear",
    alpha: float = 0.5,
    network: str | None = None,
    settings: Settings = OWN_DATA,
    seed: int = 0,
    baseline: bool = True,
    test_share: float = 0.2,
    validation_share: float = 0.15,
    on_epoch: Callable[[str, Progress], None] | None = None,
) -> FitResult:
    """Train on the training part of `source`, stop by the validation part, measure on the test.

    Without a penalty (cross-entropy only) every mistake costs 1.
    """
    started = time.perf_counter()
    if loss not in LOSSES:
        raise ArgumentError(
            f"Unknown loss {loss!r}{nearest(loss, LOSSES) or '.'} Known: {', '.join(LOSSES)}."
        )
    labels, penalty = labels_of(source, penalty, loss)
    parts = split_by_share(
        labels,
        test_share=test_share,
        validation_share=validation_share,
        held_out=source.test,
        seed=seed,
    )
    warn_of_absent(penalty.classes, {penalty.classes[i] for i in np.unique(labels[parts.train])})
    plain_name, name = PLAIN, _name(loss, alpha)
    objectives: dict[str, Objective] = {name: objective_of(loss, penalty, alpha)}
    if baseline and loss != PLAIN:
        objectives = {plain_name: F.cross_entropy} | objectives
    preprocessing = source.fit_preprocessing(parts.train)
    inputs = source.inputs(preprocessing)
    spec = choose(network, inputs.shape[1:], penalty.n_classes)
    above = zone_threshold(penalty)
    variants: list[Variant] = []
    made: dict[str, tuple[nn.Module, History, float]] = {}
    first: IntArray | None = None
    for each, objective in objectives.items():
        made[each], answers = _train_one(
            each, objective, spec, inputs, labels, parts, penalty, settings, seed, on_epoch
        )
        for variant, predicted in answers.items():
            variants.append(
                _measured(variant, predicted, labels[parts.test], penalty, above, plain=first)
            )
            first = predicted if first is None and each == plain_name else first
    net, history, temperature = made[name]
    model = Model(
        kind=source.kind,
        penalty=penalty,
        preprocessing=preprocessing,
        spec=spec,
        network=net,
        temperature=temperature,
        target=source.labels.column if source.labels and source.kind != "images" else None,
        training={
            "loss": loss,
            "alpha": alpha if loss != PLAIN else 0.0,
            **settings.to_dict(),
            "seed": seed,
            "best_epoch": history.best_epoch,
            "train": len(parts.train),
            "validation": len(parts.validation),
            "test": len(parts.test),
        },
    )
    return FitResult(
        model=model,
        source=str(source.path),
        variants=tuple(variants),
        chosen=[variant.name for variant in variants].index(name),
        zone_above=above,
        history=history,
        baseline_history=made[plain_name][1] if len(made) == 2 else None,
        sizes=(len(parts.train), len(parts.validation), len(parts.test)),
        seconds=time.perf_counter() - started,
        notes=_doubts(logits_of(net, inputs[parts.validation]), labels[parts.validation]),
    )


def labels_of(source: Source, penalty: Penalty | None, loss: str) -> tuple[IntArray, Penalty]:
    """The class of each example, and the penalty; all mistakes cost 1 where none is given."""
    if source.labels is None:
        raise DataError(f"{source.path} has no labels to learn from.")
    if penalty is None:
        if loss != PLAIN:
            raise ArgumentError(
                f"The loss {loss!r} needs to know what mistakes cost: --penalty FILE (make one "
                "with `untrue penalty new`), or --loss cross-entropy for a plain model."
            )
        present = np.unique(source.labels.codes)
        names = sorted(source.labels.names[code] for code in present.tolist())
        penalty = Penalty.from_rules(names, {}, default=1.0)
    penalty = named_by(source.labels, penalty)
    return class_positions(source.labels, penalty.classes, str(source.path)), penalty


def named_by(labels: Labels, penalty: Penalty) -> Penalty:
    """The penalty, with the names of the labels in sorted order where it has none of its own."""
    present = [labels.names[code] for code in np.unique(labels.codes).tolist()]
    named = named_for(penalty, present)
    if named is not penalty:
        warnings.warn(
            "the penalty has no class names; its rows are taken for the labels in sorted order: "
            f"{listed(named.classes)}",
            UntrueWarning,
            stacklevel=4,
        )
    return named


def _name(loss: str, alpha: float) -> str:
    return loss if loss == PLAIN else f"{loss}, alpha {alpha:g}"


def objective_of(loss: str, penalty: Penalty, alpha: float) -> Objective:
    """What is minimised, by the name of the loss."""
    if loss == PLAIN:
        return F.cross_entropy
    return registry.find(loss).make(penalty, strength=alpha)


def _train_one(
    name: str,
    objective: Objective,
    spec: NetworkSpec,
    inputs: npt.NDArray[np.float32],
    labels: IntArray,
    parts: Split,
    penalty: Penalty,
    settings: Settings,
    seed: int,
    on_epoch: Callable[[str, Progress], None] | None,
) -> tuple[tuple[nn.Module, History, float], dict[str, IntArray]]:
    """A trained network with its history and temperature, and its answers on the test part."""
    tell = None if on_epoch is None else lambda progress: on_epoch(name, progress)
    made = train_network(name, objective, spec, inputs, labels, parts, settings, seed, tell)
    network, _, temperature = made
    probs = calibrated(logits_of(network, inputs[parts.test]), temperature)
    answers = {name: argmax(probs), f"{name} + least cost": decide(probs, penalty)}
    return made, answers


def train_network(
    name: str,
    objective: Objective,
    spec: NetworkSpec,
    inputs: npt.NDArray[np.float32],
    labels: IntArray,
    parts: Split,
    settings: Settings,
    seed: int,
    on_epoch: Callable[[Progress], None] | None = None,
) -> tuple[nn.Module, History, float]:
    """A network trained on one part, stopped and calibrated by another: with its temperature."""
    network, history = train_new(
        spec,
        objective,
        Examples.place(inputs[parts.train], labels[parts.train]),
        settings,
        seed=seed,
        watched=Examples.place(inputs[parts.validation], labels[parts.validation]),
        on_progress=on_epoch,
    )
    held_back = logits_of(network, inputs[parts.validation])
    return network, history, _temperature(name, held_back, labels[parts.validation])


def _temperature(name: str, logits: npt.NDArray[np.float32], labels: IntArray) -> float:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UntrueWarning)
        found = calibrate(logits, labels).temperature
    if caught:
        warnings.warn(
            f"the model by {name} tells no more than chance on the validation part; train longer, "
            "or ask whether the columns can tell the classes apart",
            UntrueWarning,
            stacklevel=4,
        )
    return found


def _doubts(logits: npt.NDArray[np.float32], labels: IntArray) -> tuple[str, ...]:
    """What speaks against trusting the calibration."""
    within = known_within(logits, *temperature_interval(logits, labels))
    doubt = trust(len(labels), within)
    return () if doubt is None else (f"{doubt}; more data, or a larger --validation-share, help",)


def _measured(
    name: str,
    predicted: IntArray,
    true: IntArray,
    penalty: Penalty,
    above: float,
    *,
    plain: IntArray | None,
) -> Variant:
    cells = confusion_cells(true, predicted, penalty.n_classes)
    found = summary(
        cells,
        penalty=penalty,
        zone=zone_pairs(cells, penalty, above),
        resamples=1000,
    )
    change = None if plain is None else paired_change(true, plain, predicted, penalty, above=above)
    return Variant(name, found, cells, change)
