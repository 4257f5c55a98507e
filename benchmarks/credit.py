"""Cross-validation on German credit: learners, trainings and decisions, chosen inside each fold.

For every outer fold, settings (rounds, alpha, C) are chosen by the mean cost of an inner
cross-validation of its training part; the test part is answered once, by a model trained again on
the whole training part. Columns are prepared by the rows trained on.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import untrue
from untrue import boosting
from untrue.decision.posteriors import invert
from untrue.lab.data.tables import TableData
from untrue.losses.registry import MixedName
from untrue.penalty import ExamplePenalty, Penalty
from untrue.sklearn import BilinearClassifier
from untrue.tools.reading.codes import fit_codes
from untrue.tools.reading.preprocess import fit_table

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Costs = Penalty | ExamplePenalty

FOLDS, INNER = 10, 3
ROUNDS = (20, 40, 80)
TREES = {"learning_rate": 0.1, "num_leaves": 8, "min_data_in_leaf": 10}
PLAIN = "cross-entropy"


def parsed(description: str | None) -> argparse.Namespace:
    """The options of a benchmark on German credit: data_dir, repetitions, folds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--folds", type=int, default=FOLDS)
    return parser.parse_args()


@dataclass(frozen=True, slots=True)
class Training:
    """A learner, the loss it is trained by, and whose costs: "class" or "row".

    "weighted" is the cross-entropy of examples weighted by what missing them costs.
    """

    learner: str
    loss: str = PLAIN
    costs: str = "class"
    settings: tuple[float, ...] = (0.0,)


@dataclass(frozen=True, slots=True)
class Method:
    """A training, and how its probabilities p are answered.

    decision   "argmax"; "least cost", on p; "posterior", least cost on the posterior behind p
    costs      of the decision: "class" or "row"
    """

    name: str
    training: Training
    decision: str
    costs: str = "class"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The rows, their classes, and what mistakes cost: by class, or of each row where it does."""

    data: TableData
    each: ExamplePenalty | None = None

    def costs(self, of: str, rows: Ints, known: Ints) -> Costs:
        """Of these rows; by class they are known from the rows `known`, which were trained on."""
        if self.each is None:
            return self.data.penalty
        if of == "row":
            return self.each.take(rows)
        return self.each.take(known).mean(self.data.labels[known])

    def paid(self, rows: Ints, answers: Ints) -> Floats:
        """What answers to these rows cost."""
        labels = self.data.labels[rows]
        if self.each is None:
            return np.asarray(self.data.penalty.cost(labels, answers), dtype=np.float64)
        return self.each.take(rows).costs(labels, answers)


def run(table: Table, methods: Sequence[Method], seed: int, folds: int = FOLDS) -> Floats:
    """(methods, N) What each method's answer to each row costs, by one cross-validation."""
    labels = table.data.labels
    found = np.empty((len(methods), len(labels)))
    outer = StratifiedKFold(folds, shuffle=True, random_state=seed)
    trainings = list(dict.fromkeys(method.training for method in methods))
    for train, test in outer.split(labels, labels):
        spent: dict[tuple[Method, float, int], float] = {}
        inner = StratifiedKFold(INNER, shuffle=True, random_state=seed)
        for a, b in inner.split(train, labels[train]):
            for training, setting, rounds, probs in _all(
                table, trainings, train[a], train[b], seed
            ):
                for method in methods:
                    if method.training == training:
                        answers = answer(table, method, setting, probs, train[a], train[b])
                        key = (method, setting, rounds)
                        spent[key] = spent.get(key, 0.0) + table.paid(train[b], answers).sum()
        best = {
            method: min((key for key in spent if key[0] == method), key=spent.__getitem__)
            for method in methods
        }
        for training, setting, rounds, probs in _all(table, trainings, train, test, seed):
            for m, method in enumerate(methods):
                if method.training == training and best[method][1:] == (setting, rounds):
                    answers = answer(table, method, setting, probs, train, test)
                    found[m, test] = table.paid(test, answers)
    return found


def repeated(table: Table, methods: Sequence[Method], repetitions: int, folds: int) -> Floats:
    """(repetitions, methods, N) `run` with other folds each time, on all processors."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    os.environ.update(threads)
    found: list[Floats] = []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        work = [pool.submit(run, table, methods, seed, folds) for seed in range(repetitions)]
        for seed, each in enumerate(work):
            found.append(each.result())
            print(f"repetition {seed + 1} of {repetitions}", flush=True)
    return np.stack(found)


def answer(
    table: Table, method: Method, setting: float, probs: Floats, train: Ints, test: Ints
) -> Ints:
    """The classes that a method answers for the rows `test`."""
    if method.decision == "argmax":
        return np.asarray(probs.argmax(axis=1))
    if method.decision == "posterior":
        costs, scale = _scaled(table, method.training, test, train)
        moved: Costs = costs if scale == 1.0 else costs.scaled(scale)  # type: ignore[union-attr]
        loss: MixedName = "log-bilinear" if method.training.loss == "log-bilinear" else "bilinear"
        probs = invert(probs, moved, setting, loss).probs
    return untrue.decide(probs, table.costs(method.costs, test, train))


def _all(
    table: Table, trainings: Sequence[Training], train: Ints, test: Ints, seed: int
) -> Iterator[tuple[Training, float, int, Floats]]:
    """Probabilities of `test` by every training, setting and number of rounds (else 0)."""
    scaled = fit_table(table.data.train.rows(train)).apply(table.data.train)
    codes = fit_codes(table.data.train.rows(train))
    coded = codes.apply(table.data.train)
    for training in trainings:
        for setting in training.settings:
            if training.learner == "LightGBM":
                booster = _boosted(table, training, setting, coded, codes.categorical, train, seed)
                for rounds in ROUNDS:
                    raw = booster.predict(coded[test], raw_score=True, num_iteration=rounds)
                    yield training, setting, rounds, boosting.probs(raw)
            else:
                yield training, setting, 0, _linear(table, training, setting, scaled, train, test)


def _boosted(
    table: Table,
    training: Training,
    alpha: float,
    inputs: npt.NDArray[Any],
    categorical: Sequence[int],
    train: Ints,
    seed: int,
) -> Any:
    objective: Any = "multiclass"
    if training.loss not in (PLAIN, "weighted"):
        costs, scale = _scaled(table, training, train, train)
        own = costs.matrix() if isinstance(costs, Penalty) else costs.scaled(scale)
        objective = boosting.lightgbm_objective(own, training.loss, alpha)  # type: ignore[arg-type]
    labels = table.data.labels[train]
    rows = lightgbm.Dataset(
        inputs[train],
        labels,
        weight=_weights(table, training, train) if training.loss == "weighted" else None,
        categorical_feature=list(categorical),
        free_raw_data=False,
    )
    params = {
        **TREES,
        "objective": objective,
        "num_class": 2,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    return lightgbm.train(params, rows, max(ROUNDS))


def _linear(
    table: Table,
    training: Training,
    setting: float,
    inputs: npt.NDArray[Any],
    train: Ints,
    test: Ints,
) -> Floats:
    labels = table.data.labels[train]
    if training.learner == "logistic regression":
        weights = _weights(table, training, train) if training.loss == "weighted" else None
        model: Any = LogisticRegression(C=setting, max_iter=2000)
        model.fit(inputs[train], labels, sample_weight=weights)
    else:
        costs = table.costs("class", train, train)
        assert isinstance(costs, Penalty)
        model = BilinearClassifier(costs.matrix(), alpha=setting, hidden=(), random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few epochs are enough for some folds
            model.fit(inputs[train], labels)
    return np.asarray(model.predict_proba(inputs[test]), dtype=np.float64)


def _scaled(table: Table, training: Training, rows: Ints, known: Ints) -> tuple[Costs, float]:
    """The costs a loss is trained by, and the factor that makes its mean mistake cost 1.

    Official costs are taken as they are.
    """
    costs = table.costs(training.costs, rows, known)
    if table.each is None:
        return costs, 1.0
    by_class = table.costs("class", rows, known)
    assert isinstance(by_class, Penalty)
    shares = np.bincount(table.data.labels[known], minlength=2) / len(known)
    scale = 1.0 / float(by_class.expected(shares[None]).sum())
    if isinstance(costs, Penalty):
        return Penalty.from_matrix(costs.matrix() * scale, list(costs.classes)), 1.0
    return costs, scale


def _weights(table: Table, training: Training, rows: Ints) -> Floats:
    """Of each row: what missing it costs, of mean 1."""
    costs, labels = table.costs(training.costs, rows, rows), table.data.labels[rows]
    if isinstance(costs, Penalty):
        missed = np.asarray(costs.cost(labels, 1 - labels), dtype=np.float64)
    else:
        missed = costs.costs(labels, 1 - labels)
    return np.asarray(missed / missed.mean())


def rows_of(
    methods: Sequence[Method],
    costs: Floats,
    reference: str,
    *,
    digits: int,
    more: Mapping[str, object],
    twins: Mapping[str, str] | None = None,
) -> list[dict[str, object]]:
    """A row a method from costs (repetitions, methods, N): the mean and 95 % intervals.

    Intervals are over applicants (bootstrap of their costs, averaged over the repetitions), also of
    the difference to the method `reference`, on the same applicants and folds.
    twins: methods with another of their own that they are set against as well.
    """
    by_row = dict(zip((method.name for method in methods), costs.mean(axis=0), strict=True))
    rng = np.random.default_rng(0)
    drawn = rng.integers(costs.shape[2], size=(2000, costs.shape[2]))

    def interval(prefix: str, each: Floats) -> dict[str, object]:
        low, high = np.quantile(each[drawn].mean(axis=1), [0.025, 0.975])
        return {
            f"{prefix}low": round(float(low), digits),
            f"{prefix}high": round(float(high), digits),
        }

    def change(prefix: str, name: str, other: str) -> dict[str, object]:
        each = by_row[name] - by_row[other]
        return {prefix: round(float(each.mean()), digits), **interval(f"{prefix}_", each)}

    found: list[dict[str, object]] = []
    for m, (name, each) in enumerate(by_row.items()):
        several = len(costs) > 1
        spread = round(float(costs[:, m].mean(axis=1).std(ddof=1)), digits) if several else ""
        twin = (twins or {}).get(name)
        found.append(
            {
                "method": name,
                "mean_cost": round(float(each.mean()), digits),
                **interval("", each),
                "sd_of_repetitions": spread,
                **change("difference", name, reference),
                "reference": reference,
                "repetitions": len(costs),
                **({} if twin is None else {"twin": twin, **change("twin_difference", name, twin)}),
                **more,
            }
        )
    return found
