"""What comes before a training on a person's own data: model, inputs, labels and costs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.errors import ArgumentError, DataError, UntrueWarning, listed
from untrue.losses import registry
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.penalty.stated import formulas_over, named_for, penalty_over, sorted_labels
from untrue.tools.fitting.learners import BoosterSettings, Choice, FitTask, Learner, choose_model
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.row_costs import RowCosts, training_scale
from untrue.tools.reading.sources import Labels, Preprocessing, Source, class_positions
from untrue.training import Settings, suited_to
from untrue.training.splits import Split

PLAIN = registry.CROSS_ENTROPY
# Mean cost of a mistake from which costs, where they are stated by class, are too large for alpha.
LARGE_COST = 10.0


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
        # Before the library is imported, which takes as much memory as many tables do.
        source.release()
        booster = booster_learner(
            choice.name, settings, n_classes, preprocessing.inputs[0], preprocessing.categorical
        )
        return booster, preprocessing, inputs
    from untrue import networks
    from untrue.tools.fitting.network import NetworkLearner

    preprocessing = source.fit_preprocessing(train)
    inputs = source.inputs(preprocessing)
    source.release()
    asked = None if choice.name == "network" else choice.name  # None: what fits the data
    spec = networks.choose(asked, inputs.shape[1:], n_classes)
    return NetworkLearner(spec, settings), preprocessing, inputs


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
    penalty = rows.examples.take(train).mean(labels[train])
    scale = training_scale(penalty, labels[train])
    return penalty, rows.examples.scaled(scale), scale


def training_record(
    loss: str, alpha: float, learner: Learner, seed: int, best_epoch: int, parts: Split
) -> dict[str, Any]:
    """How a model was trained, for its folder."""
    return {
        "loss": loss,
        "alpha": alpha if loss != PLAIN else 0.0,
        **learner.settings(),
        "seed": seed,
        "best_epoch": best_epoch,
        "train": len(parts.train),
        "validation": len(parts.validation),
        "test": len(parts.test),
    }


def large_costs(task: FitTask) -> tuple[str, ...]:
    """A note on costs so large, in money say, that they drown the cross-entropy at any alpha.

    Costs of each example are scaled for training (`training_costs`).
    """
    if task.loss == PLAIN or task.alpha == 0 or not isinstance(task.penalty, Penalty):
        return ()
    mean = 1 / training_scale(task.penalty, task.labels[task.parts.train])
    if mean <= LARGE_COST:
        return ()
    return (
        f"a mistake costs {mean:,.0f} on average, far from 1, so that hardly anything but costs "
        f"is left in the loss: divide all costs by about {float(f'{mean:.1g}'):,.0f}",
    )


def check_costs(loss: str, penalty: Any) -> None:
    """Refuse a loss by costs without costs."""
    if penalty is None and loss != PLAIN:
        raise ArgumentError(
            f"The loss {loss!r} needs to know what mistakes cost: give `penalty` (--penalty FILE; "
            "make one with `untrue penalty new`), or the loss cross-entropy for a plain model."
        )


def labels_of(
    source: Source, penalty: Any, order: tuple[str, ...] | None = None
) -> tuple[IntArray, Penalty | FormulaPenalty]:
    """The class of each example, and the penalty; all mistakes cost 1 where none is given.

    order: of the classes, where a model has one; kept where the penalty has the same classes
    """
    if isinstance(penalty, ExamplePenalty):
        raise ArgumentError(
            "`penalty` holds costs of certain examples, but a model must know those of new ones: "
            "give a FormulaPenalty(base, {(true, predicted): 'amount'}), and the columns in the "
            "file or as `cost_columns`."
        )
    if source.labels is None:
        raise DataError(f"{source.path} has no labels to learn from.")
    if not isinstance(penalty, Penalty | FormulaPenalty):
        penalty = penalty_over(penalty, sorted_labels(_present(source.labels)))
    penalty = named_by(source.labels, penalty)
    if order is not None and set(order) == set(penalty.classes):
        penalty = (
            formulas_over(penalty, penalty.base.select(order))
            if isinstance(penalty, FormulaPenalty)
            else penalty.select(order)
        )
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
