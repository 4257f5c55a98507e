"""What trains a model on a person's own data: a network or boosted trees, behind one contract."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_count, check_known, check_number
from untrue.decision import calibrate
from untrue.errors import ArgumentError, UntrueWarning
from untrue.penalty import ExamplePenalty, Penalty
from untrue.training.progress import History, Progress
from untrue.training.splits import Split

BOOSTERS = ("lightgbm", "xgboost")
NETWORKS = ("network", "linear", "mlp", "cnn", "compact")
MODELS = (*BOOSTERS, *NETWORKS)
Tell = Callable[[Progress], None]


class Predictor(Protocol):
    """A trained model: from inputs to scores whose softmax are probabilities, and to a file."""

    @property
    def file(self) -> str:
        """The name of its file in a model folder."""
        ...

    @property
    def inputs(self) -> tuple[int, ...]:
        """The shape of one example."""
        ...

    @property
    def n_classes(self) -> int: ...

    def logits(self, inputs: npt.NDArray[Any]) -> FloatArray:
        """Scores (N, k)."""
        ...

    def content(self) -> bytes:
        """What the file holds."""
        ...

    def description(self) -> dict[str, Any]:
        """What is needed beside the file to read it back, as plain JSON."""
        ...

    def words(self) -> str:
        """What it is, for a page."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A trained model, and how its training went."""

    predictor: Predictor
    history: History


@dataclass(frozen=True, slots=True, eq=False)
class FitTask:
    """What one model is trained by and on.

    loss, alpha  the name of the loss, and the share of the costs in it
    penalty      costs by class, or those of each of all examples
    inputs       (N, ...) all examples; labels: (N,) their classes
    parts        which examples are learned from, and which decide when to stop
    """

    loss: str
    penalty: Penalty | ExamplePenalty
    alpha: float
    inputs: npt.NDArray[Any]
    labels: IntArray
    parts: Split


class Learner(Protocol):
    """How models are trained: everything but the loss, the examples and the seed."""

    def train(self, task: FitTask, *, seed: int, on_progress: Tell | None = None) -> Fitted:
        """Train on one part; stop by another."""
        ...

    def time_in_words(self, task: FitTask) -> str | None:
        """How long one training may take, in words; None where that is not known."""
        ...

    def settings(self) -> dict[str, Any]:
        """All that determines a training beside the loss, the examples and the seed, as JSON."""
        ...


def load_predictor(description: Mapping[str, Any], content: bytes) -> Predictor:
    """A trained model from what `Predictor` wrote; a ValueError where its parts do not fit."""
    if description["kind"] in BOOSTERS:
        from untrue.tools.fitting import booster

        return booster.load(description, content)
    if description["kind"] != "network":
        raise ValueError(f"a model of kind {description['kind']!r}")
    from untrue.tools.fitting import network

    return network.load(description, content)


@dataclass(frozen=True, slots=True)
class BoosterSettings:
    """How trees are boosted.

    rounds         trees of each class, at most
    learning_rate  how much of each tree counts
    leaves         of a tree, at most
    patience       rounds without a lower loss on the validation part before it stops
    """

    rounds: int = 500
    learning_rate: float = 0.1
    leaves: int = 31
    patience: int = 30

    def __post_init__(self) -> None:
        check_count("rounds", self.rounds)
        check_number("learning_rate", self.learning_rate, 0.0, ends=False)
        check_count("leaves", self.leaves, least=2)
        check_count("patience", self.patience)


@dataclass(frozen=True, slots=True)
class Choice:
    """The kind of model to train, and why, in words.

    note: what to say before the training, where it is not the kind that a person would expect
    """

    name: str
    why: str
    note: str | None = None

    @property
    def boosted(self) -> bool:
        return self.name in BOOSTERS


def choose_model(
    asked: str | None, kind: str, *, only_network: tuple[str, ...] = (), only_trees: bool = False
) -> Choice:
    """The kind of model for data of a kind ("table", "images", ...).

    only_network  options that were given and that only a network has; only_trees: one that only
                  boosted trees have was given
    """
    images = "images" in kind
    if asked is not None:
        if not isinstance(asked, str):
            raise ArgumentError(
                f"`model` must be a name ({', '.join(MODELS)}); got {asked!r}. For a model of your "
                "own, use `untrue.control` on its probabilities."
            )
        check_known("model", asked, MODELS)
        if asked in BOOSTERS and images:
            raise ArgumentError(f"Model {asked!r} is for tables; images take 'network' or 'cnn'.")
        if asked in BOOSTERS and only_network:
            raise ArgumentError(
                f"{only_network[0]} belongs to a network; with model {asked!r} it has no effect."
            )
        if asked not in BOOSTERS and only_trees:
            raise ArgumentError(
                f"`rounds` belongs to boosted trees; with model {asked!r} it has no effect."
            )
        return Choice(asked, "as asked")
    if only_trees and (images or only_network):
        other = f"{only_network[0]} to a network: leave out one"
        why = "images take a network: leave it out" if images else other
        raise ArgumentError(f"`rounds` belongs to boosted trees, and {why}.")
    if images:
        return Choice("network", "the data are images")
    boosting = importlib.util.find_spec("lightgbm") is not None
    if only_network:
        why = f"{only_network[0]} belongs to a network"
        note = (
            f"Note that {why}, so one is trained. Boosted trees, the usual choice for a table, "
            "take `rounds` instead; `model` (--model) names either."
        )
        return Choice("network", why, note if boosting else None)
    if boosting:
        return Choice("lightgbm", "boosted trees are the best start for a table")
    if only_trees:
        raise ArgumentError(
            '`rounds` needs boosted trees, which are not installed: pip install "untrue[boosting]".'
        )
    return Choice("network", 'boosted trees are not installed: pip install "untrue[boosting]"')


AT_CHANCE = "train longer, or check whether the columns distinguish the classes"


def softmax_temperature(
    name: str, logits: FloatArray, labels: IntArray, advice: str = AT_CHANCE
) -> float:
    """The temperature that calibrates scores on held-out examples, with a warning and `advice`
    where they are no better than chance."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UntrueWarning)
        found = calibrate(np.asarray(logits), labels).temperature
    if caught:
        warnings.warn(
            f"the model by {name} is no better than chance on the validation part; {advice}",
            UntrueWarning,
            stacklevel=4,
        )
    return found
