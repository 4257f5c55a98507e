"""How often `untrue tune` breaks its word: budgets that it calls kept, on examples it never saw.

Two sources of examples, one tuning for each seed:

population  three classes of normal points, 2,000 drawn anew; the rate on 100,000 fresh examples is
            as good as the true one
digits      scikit-learn's: a random 1,200 are given, the other 597 judge, as far as so few can

Counted: how often the budgets are kept, how often they are kept although the rate on the fresh
examples is above the limit (at most 5 % of all seeds on the population), whether that is shown to
be above it, whether the most probable class is, and the accuracy that is lost.
Run: `python -m benchmarks.tuning`; with `--seeds 8` for a first look.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks import record
from untrue.tools.tuning.tune import tune

SEEDS = 100
FRESH = 100_000
Examples = tuple[Any, Any]


@dataclass(frozen=True)
class Case:
    """draw(seed): examples to tune on, and fresh ones."""

    name: str
    draw: Callable[[int], tuple[Examples, Examples]]
    budget: str
    true: tuple[int, ...]
    predicted: int
    limit: float
    drop: float


def population(seed: int) -> tuple[Examples, Examples]:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(3, 6)) * 0.8

    def examples(n: int) -> Examples:
        y = rng.choice(3, size=n, p=[0.3, 0.3, 0.4])
        return rng.normal(size=(n, 6)) + centres[y], y

    return examples(2000), examples(FRESH)


def digits(seed: int) -> tuple[Examples, Examples]:
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    given, rest = order[:1200], order[1200:]
    return (x[given], y[given]), (x[rest], y[rest])


CASES = (
    Case("population", population, "0->1 <= 6%", (0,), 1, 0.06, 10.0),
    Case("digits", digits, "*->8 <= 2%", (0, 1, 2, 3, 4, 5, 6, 7, 9), 8, 0.02, 4.0),
)


def row(case: Case, seeds: int) -> dict[str, object]:
    counts = dict.fromkeys(
        ("kept", "kept_and_over", "kept_and_shown_over", "most_probable_over"), 0
    )
    counts["by_decision_alone"] = 0
    lost: list[float] = []
    for seed in range(seeds):
        (x, y), (fresh_x, fresh_y) = case.draw(seed)
        found = tune(
            x,
            y,
            budgets=case.budget,
            model="linear",
            epochs=12,
            learning_rate=5e-3,
            repetitions=3,
            test_share=0.5,
            max_accuracy_drop=case.drop,
            trials=2,
            seed=seed,
        )
        own = np.isin(fresh_y, case.true)
        answers = found.predict(fresh_x[own]) == case.predicted
        plain = found.probs(fresh_x[own]).argmax(axis=1) == case.predicted
        # Three standard errors of so many fresh examples.
        slack = 3 * np.sqrt(case.limit * (1 - case.limit) / own.sum())
        counts["kept"] += found.kept
        counts["kept_and_over"] += found.kept and bool(answers.mean() > case.limit)
        counts["kept_and_shown_over"] += found.kept and bool(answers.mean() > case.limit + slack)
        counts["most_probable_over"] += bool(plain.mean() > case.limit)
        counts["by_decision_alone"] += found.kept and found.trained == 0
        lost += [found.drop] if found.kept else []
    mean = round(float(np.mean(lost)), 2) if lost else None
    return {"case": case.name, "budget": case.budget, "seeds": seeds, **counts, "points_lost": mean}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=SEEDS, help="of each case")
    seeds = options.parse_args().seeds
    rows = []
    for case in CASES:
        rows.append(row(case, seeds))
        print(rows[-1], flush=True)
    print(record.write("tuning", rows))


if __name__ == "__main__":
    main()
