"""How long to train: found on examples that were left out, so that small tables are not memorised.

Each example is left out once. The number of passes after which the mean loss of those left out
was least is then trained on all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from untrue.array_types import FloatArray, IntArray
from untrue.networks.perceptron import Layers, Perceptron
from untrue.training import Settings
from untrue.training.examples import Examples
from untrue.training.loop import train
from untrue.training.optimizers import make_optimizer

FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Inputs (N, d), classes (N,) and weights (N,), all above 0."""

    inputs: FloatArray
    target: IntArray
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.target)

    def some(self, chosen: npt.NDArray[Any]) -> Rows:
        return Rows(self.inputs[chosen], self.target[chosen], self.weight[chosen])

    def parted(self, share: float, rng: np.random.RandomState) -> tuple[Rows, Rows]:
        """All but a share, and that share: of each class, where both parts have room for all."""
        n = len(self)
        left_out = min(math.ceil(share * n), n - 1)
        counts = np.unique(self.target, return_counts=True)[1]
        by_class = counts.min() > 1 and len(counts) <= min(left_out, n - left_out)
        kept, aside = train_test_split(
            np.arange(n),
            test_size=left_out,
            stratify=self.target if by_class else None,
            random_state=rng,
        )
        return self.some(kept), self.some(aside)

    def placed(self) -> Examples:
        weights = self.weight / self.weight.mean()
        return Examples.place(self.inputs, self.target, weights=weights)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingStart:
    """Where a training starts: first weights, the loss (`reduction="none"`), the seed of the
    batches, and the optimizer's state where one goes on."""

    layers: Layers
    loss: Any
    seed: int
    state: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TrainedLayers:
    """Layers, the loss of each pass on the examples and on those left out, and the optimizer's
    state."""

    layers: Layers
    losses: tuple[float, ...]
    validation_losses: tuple[float, ...]
    state: dict[str, Any]


def folds_of(
    inputs: FloatArray, target: IntArray, weight: FloatArray, rng: np.random.RandomState
) -> IntArray:
    """The fold of each row (N,), from 0: of each class about equal weights in each fold.

    Equal rows share a fold, so that none is judged by a model that has seen it; and a row of
    weight 2 goes where two rows of weight 1 would.
    """
    rows, inverse = np.unique(np.column_stack([inputs + 0.0, target]), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    classes = rows[:, -1]
    mass = np.bincount(inverse, weights=weight)
    drawn = rng.permutation(len(rows))
    fold = np.empty(len(rows), dtype=np.int64)
    for place, label in enumerate(np.unique(classes)):
        members = np.flatnonzero(classes == label)
        members = members[np.argsort(drawn[members])]
        before = np.cumsum(mass[members]) - mass[members]
        # Classes of a row or two start in another fold each, so that these fill all folds.
        fold[members] = (before / mass[members].sum() * FOLDS).astype(np.int64) + place
    return fold[inverse] % FOLDS


def train_once(
    start: TrainingStart, rows: Rows, left_out: Rows | None, settings: Settings
) -> TrainedLayers:
    """Train on `rows`; with `left_out` and patience their loss ends it, and the best is kept."""
    network = Perceptron(start.layers)
    optimizer = make_optimizer(network, settings)
    if start.state is not None:
        optimizer.load_state_dict(start.state)
    # Only the order of batches is random: the weights are drawn before, and there is no dropout.
    history = train(
        network,
        start.loss,
        rows.placed(),
        settings,
        seed=start.seed,
        watched=None if left_out is None else left_out.placed(),
        optimizer=optimizer,
    )
    return TrainedLayers(
        network.layers(), history.train, history.validation, optimizer.state_dict()
    )


def train_by_folds(
    start: TrainingStart, rows: Rows, fold: IntArray, settings: Settings
) -> TrainedLayers:
    """Train on all rows for as many passes as did best on rows that were left out.

    The folds may end early; only passes that all of them made are compared. Where nothing can be
    left out, all passes of the settings are made.
    """
    curves: list[FloatArray] = []
    shares: list[float] = []
    for each in np.unique(fold).tolist():
        left_out = fold == each
        if left_out.all():
            break
        made = train_once(start, rows.some(~left_out), rows.some(left_out), settings)
        curves.append(np.array(made.validation_losses))
        shares.append(rows.weight[left_out].sum())
    curve: FloatArray = np.empty(0)
    if curves:
        together = min(map(len, curves))
        curve = np.average([each[:together] for each in curves], axis=0, weights=shares)
    passes = int(curve.argmin()) + 1 if len(curve) else settings.epochs
    warm = min(settings.warmup * settings.epochs / passes, 1.0)
    chosen = replace(settings, epochs=passes, warmup=warm, patience=0)
    return replace(train_once(start, rows, None, chosen), validation_losses=tuple(curve.tolist()))
