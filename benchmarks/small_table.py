"""A small table with official costs: does `BilinearClassifier` memorise it? German credit.

1,000 applicants; a bad one taken for a good one costs 5, a good one taken for a bad one 1. Mean
cost by 10-fold cross-validation, repeated with other folds. "150 passes" trains so long whatever
examples that are left out would say, with little decay: it learns the table by heart.

Run: `python -m benchmarks.small_table [--data-dir DIR]`; the file is downloaded where it is not
found (`untrue data get german`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks import record
from untrue.lab.data.tables import TableData, load_table
from untrue.sklearn import BilinearClassifier, CostSensitiveClassifier
from untrue.tools.reading.preprocess import fit_table

LONG = {
    "learning_rate": 0.02,
    "weight_decay": 0.1,
    "warmup": 0.2,
    "epochs": 150,
    "early_stopping": False,
}
BY_COST = {"alpha": 0.0, "decision": "cost"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    data = load_table("german", options.data_dir)

    def bilinear(**settings: Any) -> Callable[[int], Any]:
        return lambda seed: BilinearClassifier(data.penalty, random_state=seed, **settings)

    logistic = LogisticRegression(max_iter=2000)
    models: dict[str, Callable[[int], Any]] = {
        "least-cost logistic regression": lambda _: CostSensitiveClassifier(
            logistic, penalty=data.penalty, calibrate=False
        ),
        "BilinearClassifier": bilinear(),
        "BilinearClassifier, 150 passes": bilinear(**LONG),
        "BilinearClassifier, alpha 0, decision by cost": bilinear(**BY_COST),
        "the same, 150 passes": bilinear(**BY_COST, **LONG),
        "BilinearClassifier, no hidden layer, alpha 0, by cost": bilinear(hidden=(), **BY_COST),
    }
    rows: list[dict[str, object]] = []
    for name, model in models.items():
        costs = [mean_cost(data, model, seed) for seed in range(options.repetitions)]
        rows.append(
            {
                "model": name,
                "mean_cost": round(float(np.mean(costs)), 3),
                "least": min(costs),
                "greatest": max(costs),
                "repetitions": options.repetitions,
            }
        )
        print(f"{name:<55} {np.mean(costs):.3f} ({min(costs):.3f} to {max(costs):.3f})", flush=True)
    print(record.write("small_table", rows))


def mean_cost(data: TableData, model: Callable[[int], Any], seed: int) -> float:
    """By 10 folds; columns are prepared by the rows that a fold trains on."""
    labels = np.array(data.penalty.classes)[data.labels]
    total = 0.0
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    for train, test in folds.split(labels, labels):
        prepared = fit_table(data.train.rows(train)).apply(data.train)
        predicted = model(seed).fit(prepared[train], labels[train]).predict(prepared[test])
        total += float(np.sum(data.penalty.cost(labels[test], predicted)))
    return round(total / len(labels), 4)


if __name__ == "__main__":
    main()
