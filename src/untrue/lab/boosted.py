"""Runs of boosted trees on a table: the losses that they have, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.errors import ArgumentError
from untrue.lab import scoring
from untrue.lab.own_data import Opened
from untrue.lab.records import DatasetInfo, RunConfig
from untrue.losses import registry
from untrue.tools.fitting.booster import booster_learner
from untrue.tools.fitting.learners import BOOSTERS, BoosterSettings, FitTask
from untrue.tools.reading.codes import TableCodes
from untrue.training.progress import History, Progress
from untrue.training.splits import Split, limited

WEIGHTED = "class-weighted"
# With costs by class, weighting the examples by what missing them costs is weighting classes.
METHODS = ("ce", *registry.MIXED, WEIGHTED)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedScores:
    """Raw scores (N, k) of the parts; `seen`: positions of training examples, `train` theirs."""

    parts: Split
    validation: FloatArray
    test: FloatArray
    train: FloatArray
    seen: IntArray
    history: History
    trees: int


def is_boosted(config: RunConfig) -> bool:
    return config.setup.network in BOOSTERS


def check(config: RunConfig, *, images: bool) -> None:
    """Refuse a run that trees cannot make: on images, or with weights, which they have none of."""
    if images:
        raise ArgumentError(f"Model {config.setup.network!r} is for tables; these are images.")
    if config.start is not None or config.keep_weights:
        raise ArgumentError("Boosted trees keep no weights to continue from.")


def without_loss(methods: Iterable[str], network: str) -> dict[str, str]:
    """Of the methods those that trees do not have, each with the reason."""
    if network not in BOOSTERS:
        return {}
    return {name: "is not available for boosted trees" for name in methods if name not in METHODS}


def train_trees(
    config: RunConfig,
    opened: Opened,
    info: DatasetInfo,
    on_progress: Callable[[Progress], None] | None = None,
) -> BoostedScores:
    """Train by the run's loss; stop where the validation loss no longer falls."""
    parts = opened.split(config)
    preprocessing = opened.source.fit_preprocessing(parts.train, "codes")
    assert isinstance(preprocessing, TableCodes)
    inputs, setup = opened.inputs(preprocessing), config.setup
    how = BoosterSettings(
        rounds=setup.training.epochs,
        learning_rate=setup.training.learning_rate,
        patience=setup.training.patience or setup.training.epochs,
    )
    learner = booster_learner(
        setup.network, how, len(info.classes), preprocessing.inputs[0], preprocessing.categorical
    )
    mixed = config.loss in registry.MIXED
    # What is held out is counted by the costs that are charged, where the loss asks for none.
    spec = config.penalty if mixed and config.penalty is not None else config.score_on[0]
    weights = None
    if config.loss == WEIGHTED and config.penalty is not None:
        from untrue.losses.weighted import class_weights

        power = 1.0 if config.knob is None else config.knob[1]
        weights = class_weights(scoring.penalty(config.penalty, info), power=power)[opened.labels]
    task = FitTask(
        loss=config.loss if mixed else registry.CROSS_ENTROPY,
        penalty=scoring.penalty(spec, info),
        alpha=config.alpha,
        inputs=inputs,
        labels=opened.labels,
        parts=parts,
    )
    fitted = learner.train(task, seed=config.seed, on_progress=on_progress, weights=weights)
    seen = parts.train[limited(opened.labels[parts.train], len(parts.test))]
    logits = fitted.predictor.logits
    return BoostedScores(
        parts,
        logits(inputs[parts.validation]),
        logits(inputs[parts.test]),
        logits(inputs[seen]),
        np.asarray(seen),
        fitted.history,
        fitted.history.best_epoch * len(info.classes),
    )
