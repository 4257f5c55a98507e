"""Boosted trees as learners: LightGBM or XGBoost, by our objectives, kept in their own formats.

Training starts from the scores that are best where nothing is known of an example, as the
libraries' own objectives do: those of least loss by the class frequencies. So the posterior behind
the scores is right from the first round on. It stops when the loss on the validation part, costs
included, has not fallen for `patience` rounds. The mean cost of the answers themselves is no
measure for that: on a few hundred examples it jumps, and is often least after a tree or two.
Nothing is pickled: LightGBM's text and XGBoost's JSON are data.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from untrue import boosting
from untrue.array_types import FloatArray, IntArray
from untrue.errors import DataError, counted
from untrue.losses.registry import CROSS_ENTROPY, MixedName
from untrue.machine import threads
from untrue.optional import import_library, missing
from untrue.penalty import ExamplePenalty, Penalty
from untrue.tools.fitting.boosted_loss import LossByRound
from untrue.tools.fitting.checked_trees import lightgbm_text, xgboost_json
from untrue.tools.fitting.learners import BoosterSettings, FitTask, Fitted, Tell
from untrue.training.progress import History

FILES = {"lightgbm": "booster.txt", "xgboost": "booster.json"}
# What LightGBM needs to know of a data set, too: a data set drops columns that cannot be split so.
LEAST_IN_LEAF = 20
DATA_PARAMS = {"min_data_in_leaf": LEAST_IN_LEAF, "verbosity": -1}


@dataclass(frozen=True, slots=True, eq=False)
class BoosterPredictor:
    """Trained trees. start (k,): the scores they add to."""

    library: str
    booster: Any
    start: tuple[float, ...]
    width: int
    rounds: int
    categorical: tuple[int, ...]

    @property
    def file(self) -> str:
        return FILES[self.library]

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.width,)

    @property
    def n_classes(self) -> int:
        return len(self.start)

    def logits(self, inputs: npt.NDArray[Any]) -> FloatArray:
        if self.library == "lightgbm":
            scores = self.booster.predict(inputs, raw_score=True, num_threads=threads())
        else:
            scores = self.booster.predict(
                _matrix(inputs, self.categorical),
                output_margin=True,
                iteration_range=(0, self.rounds),
            )
        shape = (len(inputs), self.n_classes)
        return np.asarray(np.asarray(scores, np.float64).reshape(shape) + np.array(self.start))

    def content(self) -> bytes:
        if self.library == "lightgbm":
            text: str = self.booster.model_to_string()
            return text.encode()
        return bytes(self.booster.save_raw("json"))

    def description(self) -> dict[str, Any]:
        return {
            "kind": self.library,
            "start": list(self.start),
            "width": self.width,
            "rounds": self.rounds,
            "categorical": list(self.categorical),
        }

    def words(self) -> str:
        return f"{self.library}, {counted(self.rounds, 'round')}, {self.width} columns"


class _LastData:
    """What LightGBM made of the examples of the last training: the next may be on the same ones.

    It stays behind when a learner is sent to another process.
    """

    def __init__(self) -> None:
        self.key: tuple[Any, ...] = ()
        self.sets: tuple[Any, Any] | None = None

    def __reduce__(self) -> tuple[type[_LastData], tuple[()]]:
        return _LastData, ()

    def get(self, *key: Any, make: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """What was made of these same objects, or is made now."""
        same = len(key) == len(self.key) and all(map(operator.is_, key, self.key))
        if self.sets is None or not same:
            self.key, self.sets = (), None  # first, so that memory never holds both
            self.key, self.sets = key, make()
        return self.sets


@dataclass(frozen=True, slots=True)
class BoosterLearner:
    """A library, its settings, and which columns hold codes of categories."""

    library: str
    how: BoosterSettings
    n_classes: int
    width: int
    categorical: tuple[int, ...]
    last: _LastData = field(default_factory=_LastData, repr=False, compare=False)

    def train(
        self,
        task: FitTask,
        *,
        seed: int,
        on_progress: Tell | None = None,
        weights: FloatArray | None = None,
    ) -> Fitted:
        """As `Learner.train`; weights (N,): what each example counts in training."""
        train, validation = task.parts.train, task.parts.validation
        start = _start(
            task.loss, _of(task.penalty, train), task.alpha, task.labels[train], self.n_classes
        )
        held_out = LossByRound(
            task.loss,
            _of(task.penalty, validation),
            task.alpha,
            task.labels[validation],
            self.how,
            on_progress,
        )
        make = _train_lightgbm if self.library == "lightgbm" else _train_xgboost
        booster = make(self, task, start, held_out, seed=seed, weights=weights)
        predictor = BoosterPredictor(
            self.library,
            booster,
            tuple(start.tolist()),
            self.width,
            held_out.best,
            self.categorical,
        )
        return Fitted(predictor, History((), tuple(held_out.values), held_out.best))

    def time_in_words(self, task: FitTask) -> None:
        """Not known: the first trees say little about the speed of the rest."""

    def settings(self) -> dict[str, Any]:
        return {
            "model": self.library,
            "library": f"{self.library} {_library(self.library).__version__}",
            **asdict(self.how),
        }


def booster_learner(
    library: str,
    settings: BoosterSettings,
    n_classes: int,
    width: int,
    categorical: tuple[int, ...],
) -> BoosterLearner:
    """A learner of a library that is installed."""
    _library(library)
    return BoosterLearner(library, settings, n_classes, width, categorical)


def load(description: Mapping[str, Any], content: bytes) -> BoosterPredictor:
    """Trees from a folder; a ValueError where its parts do not fit."""
    library = str(description["kind"])
    start = tuple(map(float, description["start"]))
    width, rounds = int(description["width"]), int(description["rounds"])
    categorical = tuple(map(int, description["categorical"]))
    if not np.isfinite(start).all() or not all(0 <= j < width for j in categorical):
        raise ValueError(f"start scores {start}, columns of codes {categorical}")
    made = _library(library)
    if library == "lightgbm":
        booster = made.Booster(model_str=lightgbm_text(content, width=width, n_classes=len(start)))
        most = booster.current_iteration()
    else:
        booster = made.Booster()
        booster.load_model(bytearray(xgboost_json(content, width=width, n_classes=len(start))))
        most = booster.num_boosted_rounds()
    if not 1 <= rounds <= most:
        raise ValueError(f"{rounds} rounds of {most}")
    return BoosterPredictor(library, booster, start, width, rounds, categorical)


def _start(
    loss: str, costs: FloatArray | ExamplePenalty, alpha: float, labels: IntArray, k: int
) -> FloatArray:
    """(k,) The scores to start from, each class counted once more: it may have no example."""
    matrix = costs.mean(labels).matrix() if isinstance(costs, ExamplePenalty) else costs
    counted_once_more = np.append(labels, np.arange(k))
    if loss == CROSS_ENTROPY:
        return boosting.start_scores(matrix, counted_once_more, alpha=0.0)
    return boosting.start_scores(matrix, counted_once_more, cast(MixedName, loss), alpha)


def _train_lightgbm(
    learner: BoosterLearner,
    task: FitTask,
    start: FloatArray,
    held_out: LossByRound,
    *,
    seed: int,
    weights: FloatArray | None,
) -> Any:
    lightgbm = _library("lightgbm")
    parts = task.parts
    own: Any = "multiclass"
    if task.loss != CROSS_ENTROPY:
        costs = _of(task.penalty, parts.train)
        own = boosting.lightgbm_objective(costs, task.loss, task.alpha)  # type: ignore[arg-type]
    params = {
        "objective": own,
        "num_class": learner.n_classes,
        "learning_rate": learner.how.learning_rate,
        "num_leaves": learner.how.leaves,
        "boost_from_average": False,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": threads(),
        "metric": "none",
        **DATA_PARAMS,
    }
    chosen = list(learner.categorical)

    def data(rows: IntArray, reference: Any = None) -> Any:
        return lightgbm.Dataset(
            task.inputs[rows],
            task.labels[rows],
            weight=None if weights is None else weights[rows],
            categorical_feature=chosen,
            reference=reference,
            params=DATA_PARAMS,
        ).construct()

    def both() -> tuple[Any, Any]:
        train = data(parts.train)
        return train, data(parts.validation, train)

    train, watched = learner.last.get(task.inputs, task.labels, parts, weights, make=both)
    if not any(train.feature_num_bin(column) for column in range(learner.width)):
        raise DataError(
            f"No column splits the {counted(len(parts.train), 'example')} to learn from into parts "
            f"of at least {LEAST_IN_LEAF}, as LightGBM does. Give more examples or other columns, "
            "or take another model: --model linear (in Python, `model`)."
        )
    for held, rows in ((train, parts.train), (watched, parts.validation)):
        held.set_init_score(np.tile(start, (len(rows), 1)))

    def watch(scores: Any, _: Any) -> tuple[str, float, bool]:
        held_out.see(np.asarray(scores).reshape(-1, learner.n_classes))
        return "loss", held_out.values[-1], False

    def stop(_: Any) -> None:
        if held_out.over:
            raise lightgbm.callback.EarlyStopException(held_out.best - 1, [])

    booster = lightgbm.train(
        params,
        train,
        learner.how.rounds,
        valid_sets=[watched],
        feval=watch,
        callbacks=[stop],
    )
    text = booster.model_to_string(num_iteration=held_out.best)
    return lightgbm.Booster(model_str=text)


def _train_xgboost(
    learner: BoosterLearner,
    task: FitTask,
    start: FloatArray,
    held_out: LossByRound,
    *,
    seed: int,
    weights: FloatArray | None,
) -> Any:
    xgboost = _library("xgboost")
    params = {
        "objective": "multi:softprob",
        "num_class": learner.n_classes,
        "eta": learner.how.learning_rate,
        "max_leaves": learner.how.leaves,
        "max_depth": 0,
        "grow_policy": "lossguide",
        "tree_method": "hist",
        "base_score": 0.0,
        "disable_default_eval_metric": True,
        "seed": seed,
        "nthread": threads(),
        "verbosity": 0,
    }
    own = None
    if task.loss != CROSS_ENTROPY:
        costs = _of(task.penalty, task.parts.train)
        own = boosting.xgboost_objective(costs, task.loss, task.alpha)  # type: ignore[arg-type]

    def data(rows: IntArray) -> Any:
        found = _matrix(task.inputs[rows], learner.categorical, task.labels[rows])
        if weights is not None:
            found.set_weight(weights[rows])
        found.set_base_margin(np.tile(start, (len(rows), 1)))
        return found

    watched = data(task.parts.validation)

    class Watch(xgboost.callback.TrainingCallback):  # type: ignore[misc, name-defined]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:  # noqa: ARG002
            return held_out.see(np.asarray(model.predict(watched, output_margin=True)))

    return xgboost.train(
        params, data(task.parts.train), learner.how.rounds, obj=own, callbacks=[Watch()]
    )


def _matrix(inputs: npt.NDArray[Any], categorical: tuple[int, ...], labels: Any = None) -> Any:
    xgboost = _library("xgboost")
    kinds = ["c" if j in set(categorical) else "float" for j in range(inputs.shape[1])]
    return xgboost.DMatrix(
        inputs, labels, feature_types=kinds, enable_categorical=True, nthread=threads()
    )


def _of(penalty: Penalty | ExamplePenalty, rows: IntArray) -> FloatArray | ExamplePenalty:
    """The costs as objectives take them: a matrix, or those of some examples."""
    return penalty.take(rows) if isinstance(penalty, ExamplePenalty) else penalty.matrix()


def _library(name: str) -> Any:
    try:
        return import_library(name)
    except ImportError:
        raise missing("A model of boosted trees", name, "boosting") from None
